package mcpclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// A handshake is one attempt to open a link: by a modern request, by initialize,
// or by what is already known.
type handshake struct {
	s        *Session
	declared declared
	orphan   *Link // what the server may hold a session for, though the attempt failed
}

// open returns the link to use from now on.
func (h *handshake) open(ctx context.Context) (*Link, error) {
	opts := &h.s.opts
	if opts.Pin != nil && opts.Pin.Handshake {
		return h.initialize(ctx, opts.Pin)
	}
	if opts.Pin != nil {
		return &Link{Revision: opts.Pin}, nil
	}
	if opts.Legacy {
		return h.initialize(ctx, latest(true))
	}
	known := opts.Era.get()
	if known == nil {
		return h.detect(ctx)
	}
	if !known.Handshake {
		return &Link{Revision: known}, nil
	}
	link, err := h.initialize(ctx, known)
	if err != nil && doubtsEra(err) {
		// The server was replaced by one of another kind since (VER-05).
		opts.Era.set(nil)
		return h.detect(ctx)
	}
	return link, err
}

// initialize shakes hands as the revisions with a handshake want it (2025-11-25
// basic/lifecycle), offering that revision. A server that refuses it and lists
// others is offered one of those, once.
func (h *handshake) initialize(ctx context.Context, offer *Revision) (*Link, error) {
	for retried := false; ; retried = true {
		resp, err := h.offer(ctx, offer)
		switch {
		case err != nil:
			return nil, legacyHint(err)
		case resp.Err == nil:
			return h.accepted(ctx, offer, resp)
		case retried || endsAttempt(resp.Status):
			return nil, resp.Err
		}
		next, err := h.refused(offer, resp.Err)
		if err != nil {
			return nil, err
		}
		if !next.Handshake {
			return h.modern(next), nil
		}
		offer = next
	}
}

// accepted finishes the handshake that the server has agreed to.
func (h *handshake) accepted(ctx context.Context, offer *Revision, resp *Response) (*Link, error) {
	h.orphan = &Link{Revision: offer, Session: resp.Session}
	rev, err := h.choice(resp.Result)
	if err != nil {
		return nil, err
	}
	if !rev.Handshake {
		return h.modern(rev), nil
	}
	link := &Link{Revision: rev, Session: resp.Session}
	h.orphan = link
	// Awaited: the first request must not overtake it.
	err = h.s.t.Notify(ctx, &Notification{
		Link:   link,
		Method: "notifications/initialized",
		Body:   []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`),
	})
	if err != nil {
		return nil, err
	}
	h.s.opts.Era.set(offer)
	return link, nil
}

// offer sends initialize.
func (h *handshake) offer(ctx context.Context, rev *Revision) (*Response, error) {
	parts := &h.s.parts
	return h.s.send(ctx, &Link{Revision: rev}, outgoing{
		method: methodInitialize,
		params: params{members: func(dst []byte) []byte {
			dst = rawjson.AppendString(append(dst, `"protocolVersion":`...), rev.Name)
			dst = append(append(dst, `,"capabilities":`...), parts.capabilities...)
			return append(append(dst, `,"clientInfo":`...), parts.client...)
		}},
		noCancel: true, // 2025-11-25 basic/utilities/cancellation: the initialize request MUST NOT be cancelled
	})
}

// refused reads the server's refusal of an offered revision and returns the one
// to try instead, or the error of the attempt. It may be a revision without a
// handshake, when only such are in common.
func (h *handshake) refused(offer *Revision, refusal *ServerError) (*Revision, error) {
	listed := listedVersions(refusal)
	if len(listed) == 0 {
		return nil, refusal
	}
	for _, handshake := range []bool{true, false} {
		for _, rev := range h.s.opts.speaks() {
			if rev.Handshake == handshake && rev != offer && contains(listed, rev.Name) {
				return rev, nil
			}
		}
	}
	if contains(listed, offer.Name) {
		return nil, refusal // it lists what it refuses: something else is wrong
	}
	return nil, h.noCommonVersion(methodInitialize, listed)
}

// choice reads the result of initialize and returns the revision that the server
// chose.
func (h *handshake) choice(result []byte) (*Revision, error) {
	object, err := readResult(methodInitialize, result, "protocolVersion", "capabilities")
	if err != nil {
		return nil, err
	}
	version := object.Opt("protocolVersion")
	if rawjson.KindOf(version) != rawjson.String {
		return nil, malformed(methodInitialize, notA("protocolVersion", version, rawjson.String))
	}
	h.declared = declaredIn(object)
	name := rawjson.Text(version)
	for _, rev := range h.s.opts.speaks() {
		if rev.Name == name {
			return rev, nil
		}
	}
	return nil, h.noCommonVersion(methodInitialize, []string{name})
}

func (h *handshake) noCommonVersion(method string, theirs []string) error {
	reason := fmt.Sprintf("no protocol version in common: the server speaks %s; this client speaks %s",
		shownVersions(theirs), revisionNames(h.s.opts.speaks()))
	return &WireError{Op: method, Reason: h.s.opts.Scrub.Text(reason), Delivered: "yes"}
}

// legacyHint adds to the failure of an initialize what it often means.
func legacyHint(err error) error {
	wire, ok := errors.AsType[*WireError](err)
	if !ok || wire.Status != 400 && wire.Status != 404 && wire.Status != 405 {
		return err
	}
	hinted := *wire
	hinted.Reason += "; the url may be wrong, or the server speaks only the HTTP+SSE transport of 2024, which is not supported"
	return &hinted
}

// A declared is what a server has declared of itself, as far as we act on it.
type declared struct {
	known  bool            // it has been heard; else it is asked for all
	offers map[string]bool // the capabilities among offered that it declares; nil when it has not said
	tells  map[string]bool // those of whose lists it tells the changes
}

// offered are the capabilities of servers that are made use of.
var offered = []string{"tools", "prompts", "resources"}

func declaredIn(result rawjson.Object) declared {
	value := result.Opt("capabilities")
	if rawjson.KindOf(value) != rawjson.Dict {
		return declared{}
	}
	capabilities := rawjson.Members(value)
	d := declared{known: true, offers: map[string]bool{}, tells: map[string]bool{}}
	for _, name := range offered {
		own := capabilities.Opt(name)
		d.offers[name] = own != nil
		d.tells[name] = string(rawjson.Members(own).Get("listChanged")) == "true"
	}
	return d
}

// Offers reports whether the server declares a capability: "tools", "prompts" or
// "resources". It is true when the server has not said what it offers.
func (s *Session) Offers(capability string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.declared.offers == nil || s.declared.offers[capability]
}
