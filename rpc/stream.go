package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// A request is a request or a notification of the host's, split but not judged
// by what its method wants.
type request struct {
	id     []byte // as it was written; nil for a notification
	key    idKey
	method string
	params rawjson.Object // until the next message is read
	fault  *fault         // what is wrong with params as a whole, if anything
}

// A stream is the jsonrpc2.ObjectStream of a connection. ReadObject deals with
// what is no request itself (what is broken, what answers a question), and gives
// the library a stand-in for each request; the request itself waits in taken.
//
// One slot is enough: the library asks for the next object only when Handle has
// returned, on the same goroutine, which is the only one that uses a stream.
type stream struct {
	open   func() (framer, error) // finds the framing; called once, by the first ReadObject
	split  rawjson.Splitter
	limits limit.Table
	log    *slog.Logger
	trace  func(direction string, message []byte) // may be nil

	await  func() bool                          // blocks while too much output waits; false at the end of all
	refuse func(id []byte, f *fault)            // answers a message that is no request
	answer func(id, result, failed []byte) bool // takes an answer; false when nothing was asked

	frames  framer
	taken   request
	standIn reflect.Value // what the library is given; see fill
	done    chan struct{} // closed when there is nothing more to read
}

// ReadObject implements jsonrpc2.ObjectStream. Its error is always io.EOF, which
// the library takes for a clean end; what was wrong has been answered.
func (s *stream) ReadObject(v any) error {
	if s.frames == nil {
		frames, err := s.open()
		if err != nil {
			return s.end()
		}
		s.frames = frames
	}
	s.taken = request{}
	for {
		s.split.Reset() // nothing of the last message is held while waiting for the next
		if !s.await() {
			return s.end()
		}
		message, err := s.frames.next()
		long, isLong := errors.AsType[*tooLong](err)
		switch {
		case err == nil:
			if s.trace != nil {
				s.trace("in", message)
			}
			if s.take(message) {
				return s.fill(v)
			}
		case isLong:
			s.drop(long.found, s.exceeded(limit.HostLine))
		default:
			if errors.Is(err, errCut) {
				s.refuse(nil, &fault{code: codeParse, message: err.Error()})
			}
			return s.end()
		}
	}
}

func (s *stream) end() error {
	close(s.done)
	return io.EOF
}

// fill fills v, the library's own message type, with a request that says nothing:
// that there is one is all that the library has to know. It is decoded once, as
// the library's way of decoding costs more than all else that a small message
// needs, and then copied. The library only reads it.
func (s *stream) fill(v any) error {
	into := reflect.ValueOf(v).Elem()
	if !s.standIn.IsValid() {
		decoded := reflect.New(into.Type())
		if err := json.Unmarshal([]byte(`{"method":"","id":0}`), decoded.Interface()); err != nil {
			return err
		}
		s.standIn = decoded.Elem()
	}
	into.Set(s.standIn)
	return nil
}

// WriteObject implements jsonrpc2.ObjectStream. Nothing is written through the
// library, so nothing calls it.
func (s *stream) WriteObject(any) error { return errors.ErrUnsupported }

// Close implements jsonrpc2.ObjectStream. The input is its owner's to close.
func (s *stream) Close() error { return nil }

// take splits one message. It returns true when the message is a request or a
// notification, which is then in s.taken; anything else it has dealt with.
func (s *stream) take(message []byte) bool {
	if err := s.split.Split(message); err != nil {
		s.dropText(message, err)
		return false
	}
	e := readEnvelope(s.split.Members)
	key, isID := parseID(e.id)
	if e.id != nil && !isID || e.twice == "id" {
		e.id = nil
	}
	if e.isResponse() {
		if e.twice != "" || rawjson.Text(e.jsonrpc) != "2.0" {
			e.result, e.failed = nil, nil // it answers, but says nothing
		}
		s.respond(e.id, e.result, e.failed)
		return false
	}
	if f := e.fault(isID); f != nil {
		s.refuse(e.id, f)
		return false
	}
	s.taken = request{id: e.id, key: key, method: rawjson.Text(e.method)}
	switch rawjson.KindOf(e.params) {
	case rawjson.None, rawjson.Null:
	case rawjson.Dict:
		s.taken.params = s.split.InnerMembers
		if name, twice := s.taken.params.Duplicate(); twice {
			s.taken.fault = &fault{code: codeInvalidRequest, message: fmt.Sprintf("params.%s stands twice in the message", name)}
		}
	default:
		s.taken.fault = wrongKind("params", rawjson.Dict, e.params)
	}
	return true
}

// An envelope is the members of a message that JSON-RPC names. Those that are
// absent are nil.
type envelope struct {
	jsonrpc, id, method, params, result, failed []byte

	hasID bool
	twice string // the name of a member that stands twice, "" for none
}

func readEnvelope(members rawjson.Object) envelope {
	e := envelope{
		jsonrpc: members.Get("jsonrpc"),
		id:      members.Get("id"),
		method:  members.Get("method"),
		params:  members.Get("params"),
		result:  members.Get("result"),
		failed:  members.Get("error"),
	}
	e.hasID = e.id != nil
	e.twice, _ = members.Duplicate()
	return e
}

func (e *envelope) isResponse() bool { return e.method == nil && (e.result != nil || e.failed != nil) }

// fault returns what makes a message that is no response no request either, or
// nil. isID says whether its id is one.
func (e *envelope) fault(isID bool) *fault {
	invalid := func(format string, args ...any) *fault {
		return &fault{code: codeInvalidRequest, message: fmt.Sprintf(format, args...)}
	}
	switch {
	case e.twice != "":
		return invalid("%.64q stands twice in the message", e.twice)
	case e.method == nil:
		return invalid("a message has a method, a result or an error; this one has none of them")
	case rawjson.Text(e.jsonrpc) != "2.0":
		return invalid(`jsonrpc: want "2.0"`)
	case rawjson.KindOf(e.method) != rawjson.String:
		return invalid("method: want a string, have %v", rawjson.KindOf(e.method))
	case e.hasID && !isID:
		return invalid("id: want a string, or an integer of the int64 range without fraction and exponent")
	}
	return nil
}

// dropText deals with a text that is not one JSON object within the bounds.
func (s *stream) dropText(message []byte, err error) {
	syntax, _ := errors.AsType[*rawjson.SyntaxError](err)
	switch {
	case syntax == nil && rawjson.KindOf(message) == rawjson.Array:
		s.refuse(nil, &fault{code: codeInvalidRequest, message: "a batch is not taken; send its messages one by one"})
	case syntax == nil:
		s.refuse(nil, &fault{code: codeInvalidRequest, message: "want an object, have " + rawjson.KindOf(message).String()})
	case syntax.Bound == nil:
		s.refuse(nil, &fault{code: codeParse, message: "not JSON: " + syntax.Error()})
	default:
		var f finder
		f.Write(message)
		s.drop(f.take(), s.overBound(syntax))
	}
}

// drop deals with a message that was too much to be read. A response is one that
// says nothing; anything else is refused under its id, or its sender would wait
// for ever.
func (s *stream) drop(m found, f *fault) {
	if m.isResponse {
		s.respond(m.id, nil, nil)
		return
	}
	s.refuse(m.id, f)
}

// respond hands on the answer to a question.
func (s *stream) respond(id, result, failed []byte) {
	if !s.answer(id, result, failed) {
		s.log.Warn("a response to nothing that was asked was dropped")
	}
}

// overBound names the limit behind a bound of the scanner.
func (s *stream) overBound(err *rawjson.SyntaxError) *fault {
	for _, row := range []struct {
		bound error
		name  limit.Name
	}{
		{rawjson.ErrDepth, limit.JSONDepth},
		{rawjson.ErrKeys, limit.JSONKeys},
		{rawjson.ErrItems, limit.JSONItems},
	} {
		if errors.Is(err.Bound, row.bound) {
			return s.exceeded(row.name)
		}
	}
	return &fault{code: codeInvalidRequest, message: "the message has " + err.Error()}
}

func (s *stream) exceeded(name limit.Name) *fault {
	return &fault{
		code:    codeInvalidRequest,
		message: s.limits.Exceeded(name, "the message").Error(),
		limit:   name.String(),
	}
}

// A finder reads what can be known of a message without keeping it.
type finder struct{ rawjson.IDFinder }

// What a finder found.
type found struct {
	id         []byte // nil if there is none that can be answered to
	isResponse bool
}

// take returns what was found and makes the finder ready for the next message.
func (f *finder) take() found {
	m := found{f.ID(), f.IsResponse()}
	if _, ok := parseID(m.id); !ok {
		m.id = nil
	}
	f.Reset()
	return m
}
