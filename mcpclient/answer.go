package mcpclient

import (
	"context"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// An outgoing is a request of the session itself, which no call waits for.
type outgoing struct {
	method   string
	params   params
	noCancel bool
}

// send sends a request without side effects and returns its answer.
func (s *Session) send(ctx context.Context, link *Link, out outgoing) (*Response, error) {
	return s.t.RoundTrip(ctx, s.repeatable(link, out), &inbound{s: s, link: link})
}

// repeatable returns a request without side effects, under a new id.
func (s *Session) repeatable(link *Link, out outgoing) *Request {
	id := s.opts.Era.nextID()
	return &Request{
		Link:     link,
		ID:       id,
		Method:   out.method,
		Body:     s.parts.request(link.Revision, id, out.method, out.params),
		NoCancel: out.noCancel,
		Again:    func() *Request { return s.repeatable(link, out) },
	}
}

// readResult splits a result. The members that the caller reads must not stand
// twice: what stands between us and the server may have read the other one.
func readResult(method string, result []byte, reads ...string) (rawjson.Object, error) {
	if rawjson.KindOf(result) != rawjson.Dict {
		return nil, malformed(method, notA("the result", result, rawjson.Dict))
	}
	object := rawjson.Members(result)
	if key, twice := duplicateOf(object, reads...); twice {
		return nil, malformed(method, key+" stands twice in the result")
	}
	return object, nil
}

// duplicateOf returns the first of the names that stands twice in the object.
func duplicateOf(object rawjson.Object, names ...string) (string, bool) {
	var seen uint
	for _, m := range object {
		i := slices.Index(names, m.Name())
		if i < 0 {
			continue
		}
		if seen&(1<<i) != 0 {
			return names[i], true
		}
		seen |= 1 << i
	}
	return "", false
}

// malformed returns the error for an answer that is JSON but not what the
// specification says. The server has acted on the request.
func malformed(method, why string) *WireError {
	return &WireError{Op: method, Reason: "malformed answer to " + method + ": " + why, Delivered: "yes"}
}

// complete returns nil for a result that is final. Revisions that know
// resultType give it the values complete and input_required; absent means
// complete, and an unknown value makes the result invalid (2026-07-28
// basic/index, "ResultType").
func complete(method string, rev *Revision, result rawjson.Object) error {
	value := result.Opt("resultType")
	if !rev.InputRequired || value == nil {
		return nil
	}
	switch rawjson.Text(value) {
	case "complete":
		return nil
	case inputRequired:
		return malformed(method, "input_required is no answer to it")
	default:
		return malformed(method, "its resultType is unknown")
	}
}

// explained adds to a server's error what its data says, where the specification
// says what that is.
func (s *Session) explained(err *ServerError) error {
	more := *err
	switch err.Code {
	case codeMissingCapability:
		var names []string
		for _, m := range rawjson.Members(rawjson.Members(err.Data).Get("requiredCapabilities")) {
			names = append(names, m.Name())
		}
		if len(names) == 0 {
			return err
		}
		more.Message += "; the server requires what this client does not offer: " + strings.Join(names, ", ")
	case codeUnsupportedVersion:
		if len(listedVersions(err)) == 0 {
			return err
		}
		more.Message += "; the server speaks " + shownVersions(listedVersions(err)) + ", this client " + revisionNames(s.opts.speaks())
	default:
		return err
	}
	return &more
}
