package mcpclient

import (
	"context"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// CallOptions is what the caller of a tool takes besides its result. The
// functions are called one at a time, never after CallTool has returned, and
// must not block; the bytes they are given are valid JSON and not to be kept.
type CallOptions struct {
	Progress func(progress, total []byte, message string) // nil asks for none; total may be nil
	Log      func(level string, data []byte, logger string)
}

// An ArgumentError says that a call cannot be made with these arguments. Nothing
// was sent. Its text names an argument, never its value.
type ArgumentError struct{ Reason string }

func (e *ArgumentError) Error() string { return e.Reason }

// logLevel is the level from which on log messages are asked for, in revisions
// that have a server send none unasked.
const logLevel = "info"

// CallTool calls the tool of exactly that name with arguments, a valid JSON
// object, nil for {}. It returns when the server has answered or ctx ends, which
// cancels the call at the server.
//
// The call is sent twice in three cases only, each of which proves that the
// server has not acted on it: its session was lost, it no longer speaks the
// revision, or it misses a header that mirrors an argument.
//
// The error is a *WireError, a *ServerError, an *InputError, an *ArgumentError,
// a *limit.Error or ctx's cause.
func (s *Session) CallTool(ctx context.Context, name string, arguments []byte, opts *CallOptions) (*CallResult, error) {
	if opts == nil {
		opts = new(CallOptions)
	}
	link, err := s.usable(ctx)
	if err != nil {
		return nil, err
	}
	for reopened, relisted := false, false; ; {
		resp, err := s.callOnce(ctx, link, name, arguments, opts)
		switch {
		case !reopened && s.lost(link, resp, err):
			reopened = true
			if link, err = s.renew(ctx, link); err != nil {
				return nil, err
			}
			continue
		case !relisted && err == nil && resp.Err != nil && resp.Err.Code == codeHeaderMismatch && link.Revision.StandardHeaders:
			// 2026-07-28 streamable-http, "Client Behavior": list again, then
			// send again with the headers of the fresh schema.
			relisted = true
			s.toolsChanged() // the owner of the listing needs a fresh one too
			if _, err := s.list(ctx); err == nil {
				link = s.current()
				continue
			}
		case err == nil && resp.Err != nil && resp.Err.Code == codeInvalidParams:
			// The tool is gone, or takes other arguments now, or the caller was
			// wrong: whoever looks next gets a fresh listing (2026-07-28
			// server/utilities/caching, "Freshness Calculation").
			s.doubtListing()
		}
		if err == nil && resp.Err == nil {
			return s.readCall(link.Revision, resp.Result)
		}
		s.doubt(link, resp, err)
		if err == nil {
			err = s.explained(resp.Err)
		}
		return nil, err
	}
}

func (s *Session) callOnce(ctx context.Context, link *Link, name string, arguments []byte, opts *CallOptions) (*Response, error) {
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	req := &Request{Link: link, ID: s.opts.Era.nextID(), Method: methodCall, Name: name}
	if link.Revision.StandardHeaders {
		var err error
		if req.Headers, err = paramHeaders(s.headerParams(name), arguments); err != nil {
			return nil, err
		}
	}
	p := params{
		size:     len(arguments) + len(name),
		progress: opts.Progress != nil,
		members: func(dst []byte) []byte {
			dst = rawjson.AppendString(append(dst, `"name":`...), name)
			return rawjson.AppendLine(append(dst, `,"arguments":`...), arguments)
		},
	}
	if opts.Log != nil {
		p.logLevel = logLevel
	}
	req.Body = s.parts.request(link.Revision, req.ID, req.Method, p)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &call{opts: opts, cancel: cancel}
	if err := s.enter(req.ID, c); err != nil {
		return nil, err
	}
	defer s.leave(req.ID, c)
	return s.t.RoundTrip(ctx, req, &inbound{s: s, link: link, call: c})
}

func (s *Session) readCall(rev *Revision, result []byte) (*CallResult, error) {
	object, err := readResult(methodCall, result, "resultType", "content", "structuredContent", "isError")
	if err != nil {
		return nil, err
	}
	if err := complete(methodCall, rev, object); err != nil {
		return nil, err
	}
	return newCallResult(result, object)
}
