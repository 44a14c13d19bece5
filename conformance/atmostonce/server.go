package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// A server is a fakeserver behind a gateway that can answer calls in its place.
type server struct {
	fake *fakeserver.Server
	http *http.Server
	ln   net.Listener
	done chan struct{} // closed when http has ended

	mu    sync.Mutex
	plans map[string]plan // by nonce; guarded by mu
}

// A plan is what the gateway answers to a call, once.
type plan struct {
	status int
	ran    bool // the tool has run before
	header map[string]string
}

func newServer(opts fakeserver.Options) (*server, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{fake: fakeserver.New(opts), ln: ln, done: make(chan struct{}), plans: map[string]plan{}}
	s.http = &http.Server{Handler: s}
	go func() {
		defer close(s.done)
		s.http.Serve(ln)
	}()
	return s, nil
}

func (s *server) addr() string { return s.ln.Addr().String() }

func (s *server) close() {
	s.http.Close()
	s.fake.Close()
	<-s.done
}

// set makes a plan for the call with the nonce.
func (s *server) set(nonce string, p plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plans[nonce] = p
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away while it sent
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m struct {
		Method string
		Params struct{ Arguments struct{ Nonce string } }
	}
	if json.Unmarshal(body, &m) != nil || m.Method != "tools/call" || m.Params.Arguments.Nonce == "" {
		s.fake.ServeHTTP(w, r)
		return
	}
	nonce := m.Params.Arguments.Nonce
	s.mu.Lock()
	p, planned := s.plans[nonce]
	delete(s.plans, nonce)
	s.mu.Unlock()
	if !planned {
		s.fake.ServeHTTP(w, r)
		return
	}
	if p.ran {
		s.fake.ServeHTTP(httptest.NewRecorder(), r)
	}
	for name, value := range p.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(p.status)
	io.WriteString(w, "not now\n")
}
