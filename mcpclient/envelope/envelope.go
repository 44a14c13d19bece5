package envelope

import (
	"errors"
	"strconv"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
)

// A Message is one JSON-RPC message of a server, as slices of the text it came in.
// It is a request or notification when Method is set, else a response, of which
// exactly one of Result and Err is set.
type Message struct {
	ID     []byte // as it was written; nil when it is absent
	Method string
	Params []byte
	Result []byte
	Err    *mcpclient.ServerError
}

// A Malformed says which rule of JSON-RPC a message breaks.
type Malformed string

func (e Malformed) Error() string { return string(e) }

// NotJSONRPC is the error of JSON that is no attempt at JSON-RPC.
const NotJSONRPC = Malformed("it is not a JSON-RPC message")

// Parse checks data in whole and reads its envelope: names by exact case,
// none of them twice (T17), "result" or "error" but not both (B083). With a
// Malformed the message holds what could be read, for its id.
//
// A null beside the other of result and error counts as absent: there are servers
// that write every field, and nothing can be meant by it.
func Parse(data []byte, b rawjson.Bounds) (Message, error) {
	object, err := rawjson.Split(data, b)
	if err != nil {
		return Message{}, err
	}
	m := Message{ID: object.Get("id"), Params: object.Opt("params"), Result: object.Get("result")}
	failure := object.Opt("error")
	if failure != nil && rawjson.KindOf(m.Result) == rawjson.Null {
		m.Result = nil
	}
	if rawjson.Text(object.Get("jsonrpc")) != "2.0" {
		if m.Result == nil && failure == nil {
			m.ID = nil // not even an answer that has lost a member
		}
		return m, NotJSONRPC
	}
	if _, double := object.Duplicate(); double {
		return m, Malformed("a member stands twice in its envelope")
	}
	switch kind := rawjson.KindOf(m.ID); kind {
	case rawjson.None, rawjson.Null, rawjson.String, rawjson.Number:
	default:
		return Message{}, Malformed("its id is " + kind.String())
	}
	if method := object.Get("method"); method != nil {
		m.Method = rawjson.Text(method)
		if m.Method == "" {
			return m, Malformed("its method is not a name")
		}
		if m.Result != nil || failure != nil {
			return m, Malformed("it is request and response at once")
		}
		return m, nil
	}
	switch {
	case m.Result != nil && failure != nil:
		return m, Malformed("it has both a result and an error")
	case m.Result == nil && failure == nil:
		return m, Malformed("it has neither a method nor a result nor an error")
	case failure != nil:
		m.Err, err = parseError(failure)
	}
	return m, err
}

func parseError(valid []byte) (*mcpclient.ServerError, error) {
	if kind := rawjson.KindOf(valid); kind != rawjson.Dict {
		return nil, Malformed("its error is " + kind.String())
	}
	object := rawjson.Members(valid)
	if _, double := object.Duplicate(); double {
		return nil, Malformed("a member stands twice in its error")
	}
	code, err := strconv.ParseInt(string(object.Get("code")), 10, 64)
	if err != nil {
		return nil, Malformed("its error has no integer as code")
	}
	return &mcpclient.ServerError{Code: code, Message: rawjson.Text(object.Get("message")), Data: object.Opt("data")}, nil
}

// bounds are the limits that a message can hit before it is decoded.
var bounds = []struct {
	is   error
	name limit.Name
}{{rawjson.ErrDepth, limit.JSONDepth}, {rawjson.ErrKeys, limit.JSONKeys}, {rawjson.ErrItems, limit.JSONItems}}

// Exceeded returns the limit's error when that is what Parse says, else nil.
func Exceeded(err error, limits limit.Table) *limit.Error {
	for _, bound := range bounds {
		if errors.Is(err, bound.is) {
			return limits.Exceeded(bound.name, "the server's message")
		}
	}
	return nil
}

// Response returns the answer to a request of the server, with the id as it was
// written, on one line.
func Response(id string, result []byte, failure *mcpclient.ServerError) []byte {
	body := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	if failure == nil {
		body = rawjson.AppendLine(append(body, `,"result":`...), result)
		return append(body, '}')
	}
	body = strconv.AppendInt(append(body, `,"error":{"code":`...), failure.Code, 10)
	body = rawjson.AppendString(append(body, `,"message":`...), failure.Message)
	if failure.Data != nil {
		body = rawjson.AppendLine(append(body, `,"data":`...), failure.Data)
	}
	return append(body, "}}"...)
}
