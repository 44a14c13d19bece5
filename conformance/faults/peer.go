package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// A peer is the server that a fault is played by.
type peer struct {
	url  string
	seen func() (seen, error)
	stop func()
	fake *fakeserver.Server // nil for faultserver

	entries string // of local servers; "" for one at url
}

// seen is what the peer saw, as faultserver's log tells it.
type seen struct {
	Exec     int // runs of tools
	Other    int // requests at another origin
	Conns    int // open connections
	MaxConns int `json:"max_conns"`
	Methods  map[string]int
	Counters map[string]int // the mode's own
	Requests []request
}

type request struct {
	Verb, Path, Body, RPC, ID string
	Headers                   http.Header
}

// of returns the requests with that JSON-RPC method, or HTTP method.
func (s seen) of(method string) []request {
	var list []request
	for _, r := range s.Requests {
		if r.RPC == method || r.RPC == "" && r.Verb == method {
			list = append(list, r)
		}
	}
	return list
}

// startFault starts faultserver, which serves until it is stopped.
func (t *trial) startFault(args ...string) (*peer, error) {
	cmd := exec.CommandContext(t.ctx, t.faultserver, append(args, "-mode", t.row.mode)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := func() { cmd.Process.Kill(); cmd.Wait() }
	var hello struct{ URL, Log string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err = errors.Join(err, json.Unmarshal(line, &hello)); err != nil {
		stop()
		return nil, err
	}
	return &peer{url: hello.URL, stop: stop, seen: func() (seen, error) { return readLog(t.ctx, hello.Log) }}, nil
}

// readLog fetches faultserver's log, on a connection of its own.
func readLog(ctx context.Context, url string) (s seen, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return s, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	// The mode may have closed the port for a while.
	for wait := time.Millisecond; ; wait *= 2 {
		resp, err := client.Do(r)
		if err == nil {
			defer resp.Body.Close()
			err = json.NewDecoder(resp.Body).Decode(&s)
			s.Conns--
			return s, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return s, err
		}
	}
}

// startSibling starts a fakeserver. before, when not nil, is offered each request
// before anything of its body is read, and tells whether it has answered.
func startSibling(opts fakeserver.Options, before func(http.ResponseWriter, *http.Request) bool) (*peer, error) {
	s := fakeserver.New(opts)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before == nil || !before(w, r) {
			s.ServeHTTP(w, r)
		}
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(ln)
	}()
	stop := func() {
		server.Close()
		s.Close()
		<-done
	}
	return &peer{url: "http://" + ln.Addr().String() + "/mcp", stop: stop, fake: s, seen: func() (seen, error) { return seenBy(s.Ledger()), nil }}, nil
}

// seenBy says what the ledger says in the words of faultserver's log.
func seenBy(l *fakeserver.Ledger) seen {
	s := seen{Exec: len(l.Runs), Conns: l.Open, Methods: map[string]int{}}
	for _, r := range l.Requests {
		key := r.Method
		if key == "" {
			key = r.HTTP
		}
		s.Methods[key]++
		headers := r.Header.Clone()
		headers.Set("Content-Length", strconv.Itoa(len(r.Body)))
		s.Requests = append(s.Requests, request{Verb: r.HTTP, Path: r.Path, Body: string(r.Body), RPC: r.Method, ID: r.ID, Headers: headers})
	}
	return s
}
