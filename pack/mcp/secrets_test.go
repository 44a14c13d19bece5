package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

// The canaries: values that an entry's headers, env and url hold.
var canaries = []string{
	"canary-header-5f1c9a7e", "canary-bearer-0b4d8e21", "canary-fromenv-93ce6a10",
	"canary-env-7d2f5b88", "canary-query-c4e1906b", "canary-user-1a6fd3e9",
}

// sing fails when text holds a canary.
func sing(t *testing.T, where, text string) {
	t.Helper()
	for _, canary := range canaries {
		if strings.Contains(text, canary) {
			t.Errorf("%s holds the secret %s: %.400q", where, canary, text)
		}
	}
}

func TestS1_25_NoSecretComesOut(t *testing.T) {
	echo := "you sent " + strings.Join(canaries, ", ") + "; denied"
	config := `{
		"docs": {"url":"https://mcp.test/?key=canary-query-c4e1906b","headers":{"X-Key":"canary-header-5f1c9a7e","Authorization":"Bearer canary-bearer-0b4d8e21","X-Env":"${env:TOKEN}"}},
		"down": {"url":"https://canary-user-1a6fd3e9:x@mcp.test/","headers":{"X-Key":"canary-header-5f1c9a7e"}},
		"rude": {"url":"https://mcp.test/","headers":{"X-Key":"canary-header-5f1c9a7e"}},
		"local":   {"command":"npx","env":{"KEY":"canary-env-7d2f5b88"}},
		"refused": {"url":"https://mcp.test/","headers":{"X-Key":"canary-header-5f1c9a7e\n"}},
		"owned":   {"url":"https://mcp.test/","headers":{"Accept":"canary-header-5f1c9a7e"}},
		"dropped": {"url":"https://mcp.test/","headers":{"Content-Type":"canary-header-5f1c9a7e"}},
		"unset":   {"url":"https://mcp.test/","headers":{"X-Key":"canary-header-5f1c9a7e ${env:UNSET}"}},
		"typed":   {"url":["canary-query-c4e1906b"],"env":{"KEY":"canary-env-7d2f5b88"}}
	}`
	for _, format := range []string{"text", "json"} {
		t.Run("logs as "+format, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				opts := &slog.HandlerOptions{Level: slog.LevelDebug}
				w.host.Log = slog.New(slog.NewJSONHandler(w.log, opts))
				if format == "text" {
					w.host.Log = slog.New(slog.NewTextHandler(w.log, opts))
				}
				w.env["TOKEN"] = "canary-fromenv-93ce6a10"
				w.serve("dropped")
				w.serve("down").start = refusing(echo)
				w.serve("rude").list = func(context.Context, mcpclient.Handler) error {
					return &mcpclient.ServerError{Code: -32603, Message: echo}
				}
				answers := []callFunc{
					answering(`{"isError":true,"content":[{"type":"text","text":"` + echo + `"}]}`),
					failing(&mcpclient.ServerError{Code: -32603, Message: echo}),
					failing(&mcpclient.WireError{Op: "send", Reason: echo, Status: 401, Delivered: "no"}),
					failing(errors.New(echo)),
					func(_ context.Context, _ *mcpclient.Request, h mcpclient.Handler) (string, error) {
						h.Notification("notifications/message", []byte(`{"level":"info","data":"`+echo+`"}`))
						h.Notification("notifications/message", []byte(`{"level":"info","logger":"`+echo+`","data":{"a":"`+echo+`"}}`))
						h.Notification("notifications/progress", []byte(`{"progressToken":3,"progress":1,"message":"`+echo+`"}`))
						return "", &mcpclient.ServerError{Code: 1, Message: echo}
					},
				}
				docs := w.serve("docs", tool("a"), `{"name":"b canary-header-5f1c9a7e","inputSchema":{}}`)
				next := 0
				docs.call = func(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (string, error) {
					next++
					return answers[next-1](ctx, req, h)
				}
				w.construct(config)
				pass(10 * time.Second)

				var shown strings.Builder
				for range answers {
					_, err := w.pack.Invoke(t.Context(), &pack.Call{
						Tool: "call_dynamic_tool", Arguments: pack.Raw(callA),
						Progress: func(p pack.Progress) { fmt.Fprintf(&shown, "%s", p) },
						Log:      func(m pack.Message) { fmt.Fprintf(&shown, "%+v %s", m, m.Data) },
					})
					e, ok := errors.AsType[*pack.Error](err)
					if !ok || e.Message == "" {
						t.Fatalf("got %v", err)
					}
					for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
						fmt.Fprintf(&shown, verb+"\n", e)
					}
				}
				if next != len(answers) {
					t.Fatalf("%d calls reached the server, want %d", next, len(answers))
				}
				// Names that a server lists are its own words too.
				e := w.refusal(pack.KindMessage, "call_dynamic_tool", `{"namespace":"docs","toolName":"b canary"}`, "did you mean")
				shown.WriteString(e.Message)
				for _, name := range []string{"down", "rude", "local", "refused", "owned", "unset", "typed"} {
					got := w.status(name)
					if got.Status != "error" || got.Error == "" {
						t.Errorf("%s: %+v", name, got)
					}
					e := w.refusal(pack.KindMessage, "call_dynamic_tool", `{"namespace":"`+name+`","toolName":"a"}`)
					fmt.Fprintf(&shown, "%+v %s", got, e.Message)
					shown.WriteString(w.answer(`{"namespace":"` + name + `"}`))
				}
				sing(t, "an answer, error or status", shown.String())
				w.log.mu.Lock()
				fmt.Fprintf(&shown, "%+v", w.log.statuses)
				w.log.mu.Unlock()
				sing(t, "a status", shown.String())
				sing(t, "the log", w.log.text())
				if !strings.Contains(w.log.text(), "X-Key") || !strings.Contains(w.log.text(), "denied") {
					t.Error("the log says less than it may: keys, and the rest of what servers say")
				}
			})
		})
	}
}

func TestS1_25_NoVerbPrintsASecret(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.env["TOKEN"] = "canary-fromenv-93ce6a10"
		w.serve("docs", tool("a")).call = answering(`{"content":[]}`)
		w.construct(`{"docs":{"url":"https://canary-user-1a6fd3e9:x@mcp.test/?key=canary-query-c4e1906b","headers":{"X-Key":"canary-header-5f1c9a7e","Authorization":"Bearer canary-bearer-0b4d8e21","X-Env":"${env:TOKEN}"}}}`)
		m := w.inside()
		s := m.index["docs"]
		if len(s.entry.Headers) != 3 {
			t.Fatalf("the entry has %d headers", len(s.entry.Headers))
		}
		st := s.state.Load()
		for _, value := range []any{
			w.pack, m, s, s.entry, *s.entry, s.entry.Headers, st, *st, st.catalog, *st.catalog, st.session,
			m.servers, m.index, *m.opts, m.opts, s.calls, m.Tools(), m.statuses(),
			[]any{s.entry, m}, map[string]any{"entry": s.entry}, struct{ e *mcpclient.Entry }{s.entry},
		} {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
				sing(t, fmt.Sprintf("%s of %T", verb, value), fmt.Sprintf(verb, value))
			}
			var logged strings.Builder
			slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "value", value)
			slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "value", value)
			sing(t, fmt.Sprintf("slog of %T", value), logged.String())
		}
	})
}
