package oauth

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

const (
	callbackPath = "/callback"

	// maxCallback bounds the head of a request to the listener, and a pasted address.
	maxCallback = 8 << 10

	// callbackTime bounds one request to the listener, and its end.
	callbackTime = 5 * time.Second
)

// callbackPage is what the user sees at the end. It is the same whatever came: a
// page that showed any of it could be made to show anything (CVE-2025-62800).
const callbackPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Signing in</title>
<body><h1>You can close this window</h1>
<p>The rest of the sign-in happens where you started it.</p></body></html>
`

// A loopback is the place on this machine that the user's browser is sent back to
// (RFC 8252 section 7.3). It takes one answer, with the right state, and is there
// only while a sign-in waits.
type loopback struct {
	uri    string          // the redirect URI
	host   string          // what a browser's Host header says
	came   chan url.Values // holds the one answer
	server *http.Server
	serve  sync.WaitGroup

	mu    sync.Mutex
	state string // guarded by mu; what is waited for; "" for nothing
}

// listen opens a loopback on a port, 0 for any that is free. It is bound first and
// named afterwards, so that nobody else can be waiting there (T54).
func listen(port int) (*loopback, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, &Error{Step: "the place for the browser to come back to", Err: err, SignIn: true,
			Reason: "port " + strconv.Itoa(port) + " of 127.0.0.1 cannot be had; another program may have it"}
	}
	b := &loopback{host: ln.Addr().String(), came: make(chan url.Values, 1)}
	b.uri = "http://" + b.host + callbackPath
	b.server = &http.Server{
		Handler:        b,
		ReadTimeout:    callbackTime,
		WriteTimeout:   callbackTime,
		MaxHeaderBytes: maxCallback,
		ErrorLog:       log.New(io.Discard, "", 0), // it would quote requests
	}
	b.server.SetKeepAlivesEnabled(false)
	b.serve.Go(func() { b.server.Serve(ln) })
	return b, nil
}

// reopen opens the loopback that a redirect URI names.
func reopen(uri string) (*loopback, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil || uri != "http://127.0.0.1:"+u.Port()+callbackPath {
		return nil, refused("the stored registration", "its redirect URI is not one of ours")
	}
	return listen(port)
}

// expect has the listener take the answer with that state.
func (b *loopback) expect(state string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = state
}

// ServeHTTP takes the answer. Whatever is not it gets the same 404, so that a page or
// a program that guesses learns nothing, and does not end the wait (T53). The Host
// header must be ours: another name that leads here is an attack by DNS rebinding.
func (b *loopback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	values, err := url.ParseQuery(r.URL.RawQuery)
	if r.Method != http.MethodGet || r.URL.Path != callbackPath || r.Host != b.host || err != nil || !b.take(values) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	io.WriteString(w, callbackPage)
	b.came <- values // it has room for the one that take lets through
}

// take reports whether an answer is the one that is waited for, once.
func (b *loopback) take(values url.Values) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !sameState(values, b.state) {
		return false
	}
	b.state = ""
	return true
}

// Close closes the port. A browser that is being answered gets its page.
func (b *loopback) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), callbackTime)
	defer cancel()
	if b.server.Shutdown(ctx) != nil {
		b.server.Close()
	}
	b.serve.Wait()
}
