package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/mcpclient"
)

// A fakeServer is an MCP server without a carrier: its transport method gives
// the Transport of one attempt. The zero value answers the handshake and lists
// no tools.
type fakeServer struct {
	// tools is what tools/list answers, one page each, definitions in JSON.
	tools []string

	// start decides each attempt at its first messages, until it lets one
	// through; nil lets all through.
	start func(ctx context.Context, attempt int) error

	// list and call stand in for the answers to tools/list and tools/call.
	list func(ctx context.Context, h mcpclient.Handler) error
	call func(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (string, error)

	// capabilities is what the server declares; "" is tools, without listChanged.
	// legacy makes it one with a handshake. ttl are members of each page, with
	// their comma.
	capabilities string
	legacy       bool
	ttl          string

	// listen plays the server's own stream; nil offers none.
	listen func(ctx context.Context, req *mcpclient.Request, l mcpclient.Listener) error

	// closing is how long the server takes to end a session; nil for no time.
	closing func(ctx context.Context)

	mu       sync.Mutex // also of the fields above, once the pack is constructed
	attempts int        // guarded by mu
	requests []request  // guarded by mu
	closed   int        // guarded by mu; Transports
	ended    int        // guarded by mu; of them, those that had been linked
	streams  int        // guarded by mu; of the server's own that are open
}

// A request is what the server was sent.
type request struct {
	Method string
	Body   string
}

// A fakeTransport carries the messages of one attempt.
type fakeTransport struct {
	server  *fakeServer
	number  int
	started atomic.Bool
}

func (f *fakeServer) transport() mcpclient.Transport {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attempts++
	return &fakeTransport{server: f, number: f.attempts}
}

func (f *fakeServer) note(method string, body []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, request{method, string(body)})
}

// change changes what the server does.
func (f *fakeServer) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// counts returns how many Transports there were, how many are closed, and how
// many of these ended a session.
func (f *fakeServer) counts() (attempts, closed, ended int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.attempts, f.closed, f.ended
}

// sent returns the bodies of the requests of that method.
func (f *fakeServer) sent(method string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var bodies []string
	for _, r := range f.requests {
		if r.Method == method {
			bodies = append(bodies, r.Body)
		}
	}
	return bodies
}

func (t *fakeTransport) RoundTrip(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (*mcpclient.Response, error) {
	f := t.server
	f.note(req.Method, req.Body)
	f.mu.Lock()
	start := f.start
	f.mu.Unlock()
	if !t.started.Load() {
		if start != nil {
			if err := start(ctx, t.number); err != nil {
				return nil, err
			}
		}
		t.started.Store(true)
	}
	result, err := f.answer(ctx, req, h)
	if refusal, ok := errors.AsType[*mcpclient.ServerError](err); ok {
		return &mcpclient.Response{Err: refusal, Status: 200}, nil
	}
	if err != nil {
		return nil, err
	}
	return &mcpclient.Response{Result: []byte(result), Status: 200}, nil
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
	}
	switch req.Method {
	case "tools/list":
		f.mu.Lock()
		list := f.list
		f.mu.Unlock()
		if list != nil {
			if err := list(ctx, h); err != nil {
				return "", err
			}
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.page(req.Body), nil
	case "tools/call":
		return f.call(ctx, req, h)
	}
	return "", &mcpclient.ServerError{Code: -32601, Message: "Method not found"}
}

func (f *fakeServer) page(body []byte) string {
	var req struct{ Params struct{ Cursor string } }
	if err := json.Unmarshal(body, &req); err != nil {
		panic(err)
	}
	if len(f.tools) == 0 {
		return `{"tools":[]` + f.ttl + `}`
	}
	n := 0
	if req.Params.Cursor != "" {
		fmt.Sscan(req.Params.Cursor, &n)
	}
	next := ""
	if n+1 < len(f.tools) {
		next = fmt.Sprintf(`,"nextCursor":"%d"`, n+1)
	}
	return `{"tools":[` + f.tools[n] + `]` + next + f.ttl + `}`
}

func (t *fakeTransport) Notify(ctx context.Context, n *mcpclient.Notification) error {
	t.server.note(n.Method, n.Body)
	return nil
}

func (t *fakeTransport) Listen(ctx context.Context, _ *mcpclient.Link, req *mcpclient.Request, l mcpclient.Listener) error {
	f := t.server
	f.note("listen", nil)
	if f.listen == nil {
		return mcpclient.ErrNoListen
	}
	f.change(func() { f.streams++ })
	defer f.change(func() { f.streams-- })
	return f.listen(ctx, req, l)
}

func (t *fakeTransport) Close(ctx context.Context, link *mcpclient.Link) error {
	if t.server.closing != nil {
		t.server.closing(ctx)
	}
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	t.server.closed++
	if link != nil {
		t.server.ended++
	}
	return nil
}

// tool returns the definition of a tool without much to it.
func tool(name string) string {
	return fmt.Sprintf(`{"name":%q,"description":"does %s","inputSchema":{"type":"object"}}`, name, name)
}
