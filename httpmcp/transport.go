package httpmcp

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

// Options are what a Transport may be told. The zero value works.
type Options struct {
	// Headers go on every request. Names that the carrier sets itself are left
	// out: what may be configured is judged where entries are read.
	Headers []mcpclient.Header

	// Auth gives each request its bearer token. Nil for a server without.
	Auth Authorizer

	Limits limit.Table
	Scrub  *redact.Scrubber // nil: one that knows this Transport's secrets only
	Log    *slog.Logger     // nil: nothing is logged

	// RoundTripper sends every request in place of the Transport's own
	// connections. It must hand on the request's context, must not follow
	// redirects, and must not change the header. NewClient's has all that. With
	// one, cancels and answers to the server have no connections of their own.
	RoundTripper http.RoundTripper

	// Resources are shared with the other Transports of the process; nil means
	// that limit.ConnectionsTotal is not enforced.
	Resources *Resources
}

// A Transport carries the messages of one Session to one server. It implements
// mcpclient.Transport.
type Transport struct {
	url    *url.URL
	bad    *mcpclient.WireError // the url cannot be used; nil when it can
	limits limit.Table
	scrub  *redact.Scrubber
	log    *slog.Logger
	shared *Resources
	auth   Authorizer // nil for none

	calls http.RoundTripper // waits for a free connection, see newRoundTripper
	side  http.RoundTripper // never waits for calls
	own   func()            // closes those of calls and side that are ours

	configured func() http.Header // never written; a function, since no verb prints what it returns
	headers    atomic.Pointer[linkHeaders]
	questions  questions
	kept       keptConnections

	mu     sync.Mutex
	closed bool                    // guarded by mu: nothing begins but late operations
	gone   bool                    // guarded by mu: nothing begins
	ops    map[*operation]struct{} // guarded by mu
	idle   chan struct{}           // guarded by mu: closed when the last operation ends; nil when nobody waits
	hidden []func()                // guarded by mu: each forgets a session id, the oldest first
}

var _ mcpclient.Transport = (*Transport)(nil)

// New returns the Transport to the server at rawURL. It does no I/O. A url that
// cannot be used is the error of the first request.
func New(rawURL redact.Secret, opts *Options) *Transport {
	if opts == nil {
		opts = &Options{}
	}
	t := &Transport{
		limits: opts.Limits,
		scrub:  opts.Scrub,
		log:    opts.Log,
		shared: opts.Resources,
		auth:   opts.Auth,
		calls:  opts.RoundTripper,
		side:   opts.RoundTripper,
		ops:    map[*operation]struct{}{},
	}
	if t.scrub == nil {
		t.scrub = redact.NewScrubber()
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	t.url, t.bad = parseURL(rawURL.Reveal("the url of every request"), t.scrub)
	configured := configuredHeaders(opts.Headers, t.url, t.scrub)
	t.configured = func() http.Header { return configured }
	if t.url != nil {
		t.url.User = nil // it is in the Authorization header now
		t.reportProxy()
	}
	if opts.RoundTripper == nil {
		t.connect(&ClientConfig{Limits: t.limits, Dial: dialNetwork})
	}
	return t
}

// connect gives the Transport connections of its own, which end with it.
func (t *Transport) connect(cfg *ClientConfig) {
	open, end := context.WithCancel(context.Background())
	dial := cfg.Dial
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(open, cancel)()
		return dial(ctx, network, address)
	}
	calls, side := newRoundTripper(cfg, true), newRoundTripper(cfg, false)
	t.calls, t.side = calls, side
	t.own = func() {
		end()
		calls.CloseIdleConnections()
		side.CloseIdleConnections()
	}
}

// Format prints nothing of a Transport for any verb: its url may hold secrets.
func (t *Transport) Format(f fmt.State, _ rune) { io.WriteString(f, "[MCP transport]") }

func parseURL(raw string, scrub *redact.Scrubber) (*url.URL, *mcpclient.WireError) {
	scrub.Add(redact.URLSecrets(raw)...)
	u, err := url.Parse(raw) // the error quotes the url, password and all
	switch {
	case err != nil:
		return nil, unusable("the url is not valid")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, unusable("the url must begin with http:// or https://")
	case u.Host == "":
		return nil, unusable("the url names no host")
	}
	return u, nil
}

func unusable(reason string) *mcpclient.WireError {
	return &mcpclient.WireError{Op: "connect", Reason: reason, Delivered: "no", Final: true}
}

// reportProxy says once per server that its requests pass through a proxy, which
// sees everything that is sent to an http: url (T08).
func (t *Transport) reportProxy() {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: t.url})
	if err != nil || proxy == nil {
		return
	}
	t.scrub.Add(redact.URLSecrets(proxy.String())...)
	if t.shared != nil {
		if _, told := t.shared.proxied.LoadOrStore(t.url.Host, true); told {
			return
		}
	}
	t.log.Info("requests pass through a proxy of the environment", "server", t.url.Host, "proxy", proxy.Host)
}

// bounds are those of every message.
func (t *Transport) bounds() rawjson.Bounds {
	return rawjson.Bounds{
		Depth: t.limits.Int(limit.JSONDepth),
		Keys:  t.limits.Int(limit.JSONKeys),
		Items: t.limits.Int(limit.JSONItems),
	}
}

// An operation is one thing under way: a request, a stream, or a helper that
// outlives the call that caused it.
type operation struct {
	abort context.CancelCauseFunc
	late  bool // a helper: Close lets it finish
}

// begin starts an operation, which ends with end. Its context carries ctx's
// values but ends only by abort: an answered call's connection is drained
// although its caller, having the answer, has ended ctx.
func (t *Transport) begin(ctx context.Context, late bool) (context.Context, *operation, error) {
	if t.bad != nil {
		return nil, nil, t.bad
	}
	opCtx, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	op := &operation{abort: abort, late: late}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone || t.closed && !late {
		abort(nil)
		return nil, nil, errAfterClose
	}
	t.ops[op] = struct{}{}
	return opCtx, op, nil
}

func (t *Transport) end(op *operation) {
	op.abort(nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.ops, op)
	if len(t.ops) == 0 && t.idle != nil {
		close(t.idle)
		t.idle = nil
	}
}

// errClosed ends what is under way when the Transport is closed, and
// errAfterClose what begins after that.
var (
	errClosed     = &mcpclient.WireError{Op: "send", Reason: "the connection to the server was closed", Delivered: "unknown"}
	errAfterClose = &mcpclient.WireError{Op: "send", Reason: "the connection to the server is closed", Delivered: "no"}
)

// closeTime bounds each step of Close.
const closeTime = 2 * time.Second

// Close implements mcpclient.Transport. Calls in flight end at once; what has to
// be told to the server for them is told first, then the session is ended. A
// server that does not know the session any more, or does not let clients end it,
// is no error (B027).
func (t *Transport) Close(ctx context.Context, link *mcpclient.Link) error {
	t.mu.Lock()
	closed := t.closed
	t.closed = true
	t.abortLocked(false)
	t.mu.Unlock()
	if closed {
		return nil
	}
	t.wait(ctx)

	var err error
	if link != nil && !link.Session.Empty() && t.bad == nil {
		err = t.endSession(ctx, link)
	}

	t.mu.Lock()
	t.gone = true
	t.abortLocked(true)
	t.mu.Unlock()
	t.wait(ctx)
	if t.own != nil {
		t.own()
	}
	t.unhide()
	return err
}

// wait waits until nothing is under way, but not for a handler that ignores its
// context.
func (t *Transport) wait(ctx context.Context) {
	t.mu.Lock()
	if len(t.ops) == 0 {
		t.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	t.idle = idle
	t.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

func (t *Transport) abortLocked(late bool) {
	for op := range t.ops {
		if op.late == late {
			op.abort(errClosed)
		}
	}
}

// endSession deletes the session (2025-11-25 transports, "Session Management" 5).
func (t *Transport) endSession(ctx context.Context, link *mcpclient.Link) error {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	var a attempt
	header, _, err := t.credential(ctx, t.headersFor(link).get)
	if err != nil {
		return err
	}
	resp, err := t.side.RoundTrip(t.request(a.watch(ctx), http.MethodDelete, header, nil))
	if err != nil {
		if ctx.Err() != nil {
			return &mcpclient.WireError{Op: "close", Reason: "the server did not answer the end of the session in time", Delivered: a.delivered(err)}
		}
		return t.sendError(err, &a)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode/100 == 2, resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusMethodNotAllowed:
		return nil
	}
	return &mcpclient.WireError{Op: "close", Status: resp.StatusCode, Reason: "the end of the session was refused: " + statusText(resp.StatusCode), Delivered: "unknown"}
}
