package rpc

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
)

// Options is what Serve can be told. The zero Options works.
type Options struct {
	Version string           // of the child, as construct answers it
	Limits  limit.Table      // the bounds; they are handed to the packs too
	Log     *slog.Logger     // nil for none; must never block for long
	Scrub   *redact.Scrubber // of all text that is written to the host; nil for one that knows nothing

	// Trace, when set, is given every whole message, "in" or "out", without its
	// framing: in the order of the stream, one at a time in each direction. The
	// bytes must not be changed. It may hold secrets, so it is for tests and
	// recordings that scrub.
	Trace func(direction string, message []byte)
}

// Serve speaks the host protocol on in and out until the host ends it, and closes
// every pack that the host has constructed and not closed. The end is end-of-file
// on in, an out that cannot be written, or ctx, which a signal cancels: requests
// are then turned away, those in flight may finish for a second, and within five
// seconds everything is answered, closed and written, or given up.
//
// The error is nil for every such end, even when the host did not read the last
// answers; there is no other yet. Serve closes neither in nor out. When ctx ends
// it and in has no SetReadDeadline, one goroutine stays in its last Read.
func Serve(ctx context.Context, in io.Reader, out io.Writer, registry *pack.Registry, opts *Options) error {
	s := newServer(in, out, registry, opts)
	s.conn = jsonrpc2.NewConn(context.WithoutCancel(ctx), s.stream, s, jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	select {
	case <-s.conn.DisconnectNotify():
		s.questions.end() // nobody is left who could answer one
	case <-s.out.broken:
	case <-ctx.Done():
	}
	s.end()
	return nil
}

// A server is one run of Serve.
type server struct {
	registry  *pack.Registry
	version   string
	limits    limit.Table
	log       *slog.Logger
	scrub     *redact.Scrubber
	in        io.Reader
	stream    *stream
	out       *output
	conn      *jsonrpc2.Conn
	methods   map[string]*method // what the host may call; set before the first message
	calls     *inflight
	questions *questions
	runtime   *Background

	mu       sync.Mutex
	sessions map[string]*session // by id; guarded by mu

	constructing sync.Mutex // held while a pack is constructed
}

func newServer(in io.Reader, out io.Writer, registry *pack.Registry, opts *Options) *server {
	if opts == nil {
		opts = &Options{}
	}
	s := &server{
		registry: registry,
		version:  opts.Version,
		limits:   opts.Limits,
		log:      opts.Log,
		scrub:    opts.Scrub,
		in:       in,
		calls:    newInflight(opts.Limits),
		sessions: map[string]*session{},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.scrub == nil {
		s.scrub = redact.NewScrubber()
	}
	s.runtime = NewBackground(s.log)
	s.out = newOutput(out, opts.Limits, s.log, opts.Trace)
	s.questions = newQuestions(s.out, s.log)
	s.stream = &stream{
		open: s.open,
		split: rawjson.Splitter{
			Inner: "params",
			Bounds: rawjson.Bounds{
				Depth: s.limits.Int(limit.JSONDepth),
				Keys:  s.limits.Int(limit.JSONKeys),
				Items: s.limits.Int(limit.JSONItems),
			},
		},
		limits: s.limits,
		log:    s.log,
		trace:  opts.Trace,
		await:  s.out.await,
		refuse: s.refuseMessage,
		answer: s.questions.answer,
		done:   make(chan struct{}),
	}
	return s
}

// open finds the framing, which holds for both directions.
func (s *server) open() (framer, error) {
	frames, lsp, err := frame(s.in, s.limits.Int(limit.HostLine))
	if err != nil {
		return nil, err
	}
	s.methods = methodsOf(lsp)
	s.out.setFraming(lsp)
	return frames, nil
}

// Handle implements jsonrpc2.Handler. It runs on the reader goroutine, one
// message after the other, so that a cancel finds the invoke before it; what
// takes time goes on elsewhere.
func (s *server) Handle(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) {
	r := &s.stream.taken
	c := &call{id: r.id, key: r.key, row: s.methods[r.method]}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	switch {
	case r.id != nil && s.calls.find(r.key) != nil:
		s.refuseMessage(r.id, &fault{code: codeInvalidRequest, message: "id: a request of this id is in flight"})
	case r.fault != nil && r.fault.code == codeInvalidRequest:
		s.refuse(c, r.fault)
	case c.row == nil:
		s.refuse(c, &fault{code: codeNoMethod, message: fmt.Sprintf("unknown method %.64q; known: %s", r.method, knownMethods())})
	case r.fault != nil:
		s.refuse(c, r.fault)
	case c.id == nil && !c.row.notification:
		s.log.Warn("a request without an id was ignored", "method", c.row.name)
	default:
		if err := contain(s.log, c.row.name, func() { c.row.serve(s, c, paramsOf(r.params)) }); err != nil {
			s.fail(c, err)
		}
	}
}

// refuseMessage answers a message that is no request. An id that is in flight
// belongs to another, whose only answer must not be this one.
func (s *server) refuseMessage(id []byte, f *fault) {
	if key, ok := parseID(id); ok && s.calls.find(key) != nil {
		f.inUse, id = id, nil
	}
	s.out.send(faultMessage(id, f))
}

// answer gives the call its one answer, unless it has had it. It never blocks.
func (s *server) answer(c *call, m *message) {
	if s.settle(c, m) {
		s.out.send(m)
	}
}

// answerLast is answer for a goroutine that has nothing else to do: it may go on
// to write what others queue.
func (s *server) answerLast(c *call, m *message) {
	if s.settle(c, m) {
		s.out.write(m)
	}
}

// settle takes the right to answer the call with m. What is left of its progress
// goes out before.
func (s *server) settle(c *call, m *message) bool {
	if ok, _ := s.calls.claim(c); !ok || c.id == nil {
		m.recycle()
		return false
	}
	c.notes.end(true)
	c.cancel(nil) // ends what still goes on for it, such as a question
	return true
}

// refuse answers a call that reached no pack.
func (s *server) refuse(c *call, f *fault) { s.answer(c, faultMessage(c.id, f)) }

// fail answers a call with a pack's error.
func (s *server) fail(c *call, err error) { s.answer(c, s.errorMessage(c, err)) }

func (s *server) errorMessage(c *call, err error) *message {
	return errorMessage(c, pack.AsError(err), s.scrub.Text)
}

// cut answers a call as cancelled without waiting for its pack, which is told.
// It returns false when the call has been answered already.
func (s *server) cut(c *call, reason string) bool {
	ok, waited := s.calls.claim(c)
	if !ok {
		return false
	}
	e := pack.Errorf(pack.KindCancelled, "%s", reason)
	switch {
	case waited:
		e.Delivered = pack.DeliveredNo
	case c.row.runs:
		e.Delivered = pack.DeliveredUnknown
	}
	c.notes.end(false)
	s.out.send(s.errorMessage(c, e))
	c.cancel(e)
	return true
}

// session returns what was constructed under id, or nil.
func (s *server) session(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}
