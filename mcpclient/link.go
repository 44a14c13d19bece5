package mcpclient

import (
	"context"
	"errors"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// A renewal is one attempt to replace a link, which every request that needs
// the new link waits for.
type renewal struct {
	done      chan struct{} // closed once, by the request that makes the attempt
	err       error         // set before done is closed
	abandoned bool          // set before done is closed: its request gave up, the server has not spoken
}

// current returns the link in use.
func (s *Session) current() *Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link
}

// usable returns the link to send a request on: the current one, or a new one
// when that is in doubt.
func (s *Session) usable(ctx context.Context) (*Link, error) {
	s.mu.Lock()
	link, doubted := s.link, s.doubted
	s.mu.Unlock()
	if link == doubted {
		return s.renew(ctx, link)
	}
	return link, nil
}

// renew returns the link that replaces broken. One request opens it, on its own
// context; the others wait for what becomes of it. The error says that nothing
// was sent.
func (s *Session) renew(ctx context.Context, broken *Link) (*Link, error) {
	for {
		s.mu.Lock()
		link, closed, other := s.link, s.closed, s.renewing
		own := &renewal{done: make(chan struct{})}
		if link == broken && !closed && other == nil {
			s.renewing = own
		}
		s.mu.Unlock()
		switch {
		case link != broken: // only the link that is known to be broken is replaced
			return link, nil
		case closed:
			return nil, errClosed
		case other == nil:
			return s.reopen(ctx, own)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-other.done:
		}
		if other.err != nil && !other.abandoned {
			return nil, other.err
		}
	}
}

func (s *Session) reopen(ctx context.Context, own *renewal) (*Link, error) {
	h := &handshake{s: s}
	var link *Link
	defer func() { // a panic of the carrier must not leave the others waiting
		s.mu.Lock()
		defer s.mu.Unlock()
		if link != nil {
			s.link, s.declared = link, h.declared
			s.fresh.now.doubts++ // who has lost a session may have been replaced
			if s.unfollow != nil {
				s.unfollow()
			}
		}
		s.renewing = nil
		close(own.done)
	}()
	link, err := h.open(ctx)
	if err != nil {
		err = s.notReopened(err)
	}
	own.err, own.abandoned = err, ctx.Err() != nil
	return link, err
}

// notReopened turns the failure of a handshake into the failure of the request
// that needed the link: the server has not acted on that one.
func (s *Session) notReopened(err error) error {
	if wire, ok := errors.AsType[*WireError](err); ok {
		failed := *wire
		failed.Delivered = "no"
		failed.Reason = "the session was lost and could not be opened anew: " + wire.Reason
		return &failed
	}
	if refusal, ok := errors.AsType[*ServerError](err); ok {
		return &WireError{
			Op:        methodInitialize,
			Reason:    "the session was lost and the server refuses a new one: " + s.opts.Scrub.Reason(refusal.Error(), shownReason),
			Delivered: "no",
			Err:       err,
		}
	}
	return err
}

// lost reports whether a failure proves that the server has not acted on the
// request and that a new link would help: it lost the session, it refuses the
// link's revision and lists one that we speak, or it wants the headers of the other
// era. The last two forget the era.
func (s *Session) lost(link *Link, resp *Response, err error) bool {
	if err != nil {
		wire, ok := errors.AsType[*WireError](err)
		return ok && wire.SessionLost
	}
	if resp.Err == nil {
		return false
	}
	if resp.Err.Code == codeHeaderMismatch && resp.Status == 400 && link.Revision.Handshake && !s.opts.speaks()[0].Handshake {
		// It misses headers that only a modern request has, and looks at these
		// first: the server was replaced by one of that era.
		s.opts.Era.set(nil)
		return true
	}
	if resp.Err.Code != codeUnsupportedVersion {
		return false
	}
	listed := stringsOf(rawjson.Members(resp.Err.Data).Get("supported"))
	for _, rev := range s.opts.speaks() {
		// To refuse the very revision it lists is worth one more try where the
		// code has its meaning; before that era it may mean anything.
		if contains(listed, rev.Name) && (rev != link.Revision || !rev.Handshake) {
			s.opts.Era.set(nil)
			return true
		}
	}
	return false
}

// doubt looks at the failure of a request. When it means that the link is of no
// use any more, without proof that the server has not acted, the next request
// opens a new one; this one has failed.
func (s *Session) doubt(link *Link, resp *Response, err error) {
	wire, _ := errors.AsType[*WireError](err)
	switch {
	case !link.Revision.Handshake && wire != nil && wire.Status < 500 && doubtsEra(wire):
	case !link.Revision.Handshake && err == nil && resp.Status == 400 && !defined(resp.Err.Code):
		// So do servers of the other era refuse a request that has no session.
	case err == nil && resp.Status == 400 && strings.Contains(strings.ToLower(resp.Err.Message), "session"):
		// The specification wants 404 for a session that the server does not
		// know; many servers answer 400.
	default:
		return
	}
	s.opts.Era.set(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubted = link
}

// defined reports whether JSON-RPC or MCP says what an error code means. To the
// codes from -32000 to -32019 nobody may give a meaning (2026-07-28 basic/index,
// "Error Codes").
func defined(code int64) bool {
	return code == -32700 || -32603 <= code && code <= -32600 || -32099 <= code && code <= -32020
}
