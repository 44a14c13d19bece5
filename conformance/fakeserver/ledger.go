package fakeserver

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
)

// A Ledger is what a Server has seen so far.
type Ledger struct {
	Requests   []Request
	Runs       []Run    // in the order they began
	Cancels    []Cancel // in the order they came
	Complaints []string // rules that the client broke

	Open      int // requests that are being answered now
	Streams   int // of these, streams that have begun and not ended
	Listeners int // of these, streams that Notify reaches
	Sessions  int // sessions that are alive
}

// A Request is one HTTP request as it came.
type Request struct {
	HTTP   string // GET, POST, DELETE
	Path   string
	Method string // of JSON-RPC; "" for a request without a message, or a response
	ID     string // the JSON-RPC id as it was written; "" for a notification
	Header http.Header
	Body   []byte
}

// An Outcome is how a run of a tool ended.
type Outcome string

// The outcomes of a run.
const (
	Running   Outcome = "running"
	Answered  Outcome = "answered"
	Failed    Outcome = "failed" // answered with isError
	Cancelled Outcome = "cancelled"
	Stopped   Outcome = "stopped" // by Close
)

// A Run is one time that a tool ran.
type Run struct {
	Tool      string
	Arguments json.RawMessage // the bytes that came
	Nonce     string          // the argument "nonce", if it is a string
	Session   string
	ID        string // the JSON-RPC id as it was written
	Outcome   Outcome
}

// A Cancel is one word of the client that it no longer wants an answer.
type Cancel struct {
	ID     string // the JSON-RPC id of the request
	By     CancelBy
	Reason string // of notifications/cancelled
	Known  bool   // whether that request was in flight
	Early  bool   // it came ahead of its request; servers with sessions can tell
}

// A CancelBy is the way a cancel came.
type CancelBy string

// The two ways. ByMessage is right before 2026-07-28, ByStream from then on.
const (
	ByMessage CancelBy = "notifications/cancelled"
	ByStream  CancelBy = "closed stream"
)

// Count returns the number of requests with that HTTP method and JSON-RPC method.
func (l *Ledger) Count(httpMethod, method string) int {
	n := 0
	for i := range l.Requests {
		if l.Requests[i].HTTP == httpMethod && l.Requests[i].Method == method {
			n++
		}
	}
	return n
}

// Outcomes returns the number of runs of a tool that ended so; tool "" means any.
func (l *Ledger) Outcomes(tool string, outcome Outcome) int {
	n := 0
	for i := range l.Runs {
		if (tool == "" || l.Runs[i].Tool == tool) && l.Runs[i].Outcome == outcome {
			n++
		}
	}
	return n
}

// RunsOf returns the runs with that nonce.
func (l *Ledger) RunsOf(nonce string) []Run {
	var runs []Run
	for _, run := range l.Runs {
		if run.Nonce == nonce {
			runs = append(runs, run)
		}
	}
	return runs
}

// Ledger returns a copy of what has happened so far.
func (s *Server) Ledger() *Ledger {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	l := s.book.ledger
	l.Requests = slices.Clone(l.Requests)
	l.Runs = slices.Clone(l.Runs)
	l.Cancels = slices.Clone(l.Cancels)
	l.Complaints = slices.Clone(l.Complaints)
	return &l
}

// Wait blocks until cond holds of the ledger, which it must only read and not
// keep, or ctx ends.
func (s *Server) Wait(ctx context.Context, cond func(*Ledger) bool) error {
	for {
		s.book.mu.Lock()
		ok, changed := cond(&s.book.ledger), s.book.changed
		s.book.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// book keeps the Ledger and wakes those who wait for it to change.
type book struct {
	mu      sync.Mutex
	ledger  Ledger            // guarded by mu
	counts  map[[2]string]int // requests so far by HTTP and JSON-RPC method; guarded by mu
	changed chan struct{}     // closed and replaced at each change; guarded by mu
}

func newBook() *book {
	return &book{counts: map[[2]string]int{}, changed: make(chan struct{})}
}

// change edits the ledger under its lock.
func (b *book) change(edit func(*Ledger)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	edit(&b.ledger)
	close(b.changed)
	b.changed = make(chan struct{})
}

// request notes a request and returns how many of its kind have come, itself
// included.
func (b *book) request(x *exchange) (nth int) {
	b.change(func(l *Ledger) {
		key := [2]string{x.r.Method, x.msg.Method}
		b.counts[key]++
		nth = b.counts[key]
		l.Open++
		l.Requests = append(l.Requests, Request{
			HTTP: x.r.Method, Path: x.r.URL.Path,
			Method: x.msg.Method, ID: string(x.msg.ID),
			Header: x.r.Header.Clone(), Body: x.body,
		})
	})
	return nth
}

// newestCall returns the id of the tools/call that came last; null if none did.
func (b *book) newestCall() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range slices.Backward(b.ledger.Requests) {
		if r.Method == "tools/call" && r.ID != "" {
			return r.ID
		}
	}
	return "null"
}

// begin notes a run and returns its place in the ledger.
func (b *book) begin(run Run) (index int) {
	b.change(func(l *Ledger) {
		index = len(l.Runs)
		l.Runs = append(l.Runs, run)
	})
	return index
}

// finish notes how a run ended, and the cancel that ended it if one did.
func (b *book) finish(index int, outcome Outcome, cancel *Cancel) {
	b.change(func(l *Ledger) {
		l.Runs[index].Outcome = outcome
		if cancel != nil {
			l.Cancels = append(l.Cancels, *cancel)
		}
	})
}
