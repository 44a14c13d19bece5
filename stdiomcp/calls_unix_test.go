//go:build unix

package stdiomcp

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
)

// TestSTD_06_NothingWrittenNothingCancelled: the request waits behind one that the
// server does not read.
func TestSTD_06_NothingWrittenNothingCancelled(t *testing.T) {
	tr := open(t, shell(t, hello+`read line; while read line; do echo "$line" | cut -c1-60 >&2; done`), nil)
	tell(t, tr, modern, 1, "hello", "{}")
	c := tr.life.conn
	stuck := &line{body: []byte(strings.Repeat("x", 1<<20))} // more than a pipe holds
	c.child.(*direct).signal(19)                             // SIGSTOP
	c.queue <- stuck
	for stuck.state.Load() != begun {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := tr.RoundTrip(ctx, request(modern, 2, "never", "{}"), new(recorder)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	c.child.(*direct).signal(syscall.SIGCONT)
	if err := tr.Notify(t.Context(), &mcpclient.Notification{Link: &mcpclient.Link{Revision: modern}, Body: []byte("the end")}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); !strings.Contains(c.tail.last(), "the end"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the server read %s", c.tail.last())
		}
	}
	if got := c.tail.last(); strings.Contains(got, "never") || strings.Contains(got, "cancelled") {
		t.Errorf("the server read %s", got)
	}
}
