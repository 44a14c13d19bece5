package stdiomcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

// The roles of the test binary: as a child it is one of them, named by its first
// argument, since the environment and the directory are the server's.
const (
	roleServer = "stdiomcp-test-server"
	roleGuard  = "stdiomcp-test-guard"
	roleHost   = "stdiomcp-test-host"
)

func TestMain(m *testing.M) {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	switch role {
	case roleServer:
		serve(os.Args[2:])
	case roleGuard:
		if err := Guard(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case roleHost:
		host()
	case roleEcho:
		echoLines(os.Stdin, os.Stdout)
	default:
		os.Exit(m.Run())
	}
}

// patience is how long anything may take that is certain to come.
const patience = 20 * time.Second

var (
	modern = mcpclient.Revisions()[0]
	legacy = mcpclient.Revisions()[1]
	oldest = mcpclient.RevisionNamed("2025-03-26")
)

func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func guardCommand(t testing.TB) []string { return []string{self(t), roleGuard} }

// marker names the variable by which the processes of one test know each other.
const marker = "STDIOMCP_TEST_TREE"

// variables are those of every server of a test.
func variables(t testing.TB) []mcpclient.Variable {
	return []mcpclient.Variable{
		{Name: marker, Value: redact.NewSecret(mark(t))},
		// With the race detector a program sleeps for a second before it exits.
		{Name: "GORACE", Value: redact.NewSecret("atexit_sleep_ms=0")},
	}
}

var marks sync.Map // by test name

func mark(t testing.TB) string {
	value, _ := marks.LoadOrStore(t.Name(), fmt.Sprintf("tree-%d-%d-%p", os.Getpid(), time.Now().UnixNano(), t))
	return value.(string)
}

// server returns the process of the test binary as a server with these habits.
func server(t testing.TB, habits ...string) *mcpclient.Process {
	t.Helper()
	p := &mcpclient.Process{Command: redact.NewSecret(self(t)), Shown: "test-server", Env: variables(t)}
	for _, arg := range append([]string{roleServer}, habits...) {
		p.Args = append(p.Args, redact.NewSecret(arg))
	}
	return p
}

// shell returns the process of a shell script.
func shell(t testing.TB, script string) *mcpclient.Process {
	return &mcpclient.Process{
		Command: redact.NewSecret("/bin/sh"), Shown: "/bin/sh", Env: variables(t),
		Args: []redact.Secret{redact.NewSecret("-c"), redact.NewSecret(script)},
	}
}

// hello answers the first request, and is when the tree of a shape stands.
const hello = `read line; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; `

// limits returns the defaults with these settings.
func limits(t testing.TB, settings ...string) limit.Table {
	t.Helper()
	var table limit.Table
	for _, setting := range settings {
		var err error
		if table, err = table.With(setting); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

// open returns a Transport that is closed at the end of the test, after which
// nothing of it may be left.
func open(t testing.TB, p *mcpclient.Process, opts *Options) *Transport {
	t.Helper()
	leakFree(t)
	tr := New(p, opts)
	t.Cleanup(func() { shut(t, tr) })
	return tr
}

func shut(t testing.TB, tr *Transport) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := tr.Close(ctx, nil); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// leakFree fails the test when at its end there are more goroutines or open files
// than now, or a zombie.
func leakFree(t testing.TB) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), openFiles()
	t.Cleanup(func() {
		var state string
		for end := time.Now().Add(patience / 4); time.Now().Before(end); time.Sleep(time.Millisecond) {
			state = ""
			if n := runtime.NumGoroutine(); n > goroutines {
				buf := make([]byte, 1<<20)
				state += fmt.Sprintf("%d goroutines, were %d\n%s", n, goroutines, buf[:runtime.Stack(buf, true)])
			}
			if n := openFiles(); n > files {
				state += fmt.Sprintf("%d open files, were %d\n", n, files)
			}
			state += zombies()
			if state == "" {
				return
			}
		}
		t.Error("left behind: " + state)
	})
}

// tell sends a request and returns its result.
func tell(t testing.TB, tr *Transport, rev *mcpclient.Revision, id int64, method, params string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	resp, err := tr.RoundTrip(ctx, request(rev, id, method, params), new(recorder))
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	if resp.Err != nil {
		t.Fatalf("%s: %v", method, resp.Err)
	}
	return string(resp.Result)
}

func request(rev *mcpclient.Revision, id int64, method, params string) *mcpclient.Request {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
	return &mcpclient.Request{Link: &mcpclient.Link{Revision: rev}, ID: id, Method: method, Body: []byte(body)}
}

// wire returns the WireError that err is.
func wire(t testing.TB, err error) *mcpclient.WireError {
	t.Helper()
	w, ok := errors.AsType[*mcpclient.WireError](err)
	if !ok {
		t.Fatalf("error is %T: %v", err, err)
	}
	return w
}

// A recorder is a Handler and Listener that keeps what it is given.
type recorder struct {
	answer func(ctx context.Context, method string) ([]byte, *mcpclient.ServerError)
	notify func(method string, params []byte) // may be nil

	mu   sync.Mutex
	got  []string      // guarded by mu; "method params"
	more chan struct{} // guarded by mu; closed at the next message
}

func (r *recorder) add(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, what)
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
}

func (r *recorder) Notification(method string, params []byte) {
	if r.notify != nil {
		r.notify(method, params)
	}
	r.add(strings.TrimSpace(method + " " + string(params)))
}

func (r *recorder) Request(ctx context.Context, method string, _ []byte) ([]byte, *mcpclient.ServerError) {
	r.add("? " + method)
	if r.answer != nil {
		return r.answer(ctx, method)
	}
	return []byte("{}"), nil
}

func (r *recorder) Opened() { r.add("opened") }

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.got...)
}

// wait waits until that was recorded n times.
func (r *recorder) wait(t testing.TB, what string, n int) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		r.mu.Lock()
		seen := 0
		for _, got := range r.got {
			if got == what {
				seen++
			}
		}
		if r.more == nil {
			r.more = make(chan struct{})
		}
		more := r.more
		r.mu.Unlock()
		if seen >= n {
			return
		}
		select {
		case <-more:
		case <-timer.C:
			t.Fatalf("%q came %d times, want %d: %q", what, seen, n, r.all())
		}
	}
}

// A logbook is a log to look into.
type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logbook) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// ended waits for the end of a Transport and returns why.
func ended(t testing.TB, tr *Transport) error {
	t.Helper()
	select {
	case <-tr.Done():
		return tr.Err()
	case <-time.After(patience):
		t.Fatal("the transport does not end")
		return nil
	}
}
