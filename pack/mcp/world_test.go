package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
	"github.com/toolhost/toolhost/spec/speccheck"
)

// A world is a host with one registry, in which tests construct the pack over
// fake servers.
type world struct {
	t       *testing.T
	servers map[string]*fakeServer // by configured name; others must not be dialled
	env     map[string]string
	host    *pack.Host
	runtime *runtime
	log     *record
	pack    pack.Pack
}

// A runtime runs tasks at once, or, when held, not until it is released.
type runtime struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	held   bool
	tasks  []func()
}

func (r *runtime) Go(task func(ctx context.Context)) {
	run := func() {
		r.wg.Go(func() {
			defer func() { recover() }() // contained, as a host does
			task(r.ctx)
		})
	}
	if r.held {
		r.tasks = append(r.tasks, run)
		return
	}
	run()
}

func (r *runtime) release() {
	r.held = false
	for _, run := range r.tasks {
		run()
	}
	r.tasks = nil
}

// A record is what was logged, and the statuses that the host was told.
type record struct {
	mu       sync.Mutex
	buf      bytes.Buffer
	statuses [][]pack.ServerStatus
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(p)
}

func (r *record) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.String()
}

// lines returns the records of that message, decoded.
func (r *record) lines(message string) []map[string]any {
	var found []map[string]any
	for line := range strings.Lines(r.text()) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			panic(err)
		}
		if row["msg"] == message {
			found = append(found, row)
		}
	}
	return found
}

// bubble runs f in a synctest bubble with a world of its own, which it ends.
func bubble(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.end()
		f(t, w)
	})
}

// pass lets time pass in a bubble, and what happens in it come to an end.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, servers: map[string]*fakeServer{}, env: map[string]string{}, log: &record{}}
	w.runtime = &runtime{}
	w.runtime.ctx, w.runtime.cancel = context.WithCancel(context.Background())
	w.host = &pack.Host{
		Runtime: w.runtime,
		Log:     slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Scrub:   redact.NewScrubber(),
		Status: func(list []pack.ServerStatus) {
			w.log.mu.Lock()
			defer w.log.mu.Unlock()
			w.log.statuses = append(w.log.statuses, list)
		},
	}
	return w
}

// serve adds a server that lists these tools on one page.
func (w *world) serve(name string, tools ...string) *fakeServer {
	f := &fakeServer{tools: []string{strings.Join(tools, ",")}}
	w.servers[name] = f
	return f
}

// try constructs the pack under the id mcp.
func (w *world) try(config string) (pack.Pack, error) {
	registry := pack.NewRegistry()
	err := Install(registry, nil, &Options{
		Env:  func(name string) (string, bool) { v, ok := w.env[name]; return v, ok },
		Home: func() (string, error) { return "/home/me", nil },
		NewTransport: func(entry *mcpclient.Entry, _ *pack.Host) mcpclient.Transport {
			f, ok := w.servers[entry.Name]
			if !ok {
				w.t.Errorf("a server that nobody serves was dialled: %q", entry.Name)
				f = &fakeServer{}
			}
			return f.transport()
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return registry.Construct("runvil/mcp", "", pack.Raw(config), w.host)
}

// construct does so for a configuration that is taken. When it returns, every
// server that answers at once has been listed.
func (w *world) construct(config string) pack.Pack {
	w.t.Helper()
	p, err := w.try(config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.pack = p
	synctest.Wait()
	return p
}

// dial constructs the pack over all servers that were added.
func (w *world) dial() pack.Pack {
	w.t.Helper()
	var entries []string
	for name := range w.servers {
		entries = append(entries, fmt.Sprintf(`%q:{"url":"https://mcp.test/%d"}`, name, len(entries)))
	}
	return w.construct("{" + strings.Join(entries, ",") + "}")
}

func (w *world) end() {
	if w.pack != nil {
		w.pack.Close(context.Background())
	}
	w.runtime.cancel()
	w.runtime.wg.Wait()
}

// invoke runs a tool with these arguments.
func (w *world) invoke(tool, arguments string) (*pack.Result, error) {
	return w.pack.Invoke(w.t.Context(), &pack.Call{Tool: tool, Arguments: pack.Raw(arguments)})
}

// checker holds answers against the schemas of the protocol.
var checker = sync.OnceValues(speccheck.New)

// answer runs get_dynamic_tools and returns the JSON text to the letter.
func (w *world) answer(arguments string) string {
	w.t.Helper()
	result, err := w.invoke("get_dynamic_tools", arguments)
	if err != nil {
		w.t.Fatalf("%s: %v", arguments, err)
	}
	if !result.Untrusted {
		w.t.Errorf("S1-24 %s: the answer is not marked untrusted", arguments)
	}
	doc := text(w.t, result.Content)
	check, err := checker()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := check.DynamicTools([]byte(doc)); err != nil {
		w.t.Errorf("%s: %v in %s", arguments, err, doc)
	}
	return doc
}

// list decodes it.
func (w *world) list(arguments string) map[string]any {
	w.t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(w.answer(arguments)), &doc); err != nil {
		w.t.Fatalf("%s: %v", arguments, err)
	}
	return doc
}

// text decodes the JSON string that a Result carries.
func text(t *testing.T, content pack.Raw) string {
	t.Helper()
	var s string
	if err := json.Unmarshal(content, &s); err != nil {
		t.Fatalf("%v in %s", err, content)
	}
	return s
}

// refusal runs a tool that must fail with that kind and returns the error.
func (w *world) refusal(kind pack.Kind, tool, arguments string, parts ...string) *pack.Error {
	w.t.Helper()
	result, err := w.invoke(tool, arguments)
	if err == nil {
		w.t.Fatalf("%s %s: answered %s, want an error", tool, arguments, result.Content)
	}
	return wantError(w.t, err, kind, parts...)
}

// wantError checks the kind of an error of the pack and parts of its message.
func wantError(t *testing.T, err error, kind pack.Kind, parts ...string) *pack.Error {
	t.Helper()
	e, ok := errors.AsType[*pack.Error](err)
	if !ok {
		t.Fatalf("got %v (%T), want a *pack.Error", err, err)
	}
	if e.Kind != kind {
		t.Errorf("%q has the kind %s, want %s", e.Message, e.Kind, kind)
	}
	for _, part := range parts {
		if !strings.Contains(e.Message, part) {
			t.Errorf("%q does not say %q", e.Message, part)
		}
	}
	return e
}

// inside returns the pack itself.
func (w *world) inside() *mcp { return w.pack.(*pack.Instance).Pack.(*mcp) }

// entry returns a server's entry, which must have been taken.
func (w *world) entry(name string) *mcpclient.Entry {
	w.t.Helper()
	s := w.inside().index[name]
	if s == nil || s.entry == nil {
		w.t.Fatalf("the entry of %q was not taken", name)
	}
	return s.entry
}

// status returns what Ready says of one server.
func (w *world) status(name string) pack.ServerStatus {
	w.t.Helper()
	list, err := w.inside().Ready(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	w.t.Fatalf("no server %q in %+v", name, list)
	return pack.ServerStatus{}
}
