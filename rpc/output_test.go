package rpc

import (
	"bufio"
	"io"
	"log/slog"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
)

// TestNewerStateComesLast: a host that reads in order must not be left with the
// older state that an answer carries, so what is newer than the answer is never
// merged into what waits ahead of it.
func TestNewerStateComesLast(t *testing.T) {
	r, w := io.Pipe()
	out := newOutput(w, limit.Table{}, slog.New(slog.DiscardHandler), nil)
	var statuses slot
	queue := func(text string, edit func(*message)) {
		m := newMessage()
		m.buf = append(m.buf, text...)
		edit(m)
		out.send(m)
	}
	status := func(m *message) { m.class, m.slot = classState, &statuses }
	ready := func(m *message) { m.seals = []*slot{&statuses} }

	// Nobody reads yet, so from the second on they wait.
	queue("first", func(*message) {})
	queue("loading", status)
	queue("answer", ready)
	queue("half ready", status)
	queue("ready", status)

	lines := bufio.NewScanner(r)
	for _, want := range []string{"first", "loading", "answer", "ready"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("read %q, want %q", lines.Text(), want)
		}
	}
}
