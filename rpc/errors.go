package rpc

import (
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack"
)

// The codes of JSON-RPC 2.0, section 5.1, for a message that reached no pack.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
)

// A kindRow is a row of the protocol's error table, spec/errors.json, which a
// test keeps equal.
type kindRow struct {
	kind             pack.Kind
	code             int
	retryable, limit bool // these members of the error's data may be there
}

var kindRows = []kindRow{
	{pack.KindInternal, -32603, false, false},
	{pack.KindMessage, -32001, true, true},
	{pack.KindBackend, -32002, true, false},
	{pack.KindTransport, -32003, true, true},
	{pack.KindUnavailable, -32004, true, true},
	{pack.KindRefused, -32005, true, false},
	{pack.KindCancelled, -32800, false, false},
}

// rowOf returns the row of the kind. A kind that is none is a fault of ours.
func rowOf(kind pack.Kind) kindRow {
	for _, row := range kindRows {
		if row.kind == kind {
			return row
		}
	}
	return kindRows[0]
}

// A fault is what is wrong with a message before a pack sees it.
type fault struct {
	code    int
	message string
	path    string // the member of params that is wrong, for codeInvalidParams
	limit   string // the limit that was hit
	inUse   []byte // the id that is in flight already
}

func wrongKind(path string, want rawjson.Kind, have []byte) *fault {
	return invalid(path, fmt.Sprintf("want %v, have %v", want, rawjson.KindOf(have)))
}

func invalid(path, reason string) *fault {
	return &fault{code: codeInvalidParams, message: path + ": " + reason, path: path}
}

// faultMessage returns the answer that tells f. A nil id is written as null.
func faultMessage(id []byte, f *fault) *message {
	m, e := newError(id, f.code, f.message)
	if f.path != "" || f.limit != "" || f.inUse != nil {
		data := object{m: e.name("data")}
		data.opt("path", f.path)
		data.opt("limit", f.limit)
		data.optRaw("id", f.inUse)
		data.end()
	}
	e.end()
	return m.end()
}

// errorMessage returns the answer that tells a pack's error, as far as the
// method may fail with its kind.
func errorMessage(c *call, e *pack.Error, scrub func(string) string) *message {
	row := rowOf(e.Kind)
	if !slices.Contains(c.row.kinds, row.kind) {
		row = rowOf(pack.KindUnavailable)
	}
	m, answer := newError(c.id, row.code, scrub(e.Message))
	data := object{m: answer.name("data")}
	data.text("kind", string(row.kind))
	data.opt("server", e.Server)
	if e.Untrusted || row.kind == pack.KindBackend {
		data.flag("untrusted", e.Untrusted)
	}
	data.set("retryable", e.Retryable && row.retryable)
	data.opt("delivered", string(e.Delivered))
	if row.limit {
		data.opt("limit", e.Limit)
	}
	data.end()
	answer.end()
	return m.end()
}

// newError opens an error answer; the caller may append data to the object.
func newError(id []byte, code int, text string) (*message, *object) {
	m := newResponse(id, "error")
	e := &object{m: m}
	e.number("code", int64(code))
	e.text("message", text)
	return m, e
}
