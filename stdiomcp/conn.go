package stdiomcp

import (
	"context"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/mcpclient"
)

// queueSize is how many messages may wait for the writer. Who has more waits.
const queueSize = 64

// A conn is the conversation with one started process.
type conn struct {
	t     *Transport
	child child

	stdin, stdout, stderr *os.File // our ends

	queue     chan *line
	noise     noise
	tail      *stderrTail
	questions questions
	helpers   sync.WaitGroup // of behind; Add only while ending is false

	heard    atomic.Bool // a message of the server has come
	readAll  atomic.Bool // the process has read all that was written to it, as far as that was known at its end
	ctx      context.Context
	cancel   context.CancelCauseFunc // ends ctx, the context of questions
	unread   chan struct{}           // closed when nothing more can be read of stdout
	unwrit   chan struct{}           // closed when nothing more can be written to stdin
	silent   chan struct{}           // closed when stderr is read to its end
	hurried  chan struct{}           // closed when what is left is to be killed at once
	broken   chan struct{}           // closed when the conversation is over
	over     chan struct{}           // closed when all of the process is gone and nothing of ours runs any more
	hurryOne sync.Once

	mu        sync.Mutex
	err       error               // guarded by mu; set before broken is closed
	ending    bool                // guarded by mu; no helper begins any more
	exchanges map[int64]*exchange // guarded by mu; the requests that wait for an answer
	listeners []*exchange         // guarded by mu; those of Listen that have no request
	revision  *mcpclient.Revision // guarded by mu; of the newest message to the server
	handshake bool                // guarded by mu; one of them was of a revision with a handshake
	newest    mcpclient.Handler   // guarded by mu; of the newest request
}

func newConn(t *Transport, child child, stdin, stdout, stderr *os.File) *conn {
	c := &conn{
		t: t, child: child,
		stdin: stdin, stdout: stdout, stderr: stderr,
		queue:     make(chan *line, queueSize),
		noise:     noise{scrub: t.scrub},
		tail:      newStderrTail(t.limits, t.scrub, t.log),
		unread:    make(chan struct{}),
		unwrit:    make(chan struct{}),
		silent:    make(chan struct{}),
		hurried:   make(chan struct{}),
		broken:    make(chan struct{}),
		over:      make(chan struct{}),
		exchanges: map[int64]*exchange{},
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

func (c *conn) newExchange(req *mcpclient.Request, h mcpclient.Handler) *exchange {
	return &exchange{
		c: c, req: req, handler: h,
		line:  line{body: req.Body},
		inbox: make(chan delivery, inboxSize),
		over:  make(chan struct{}),
	}
}

// enter registers a request, before it is sent.
func (c *conn) enter(x *exchange) error {
	c.speaks(x.req.Link.Revision, x.handler)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return delivered(c.err, "no")
	}
	c.exchanges[x.req.ID] = x
	return nil
}

// leave unregisters a request, and reports whether it was still waiting.
func (c *conn) leave(x *exchange) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.take(x.req.ID, x)
}

// take removes a request. The caller holds mu.
func (c *conn) take(id int64, x *exchange) bool {
	if x == nil || c.exchanges[id] != x {
		return false
	}
	delete(c.exchanges, id)
	return true
}

// listen registers a listening that has no request.
func (c *conn) listen(x *exchange) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, delivered(c.err, "no")
	}
	c.listeners = append(c.listeners, x)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.listeners = slices.DeleteFunc(c.listeners, func(y *exchange) bool { return y == x })
	}, nil
}

// speaks notes what is spoken from now on.
func (c *conn) speaks(rev *mcpclient.Revision, h mcpclient.Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision = rev
	c.handshake = c.handshake || rev.Handshake
	if h != nil {
		c.newest = h
	}
}

// answerer returns who answers a request of the server, nil where the revision has no
// such requests. One names no call, and may come while nothing is under way.
func (c *conn) answerer() mcpclient.Handler {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch x := c.oldest(); {
	case c.revision == nil || !c.revision.ServerRequests:
		return nil
	case len(c.listeners) > 0:
		return c.listeners[0].handler
	case x != nil:
		return x.handler
	}
	return c.newest
}

// oldest returns the request that waits longest, nil when none does. The caller
// holds mu.
func (c *conn) oldest() *exchange {
	if len(c.exchanges) == 0 {
		return nil
	}
	return c.exchanges[slices.Min(slices.Collect(maps.Keys(c.exchanges)))]
}

// fail ends the conversation. The first reason counts. Who sees broken closed finds
// the Transport's Err settled, unless that waits for a handshake.
func (c *conn) fail(err error) {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = err
	}
	c.mu.Unlock()
	if first {
		c.t.ended(c, err)
		c.cancel(err)
		close(c.broken)
	}
}

// hurry has what is left killed at once.
func (c *conn) hurry() { c.hurryOne.Do(func() { close(c.hurried) }) }

// failed returns the error of a message that the end of the conversation caught.
func (c *conn) failed(unsent bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if unsent {
		return delivered(c.err, "no")
	}
	return delivered(c.err, "unknown")
}

// delivered returns the error with what became of the message.
func delivered(err error, what string) error {
	wire, ok := err.(*mcpclient.WireError)
	if !ok {
		return err
	}
	failed := *wire
	failed.Delivered = what
	return &failed
}

// refusedProbe reports whether the process has ended as servers do for which a
// request of the modern era breaks the protocol: having read it, without a word.
func (c *conn) refusedProbe() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil && !c.handshake && !c.heard.Load() && c.readAll.Load()
}
