package stdiomcp

import (
	"errors"
	"strconv"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
)

// A message is one JSON-RPC message of a server, as slices of the line it came in.
// It is a request or notification when method is set, else a response, of which
// exactly one of result and err is set.
type message struct {
	id     []byte // as it was written; nil when it is absent
	method string
	params []byte
	result []byte
	err    *mcpclient.ServerError
}

// An envelopeError says which rule of JSON-RPC a message breaks.
type envelopeError string

func (e envelopeError) Error() string { return string(e) }

// errNoEnvelope is the error of JSON that is no attempt at JSON-RPC.
const errNoEnvelope = envelopeError("it is not a JSON-RPC message")

// parseMessage checks a line in whole and reads its envelope: names by exact case,
// none of them twice (T17), "result" or "error" but not both (B083). With an
// envelopeError the message holds what could be read, for its id.
//
// A null beside the other of result and error counts as absent: there are servers
// that write every field, and nothing can be meant by it.
func parseMessage(line []byte, b rawjson.Bounds) (message, error) {
	object, err := rawjson.Split(line, b)
	if err != nil {
		return message{}, err
	}
	m := message{id: object.Get("id"), params: object.Opt("params"), result: object.Get("result")}
	failure := object.Opt("error")
	if failure != nil && rawjson.KindOf(m.result) == rawjson.Null {
		m.result = nil
	}
	if rawjson.Text(object.Get("jsonrpc")) != "2.0" {
		if m.result == nil && failure == nil {
			m.id = nil // not even an answer that has lost a member
		}
		return m, errNoEnvelope
	}
	if _, double := object.Duplicate(); double {
		return m, envelopeError("a member stands twice in its envelope")
	}
	switch kind := rawjson.KindOf(m.id); kind {
	case rawjson.None, rawjson.Null, rawjson.String, rawjson.Number:
	default:
		return message{}, envelopeError("its id is " + kind.String())
	}
	if method := object.Get("method"); method != nil {
		m.method = rawjson.Text(method)
		if m.method == "" {
			return m, envelopeError("its method is not a name")
		}
		if m.result != nil || failure != nil {
			return m, envelopeError("it is request and response at once")
		}
		return m, nil
	}
	switch {
	case m.result != nil && failure != nil:
		return m, envelopeError("it has both a result and an error")
	case m.result == nil && failure == nil:
		return m, envelopeError("it has neither a method nor a result nor an error")
	case failure != nil:
		m.err, err = parseError(failure)
	}
	return m, err
}

func parseError(valid []byte) (*mcpclient.ServerError, error) {
	if kind := rawjson.KindOf(valid); kind != rawjson.Dict {
		return nil, envelopeError("its error is " + kind.String())
	}
	object := rawjson.Members(valid)
	if _, double := object.Duplicate(); double {
		return nil, envelopeError("a member stands twice in its error")
	}
	code, err := strconv.ParseInt(string(object.Get("code")), 10, 64)
	if err != nil {
		return nil, envelopeError("its error has no integer as code")
	}
	return &mcpclient.ServerError{Code: code, Message: rawjson.Text(object.Get("message")), Data: object.Opt("data")}, nil
}

// requestID reads the id of one of our requests. It is exact when it is written as
// we write it; an id that only looks like ours ("1" or 1.0 for 1) is told apart,
// since JSON-RPC compares by type and value.
func requestID(id []byte) (n int64, exact, ok bool) {
	text := string(id)
	if rawjson.KindOf(id) == rawjson.String {
		text = rawjson.Text(id)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, text == string(id) && text == strconv.FormatInt(n, 10), true
	}
	f, err := strconv.ParseFloat(text, 64)
	if n = int64(f); err != nil || float64(n) != f {
		return 0, false, false
	}
	return n, false, true
}

// bounds are the limits that a message can hit before it is decoded.
var bounds = []struct {
	is   error
	name limit.Name
}{{rawjson.ErrDepth, limit.JSONDepth}, {rawjson.ErrKeys, limit.JSONKeys}, {rawjson.ErrItems, limit.JSONItems}}

// exceeded returns the limit's error when that is what parseMessage says.
func exceeded(err error, limits limit.Table) *limit.Error {
	for _, bound := range bounds {
		if errors.Is(err, bound.is) {
			return limits.Exceeded(bound.name, "the server's message")
		}
	}
	return nil
}

// isNoise reports whether parseMessage says that a line is no message at all.
func isNoise(m *message, err error) bool {
	if _, broken := errors.AsType[envelopeError](err); broken {
		return err == errNoEnvelope && m.id == nil
	}
	return true
}
