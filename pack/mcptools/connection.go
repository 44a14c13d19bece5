package mcptools

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/oauth"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
)

// The statuses of a server, as the protocol lists them for this pack.
const (
	statusConnecting   = "connecting"
	statusConnected    = "connected"
	statusReconnecting = "reconnecting"
	statusFailed       = "failed"
)

// A connection is a server that is connected to, over and over, for as long as a
// pack uses it. Packs share that of a local server (see pool); what is about one
// process, as the log, then goes by the pack that came first.
//
// Its task opens one link after another: connects, lists, keeps the listing in step
// with the server, and begins again when the link is lost.
type connection struct {
	opts    *Options
	host    *pack.Host // of the pack that came first
	say     *bridge.Server
	entry   *mcpclient.Entry
	auth    *oauth.Client // signs in to the server; nil for one that is not signed in to
	timeout time.Duration // of the pack that came first: to connect, to list
	era     mcpclient.Era // what is known of the server's era, over all links
	keeper  *bridge.Keeper
	users   int // guarded by pool.mu

	start  sync.Once
	stop   context.CancelFunc // ends the task
	ctx    context.Context    // until stop
	done   chan struct{}      // closed when the task has ended
	wake   chan struct{}      // with room for one: the user wants it connected now
	ending sync.WaitGroup     // of the links that are being ended

	settled chan struct{} // closed when the first attempt is over
	state   atomic.Pointer[state]

	mu       sync.Mutex
	views    []*server          // that hear of changes; guarded by mu
	calls    []*running         // in the order in which they began; guarded by mu
	unlink   context.CancelFunc // ends the link in use, because the user wants that; nil without one; guarded by mu
	unlinked bool               // the user has ended it, and not asked for a new one; guarded by mu
	tried    chan struct{}      // closed when the next attempt is over, and made anew; guarded by mu
}

// A state is what is known of a server. It is immutable, and replaced by the task of
// the connection.
type state struct {
	status      string
	reason      string // why it is failed or reconnecting: scrubbed, on one line, cut
	needsSignIn bool
	link        *link              // with connected
	listing     *mcpclient.Listing // the newest one, also when the link is lost; nil before the first
	prompts     []mcpclient.Prompt // as newest as the listing
	resources   bool               // it offers resources
	stale       string             // why it could not be listed anew; "" when it could
}

func newConnection(s *server, opts *Options) *connection {
	c := &connection{
		opts:    opts,
		host:    s.pack.host,
		say:     s.say,
		entry:   s.entry,
		auth:    s.auth,
		timeout: s.timeout,
		keeper:  bridge.NewKeeper(s.pack.host.Limits),
		done:    make(chan struct{}),
		wake:    make(chan struct{}, 1),
		settled: make(chan struct{}),
		tried:   make(chan struct{}),
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.state.Store(&state{status: statusConnecting})
	return c
}

// join makes s hear of the connection's changes, and starts the task if s is the
// first.
func (c *connection) join(s *server) {
	c.mu.Lock()
	c.views = append(c.views, s)
	c.mu.Unlock()
	c.start.Do(func() {
		c.host.Runtime.Go(func(process context.Context) {
			defer close(c.done)
			ctx, cancel := context.WithCancel(process)
			defer cancel()
			defer context.AfterFunc(c.ctx, cancel)()
			c.run(ctx)
		})
	})
}

// leave takes s out of those who hear.
func (c *connection) leave(s *server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, view := range c.views {
		if view == s {
			c.views = append(c.views[:i:i], c.views[i+1:]...)
			return
		}
	}
}

// run is the task. The waits between attempts double (L35), and begin anew only
// after a link that stayed open for a while, so that a server which crashes as soon
// as it is connected is not stormed (T70).
func (c *connection) run(ctx context.Context) {
	defer func() {
		// A panic of ours, which the runtime contains and logs, must not leave
		// anybody waiting.
		if ctx.Err() == nil {
			c.set(func(st *state) { st.status, st.reason, st.link = statusFailed, "internal error", nil })
		}
		c.settle()
	}()
	table := c.host.Limits
	first, most := table.Time(limit.ReconnectFirst), table.Time(limit.ReconnectMax)
	for wait := first; ctx.Err() == nil; {
		pause := wait
		if l, err := c.connect(ctx); err == nil {
			began := time.Now()
			c.keep(ctx, l)
			c.closed(ctx, l)
			if time.Since(began) >= table.Time(limit.ReconnectCalm) {
				wait, pause = first, first
			}
		} else if ctx.Err() == nil {
			if wire, ok := errors.AsType[*mcpclient.WireError](err); ok {
				pause = max(pause, min(wire.RetryAfter, most))
			}
			c.failed(err, pause)
		}
		wait = min(2*wait, most)
		if c.rest(ctx, pause) {
			wait = first
		}
	}
}

// rest waits for that long, and as long as only the user can change anything. It
// reports whether the user has ended the wait.
func (c *connection) rest(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-c.wake:
			return true
		case <-timer.C:
			if c.byUser() {
				c.set(func(st *state) { c.disconnected(st) })
			}
			if !c.state.Load().needsSignIn {
				return false
			}
		}
	}
}

// byUser reports whether the user has disconnected the server.
func (c *connection) byUser() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unlinked
}

// disconnected is what the user wanted.
func (c *connection) disconnected(st *state) {
	st.status, st.needsSignIn = statusFailed, true
	st.reason = c.host.Scrub.Reason("disconnected by the user; /connect "+c.entry.Name+" connects it again", bridge.ShownReason)
}

// settle notes that an attempt is over.
func (c *connection) settle() {
	select {
	case <-c.settled:
	default:
		close(c.settled)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.tried)
	c.tried = make(chan struct{})
}

// set changes the state, and tells the views. Only the task calls it.
func (c *connection) set(change func(*state)) {
	next := *c.state.Load()
	change(&next)
	c.state.Store(&next)
	c.mu.Lock()
	views := append([]*server(nil), c.views...)
	c.mu.Unlock()
	for _, view := range views {
		view.pack.changed()
	}
}

// failed notes why an attempt came to nothing. What repeats itself is not worth a
// line each time.
func (c *connection) failed(err error, wait time.Duration) {
	old := c.state.Load()
	reason := c.say.Reason(err)
	signIn := c.auth != nil && wantsSignIn(err)
	if signIn {
		reason = c.host.Scrub.Reason(reason+"; /connect "+c.entry.Name+" signs in", bridge.ShownReason)
	}
	level := slog.LevelWarn
	if reason == old.reason {
		level = slog.LevelDebug
	}
	c.say.Logger().Log(context.Background(), level, "the MCP server did not start", "reason", reason, "next_try_in", wait)
	c.set(func(st *state) {
		st.reason, st.needsSignIn = reason, signIn
		if st.status != statusReconnecting || signIn {
			st.status = statusFailed
		}
	})
	c.settle()
}

// wantsSignIn reports whether only the user can get us further at a server that has
// refused us for want of a credential: one that could not be renewed just now may be
// renewed later.
func wantsSignIn(err error) bool {
	if failure, ok := errors.AsType[*oauth.Error](err); ok {
		return failure.SignIn
	}
	if wire, ok := errors.AsType[*mcpclient.WireError](err); ok {
		return wire.Status == 401
	}
	return false
}

// closed notes that l is no more, and ends it when its calls are over.
func (c *connection) closed(ctx context.Context, l *link) {
	c.mu.Lock()
	c.unlink = nil
	c.mu.Unlock()
	if ctx.Err() == nil {
		reason, byUser := l.why(c.say), c.byUser()
		if !byUser {
			c.say.Logger().Warn("the connection to the MCP server is closed", "reason", reason)
		}
		c.set(func(st *state) {
			st.link, st.status, st.reason, st.stale = nil, statusReconnecting, reason, ""
			if byUser {
				c.disconnected(st)
			}
		})
	}
	c.ending.Go(func() { c.end(l) })
}

// again has a server that waits for the user tried now, and returns the state after
// that. The error is ctx's.
func (c *connection) again(ctx context.Context) (*state, error) {
	c.mu.Lock()
	c.unlinked = false
	tried := c.tried
	c.mu.Unlock()
	old := c.state.Load()
	if old.link != nil && !old.link.isLost() {
		return old, nil
	}
	select {
	case c.wake <- struct{}{}:
	default: // it is awake
	}
	select {
	case <-tried:
		return c.state.Load(), nil
	case <-c.done:
		return c.state.Load(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// disconnect ends the link in use, and keeps the server from being connected to
// until the user asks for it.
func (c *connection) disconnect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unlinked = true
	if c.unlink != nil {
		c.unlink()
	}
}
