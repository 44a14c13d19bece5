package stdiomcp

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

// Options are what a Transport may be told. The zero value works.
type Options struct {
	Limits limit.Table
	Scrub  *redact.Scrubber // nil: one that knows this process's variables only
	Log    *slog.Logger     // nil: nothing is logged, stderr of the server neither

	// Guard is the argument vector of a program that calls Guard and nothing else,
	// its path absolute. Nil, and on other systems than Linux: no guard, and what
	// leaves the server's process group is not ended with it.
	Guard []string
}

// A Transport carries the messages of one Session to one child process. It
// implements mcpclient.Transport.
type Transport struct {
	order  func() order // of the process; a function, since no verb prints what it returns
	launch launch
	limits limit.Table
	scrub  *redact.Scrubber
	log    *slog.Logger
	guard  []string

	done chan struct{} // closed when the one process has ended, see Done

	mu      sync.Mutex
	life    *life // guarded by mu; nil before the first message
	second  bool  // guarded by mu; life is the second one, see again
	closed  bool  // guarded by mu; never goes back to false
	settled bool  // guarded by mu; done is closed
	err     error // guarded by mu; why, see Err
}

var _ mcpclient.Transport = (*Transport)(nil)

// New returns the Transport to a server that p starts. It does no I/O; the process
// starts with the first message. A process that cannot be started is the error of
// that, and of every message after it.
func New(p *mcpclient.Process, opts *Options) *Transport {
	if opts == nil {
		opts = &Options{}
	}
	t := &Transport{
		launch: launch{p.Shown},
		limits: opts.Limits,
		scrub:  opts.Scrub,
		log:    opts.Log,
		guard:  opts.Guard,
		done:   make(chan struct{}),
	}
	if t.scrub == nil {
		t.scrub = redact.NewScrubber()
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	o := orderOf(p, t.scrub)
	t.order = func() order { return o }
	return t
}

// Format prints nothing of a Transport for any verb: its process may hold secrets.
func (t *Transport) Format(f fmt.State, _ rune) { io.WriteString(f, "[MCP transport]") }

// Done is closed when the process has ended or its stdout has closed, when it could
// not be started, and when Close is called. Close has still to be called.
func (t *Transport) Done() <-chan struct{} { return t.done }

// Err says why Done is closed: a *mcpclient.WireError with how the process ended and
// the last lines of its stderr, or a *limit.Error. It is nil before that, and after a
// Close of a process that ran.
func (t *Transport) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// RoundTrip implements mcpclient.Transport. A request whose process has ended is an
// error at once.
func (t *Transport) RoundTrip(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (*mcpclient.Response, error) {
	c, err := t.conn(ctx, req.Link)
	if err != nil {
		return nil, err
	}
	x := c.newExchange(req, h)
	if err := c.enter(x); err != nil {
		return nil, err
	}
	defer c.leave(x)
	defer close(x.over)
	return x.run(ctx)
}

// Notify implements mcpclient.Transport. What is written to the pipe is taken: there
// is no receipt.
func (t *Transport) Notify(ctx context.Context, n *mcpclient.Notification) error {
	c, err := t.conn(ctx, n.Link)
	if err != nil {
		return err
	}
	c.speaks(n.Link.Revision, nil)
	l := &line{body: n.Body, written: make(chan struct{})}
	select {
	case c.queue <- l:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.broken:
		return c.failed(true)
	}
	select {
	case <-l.written:
		return nil
	case <-ctx.Done():
		l.withdraw()
		return context.Cause(ctx)
	case <-c.broken:
		return c.failed(l.withdraw())
	}
}

// errClosed ends what is under way when the Transport is closed, and errAfterClose
// what begins after that.
var (
	errClosed     = &mcpclient.WireError{Op: "send", Reason: "the connection to the server was closed", Delivered: "unknown"}
	errAfterClose = &mcpclient.WireError{Op: "send", Reason: "the connection to the server is closed", Delivered: "no"}
)

// Close implements mcpclient.Transport. Calls in flight end at once; closing its
// stdin is what tells the server. It returns when all that belongs to the process is
// gone, within stop_wait and term_wait and a little more. When ctx ends it kills and
// returns the cause; the end is then still waited for, behind the caller's back.
//
// Each further call waits for the same end.
func (t *Transport) Close(ctx context.Context, _ *mcpclient.Link) error {
	t.mu.Lock()
	t.closed = true
	l := t.life
	t.mu.Unlock()
	if l == nil {
		t.settle(nil)
		return nil
	}
	select {
	case <-l.started:
	case <-ctx.Done():
		// A program that is being started is ended as soon as it has: see start.
		return context.Cause(ctx)
	}
	if l.conn == nil {
		return nil
	}
	l.conn.fail(errClosed)
	<-l.conn.broken // whoever was first: its reason is Err
	t.settle(nil)
	select {
	case <-l.conn.over:
		return nil
	default:
	}
	select {
	case <-l.conn.over:
		return nil
	case <-ctx.Done():
		l.conn.hurry()
		return context.Cause(ctx)
	}
}

// settle closes done. The first reason counts.
func (t *Transport) settle(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.settled {
		return
	}
	t.settled, t.err = true, err
	close(t.done)
}
