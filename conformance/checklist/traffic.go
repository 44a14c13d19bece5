package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// traffic is the servers of one run, and all that came to them.
type traffic struct {
	breaker *breaker

	ctx   context.Context // ends with close
	stop  context.CancelFunc
	aside sync.WaitGroup // requests that no client waits for

	mu      sync.Mutex
	seen    []*request    // guarded by mu
	changed chan struct{} // closed and replaced when seen grows; guarded by mu
}

// An endpoint is an address where a fake server answers. Another one can take its
// place.
type endpoint struct {
	name    string
	url     string
	t       *traffic
	http    *http.Server
	ln      net.Listener
	current atomic.Pointer[fakeserver.Server]
}

func newTraffic(b *breaker) *traffic {
	t := &traffic{breaker: b, changed: make(chan struct{})}
	t.ctx, t.stop = context.WithCancel(context.Background())
	return t
}

// listen opens an address for the server of that name. Nothing is answered before
// serve.
func (t *traffic) listen(name string) (*endpoint, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &endpoint{name: name, url: "http://" + ln.Addr().String() + "/mcp", t: t, ln: ln}, nil
}

// serve begins to answer with s.
func (e *endpoint) serve(s *fakeserver.Server) {
	e.current.Store(s)
	e.http = &http.Server{Handler: e}
	e.t.aside.Go(func() { _ = e.http.Serve(e.ln) }) // it ends when the server is closed
}

// close ends what is under way.
func (e *endpoint) close() {
	e.t.stop()
	if e.http != nil {
		e.http.Close()
	} else {
		e.ln.Close()
	}
}

// ServeHTTP breaks the request as the run wants it, notes what comes of it, and
// has it answered.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away while it sent
	}
	own := &sending{method: r.Method, header: r.Header.Clone(), body: body}
	for _, s := range e.t.breaker.apply(e.name, own) {
		switch {
		case s.withheld:
			w.WriteHeader(http.StatusAccepted)
		case s.aside:
			request := r.Clone(e.t.ctx)
			e.t.note(newRequest(e.name, s.method, s.header, s.body))
			e.t.aside.Go(func() { e.answer(httptest.NewRecorder(), request, s) })
		default:
			seen := newRequest(e.name, s.method, s.header, s.body)
			e.t.note(seen)
			e.own(w, r, s, seen)
		}
	}
}

// own answers the client's request and notes when the client puts an end to it.
func (e *endpoint) own(w http.ResponseWriter, r *http.Request, s *sending, seen *request) {
	stop := context.AfterFunc(r.Context(), func() {
		end := *seen
		end.http = closed
		e.t.note(&end)
	})
	defer stop()
	e.answer(w, r, s)
}

func (e *endpoint) answer(w http.ResponseWriter, r *http.Request, s *sending) {
	if s.aside {
		// A scripted reply may break its connection by a panic, as net/http has it.
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				panic(p)
			}
		}()
	}
	r.Method, r.Header = s.method, s.header
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(s.body)), int64(len(s.body))
	e.current.Load().ServeHTTP(w, r)
}

func (t *traffic) note(r *request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = append(t.seen, r)
	close(t.changed)
	t.changed = make(chan struct{})
}

// all returns what has been seen so far.
func (t *traffic) all() []*request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.seen)
}

// wait waits until n requests that the pattern and the matcher mean have been seen.
func (t *traffic) wait(ctx context.Context, n int, p pattern, matcher string) error {
	for {
		t.mu.Lock()
		seen, changed := slices.Clone(t.seen), t.changed
		t.mu.Unlock()
		c := wireCheck{matcher: matcher}
		matching, why := c.matching(seen, p.among(seen))
		if len(matching) >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if why != nil {
				return why
			}
			return fmt.Errorf("the server has seen %d %s, want %d", len(matching), &p, n)
		}
	}
}
