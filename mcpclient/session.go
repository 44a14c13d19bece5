package mcpclient

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/redact"
)

// Options is what a Session may be told. The zero value works.
type Options struct {
	ClientName    string // "toolhost" when empty
	ClientVersion string // "0" when empty

	// Elicits are the modes in which the user can be asked. Nothing else is declared
	// as a capability of this client.
	Elicits map[ElicitMode]bool

	// Elicit puts the questions that a server asks by a request of its own, in the
	// revisions whose servers send requests. Such a request names no call. Nil
	// refuses them. A question inside a result goes to CallOptions.Elicit.
	Elicit Elicitor

	Pin    *Revision // speak this revision and no other
	Legacy bool      // speak only revisions with a handshake

	Era    *Era // what is known of the server; nil for nothing
	Limits limit.Table
	Scrub  *redact.Scrubber // for reasons that quote the server
	Log    *slog.Logger     // nil discards

	// OnNotification takes the server's notifications that belong to no call.
	// It must not block; params are valid JSON or nil, and not to be kept.
	OnNotification func(method string, params []byte)

	// OnToolsChanged is called when the server says that its tools have changed,
	// on whichever stream, or refuses a call because of it; Freshness is Changed
	// from then until ListTools returns a listing that was asked for after that.
	// It must not block.
	OnToolsChanged func()

	// OnPromptsChanged is called when the server says that its prompts have changed,
	// on whichever stream, or may have said so while its stream was broken. It must
	// not block. Nil for prompts that are of no interest: their changes are not
	// subscribed to.
	OnPromptsChanged func()
}

// speaks returns the revisions that may be spoken, newest first.
func (o *Options) speaks() []*Revision {
	if o.Pin != nil {
		return []*Revision{o.Pin}
	}
	var allowed []*Revision
	for _, rev := range revisions {
		if rev.Handshake || !o.Legacy {
			allowed = append(allowed, rev)
		}
	}
	return allowed
}

// A Session speaks MCP with one server over one Transport. A session that the
// server has lost is opened anew by the call that finds out.
type Session struct {
	t      Transport
	opts   Options
	parts  messageParts
	visits visits

	mu          sync.Mutex
	link        *Link                    // guarded by mu; never nil after Connect
	doubted     *Link                    // guarded by mu; not to be used for a new request
	renewing    *renewal                 // guarded by mu; nil when nobody opens a new link
	closed      bool                     // guarded by mu; never goes back to false
	calls       map[int64]*call          // guarded by mu; the calls in flight by request id
	declared    declared                 // guarded by mu; what the server has declared
	fresh       freshness                // guarded by mu; of the newest listing
	unfollow    context.CancelFunc       // guarded by mu; ends what Listen does on link; nil before it
	mirrored    map[string][]headerParam // guarded by mu; of the newest listing, by tool name
	outputs     map[string]*output       // guarded by mu; of the newest listing, by tool name
	missing     []string                 // guarded by mu; the notes of the newest listing
	promptNotes []string                 // guarded by mu; the notes of the newest listing of prompts
	heard       bool                     // guarded by mu; a stream of the server's own has been open
	asking      int                      // guarded by mu; the questions of the server's own requests that are open
	declines    int                      // guarded by mu; the questions that were declined unasked
}

// Connect finds out which era the server is of, unless that is pinned or
// remembered, and opens a session where the revision has one. It takes t over:
// when it fails, t has been closed.
//
// The text of a *ServerError in the returned error is the server's own.
func Connect(ctx context.Context, t Transport, opts *Options) (*Session, error) {
	s := &Session{t: t, calls: map[int64]*call{}}
	if opts != nil {
		s.opts = *opts
		s.opts.Elicits = maps.Clone(opts.Elicits)
	}
	if s.opts.Log == nil {
		s.opts.Log = slog.New(slog.DiscardHandler)
	}
	if s.opts.Scrub == nil {
		s.opts.Scrub = redact.NewScrubber()
	}
	if s.opts.Era == nil {
		s.opts.Era = new(Era)
	}
	s.parts = newMessageParts(&s.opts)
	h := &handshake{s: s}
	link, err := h.open(ctx)
	if err != nil {
		s.abandon(ctx, h.orphan)
		return nil, err
	}
	s.link, s.declared = link, h.declared
	return s, nil
}

// Format keeps a Session, whose carrier knows credentials, out of whatever prints
// what it is given.
func (s *Session) Format(f fmt.State, _ rune) { io.WriteString(f, "[MCP session]") }

// Revision returns the revision that is spoken now. It can change when a lost
// session is opened anew.
func (s *Session) Revision() *Revision { return s.current().Revision }

// closeTime bounds what is still said to a server that we leave.
const closeTime = 5 * time.Second

// abandon closes the transport of a session that never came to be, whatever has
// become of ctx. orphan is the link that the server may still hold a session for.
func (s *Session) abandon(ctx context.Context, orphan *Link) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := s.t.Close(ctx, orphan); err != nil {
		s.opts.Log.Debug("closing after a failed handshake failed", "reason", err)
	}
}

// errClosed ends calls of a session that was closed. Nothing was sent.
var errClosed = &WireError{Op: "send", Reason: "the session is closed", Delivered: "no", Final: true}

// Close ends the session at the server and closes the transport, which ends the
// calls in flight. It is safe to call twice; the second call does nothing.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	closed, renewing, unfollow := s.closed, s.renewing, s.unfollow
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	if unfollow != nil {
		unfollow()
	}
	if renewing != nil {
		// The new link has to be known to be ended at the server.
		select {
		case <-renewing.done:
		case <-ctx.Done():
		}
	}
	return s.t.Close(ctx, s.current())
}
