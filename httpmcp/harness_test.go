package httpmcp

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

// TestMain checks that the tests leave no goroutine behind. Fuzzing has some of
// its own.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := m.Run()
	if code == 0 && flag.Lookup("test.fuzz").Value.String() == "" {
		deadline := time.NewTimer(5 * time.Second)
		for runtime.NumGoroutine() > before {
			select {
			case <-deadline.C:
				stacks := make([]byte, 1<<20)
				fmt.Fprintf(os.Stderr, "%d goroutines before, %d after:\n%s\n", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
				os.Exit(1)
			default:
				runtime.Gosched()
			}
		}
	}
	os.Exit(code)
}

// The revisions that the tests speak.
var (
	modern  = mcpclient.RevisionNamed("2026-07-28")
	legacy  = mcpclient.RevisionNamed("2025-11-25")
	batched = mcpclient.RevisionNamed("2025-03-26")
)

func link(rev *mcpclient.Revision) *mcpclient.Link { return &mcpclient.Link{Revision: rev} }

func linkIn(session string) *mcpclient.Link {
	return &mcpclient.Link{Revision: legacy, Session: redact.NewSecret(session)}
}

// call is a tools/call with id 1.
func call(l *mcpclient.Link) *mcpclient.Request {
	return &mcpclient.Request{Link: l, ID: 1, Method: "tools/call", Name: "echo",
		Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}`)}
}

// list is a tools/list with id 1, which may be repeated.
func list(l *mcpclient.Link) *mcpclient.Request {
	return repeatable(&mcpclient.Request{Link: l, ID: 1, Method: "tools/list"}, "")
}

func handshake(rev *mcpclient.Revision) *mcpclient.Request {
	return repeatable(&mcpclient.Request{Link: link(rev), ID: 1, Method: "initialize", NoCancel: true}, `,"params":{}`)
}

// repeatable completes a request that may be sent again, under the next id.
func repeatable(req *mcpclient.Request, params string) *mcpclient.Request {
	req.Body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q%s}`, req.ID, req.Method, params)
	req.Again = func() *mcpclient.Request {
		again := *req
		again.ID++
		return repeatable(&again, params)
	}
	return req
}

const good = `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`

// A listener gives its server the other ends of pipes.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	dials  atomic.Int64
	open   atomic.Int64
	most   atomic.Int64 // open at once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		p.dials.Add(1)
		now := p.open.Add(1)
		for most := p.most.Load(); now > most && !p.most.CompareAndSwap(most, now); most = p.most.Load() {
		}
		return &trackedConn{Conn: near, p: p}, nil
	case <-p.closed:
		return nil, errors.New("the server is gone")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type trackedConn struct {
	net.Conn
	p    *pipes
	once sync.Once
}

func (c *trackedConn) Close() error {
	c.once.Do(func() { c.p.open.Add(-1) })
	return c.Conn.Close()
}

// A received is one request as the server saw it.
type received struct {
	Method string
	Path   string
	Header http.Header
	Body   string
}

// A rig is a Transport with a server of the test's own at the other end of
// in-memory connections.
type rig struct {
	*Transport
	pipes *pipes
	logs  *lockedBuffer
	scrub *redact.Scrubber

	mu  sync.Mutex
	got []received
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A handler serves one request whose body is read already.
type handler func(w http.ResponseWriter, r *http.Request, body string)

// newRig starts a server of net/http.
func newRig(t *testing.T, h handler, opts ...func(*Options)) *rig {
	t.Helper()
	r := &rig{}
	server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		r.note(req, body)
		h(w, req, string(body))
	})}
	r.start(t, opts...)
	go server.Serve(r.pipes)
	t.Cleanup(func() { server.Close() })
	return r
}

// newRawRig starts a server that is given each request, and writes bytes of its
// own choice. When h returns, the connection is closed if it returned false.
func newRawRig(t *testing.T, h func(conn net.Conn, r *http.Request, body string) bool, opts ...func(*Options)) *rig {
	t.Helper()
	r := &rig{}
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait) // last, when the client has closed its connections
	r.start(t, opts...)
	serving.Go(func() {
		for {
			conn, err := r.pipes.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					body, err := io.ReadAll(req.Body)
					if err != nil {
						return
					}
					r.note(req, body)
					if !h(conn, req, string(body)) {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { r.pipes.Close() })
	return r
}

func (r *rig) start(t *testing.T, opts ...func(*Options)) {
	r.pipes, r.logs, r.scrub = newPipes(), &lockedBuffer{}, redact.NewScrubber()
	o := Options{Scrub: r.scrub}
	for _, set := range opts {
		set(&o)
	}
	if o.RoundTripper == nil {
		client := NewClient(&ClientConfig{Limits: o.Limits, Dial: r.pipes.dial})
		o.RoundTripper = client.Transport
		t.Cleanup(client.CloseIdleConnections)
	}
	r.Transport = New(redact.NewSecret("http://mcp.test/mcp"), &o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := r.Close(ctx, nil); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

func (r *rig) note(req *http.Request, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, received{req.Method, req.URL.Path, req.Header.Clone(), string(body)})
}

// requests are those the server saw, in order.
func (r *rig) requests() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// runs counts the calls that the server saw.
func (r *rig) runs() int {
	n := 0
	for _, q := range r.requests() {
		if strings.Contains(q.Body, `"tools/call"`) {
			n++
		}
	}
	return n
}

func withLimits(t *testing.T, settings ...string) func(*Options) {
	t.Helper()
	var table limit.Table
	for _, s := range settings {
		var err error
		if table, err = table.With(s); err != nil {
			t.Fatal(err)
		}
	}
	return func(o *Options) { o.Limits = table }
}

// A listener is a mcpclient.Listener that remembers.
type listener struct {
	mu     sync.Mutex
	heard  []string
	opened int
	onNote func(method string)
	answer func(ctx context.Context, method string, params []byte) ([]byte, *mcpclient.ServerError)
}

func (l *listener) Notification(method string, params []byte) {
	l.mu.Lock()
	l.heard = append(l.heard, strings.TrimSpace(method+" "+string(params)))
	l.mu.Unlock()
	if l.onNote != nil {
		l.onNote(method)
	}
}

func (l *listener) Request(ctx context.Context, method string, params []byte) ([]byte, *mcpclient.ServerError) {
	l.mu.Lock()
	l.heard = append(l.heard, strings.TrimSpace("? "+method+" "+string(params)))
	l.mu.Unlock()
	if l.answer != nil {
		return l.answer(ctx, method, params)
	}
	return []byte("{}"), nil
}

func (l *listener) Opened() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened++
}

func (l *listener) openings() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened
}

func (l *listener) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.heard)
}

// The replies that most servers give.

func reply(status int, contentType, body string) handler {
	return func(w http.ResponseWriter, r *http.Request, _ string) {
		if contentType == "" {
			w.Header()["Content-Type"] = nil
		} else {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func stream(events string) handler { return reply(200, "text/event-stream", events) }

func wireError(t *testing.T, err error) *mcpclient.WireError {
	t.Helper()
	var wire *mcpclient.WireError
	if !errors.As(err, &wire) {
		t.Fatalf("got %T %v, want a WireError", err, err)
	}
	return wire
}

func wantLimit(t *testing.T, err error, want limit.Name) {
	t.Helper()
	var over *limit.Error
	if !errors.As(err, &over) || over.Name != want {
		t.Fatalf("got %v, want the limit %s", err, want)
	}
}

func wantGood(t *testing.T, resp *mcpclient.Response, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v", err)
	}
	if resp.Err != nil || string(resp.Result) != `{"ok":true}` {
		t.Fatalf("got %s, %v", resp.Result, resp.Err)
	}
}

// idOf returns the id of a JSON-RPC message as it is written.
func idOf(body string) string { return string(rawjson.Members([]byte(body)).Get("id")) }

// gzipped compresses the body; header replaces what the reply would say.
func gzipped(body string, header http.Header) handler {
	return func(w http.ResponseWriter, r *http.Request, _ string) {
		w.Header().Set("Content-Type", typeJSON)
		w.Header().Set("Content-Encoding", "gzip")
		for name, values := range header {
			w.Header()[name] = values
		}
		zw := gzip.NewWriter(w)
		io.WriteString(zw, body)
		zw.Close()
	}
}

// certificate returns a self-signed certificate for host and the pool that trusts
// it. It is valid for the given time, which may be past.
func certificate(t *testing.T, host string, valid time.Duration) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(valid),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func withTimer(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func errText(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}
