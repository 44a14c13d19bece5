package fakeserver

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

// An Era is the way a server opens a conversation.
type Era int

// The eras of MCP.
const (
	Legacy Era = iota // initialize and sessions: 2025-03-26, 2025-06-18, 2025-11-25
	Modern            // stateless, _meta on every request: 2026-07-28
	Dual              // both, by how the client opens
)

// An Answer is the form in which requests are answered.
type Answer int

// The forms of answers.
const (
	Auto Answer = iota // JSON, or a stream when something is to be said before the answer
	JSON               // always one JSON object; progress is not sent
	SSE                // always an event stream
)

// Options are what a Server can be told. The zero value is a healthy legacy
// server with sessions and the built-in tools.
type Options struct {
	Era        Era
	Versions   []string // what it speaks, newest first; nil for all of its era
	Answer     Answer
	NoSessions bool // legacy: assign no Mcp-Session-Id
	Listen     bool // legacy: offer the GET stream; else GET is answered 405

	Tools    []Tool // in the order they are listed; nil for Builtin
	PageSize int    // tools on one page of tools/list; 0 for all on one

	// Require names headers that every request must carry with that value; a
	// request without them is answered 401.
	Require map[string]string

	Script     []Row // replies that replace the healthy ones
	ScriptOnly bool  // a request that no row answers is a complaint, and gets 500

	// Name is the serverInfo name; "" for "fakeserver". Instructions go out with
	// initialize and server/discover.
	Name         string
	Instructions string

	// Capabilities is the JSON object that the server declares; "" for tools with
	// listChanged.
	Capabilities string
}

// A Server is a running fake. Its methods may be called from any goroutine.
type Server struct {
	opts   Options
	tools  []Tool
	script *script
	book   *book

	ctx  context.Context // ends with Close; every run of a tool is below it
	stop context.CancelFunc
	busy sync.WaitGroup // handlers at work, and Serve

	mu       sync.Mutex
	sessions map[string]*session          // by id; guarded by mu
	running  map[runKey]func(cause error) // guarded by mu
	streams  map[*listener]bool           // open listening streams; guarded by mu
	servers  []*http.Server               // guarded by mu
	url      string                       // set once by Start

	asks asks
}

// runKey identifies a request in flight: ids are unique within a session, and in
// the modern era each request is on its own.
type runKey struct{ session, id string }

// New returns a Server that listens nowhere yet; it is an http.Handler.
func New(opts Options) *Server {
	if opts.Versions == nil {
		opts.Versions = versionsOf(opts.Era)
	}
	if opts.Name == "" {
		opts.Name = "fakeserver"
	}
	if opts.Capabilities == "" {
		opts.Capabilities = `{"tools":{"listChanged":true}}`
	}
	tools := opts.Tools
	if tools == nil {
		tools = Builtin()
	}
	s := &Server{
		opts:     opts,
		tools:    tools,
		script:   newScript(opts.Script),
		book:     newBook(),
		sessions: map[string]*session{},
		running:  map[runKey]func(error){},
		streams:  map[*listener]bool{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Start returns a Server that listens on a free port of 127.0.0.1.
func Start(opts Options) (*Server, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := New(opts)
	s.url = "http://" + ln.Addr().String() + "/mcp"
	s.serve(ln)
	return s, nil
}

// A TB is the part of *testing.T that StartTest uses.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// StartTest starts a Server that is closed at the end of the test, which fails
// if a row of the script was not used or the client broke a rule.
func StartTest(t TB, opts Options) *Server {
	t.Helper()
	s, err := Start(opts)
	if err != nil {
		t.Fatalf("fakeserver: %v", err)
	}
	t.Cleanup(func() { s.Verify(t); s.Close() })
	return s
}

// Verify reports to t each row of the script that was not used and each complaint
// about the client.
func (s *Server) Verify(t TB) {
	t.Helper()
	for _, row := range s.Unused() {
		t.Errorf("fakeserver: row never used: %s", row)
	}
	for _, complaint := range s.Ledger().Complaints {
		t.Errorf("fakeserver: the client broke a rule: %s", complaint)
	}
}

// URL returns the address of the MCP endpoint; "" when Start was not used.
func (s *Server) URL() string { return s.url }

// Unused returns the rows of the script that have answered nothing.
func (s *Server) Unused() []string { return s.script.unused() }

// DropSessions forgets every session, as a server that restarts does. The next
// request on one is answered 404.
func (s *Server) DropSessions() {
	s.mu.Lock()
	clear(s.sessions)
	s.mu.Unlock()
	s.book.change(func(l *Ledger) { l.Sessions = 0 })
}

// Close stops the server: streams end, tools that run are stopped, and every
// goroutine has returned. It may be called again.
func (s *Server) Close() {
	s.stop()
	s.mu.Lock()
	servers := s.servers
	s.servers = nil
	s.mu.Unlock()
	for _, server := range servers {
		server.Close()
	}
	s.busy.Wait()
}

// serve answers what comes in on ln until Close.
func (s *Server) serve(ln net.Listener) {
	server := &http.Server{Handler: s}
	s.mu.Lock()
	s.servers = append(s.servers, server)
	s.mu.Unlock()
	s.busy.Go(func() {
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.book.change(func(l *Ledger) { l.Complaints = append(l.Complaints, "the listener failed: "+err.Error()) })
		}
	})
}

// maxBody bounds the body of a request. It is far above the client's own limit,
// so that the client's is the one that is met.
const maxBody = 64 << 20

// ServeHTTP answers one request: by the row of the script that matches, else as
// a healthy server of the era does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.busy.Add(1)
	defer s.busy.Done()

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return // the client went away while it sent
	}
	x := &exchange{s: s, w: w, r: r, body: body}
	x.parse()
	nth := s.book.request(x)
	defer x.end()
	if row := s.script.take(r.Method, x.msg.Method, nth); row != nil {
		row.Reply.play(x)
		return
	}
	if s.opts.ScriptOnly {
		x.complain("no row of the script answers it (nth %d)", nth)
		http.Error(w, "not in the script", http.StatusInternalServerError)
		return
	}
	x.serve()
}

// randomID returns 26 characters that cannot be guessed.
func randomID() string { return rand.Text() }
