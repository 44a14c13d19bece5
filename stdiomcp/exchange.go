package stdiomcp

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/toolhost/toolhost/mcpclient"
)

// inboxSize is how many messages may wait for the goroutine of a call, so that the
// reader need not wait for it each time.
const inboxSize = 8

// An exchange is one request under way, or a listening.
type exchange struct {
	c        *conn
	req      *mcpclient.Request // nil for a listening without a request
	handler  mcpclient.Handler
	listener mcpclient.Listener // the handler, when it is one of Listen
	line     line
	inbox    chan delivery
	over     chan struct{} // closed when nobody takes from inbox any more
}

// A delivery is a message for an exchange, in the order in which it came.
type delivery struct {
	method string // of a notification
	params []byte
	answer *mcpclient.Response
	err    error // in place of an answer
}

// run sends the request and returns its answer. Deliveries are taken from the
// beginning: the reader may be waiting for that while the server waits for the
// reader before it takes what is being written.
func (x *exchange) run(ctx context.Context) (*mcpclient.Response, error) {
	queue := x.c.queue
	for {
		select {
		case queue <- &x.line:
			queue = nil
		case d := <-x.inbox:
			if d.method == "" {
				return d.answer, d.err
			}
			x.handler.Notification(d.method, d.params)
		case <-ctx.Done():
			return nil, x.giveUp(ctx)
		case <-x.c.broken:
			return x.rest()
		}
	}
}

// rest takes what came before the connection ended: the answer may be in it.
func (x *exchange) rest() (*mcpclient.Response, error) {
	for {
		select {
		case d := <-x.inbox:
			if d.method == "" {
				return d.answer, d.err
			}
			x.handler.Notification(d.method, d.params)
		default:
			return nil, x.c.failed(x.line.withdraw())
		}
	}
}

// giveUp ends an exchange whose ctx has ended. A request that was answered, or of
// which nothing was written, is not cancelled.
func (x *exchange) giveUp(ctx context.Context) error {
	cause := context.Cause(ctx)
	waiting := x.c.leave(x)
	if !x.line.withdraw() && waiting {
		x.cancel(ctx, cause)
	}
	late := errors.Is(cause, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded)
	if advice := x.c.noise.advice(); advice != "" && !x.c.heard.Load() && late {
		reason := "the server did not answer in time"
		if wire, ok := errors.AsType[*mcpclient.WireError](cause); ok {
			reason = wire.Reason
		}
		return &mcpclient.WireError{Op: "read the answer", Reason: reason + "; " + advice,
			Delivered: "unknown", NotMCP: true, Err: cause}
	}
	return cause
}

// The states of a line.
const (
	queued    = iota // or not even that
	begun            // a part of it may have been written
	withdrawn        // it will not be written
)

// A line is one message to write.
type line struct {
	body    []byte
	state   atomic.Int32
	written chan struct{} // closed when all of it is written; nil when nobody waits for that
}

// begin reports whether the line is to be written, which cannot be undone.
func (l *line) begin() bool { return l.state.CompareAndSwap(queued, begun) }

// withdraw reports whether nothing of the line was written. Then nothing will be.
func (l *line) withdraw() bool {
	return l.state.CompareAndSwap(queued, withdrawn) || l.state.Load() == withdrawn
}
