package fakeserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
)

// Line is what stands for the HTTP method in the Ledger and the Rows of a Process.
const Line = "LINE"

// A Process is the server over stdio (basic/transports/stdio): one conversation, of
// which each line of stdin is handed to it and what it says is handed to an End. It
// starts no process itself.
type Process struct {
	s    *Server
	end  End
	ctx  context.Context // ends with Close
	stop context.CancelCauseFunc

	mu       sync.Mutex
	session  *session                           // guarded by mu; legacy, after the handshake
	listener *listener                          // guarded by mu; legacy, after notifications/initialized
	requests map[string]context.CancelCauseFunc // guarded by mu; under way, by id
}

// An End is the other side of a Process: the pipes and the life of what plays it.
// Its methods are called by one goroutine at a time.
type End interface {
	Stdout(text []byte)
	Stderr(text []byte)
	Exit(code int)
}

// errEnded is the cause of the end of what runs when a Process is closed.
var errEnded = errors.New("the process has ended")

// Process returns a new conversation. Close must be called.
func (s *Server) Process(end End) *Process {
	p := &Process{s: s, end: end, requests: map[string]context.CancelCauseFunc{}}
	p.ctx, p.stop = context.WithCancelCause(s.ctx)
	return p
}

// ServeStdio plays one conversation on the stdin and stdout of this process, until
// stdin ends or the script ends the process.
func (s *Server) ServeStdio() {
	p := s.Process(ownPipes{})
	defer p.Close()
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		p.Take(bytes.TrimSuffix(line, []byte("\n")))
	}
}

// ownPipes are the streams of this process.
type ownPipes struct{}

func (ownPipes) Stdout(text []byte) { os.Stdout.Write(text) }
func (ownPipes) Stderr(text []byte) { os.Stderr.Write(text) }
func (ownPipes) Exit(code int)      { os.Exit(code) }

// Take takes one line of stdin, without its end. What is not a request has been
// acted on when it returns.
func (p *Process) Take(line []byte) {
	x := &exchange{s: p.s, process: p, w: lineWriter{p}, body: line}
	x.r = &http.Request{Method: Line, URL: &url.URL{Path: "/mcp"}, Header: http.Header{}}
	x.parse()
	ctx, cancel := context.WithCancelCause(p.ctx)
	x.r = x.r.WithContext(ctx)
	nth := p.s.book.request(x)
	if !x.isRequest() {
		defer cancel(nil)
		defer x.end()
		p.answer(x, p.s.script.take(Line, x.msg.Method, nth))
		return
	}
	id := string(x.msg.ID)
	p.mu.Lock()
	p.requests[id] = cancel
	p.mu.Unlock()
	row := p.s.script.take(Line, x.msg.Method, nth)
	work := func() {
		defer x.end()
		defer func() {
			cancel(nil)
			p.mu.Lock()
			delete(p.requests, id)
			p.mu.Unlock()
		}()
		p.answer(x, row)
	}
	if x.msg.Method == "initialize" && row == nil { // what follows finds the session
		work()
		return
	}
	p.s.busy.Go(work)
}

// answer answers a line: by the row of the script that matches, else as a healthy
// server does.
func (p *Process) answer(x *exchange, row *Row) {
	if row != nil {
		row.Reply.play(x)
		return
	}
	x.serve()
}

// Close ends what runs.
func (p *Process) Close() {
	p.stop(errEnded)
	p.mu.Lock()
	l := p.listener
	p.mu.Unlock()
	if l != nil {
		p.s.setListening(l, false)
	}
}

// serveLine answers one line as a healthy server does.
func (x *exchange) serveLine() {
	if !x.checkMessage() {
		return
	}
	x.modern = x.isModern()
	switch {
	case x.modern:
		x.serveModern()
	case x.isRequest() && x.msg.Method == "initialize":
		x.initialize()
	default:
		if x.session = x.process.handshake(); x.session == nil && x.msg.Method != "ping" {
			x.refuseUnopened()
			return
		}
		x.legacyMessage()
	}
}

// refuseUnopened answers what comes before the handshake. A modern request is no
// offence there: it is how a client finds out which era the server is of.
func (x *exchange) refuseUnopened() {
	if metaOf(x.msg.Params)[metaVersion] == nil {
		x.complain("it came before initialize")
	}
	if x.isRequest() {
		x.refuse(codeInvalidRequest, "Invalid Request: not initialized")
	}
}

func (p *Process) open(se *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.session = se
}

// handshake returns the session of the handshake; nil before it.
func (p *Process) handshake() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.session
}

// listen makes what the server says of its own accord reach the process.
func (p *Process) listen() {
	p.mu.Lock()
	l := p.listener
	if l == nil {
		l = &listener{x: &exchange{s: p.s, process: p}}
		p.listener = l
	}
	p.mu.Unlock()
	p.s.setListening(l, true)
}

// cancel ends the request that notifications/cancelled names.
func (p *Process) cancel(id, reason string) {
	p.mu.Lock()
	cancel := p.requests[id]
	p.mu.Unlock()
	p.s.book.change(func(l *Ledger) {
		l.Cancels = append(l.Cancels, Cancel{ID: id, By: ByMessage, Reason: reason, Known: cancel != nil})
	})
	if cancel != nil {
		cancel(errCancelled)
	}
}

// line writes a message, which may have several lines, as one.
func (p *Process) line(message string) {
	p.stdout([]byte(strings.NewReplacer("\r", " ", "\n", " ").Replace(message) + "\n"))
}

func (p *Process) stdout(text []byte) { p.say(func() { p.end.Stdout(text) }) }
func (p *Process) stderr(text string) { p.say(func() { p.end.Stderr([]byte(text)) }) }
func (p *Process) exit(code int)      { p.say(func() { p.end.Exit(code) }) }

func (p *Process) say(what func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() == nil {
		what()
	}
}

// A lineWriter lets what answers HTTP answer a line: each body is one.
type lineWriter struct{ p *Process }

func (w lineWriter) Header() http.Header { return http.Header{} }
func (w lineWriter) WriteHeader(int)     {}
func (w lineWriter) Write(body []byte) (int, error) {
	w.p.line(string(body))
	return len(body), nil
}
