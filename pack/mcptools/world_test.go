package mcptools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/httpmcp"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
)

// A world is a host with one registry, in which tests construct packs over fake
// servers.
type world struct {
	t        *testing.T
	servers  map[string]*fakeServer // by configured name; others must not be dialled
	host     *pack.Host
	registry *pack.Registry
	cancel   context.CancelFunc
	tasks    sync.WaitGroup
	pack     pack.Pack // the newest that was constructed

	mu        sync.Mutex
	log       bytes.Buffer
	statuses  [][]pack.ServerStatus
	changes   int
	messages  []pack.Message
	questions []pack.Question

	// answer answers the questions; nil holds them until they are withdrawn.
	answer func(q *pack.Question) *pack.Answer
}

type runtime struct {
	ctx   context.Context
	tasks *sync.WaitGroup
}

func (r runtime) Go(task func(ctx context.Context)) { r.tasks.Go(func() { task(r.ctx) }) }

// Write takes the log.
func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

// logged returns the records of that message.
func (w *world) logged(message string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []string
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, fmt.Sprintf(`"msg":%q`, message)) {
			found = append(found, line)
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
	w := &world{t: t, servers: map[string]*fakeServer{}, registry: pack.NewRegistry()}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	w.host = &pack.Host{
		Runtime: runtime{ctx, &w.tasks},
		Log:     slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Scrub:   redact.NewScrubber(),
		Status: func(list []pack.ServerStatus) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.statuses = append(w.statuses, list)
		},
		Changed: func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.changes++
		},
		Message: func(m pack.Message) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.messages = append(w.messages, m)
		},
		Ask:  w.ask,
		Asks: map[pack.QuestionKind]bool{pack.AskApproval: true, pack.AskForm: true, pack.AskURL: true},
	}
	err := Install(w.registry, nil, &Options{
		Env:  func(name string) (string, bool) { return "s3cr3t-" + name, name == "TOKEN" },
		Home: func() (string, error) { return "/home/me", nil },
		NewTransport: func(entry *mcpclient.Entry, _ *pack.Host, _ httpmcp.Authorizer) mcpclient.Transport {
			f, ok := w.servers[entry.Name]
			if !ok {
				t.Errorf("a server that nobody serves was dialled: %q", entry.Name)
				f = &fakeServer{}
			}
			return f.transport()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) ask(ctx context.Context, q *pack.Question) (*pack.Answer, error) {
	w.mu.Lock()
	w.questions = append(w.questions, *q)
	answer := w.answer
	w.mu.Unlock()
	if answer != nil {
		return answer(q), nil
	}
	<-ctx.Done()
	return nil, pack.AsError(context.Cause(ctx))
}

// asked returns the questions so far.
func (w *world) asked() []pack.Question {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.questions)
}

// serve adds a server with these tools.
func (w *world) serve(name string, tools ...string) *fakeServer {
	f := &fakeServer{tools: tools}
	w.servers[name] = f
	return f
}

func (w *world) try(id, config string) (pack.Pack, error) {
	return w.registry.Construct("tanstack/mcp", id, pack.Raw(config), w.host)
}

// construct builds a pack of a configuration that is taken. When it returns, every
// server that answers at once has been listed.
func (w *world) construct(id, config string) pack.Pack {
	w.t.Helper()
	p, err := w.try(id, config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.pack = p
	synctest.Wait()
	return p
}

// dial constructs a pack of servers in this order; each is a name, or a name with
// members of its entry, as in `git "timeoutMs":5`.
func (w *world) dial(servers ...string) pack.Pack {
	w.t.Helper()
	var entries []string
	for _, s := range servers {
		name, more, _ := strings.Cut(s, " ")
		if more != "" {
			more = "," + more
		}
		entries = append(entries, fmt.Sprintf(`%q:{"url":"https://mcp.test/%s"%s}`, name, name, more))
	}
	return w.construct("mcp", `{"servers":{`+strings.Join(entries, ",")+`}}`)
}

func (w *world) end() {
	w.registry.CloseAll(context.Background())
	w.cancel()
	w.tasks.Wait()
}

// inside returns the pack itself.
func (w *world) inside() *mcptools { return w.pack.(*pack.Instance).Pack.(*mcptools) }

// names returns the tools of that kind.
func names(p pack.Pack, kind pack.ToolKind) []string {
	var list []string
	for _, t := range p.Tools() {
		if t.Kind == kind {
			list = append(list, t.Name)
		}
	}
	return list
}

// wantNames checks the names that the model sees.
func (w *world) wantNames(want ...string) {
	w.t.Helper()
	if got := names(w.pack, pack.KindTool); !slices.Equal(got, want) {
		w.t.Errorf("the model sees %q, want %q", got, want)
	}
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

// now returns the same without waiting for anything.
func (w *world) now(name string) pack.ServerStatus {
	for _, s := range w.inside().catalog.Load().statuses {
		if s.Name == name {
			return s
		}
	}
	return pack.ServerStatus{}
}

// invoke runs a tool with these arguments.
func (w *world) invoke(tool, arguments string) (*pack.Result, error) {
	return w.pack.Invoke(w.t.Context(), &pack.Call{ID: pack.Raw("1"), Tool: tool, Arguments: pack.Raw(arguments)})
}

// text runs a tool that must answer and returns its text.
func (w *world) text(tool, arguments string) string {
	w.t.Helper()
	result, err := w.invoke(tool, arguments)
	if err != nil {
		w.t.Fatalf("%s: %v", tool, err)
	}
	var s string
	if err := json.Unmarshal(result.Content, &s); err != nil {
		w.t.Fatalf("%v in %s", err, result.Content)
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
