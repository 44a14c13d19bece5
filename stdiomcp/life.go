package stdiomcp

import (
	"context"
	"errors"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
)

// A life is one start of the process and what came of it.
type life struct {
	started chan struct{} // closed when conn and err are set
	conn    *conn         // nil when it could not be started
	err     error
}

// conn returns the connection to the process, which the first message starts.
func (t *Transport) conn(ctx context.Context, link *mcpclient.Link) (*conn, error) {
	t.mu.Lock()
	switch {
	case t.closed:
		t.mu.Unlock()
		return nil, errAfterClose
	case t.life == nil:
		t.begin(nil)
	case t.again(link):
		t.second = true
		t.begin(t.life.conn)
	}
	l := t.life
	t.mu.Unlock()
	select {
	case <-l.started:
		return l.conn, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// begin starts the process, when the one before it is gone. The caller holds mu.
func (t *Transport) begin(before *conn) {
	l := &life{started: make(chan struct{})}
	t.life = l
	go func() {
		defer close(l.started)
		if before != nil {
			<-before.over
		}
		l.conn, l.err = t.start()
		t.mu.Lock()
		closed := t.closed
		t.mu.Unlock()
		switch {
		case l.err != nil:
			t.settle(l.err)
		case closed: // Close may not have waited for us
			l.conn.fail(errClosed)
		}
	}()
}

// start starts the process and what attends to it.
func (t *Transport) start() (*conn, error) {
	o := t.order()
	if err := t.launch.resolve(&o); err != nil {
		return nil, err
	}
	stdin, stdout, stderr, err := pipes(&o)
	if err != nil {
		return nil, t.launch.fail("cannot be started: %s", cause(err))
	}
	defer o.release()
	child, err := start(&o, t.guard)
	if err != nil {
		stdin.Close()
		stdout.Close()
		stderr.Close()
		if errors.Is(err, errGuard) {
			return nil, t.launch.fail("cannot be started: its guard, which is toolhost itself, failed: %s", cause(err))
		}
		return nil, t.launch.notStarted(err)
	}
	c := newConn(t, child, stdin, stdout, stderr)
	go c.attend()
	return c, nil
}

// handshakeWait is how long the end of a server at the probe is kept from Done: the
// handshake that may follow starts it again.
const handshakeWait = time.Second

// again reports whether a message with that link starts the process a second time:
// it belongs to a handshake, and the process has read a request of the modern era and
// ended without a word. So do servers of the other era for which what is not
// initialize breaks the protocol; the specification only speaks of those that answer
// or stay silent (2026-07-28 basic/transports/stdio, "Backward Compatibility"). The
// caller holds mu.
func (t *Transport) again(link *mcpclient.Link) bool {
	if t.second || t.settled || !link.Revision.Handshake {
		return false
	}
	select {
	case <-t.life.started:
		return t.life.conn != nil && t.life.conn.refusedProbe()
	default:
		return false
	}
}

// ended notes the end of a connection.
func (t *Transport) ended(c *conn, err error) {
	if err == error(errClosed) {
		err = nil
	}
	t.mu.Lock()
	wait := !t.second && !t.closed && c.refusedProbe()
	t.mu.Unlock()
	if !wait {
		t.settle(err)
		return
	}
	time.AfterFunc(handshakeWait, func() {
		t.mu.Lock()
		second := t.second
		t.mu.Unlock()
		if !second {
			t.settle(err)
		}
	})
}
