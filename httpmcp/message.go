package httpmcp

import (
	"errors"
	"strconv"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
)

// A message is one JSON-RPC message of a server, as slices of the text it came
// in. It is a request or notification when method is set, else a response, of
// which exactly one of result and err is set.
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
var errNoEnvelope = envelopeError("it is not a JSON-RPC message")

// parseMessage checks data in whole and reads its envelope: names by exact case,
// none of them twice (T17), "result" or "error" but not both (B083).
//
// A null beside the other of result and error counts as absent: there are servers
// that write every field, and nothing can be meant by it.
func parseMessage(data []byte, b rawjson.Bounds) (message, error) {
	object, err := rawjson.Split(data, b)
	if err != nil {
		return message{}, err
	}
	if rawjson.Text(object.Get("jsonrpc")) != "2.0" {
		return message{}, errNoEnvelope
	}
	if _, double := object.Duplicate(); double {
		return message{}, envelopeError("a member stands twice in its envelope")
	}
	m := message{id: object.Get("id"), params: object.Opt("params"), result: object.Get("result")}
	failure := object.Opt("error")
	if failure != nil && rawjson.KindOf(m.result) == rawjson.Null {
		m.result = nil
	}
	switch kind := rawjson.KindOf(m.id); kind {
	case rawjson.None, rawjson.Null, rawjson.String, rawjson.Number:
	default:
		return message{}, envelopeError("its id is " + kind.String())
	}
	if method := object.Get("method"); method != nil {
		m.method = rawjson.Text(method)
		if m.method == "" {
			return message{}, envelopeError("its method is not a name")
		}
		if m.result != nil || failure != nil {
			return message{}, envelopeError("it is request and response at once")
		}
		return m, nil
	}
	switch {
	case m.result != nil && failure != nil:
		return message{}, envelopeError("it has both a result and an error")
	case m.result == nil && failure == nil:
		return message{}, envelopeError("it has neither a method nor a result nor an error")
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

// An idMatch says how the id of a response relates to that of our request.
type idMatch int

const (
	foreign idMatch = iota
	ours
	nobodys // null: the server could not tell which request it answers
	near    // the same number written otherwise, such as "1" or 1.0 for 1
)

// match compares by type and value, as JSON-RPC does. What only looks like our id
// is told apart, since its sender will send nothing better (B079).
func (m *message) match(id []byte) idMatch {
	switch kind := rawjson.KindOf(m.id); {
	case string(m.id) == string(id):
		return ours
	case kind == rawjson.Null, kind == rawjson.None:
		return nobodys
	case kind == rawjson.String && rawjson.Text(m.id) == string(id):
		return near
	case kind == rawjson.Number:
		a, _ := strconv.ParseFloat(string(m.id), 64)
		if b, _ := strconv.ParseFloat(string(id), 64); a == b {
			return near
		}
	}
	return foreign
}

// isBatch reports whether data begins as an array.
func isBatch(data []byte) bool { return rawjson.KindOf(data) == rawjson.Array }

// badMessage is the error of a message that parseMessage refused.
func (t *Transport) badMessage(err error) error {
	for _, bound := range []struct {
		is   error
		name limit.Name
	}{{rawjson.ErrDepth, limit.JSONDepth}, {rawjson.ErrKeys, limit.JSONKeys}, {rawjson.ErrItems, limit.JSONItems}} {
		if errors.Is(err, bound.is) {
			return t.limits.Exceeded(bound.name, "the server's message")
		}
	}
	failure := &mcpclient.WireError{Op: opRead, Delivered: "unknown"}
	var envelope envelopeError
	switch {
	case errors.As(err, &envelope):
		failure.Reason = "the answer is malformed: " + envelope.Error()
		failure.Delivered = "yes"
		if envelope == errNoEnvelope {
			failure.NotMCP, failure.Delivered = true, "unknown"
		}
	case errors.Is(err, rawjson.ErrNotObject):
		failure.Reason, failure.NotMCP = "the answer is malformed: "+errNoEnvelope.Error(), true
	default: // a rawjson.SyntaxError, which quotes nothing
		failure.Reason, failure.NotMCP = "the answer is not valid JSON: "+err.Error(), true
	}
	return failure
}
