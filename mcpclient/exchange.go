package mcpclient

import (
	"context"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// An exchange is what one call of a caller takes at the server: tools/call,
// prompts/get or resources/read, sent again where the server has proven that it did
// not act on it, and where it wants input before it does.
type exchange struct {
	s      *Session
	opts   *CallOptions
	method string
	name   string   // what Mcp-Name mirrors
	params params   // without what differs from one request to the next
	reads  []string // the members of a result that are acted on

	// Of a tools/call: the arguments, some of which are mirrored into headers.
	arguments []byte

	call    *call
	input   []byte // members of params that answer the last result; nil for none
	visited bool   // the user has visited what an error listed
}

func (s *Session) newExchange(method, name string, reads []string, opts *CallOptions) *exchange {
	if opts == nil {
		opts = new(CallOptions)
	}
	return &exchange{s: s, opts: opts, method: method, name: name, reads: reads}
}

// namedParams are those of a tools/call or prompts/get.
func namedParams(name string, arguments []byte) params {
	return params{
		size: len(arguments) + len(name),
		members: func(dst []byte) []byte {
			dst = rawjson.AppendString(append(dst, `"name":`...), name)
			return rawjson.AppendLine(append(dst, `,"arguments":`...), arguments)
		},
	}
}

// An answer is a result that is final.
type answer struct {
	rev    *Revision
	raw    []byte
	object rawjson.Object // its members
}

// run sends the request as often as it takes. The result is complete; the members
// that x.reads names do not stand twice in it.
func (x *exchange) run(ctx context.Context) (*answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x.call = &call{opts: x.opts, cancel: cancel, method: x.method}
	defer x.call.end()
	for round := 0; ; {
		link, result, err := x.deliver(ctx)
		if err != nil {
			if err = x.visit(ctx, link, err); err == nil {
				continue
			}
			return nil, err
		}
		object, err := readResult(x.method, result, x.reads...)
		if err != nil {
			return nil, err
		}
		wants, err := x.wanted(link.Revision, object)
		if err != nil {
			return nil, err
		}
		if wants == nil {
			return &answer{link.Revision, result, object}, nil
		}
		if err := x.gather(ctx, wants, round); err != nil {
			return nil, err
		}
		round++
	}
}

// deliver sends the request until the server has answered it and returns the result.
// It sends it twice only where the server has proven that it did not act on it: its
// session was lost, it no longer speaks the revision, or it misses a header that
// mirrors an argument. Each round counts for itself.
func (x *exchange) deliver(ctx context.Context) (*Link, []byte, error) {
	s := x.s
	link, err := s.usable(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer s.leave(x.call)
	for reopened, relisted := false, false; ; {
		if x.input != nil && !link.Revision.InputRequired {
			// What the user has answered belongs to a request that this
			// server does not know.
			return nil, nil, &WireError{
				Op:        x.method,
				Reason:    "the server asked for input, and speaks another protocol version since; try again",
				Delivered: "yes",
			}
		}
		resp, err := x.send(ctx, link)
		switch {
		case !reopened && s.lost(link, resp, err):
			reopened = true
			if link, err = s.renew(ctx, link); err != nil {
				return nil, nil, err
			}
			continue
		case err != nil || resp.Err == nil || x.method != methodCall:
		case !relisted && resp.Err.Code == codeHeaderMismatch && link.Revision.StandardHeaders:
			// 2026-07-28 streamable-http, "Client Behavior": list again, then
			// send again with the headers of the fresh schema.
			relisted = true
			s.toolsChanged() // the owner of the listing needs a fresh one too
			if _, err := s.list(ctx); err == nil {
				link = s.current()
				continue
			}
		case resp.Err.Code == codeInvalidParams:
			// The tool is gone, or takes other arguments now, or the caller was
			// wrong: whoever looks next gets a fresh listing (2026-07-28
			// server/utilities/caching, "Freshness Calculation").
			s.doubtListing()
		}
		if err == nil && resp.Err == nil {
			return link, resp.Result, nil
		}
		s.doubt(link, resp, err)
		if err == nil {
			err = s.explained(resp.Err)
		}
		return link, nil, err
	}
}

// send sends the request once.
func (x *exchange) send(ctx context.Context, link *Link) (*Response, error) {
	req := x.request(link)
	if link.Revision.StandardHeaders && x.method == methodCall {
		var err error
		if req.Headers, err = paramHeaders(x.s.headerParams(x.name), x.arguments); err != nil {
			return nil, err
		}
	}
	if err := x.s.enter(req.ID, x.call); err != nil {
		return nil, err
	}
	return x.s.t.RoundTrip(ctx, req, &inbound{s: x.s, link: link, call: x.call})
}

// request returns the request under a new id, with the input that was asked for.
func (x *exchange) request(link *Link) *Request {
	p := x.params
	if x.input != nil {
		p.size += len(x.input)
		p.members = func(dst []byte) []byte {
			return append(append(x.params.members(dst), ','), x.input...)
		}
	}
	p.progress = x.opts.Progress != nil
	if x.opts.Log != nil {
		p.logLevel = logLevel
	}
	id := x.s.opts.Era.nextID()
	req := &Request{
		Link: link, ID: id, Method: x.method, Name: x.name,
		Body: x.s.parts.request(link.Revision, id, x.method, p),
	}
	if x.method != methodCall && x.input == nil {
		// Reading has no side effects. Input may be good for one request only.
		req.Again = func() *Request {
			again := x.request(link)
			// It fails for a closed session, whose carrier sends nothing.
			_ = x.s.enter(again.ID, x.call)
			return again
		}
	}
	return req
}

// what names what is asked for as a message shows it. A uri may hold anything, and
// is not shown.
func (x *exchange) what() string {
	name := x.s.opts.Scrub.Text(shownKey(x.name))
	switch x.method {
	case methodCall:
		return "tool " + name
	case methodPrompt:
		return "prompt " + name
	default:
		return "the resource"
	}
}
