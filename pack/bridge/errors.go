package bridge

import (
	"context"
	"errors"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
)

// Outward returns an error of a pack over servers as it leaves the pack: scrubbed, and
// marked untrusted, since it may hold names and words of the servers.
func Outward(scrub *redact.Scrubber, err error) *pack.Error {
	e := pack.AsError(err)
	e.Message = scrub.Text(e.Message)
	e.Untrusted = true
	return e
}

// Reason says in words that are safe to show, on one line, why something about a
// server failed.
func (s *Server) Reason(err error) string {
	text := "internal error"
	if wire, ok := errors.AsType[*mcpclient.WireError](err); ok {
		text = wire.Reason
	} else if refusal, ok := errors.AsType[*mcpclient.ServerError](err); ok {
		text = refusal.Error()
	} else if over, ok := errors.AsType[*limit.Error](err); ok {
		text = over.Error()
	}
	return s.host.Scrub.Reason(text, ShownReason)
}

// NotSent says why a call did not get its turn. err is that of Gate.Enter.
func (s *Server) NotSent(ctx context.Context, err error) *pack.Error {
	e := s.Ended(ctx)
	if e == nil {
		e = pack.AsError(err) // too many wait
		e.Message = "server " + s.Quoted() + " is overloaded: " + e.Message
		e.Kind, e.Server, e.Retryable = pack.KindUnavailable, s.name, true
	}
	e.Delivered = pack.DeliveredNo
	return e
}

// Failed says why a request to the server, made under ctx, has no result. err is
// the session's.
func (s *Server) Failed(ctx context.Context, err error) *pack.Error {
	if refusal, ok := errors.AsType[*mcpclient.ServerError](err); ok {
		return s.Backend(refusal.Message)
	}
	e := s.Ended(ctx)
	if e == nil {
		e = describe(err)
		e.Message = "server " + s.Quoted() + ": " + e.Message
		e.Server, e.Err = s.name, err
	}
	return e
}

// describe turns the other errors of a session into those of the contract.
func describe(err error) *pack.Error {
	if wire, ok := errors.AsType[*mcpclient.WireError](err); ok {
		e := &pack.Error{Kind: pack.KindTransport, Message: wire.Reason, Delivered: pack.Delivered(wire.Delivered)}
		// A call that was turned away for now may be repeated by who can afford to
		// have its effect twice: whether the server has acted on it is told apart,
		// by Delivered, which neither 429 nor 503 settles. A refused credential
		// stays refused, though the call was not acted on.
		credential := wire.Status == 401 || wire.Status == 407
		e.Retryable = !wire.Final && !credential && (wire.Later || e.Delivered == pack.DeliveredNo)
		return e
	}
	if over, ok := errors.AsType[*limit.Error](err); ok {
		// What is too long may be the answer or what came before it.
		return &pack.Error{Kind: pack.KindTransport, Message: over.Error(), Limit: over.Name.String(), Delivered: pack.DeliveredUnknown}
	}
	if wants, ok := errors.AsType[*mcpclient.InputError](err); ok {
		return &pack.Error{Kind: pack.KindBackend, Message: wants.Error(), Delivered: pack.DeliveredYes}
	}
	if wrong, ok := errors.AsType[*mcpclient.ArgumentError](err); ok {
		return &pack.Error{Kind: pack.KindMessage, Message: wrong.Error(), Delivered: pack.DeliveredNo}
	}
	return &pack.Error{Kind: pack.KindInternal, Message: "internal error", Delivered: pack.DeliveredUnknown}
}

// Ended returns the error of a call whose context has ended, or nil.
func (s *Server) Ended(ctx context.Context) *pack.Error {
	if ctx.Err() == nil {
		return nil
	}
	e := &pack.Error{Kind: pack.KindCancelled, Message: "cancelled", Server: s.name, Delivered: pack.DeliveredUnknown, Err: ctx.Err()}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return e
	}
	e.Kind = pack.KindTransport
	e.Message = "server " + s.Quoted() + ": no answer before the deadline of the call"
	if over, ok := errors.AsType[*limit.Error](context.Cause(ctx)); ok {
		e.Message += " (" + over.Error() + ")"
		e.Limit = over.Name.String()
	}
	return e
}

// Backend is the error that a server says its tool has met. The text is the
// server's, line breaks and all: a model reads it, as it would read a result.
func (s *Server) Backend(text string) *pack.Error {
	text = redact.Cut(s.host.Scrub.Text(text), ShownText)
	if text == "" {
		text = "the tool failed and gave no reason"
	}
	return &pack.Error{Kind: pack.KindBackend, Message: text, Server: s.name, Delivered: pack.DeliveredYes}
}
