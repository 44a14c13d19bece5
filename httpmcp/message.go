package httpmcp

import (
	"errors"
	"strconv"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/mcpclient/envelope"
)

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
func match(m *envelope.Message, id []byte) idMatch {
	switch kind := rawjson.KindOf(m.ID); {
	case string(m.ID) == string(id):
		return ours
	case kind == rawjson.Null, kind == rawjson.None:
		return nobodys
	case kind == rawjson.String && rawjson.Text(m.ID) == string(id):
		return near
	case kind == rawjson.Number:
		a, _ := strconv.ParseFloat(string(m.ID), 64)
		if b, _ := strconv.ParseFloat(string(id), 64); a == b {
			return near
		}
	}
	return foreign
}

// isBatch reports whether data begins as an array.
func isBatch(data []byte) bool { return rawjson.KindOf(data) == rawjson.Array }

// badMessage is the error of a message that envelope.Parse refused.
func (t *Transport) badMessage(err error) error {
	if over := envelope.Exceeded(err, t.limits); over != nil {
		return over
	}
	failure := &mcpclient.WireError{Op: opRead, Delivered: "unknown"}
	var broken envelope.Malformed
	switch {
	case errors.As(err, &broken):
		failure.Reason = "the answer is malformed: " + broken.Error()
		failure.Delivered = "yes"
		if broken == envelope.NotJSONRPC {
			failure.NotMCP, failure.Delivered = true, "unknown"
		}
	case errors.Is(err, rawjson.ErrNotObject):
		failure.Reason, failure.NotMCP = "the answer is malformed: "+envelope.NotJSONRPC.Error(), true
	default: // a rawjson.SyntaxError, which quotes nothing
		failure.Reason, failure.NotMCP = "the answer is not valid JSON: "+err.Error(), true
	}
	return failure
}
