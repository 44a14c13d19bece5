package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/mcpclient"
)

// A fakeServer is an MCP server without a carrier. The zero value is one without a
// handshake that lists no tools.
type fakeServer struct {
	mu           sync.Mutex
	legacy       bool // with a handshake
	capabilities string
	tools        []string // definitions; guarded by mu
	unlisted     error    // what listing tools meets; guarded by mu
	prompts      []string
	refuse       func(attempt int) error // what an attempt meets at its first message; nil lets all through
	hold         chan struct{}           // attempts wait for it to be closed; nil: they do not
	call         func(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (string, error)
	list         func()                                       // before the answer to tools/list
	other        func(req *mcpclient.Request) (string, error) // answers to all other requests

	carriers []*carrier // one for each attempt; guarded by mu
	bodies   []string   // of requests, with their methods before; guarded by mu
}

// A carrier is one attempt's. It implements mcpclient.Transport and closer.
type carrier struct {
	f       *fakeServer
	number  int
	started bool
	done    chan struct{} // closed by crash and Close
	once    sync.Once
	err     error
	closed  bool // by Close; guarded by f.mu
	stream  chan mcpclient.Listener
}

func (f *fakeServer) transport() mcpclient.Transport {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &carrier{f: f, number: len(f.carriers) + 1, done: make(chan struct{}), stream: make(chan mcpclient.Listener, 1)}
	f.carriers = append(f.carriers, c)
	return c
}

// change changes what the server does.
func (f *fakeServer) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *fakeServer) attempts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.carriers)
}

// newest is the carrier of the last attempt.
func (f *fakeServer) newest() *carrier {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.carriers[len(f.carriers)-1]
}

// sent returns the bodies of the requests of that method.
func (f *fakeServer) sent(method string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []string
	for _, body := range f.bodies {
		if rest, ok := strings.CutPrefix(body, method+" "); ok {
			found = append(found, rest)
		}
	}
	return found
}

// crash ends the server under its client.
func (c *carrier) crash(reason string) {
	c.once.Do(func() {
		c.err = &mcpclient.WireError{Op: "read", Reason: reason, Delivered: "unknown"}
		close(c.done)
	})
}

func (c *carrier) Done() <-chan struct{} { return c.done }

func (c *carrier) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

func (c *carrier) RoundTrip(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (*mcpclient.Response, error) {
	f := c.f
	f.mu.Lock()
	f.bodies = append(f.bodies, req.Method+" "+string(req.Body))
	refuse, hold := f.refuse, f.hold
	first := !c.started
	c.started = true
	f.mu.Unlock()
	if first && hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if first && refuse != nil {
		if err := refuse(c.number); err != nil {
			return nil, err
		}
	}
	type outcome struct {
		result string
		err    error
	}
	answered := make(chan outcome, 1)
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		result, err := f.answer(callCtx, req, h)
		answered <- outcome{result, err}
	}()
	select {
	case a := <-answered:
		if refusal, ok := errors.AsType[*mcpclient.ServerError](a.err); ok {
			return &mcpclient.Response{Err: refusal}, nil
		}
		if a.err != nil {
			return nil, a.err
		}
		return &mcpclient.Response{Result: []byte(a.result)}, nil
	case <-c.done:
		if c.err == nil {
			return nil, &mcpclient.WireError{Op: "read", Reason: "closed", Delivered: "unknown"}
		}
		return nil, c.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (f *fakeServer) answer(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (string, error) {
	capabilities := f.capabilities
	if capabilities == "" {
		capabilities = `{"tools":{}}`
	}
	switch {
	case req.Method == "server/discover" && !f.legacy:
		return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":` + capabilities + `,"serverInfo":{"name":"fake","version":"1"}}`, nil
	case req.Method == "initialize":
		return `{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"fake","version":"1"}}`, nil
	case req.Method == "tools/list":
		f.mu.Lock()
		list := f.list
		f.mu.Unlock()
		if list != nil {
			list()
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		return `{"tools":[` + strings.Join(f.tools, ",") + `]}`, f.unlisted
	case req.Method == "prompts/list":
		f.mu.Lock()
		defer f.mu.Unlock()
		return `{"prompts":[` + strings.Join(f.prompts, ",") + `]}`, nil
	case req.Method == "tools/call" && f.call != nil:
		return f.call(ctx, req, h)
	case f.other != nil:
		return f.other(req)
	}
	return "", &mcpclient.ServerError{Code: -32601, Message: "Method not found"}
}

func (c *carrier) Notify(context.Context, *mcpclient.Notification) error { return nil }

// Listen holds a stream open, on which the test may speak.
func (c *carrier) Listen(ctx context.Context, _ *mcpclient.Link, req *mcpclient.Request, l mcpclient.Listener) error {
	l.Opened()
	if req != nil { // a subscription is open once it is acknowledged
		l.Notification("notifications/subscriptions/acknowledged", []byte(`{"notifications":{"toolsListChanged":true,"promptsListChanged":true}}`))
	}
	c.stream <- l
	select {
	case <-ctx.Done():
	case <-c.done:
	}
	return nil
}

// listener returns the stream that the client listens on.
func (c *carrier) listener() mcpclient.Listener {
	l := <-c.stream
	c.stream <- l
	return l
}

func (c *carrier) Close(context.Context, *mcpclient.Link) error {
	c.f.change(func() { c.closed = true })
	c.once.Do(func() { close(c.done) })
	return nil
}

// tool returns the definition of a tool without much to it; more are members with
// their comma before.
func tool(name, more string) string {
	return fmt.Sprintf(`{"name":%q,"description":"does %s","inputSchema":{"type":"object"}%s}`, name, name, more)
}

// answering returns a call that answers that text.
func answering(text string) func(context.Context, *mcpclient.Request, mcpclient.Handler) (string, error) {
	return func(context.Context, *mcpclient.Request, mcpclient.Handler) (string, error) {
		quoted, _ := json.Marshal(text)
		return `{"content":[{"type":"text","text":` + string(quoted) + `}]}`, nil
	}
}

// hanging is a call that never answers.
func hanging(ctx context.Context, _ *mcpclient.Request, _ mcpclient.Handler) (string, error) {
	<-ctx.Done()
	return "", context.Cause(ctx)
}

// Short for the signature of calls.
type (
	ctx     = context.Context
	req     = mcpclient.Request
	handler = mcpclient.Handler
)
