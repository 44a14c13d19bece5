package mcptools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
)

// endTime bounds how long the end of a link may take. The stop ladder of a local
// server fits in.
const endTime = 5 * time.Second

// A link is one session with a server, and the calls that it carries.
type link struct {
	session *mcpclient.Session
	carrier mcpclient.Transport
	oauth   bool          // its credential is the user's, who may have to sign in again
	deafen  func()        // ends the listening
	lost    chan struct{} // closed once, when a request has met that the server is not there
	losing  sync.Once

	mu    sync.Mutex
	calls int           // in flight; guarded by mu
	idle  chan struct{} // made when the link is over, closed when calls is 0; guarded by mu
}

// enter begins a call on the link, whose end leave marks. It reports false when the
// link is over.
func (l *link) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle == nil {
		l.calls++
	}
	return l.idle == nil
}

func (l *link) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls--; l.idle != nil && l.calls == 0 {
		close(l.idle)
	}
}

// over lets no new call begin, and waits until those in flight have ended.
func (l *link) over() {
	l.mu.Lock()
	l.idle = make(chan struct{})
	if l.calls == 0 {
		close(l.idle)
	}
	l.mu.Unlock()
	<-l.idle
}

// A closer is a carrier that knows when its server is gone.
type closer interface {
	Done() <-chan struct{}
	Err() error // why; nil when we have ended it
}

// connect opens a link and lists the server, each within the entry's time. When it
// succeeds, the server is connected.
func (c *connection) connect(ctx context.Context) (*link, error) {
	timed, cancel := context.WithTimeoutCause(ctx, c.timeout, c.tooLong("connecting to the server"))
	defer cancel()
	host := c.host
	name, version := host.Name, host.Version
	if name == "" {
		name, version = c.opts.ClientName, c.opts.ClientVersion
	}
	l := &link{oauth: c.auth != nil, carrier: c.opts.NewTransport(c.entry, host, authorizerOf(c.auth)), lost: make(chan struct{})}
	session, err := mcpclient.Connect(timed, l.carrier, &mcpclient.Options{
		ClientName:       name,
		ClientVersion:    version,
		Pin:              c.entry.Pin,
		Legacy:           c.entry.Legacy,
		Era:              &c.era,
		Limits:           host.Limits,
		Scrub:            host.Scrub,
		Log:              c.say.Logger(),
		Elicits:          elicits(host),
		Elicit:           c.elicit,
		OnNotification:   c.notified,
		OnToolsChanged:   c.keeper.Changed,
		OnPromptsChanged: c.keeper.Changed,
	})
	if err != nil {
		return nil, because(timed, err)
	}
	l.session = session
	l.deafen = bridge.Listen(ctx, timed, session)
	c.keeper.Listing()
	next, err := c.list(ctx, session)
	if err != nil {
		c.ending.Go(func() { c.end(l) })
		return nil, err
	}
	c.set(func(st *state) {
		st.status, st.reason, st.needsSignIn, st.stale = statusConnected, "", false, ""
		st.link, st.listing, st.prompts, st.resources = l, next.listing, next.prompts, next.resources
	})
	c.say.Logger().Info("the MCP server is connected", "tools", len(next.listing.Tools))
	c.settle()
	return l, nil
}

// tooLong is the error for something that took longer than the entry's time.
func (c *connection) tooLong(what string) error {
	return &mcpclient.WireError{
		Op:        "start",
		Reason:    fmt.Sprintf("%s took longer than %s; timeoutMs sets that time", what, c.timeout),
		Delivered: "unknown",
	}
}

// because returns why ctx ended, where that is what err comes from. A carrier that
// wraps that knows more.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return cause
	}
	return err
}

// list asks the server for what it offers, within the entry's time. Prompts that
// cannot be listed take no tool away.
func (c *connection) list(ctx context.Context, session *mcpclient.Session) (*state, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, c.tooLong("listing the server's tools"))
	defer cancel()
	listing, err := session.ListTools(ctx)
	if err != nil {
		return nil, because(ctx, err)
	}
	next := &state{listing: listing, resources: session.Offers("resources")}
	if session.Offers("prompts") {
		prompts, err := session.ListPrompts(ctx)
		if err != nil {
			c.say.Logger().Warn("the MCP server's prompts could not be listed", "reason", c.say.Reason(because(ctx, err)))
			prompts = &mcpclient.PromptListing{Prompts: c.state.Load().prompts}
		}
		next.prompts = prompts.Prompts
	}
	return next, nil
}

// keep lists a connected server anew whenever the keeper says so, until the link is
// lost or ended, or ctx ends.
func (c *connection) keep(ctx context.Context, l *link) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	c.unlink = cancel
	if c.unlinked {
		cancel()
	}
	c.mu.Unlock()
	var gone <-chan struct{}
	if carrier, ok := l.carrier.(closer); ok {
		gone = carrier.Done()
	}
	c.ending.Go(func() {
		select {
		case <-gone:
		case <-l.lost:
		case <-ctx.Done():
		}
		cancel()
	})
	c.keeper.Run(ctx, func() bridge.Outcome { return c.relist(ctx, l) })
}

// relist is one pass. What was listed before is kept where listing fails, and once
// where the server lists nothing all of a sudden (B115).
func (c *connection) relist(ctx context.Context, l *link) bridge.Outcome {
	old := c.state.Load()
	next, err := c.list(ctx, l.session)
	switch {
	case ctx.Err() != nil:
		return bridge.Doubtful
	case err != nil:
		if reason := c.say.Reason(err); reason != old.stale {
			c.say.Logger().Warn("the MCP server's tools could not be listed anew", "reason", reason)
			c.set(func(st *state) { st.stale = reason })
		}
		l.met(err)
		return bridge.Doubtful
	case len(next.listing.Tools) == 0 && len(old.listing.Tools) > 0 && !c.keeper.Retry():
		return bridge.Doubtful
	case sameOffer(next, old) && old.stale == "":
		return bridge.NothingNew
	}
	c.set(func(st *state) {
		st.listing, st.prompts, st.resources, st.stale = next.listing, next.prompts, next.resources, ""
	})
	c.say.Logger().Info("the MCP server's tools have changed", "tools", len(next.listing.Tools))
	return bridge.NewTools
}

// sameOffer reports whether two states list the same.
func sameOffer(a, b *state) bool {
	return a.resources == b.resources &&
		slices.EqualFunc(a.listing.Tools, b.listing.Tools, func(x, y mcpclient.Tool) bool { return bytes.Equal(x.Raw, y.Raw) }) &&
		slices.EqualFunc(a.prompts, b.prompts, func(x, y mcpclient.Prompt) bool { return bytes.Equal(x.Raw, y.Raw) })
}

// met looks at the failure of a request. When it says that the server is not there,
// the link is lost: calls in flight may end on it, new ones wait for another. A server
// that refuses one request is there, and may take the next.
func (l *link) met(err error) {
	wire, ok := errors.AsType[*mcpclient.WireError](err)
	if !ok || wire.Delivered != string(pack.DeliveredNo) || wire.Final {
		return
	}
	switch wire.Status {
	case 429, 407, 403: // 403: other requests may need less
		return
	case 401:
		if !l.oauth {
			return
		}
	}
	l.losing.Do(func() { close(l.lost) })
}

// isLost reports whether met has found that the server is not there; the task of the
// connection may not have come to it yet.
func (l *link) isLost() bool {
	select {
	case <-l.lost:
		return true
	default:
		return false
	}
}

// why says why the link is over.
func (l *link) why(say *bridge.Server) string {
	if carrier, ok := l.carrier.(closer); ok {
		if err := carrier.Err(); err != nil {
			return say.Reason(err)
		}
	}
	return "the server could not be reached"
}

// end ends a link when the calls on it are over.
func (c *connection) end(l *link) {
	l.over()
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	l.deafen()
	if err := l.session.Close(ctx); err != nil {
		c.say.Logger().Debug("the MCP server was not told that its session is over", "reason", c.say.Reason(err))
	}
}
