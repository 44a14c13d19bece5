package stdiomcp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
)

// TestVER_07_BothEras connects as a pack does.
func TestVER_07_BothEras(t *testing.T) {
	for _, test := range []struct {
		name, habit string
		want        *mcpclient.Revision
	}{
		{"a modern server", "modern", modern},
		{"unknown method", "code=-32601", legacy},
		{"invalid params", "code=-32602", legacy},
		{"invalid request", "code=-32600", legacy},
		{"an error of its own", "code=-32000", legacy},
		{"an error that names no request", "null-id", legacy},
		{"VER-08 silence", "mute", legacy},
		{"text", "text-error", legacy},
		{"it hangs up", "hangs-up", legacy},
	} {
		t.Run(test.name, func(t *testing.T) {
			both(t, func(t *testing.T, opts *Options) {
				if test.habit == "hangs-up" && !canGuard {
					t.Skip("this system does not tell whether the server has read the probe")
				}
				leakFree(t)
				tr := New(server(t, test.habit), opts)
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				s, err := mcpclient.Connect(ctx, tr, &mcpclient.Options{Limits: limits(t, "start_time=2s")})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close(ctx)
				if s.Revision() != test.want {
					t.Errorf("speaks %s", s.Revision().Name)
				}
				if isClosed(tr.Done()) {
					t.Errorf("Done is closed: %v", tr.Err())
				}
			})
		})
	}
}

// TestVER_06_ProbeFirst: server/discover comes before anything else.
func TestVER_06_ProbeFirst(t *testing.T) {
	tr := New(shell(t, `read line; echo "$line" >&2; exit 1`), nil)
	_, err := mcpclient.Connect(t.Context(), tr, &mcpclient.Options{Limits: limits(t, "start_time=2s")})
	if w := wire(t, err); !strings.Contains(w.Reason, `"method":"initialize"`) {
		t.Errorf("the second start read: %s", w.Reason)
	}
	if !tr.second {
		t.Error("it was started once")
	}
}

// TestT70_NoSecondStart: a process that ends without having read the probe is not
// started twice in one attempt, which would double a crash loop.
func TestT70_NoSecondStart(t *testing.T) {
	both(t, func(t *testing.T, opts *Options) {
		tr := open(t, server(t, "exits-at-once=1"), opts)
		_, err := mcpclient.Connect(t.Context(), tr, &mcpclient.Options{Limits: limits(t, "start_time=2s")})
		if w := wire(t, err); !strings.Contains(w.Reason, "exit status 1; its last words on stderr: Error: Cannot find module 'x'") {
			t.Errorf("reason: %s", w.Reason)
		}
		if tr.second {
			t.Error("it was started twice")
		}
	})
}

// TestRefusedProbeEnds: without a handshake behind it, the end at the probe is the end.
func TestRefusedProbeEnds(t *testing.T) {
	tr := open(t, server(t, "hangs-up"), nil)
	_, err := tr.RoundTrip(t.Context(), request(modern, 1, "server/discover", "{}"), new(recorder))
	if w := wire(t, err); canGuard && !w.NotMCP {
		t.Errorf("%+v", w)
	}
	began := time.Now()
	if w := wire(t, ended(t, tr)); !strings.Contains(w.Reason, "exit status 1") {
		t.Errorf("%+v", w)
	}
	if took := time.Since(began); took > 3*handshakeWait {
		t.Errorf("Done was closed after %v", took)
	}
}
