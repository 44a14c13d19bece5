package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/pack"
)

// live constructs the pack over real servers, with the carrier that toolhost
// uses, and waits until each of them is ready or in error.
func live(t *testing.T, config map[string]any) *world {
	t.Helper()
	w := newWorld(t)
	changed := make(chan struct{}, 1024)
	w.host.Status = func([]pack.ServerStatus) { changed <- struct{}{} }
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	registry := pack.NewRegistry()
	if err := Install(registry, nil, nil); err != nil {
		t.Fatal(err)
	}
	w.pack, err = registry.Construct("runvil/mcp", "", raw, w.host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.end)
	for name := range config {
		for w.status(name).Status == "loading" {
			select {
			case <-changed:
			case <-t.Context().Done():
				t.Fatal(context.Cause(t.Context()))
			}
		}
	}
	return w
}

// call calls a tool of the server docs and returns its text.
func (w *world) call(tool, arguments string) string {
	w.t.Helper()
	result, err := w.invoke("call_dynamic_tool", fmt.Sprintf(`{"namespace":"docs","toolName":%q,"arguments":%s}`, tool, arguments))
	if err != nil {
		w.t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	if !result.Untrusted {
		w.t.Errorf("S1-24 %s: the result is not marked untrusted", tool)
	}
	return text(w.t, result.Content)
}

// kinds are the servers that everything must work with.
var kinds = []struct {
	name string
	opts fakeserver.Options
	by   fakeserver.CancelBy
}{
	{"legacy, JSON", fakeserver.Options{Answer: fakeserver.JSON}, fakeserver.ByMessage},
	{"legacy, SSE", fakeserver.Options{Answer: fakeserver.SSE}, fakeserver.ByMessage},
	{"legacy, no sessions", fakeserver.Options{NoSessions: true}, fakeserver.ByMessage},
	{"legacy, 2025-03-26", fakeserver.Options{Versions: []string{"2025-03-26"}}, fakeserver.ByMessage},
	{"modern, JSON", fakeserver.Options{Era: fakeserver.Modern, Answer: fakeserver.JSON}, fakeserver.ByStream},
	{"modern, SSE", fakeserver.Options{Era: fakeserver.Modern, Answer: fakeserver.SSE}, fakeserver.ByStream},
	{"both eras", fakeserver.Options{Era: fakeserver.Dual}, fakeserver.ByStream},
}

func TestEndToEnd(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			opts := kind.opts
			opts.PageSize = 2 // S1-14: every page
			opts.Require = map[string]string{"X-Key": "key-of-the-server"}
			server := fakeserver.StartTest(t, opts)
			w := live(t, map[string]any{
				"docs":  map[string]any{"url": server.URL(), "headers": map[string]string{"X-Key": "key-of-the-server"}},
				"files": map[string]any{"command": "npx"},
			})
			var names []string
			for _, tool := range fakeserver.Builtin() {
				names = append(names, tool.Name)
			}
			if got := w.status("docs"); got.Status != "ready" || got.ToolCount != len(names) {
				t.Fatalf("got %+v", got)
			}
			quoted, _ := json.Marshal(names)
			want := `{"namespaces":[{"namespace":"docs","status":"ready","tools":` + string(quoted) + `},` +
				`{"namespace":"files","status":"error","reason":"local MCP servers (command) are not supported yet","tools":[]}]}`
			if got := w.answer(`{}`); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			def := w.answer(`{"namespace":"docs","toolName":"add"}`)
			if want := `{"namespace":"docs",` + fakeserver.Builtin()[1].Definition[1:]; def != want {
				t.Errorf("got %s, want %s", def, want)
			}

			for _, row := range []struct{ tool, arguments, want string }{
				{"echo", `{"text":"<é> \u0041\n"}`, "<é> A\n"},
				{"add", `{"a":1,"b":2}`, "3"},
				{"image", `{}`, "[image omitted: image/png]\n\n[audio omitted: audio/wav]"},
				{"structured", `{}`, `{"temperature":21.50,"unit":"C","big":12345678901234567890}`},
				{"links", `{}`, "[resource: file:///notes.txt]\n\nthe text of a resource\n\n[resource omitted: application/zip]"},
				{"raw_args", `{"z":1.0,"a":12345678901234567890,"n":null}`, `{"z":1.0,"a":12345678901234567890,"n":null}`},
			} {
				if got := w.call(row.tool, row.arguments); got != row.want {
					t.Errorf("%s: got %q, want %q", row.tool, got, row.want)
				}
			}
			if got := w.call("big", `{"bytes":1000000}`); len(got) != 1_000_000 {
				t.Errorf("big: %d bytes", len(got))
			}
			e := w.refusal(pack.KindBackend, "call_dynamic_tool", `{"namespace":"docs","toolName":"fail","arguments":{"text":"no\nway"}}`)
			if e.Message != "no\nway" || e.Delivered != pack.DeliveredYes || !e.Untrusted {
				t.Errorf("fail: %+v", e)
			}
			ledger := server.Ledger()
			if n := len(ledger.Runs); n != 8 {
				t.Errorf("%d runs for 8 calls", n)
			}

			if err := w.pack.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if n := server.Ledger().Sessions; n != 0 {
				t.Errorf("%d sessions are left at the server", n)
			}
		})
	}
}

func TestS1_21_TheServerIsToldEndToEnd(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			running := make(chan struct{}, 1)
			opts := kind.opts
			opts.Tools = append(fakeserver.Builtin(), fakeserver.Tool{
				Name:       "hang",
				Definition: fakeserver.Define("hang", "Never answers.", `{"type":"object"}`),
				Run: func(ctx context.Context, _ *fakeserver.Call) fakeserver.Output {
					running <- struct{}{}
					<-ctx.Done()
					return fakeserver.Output{}
				},
			})
			server := fakeserver.StartTest(t, opts)
			w := live(t, map[string]any{"docs": map[string]any{"url": server.URL()}})
			drop := func(cancelled int, timeout time.Duration, kind pack.Kind) {
				t.Helper()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				failed := make(chan error, 1)
				go func() {
					_, err := w.pack.Invoke(ctx, &pack.Call{Tool: "call_dynamic_tool", Timeout: timeout,
						Arguments: pack.Raw(`{"namespace":"docs","toolName":"hang"}`)})
					failed <- err
				}()
				select {
				case <-running:
				case err := <-failed:
					t.Fatalf("failed before it ran: %v", err)
				}
				if timeout == 0 {
					cancel()
				}
				wantError(t, <-failed, kind)
				ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				err := server.Wait(ctx, func(l *fakeserver.Ledger) bool {
					return l.Outcomes("hang", fakeserver.Cancelled) == cancelled && len(l.Cancels) == cancelled
				})
				if err != nil {
					t.Fatalf("the server was not told: %v, %+v", err, server.Ledger().Cancels)
				}
			}
			drop(1, 0, pack.KindCancelled)           // the host cancels
			drop(2, time.Second, pack.KindTransport) // the deadline
			for _, got := range server.Ledger().Cancels {
				if got.By != kind.by || !got.Known {
					t.Errorf("told by %+v, want by %s", got, kind.by)
				}
			}
			if got := w.call("echo", `{"text":"still here"}`); got != "still here" {
				t.Errorf("after that: %q", got)
			}
		})
	}
}

func TestProgressEndToEnd(t *testing.T) {
	for _, kind := range kinds {
		if kind.opts.Answer == fakeserver.JSON {
			continue // has no room for it
		}
		t.Run(kind.name, func(t *testing.T) {
			server := fakeserver.StartTest(t, kind.opts)
			w := live(t, map[string]any{"docs": map[string]any{"url": server.URL()}})
			var told []string
			_, err := w.pack.Invoke(t.Context(), &pack.Call{Tool: "call_dynamic_tool",
				Arguments: pack.Raw(`{"namespace":"docs","toolName":"slow","arguments":{"ms":20}}`),
				Progress:  func(p pack.Progress) { told = append(told, fmt.Sprintf("%s/%s %s", p.Progress, p.Total, p.Message)) },
			})
			if err != nil {
				t.Fatal(err)
			}
			if want := []string{"1/4 step 1 of 4", "2/4 step 2 of 4", "3/4 step 3 of 4", "4/4 step 4 of 4"}; !slices.Equal(told, want) {
				t.Errorf("told %q, want %q", told, want)
			}
		})
	}
}

func TestALostSessionIsOpenedAnew(t *testing.T) {
	server := fakeserver.StartTest(t, fakeserver.Options{})
	w := live(t, map[string]any{"docs": map[string]any{"url": server.URL()}})
	w.call("echo", `{"text":"before"}`)
	server.DropSessions()
	if got := w.call("echo", `{"text":"after"}`); got != "after" {
		t.Errorf("got %q", got)
	}
	if ledger := server.Ledger(); len(ledger.Runs) != 2 || ledger.Count("POST", "initialize") != 2 {
		t.Errorf("%d runs and %d handshakes, want 2 and 2", len(ledger.Runs), ledger.Count("POST", "initialize"))
	}
}

func TestS1_23_RedirectsAreNotFollowed(t *testing.T) {
	other := fakeserver.StartTest(t, fakeserver.Options{})
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var rows []fakeserver.Row
			for _, method := range []string{"server/discover"} {
				rows = append(rows, fakeserver.Row{Method: method, Reply: fakeserver.Reply{Status: status, Header: map[string]string{"Location": other.URL()}}})
			}
			server := fakeserver.StartTest(t, fakeserver.Options{Script: rows})
			w := live(t, map[string]any{"docs": map[string]any{"url": server.URL(), "headers": map[string]string{"X-Key": "canary-header-5f1c9a7e"}}})
			if got := w.status("docs"); got.Status != "error" || !strings.Contains(got.Error, "redirect") {
				t.Errorf("got %+v", got)
			}
			if n := len(other.Ledger().Requests); n != 0 {
				t.Errorf("the other server got %d requests", n)
			}
		})
	}
}

func TestS1_25_AServerThatEchoesItsHeaders(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, "denied: %v %s", r.Header, r.URL)
	}
	server := fakeserver.StartTest(t, fakeserver.Options{Script: []fakeserver.Row{{Method: "server/discover", Reply: fakeserver.Reply{Func: echo}}}})
	late := fakeserver.StartTest(t, fakeserver.Options{Script: []fakeserver.Row{{Method: "tools/call", Reply: fakeserver.Reply{Func: echo}}}})
	entry := func(url string) map[string]any {
		return map[string]any{
			"url":     strings.Replace(url, "http://", "http://user:canary-user-1a6fd3e9@", 1) + "?key=canary-query-c4e1906b",
			"headers": map[string]string{"X-Key": "canary-header-5f1c9a7e", "X-Token": "Bearer canary-bearer-0b4d8e21"},
		}
	}
	w := live(t, map[string]any{"down": entry(server.URL()), "docs": entry(late.URL()), "nobody": entry("http://127.0.0.1:1/mcp")})
	var shown strings.Builder
	for _, name := range []string{"down", "nobody"} {
		got := w.status(name)
		if got.Status != "error" {
			t.Errorf("%s: %+v", name, got)
		}
		fmt.Fprintf(&shown, "%+v\n", got)
	}
	if got := w.status("down"); !strings.Contains(got.Error, "401") {
		t.Errorf("got %+v", got)
	}
	e := w.refusal(pack.KindTransport, "call_dynamic_tool", `{"namespace":"docs","toolName":"echo","arguments":{"text":"x"}}`, "401")
	for err := error(e); err != nil; {
		for _, verb := range []string{"%v", "%+v", "%#v", "%q"} {
			fmt.Fprintf(&shown, verb+"\n", err)
		}
		unwrapper, ok := err.(interface{ Unwrap() error })
		if !ok {
			break
		}
		err = unwrapper.Unwrap()
	}
	sing(t, "a status or error", shown.String())
	sing(t, "the log", w.log.text())
	m := w.inside()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		sing(t, "the session in "+verb, fmt.Sprintf(verb, m.index["docs"].state.Load().session))
	}
}
