package mcptools

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

var errRefused = &mcpclient.WireError{Op: "connect", Reason: "connection refused", Delivered: "no"}

func TestS2_01_OrderOfServersIsKept(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for _, name := range []string{"zeta", "alpha", "mid"} {
			w.serve(name, tool("x", ""))
		}
		w.dial("zeta", "alpha", "mid")
		w.wantNames("zeta_x", "alpha_x", "mid_x")
		list, err := w.inside().Ready(t.Context())
		if err != nil || list[0].Name != "zeta" || list[1].Name != "alpha" || list[2].Name != "mid" {
			t.Errorf("got %v, %v", list, err)
		}
	})
}

func TestS2_01_Config(t *testing.T) {
	for _, row := range []struct{ config, says string }{
		{`[]`, "must be a JSON object with servers"},
		{`{}`, "must be a JSON object with servers"},
		{`{"servers":[]}`, "must be a JSON object with servers"},
		{`{"mcpServers":{}}`, "pass the object under mcpServers as servers"},
		{`{"servers":{},"servers":{}}`, `holds "servers" twice`},
		{`{"servers":{},"onDuplicateTool":"ignore"}`, `onDuplicateTool must be "warn" or "error"`},
	} {
		bubble(t, func(t *testing.T, w *world) {
			_, err := w.try("mcp", row.config)
			if err == nil {
				t.Fatalf("%s was taken", row.config)
			}
			wantError(t, err, pack.KindUnavailable, row.says)
		})
	}
	bubble(t, func(t *testing.T, w *world) {
		w.construct("mcp", "null")
		if list, err := w.inside().Ready(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("null: %v, %v", list, err)
		}
		if got := names(w.pack, pack.KindCommand); !slices.Equal(got, []string{"command/mcp"}) {
			t.Errorf("commands %q", got)
		}
	})
}

func TestS2_01_EntriesAreRefusedOneByOne(t *testing.T) {
	for _, row := range []struct{ entry, says string }{
		{`7`, "the entry must be an object"},
		{`{"url":"https://h","timeoutMs":0}`, "timeoutMs must be a number of milliseconds above 0"},
		{`{"url":"https://h","timeoutMs":"5"}`, "timeoutMs must be a number"},
		{`{"url":"https://h","timeoutMs":1e12}`, "at most 3600000"},
		{`{"url":"https://h","codeMode":1}`, "codeMode must be true or false"},
		{`{"url":"https://h","needsApproval":"yes"}`, "needsApproval must be true, false or an object"},
		{`{"url":"https://h","toolName":"x"}`, "toolName must hold {tool}"},
		{`{"url":"https://h","toolName":5}`, "toolName must be a string"},
		{`{"url":"https://h","oauth":"yes"}`, "oauth must be true, false or an object"},
		{`{"command":"x","oauth":true}`, "oauth is for servers with a url"},
		{`{"url":"https://h","headers":{"Host":"x"}}`, `"Host" is set by the client itself; remove it`},
		{`{"url":"https://h/${env:GONE}"}`, "the environment variable GONE is not set"},
	} {
		bubble(t, func(t *testing.T, w *world) {
			w.serve("good", tool("x", ""))
			w.construct("mcp", `{"servers":{"bad":`+row.entry+`,"good":{"url":"https://mcp.test"}}}`)
			st := w.status("bad")
			if st.Status != "failed" || !strings.Contains(st.Error, row.says) {
				t.Errorf("%s: %+v, want %q", row.entry, st, row.says)
			}
			if len(w.logged("the MCP server's entry was refused")) != 1 {
				t.Errorf("%s: not logged once", row.entry)
			}
			w.wantNames("good_x")
			if e := w.refusal(pack.KindMessage, "bad_x", "{}", "unknown tool"); e.Retryable {
				t.Error("retryable")
			}
		})
	}
}

func TestS2_07_S2_08_S2_09_StatusesAndTheFirstReady(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		slow := w.serve("slow", tool("a", ""), tool("b", ""))
		slow.hold = make(chan struct{})
		w.serve("quick", tool("a", ""))
		w.serve("broken").refuse = func(int) error { return errRefused }
		w.dial("slow", "quick", "broken")

		// Before the first ready the quick one's tools can be used.
		w.servers["quick"].call = answering("hi")
		if got := w.text("quick_a", "{}"); got != "hi" {
			t.Errorf("got %q", got)
		}
		for name, want := range map[string]pack.ServerStatus{
			"slow":   {Name: "slow", Status: "connecting"},
			"quick":  {Name: "quick", Status: "connected", ToolCount: 1},
			"broken": {Name: "broken", Status: "failed", Error: "connection refused"},
		} {
			if got := w.now(name); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
		w.mu.Lock()
		told, changes := len(w.statuses), w.changes
		w.mu.Unlock()
		if told < 2 || changes != 1 {
			t.Errorf("the host was told %d statuses and %d changes", told, changes)
		}

		ready := make(chan []pack.ServerStatus, 1)
		go func() {
			list, _ := w.inside().Ready(t.Context())
			ready <- list
		}()
		synctest.Wait()
		select {
		case <-ready:
			t.Fatal("the first ready did not wait for a server that was still connecting")
		default:
		}
		close(slow.hold)
		list := <-ready
		if list[0].Status != "connected" || list[0].ToolCount != 2 {
			t.Errorf("got %+v", list)
		}
		w.wantNames("slow_a", "slow_b", "quick_a")
	})
}

func TestS2_09_ReadyEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("slow").hold = make(chan struct{})
		w.dial("slow")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := w.inside().Ready(ctx)
		wantError(t, err, pack.KindCancelled)
	})
}

func TestS2_11_ReconnectsAfterACrash(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("files", tool("a", ""))
		f.call = hanging
		w.dial("files")
		pass(31 * time.Second) // the connection stayed open

		failed := make(chan error, 1)
		go func() {
			_, err := w.invoke("files_a", "{}")
			failed <- err
		}()
		synctest.Wait()
		f.change(func() { f.tools = []string{tool("b", "")} })
		f.newest().crash("killed by SIGKILL")
		e := wantError(t, <-failed, pack.KindTransport, "killed by SIGKILL")
		if e.Delivered != pack.DeliveredUnknown || e.Retryable {
			t.Errorf("the call that was in flight: %+v", e)
		}
		synctest.Wait()
		if st := w.now("files"); st.Status != "reconnecting" || st.ToolCount != 0 || !strings.Contains(st.Error, "SIGKILL") {
			t.Errorf("got %+v", st)
		}
		w.wantNames()
		e = w.refusal(pack.KindMessage, "files_a", "{}", "reconnecting", "try again")
		if !e.Retryable || e.Delivered != pack.DeliveredNo {
			t.Errorf("got %+v", e)
		}
		pass(499 * time.Millisecond)
		if f.attempts() != 1 {
			t.Error("tried before 0.5 s")
		}
		pass(time.Millisecond)
		if st := w.status("files"); st.Status != "connected" || f.attempts() != 2 {
			t.Errorf("after 0.5 s: %+v, %d attempts", st, f.attempts())
		}
		w.wantNames("files_b")
		if calls := f.sent("tools/call"); len(calls) != 1 {
			t.Errorf("the call was sent %d times", len(calls))
		}
	})
}

// TestS2_11_T70_Waits plays an hour of a server that crashes as soon as it is
// connected: the waits double to 30 s and stay there.
func TestS2_11_T70_Waits(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("files", tool("a", ""))
		w.dial("files")
		var starts []time.Duration
		began := time.Now()
		for time.Since(began) < time.Hour {
			seen := f.attempts()
			starts = append(starts, time.Since(began))
			f.newest().crash("exit status 1")
			for f.attempts() == seen {
				pass(100 * time.Millisecond)
			}
			synctest.Wait()
		}
		var waits []time.Duration
		for i := 1; i < 9; i++ {
			waits = append(waits, (starts[i] - starts[i-1]).Round(100*time.Millisecond))
		}
		s := time.Second
		if want := []time.Duration{s / 2, s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s}; !slices.Equal(waits, want) {
			t.Errorf("waits %v, want %v", waits, want)
		}
		if len(starts) > 125 {
			t.Errorf("%d starts in an hour", len(starts))
		}

		// Thirty seconds of life, and the waits begin anew.
		pass(30 * time.Second)
		seen := f.attempts()
		f.newest().crash("exit status 1")
		pass(500 * time.Millisecond)
		if f.attempts() != seen+1 {
			t.Error("a connection that stayed open for 30 s did not begin the waits anew")
		}
	})
}

func TestS2_11_AFirstConnectThatFailsIsTriedTheSameWay(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("docs", tool("a", ""))
		f.refuse = func(attempt int) error {
			if attempt < 4 {
				return errRefused
			}
			return nil
		}
		w.dial("docs")
		for i, wait := range []time.Duration{500, 1000, 2000} {
			if st := w.status("docs"); st.Status != "failed" || st.Error != "connection refused" || f.attempts() != i+1 {
				t.Errorf("attempt %d: %+v", f.attempts(), st)
			}
			pass(wait * time.Millisecond)
		}
		if st := w.status("docs"); st.Status != "connected" {
			t.Errorf("got %+v", st)
		}
		if warned := w.logged("the MCP server did not start"); len(warned) != 3 || strings.Count(strings.Join(warned, ""), `"WARN"`) != 1 {
			t.Errorf("the same failure is worth one warning: %q", warned)
		}
	})
}

func TestS2_11_AServerThatWaitsForItsRetryAfter(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("docs", tool("a", ""))
		f.refuse = func(attempt int) error {
			if attempt == 1 {
				return &mcpclient.WireError{Op: "send", Status: 503, Reason: "status 503", Delivered: "unknown", RetryAfter: 20 * time.Second}
			}
			return nil
		}
		w.dial("docs")
		pass(19 * time.Second)
		if f.attempts() != 1 {
			t.Error("tried before the time that the server asked for")
		}
		pass(time.Second)
		if f.attempts() != 2 {
			t.Error("not tried when it was over")
		}
	})
}

func TestS2_11_AnHTTPServerThatIsGone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("docs", tool("a", ""))
		gone := false
		f.call = func(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (string, error) {
			if gone {
				return "", errRefused
			}
			return answering("ok")(ctx, req, h)
		}
		w.dial("docs")
		w.text("docs_a", "{}")
		gone = true
		f.change(func() { f.refuse = func(int) error { return errRefused } })
		w.refusal(pack.KindTransport, "docs_a", "{}", "connection refused")
		synctest.Wait()
		if st := w.now("docs"); st.Status != "reconnecting" {
			t.Errorf("got %+v", st)
		}
		gone = false
		f.change(func() { f.refuse = nil })
		pass(500 * time.Millisecond)
		if st := w.status("docs"); st.Status != "connected" {
			t.Errorf("got %+v", st)
		}
		if got := w.text("docs_a", "{}"); got != "ok" {
			t.Errorf("got %q", got)
		}
	})
}

// A server that refuses one call for its credential is there, and takes the next.
func TestS2_11_B011_ARefusedCallLosesNoConnection(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("docs", tool("a", ""))
		status := 0
		f.call = func(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (string, error) {
			if status != 0 {
				return "", &mcpclient.WireError{Op: "send", Status: status, Reason: "it is refused", Delivered: "no"}
			}
			return answering("ok")(ctx, req, h)
		}
		w.dial("docs")
		for _, status = range []int{401, 403, 407, 429} {
			w.refusal(pack.KindTransport, "docs_a", "{}", "it is refused")
			synctest.Wait()
			if st := w.now("docs"); st.Status != "connected" {
				t.Errorf("after status %d the server is %+v", status, st)
			}
		}
		status = 0
		if got := w.text("docs_a", "{}"); got != "ok" {
			t.Errorf("got %q", got)
		}
	})
}

// A server may never answer the probe for the newer era; the handshake comes within
// the time of the entry (2026-07-28 basic/transports/stdio, "Backward Compatibility").
func TestS2_03_B075_SilenceAtTheProbeLeavesTimeForTheHandshake(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("mute", tool("a", "")).hold = make(chan struct{}) // its first message has no answer
		w.dial(`mute "timeoutMs":8000`)
		pass(1999 * time.Millisecond)
		if st := w.now("mute"); st.Status != "connecting" {
			t.Errorf("got %+v", st)
		}
		pass(time.Millisecond)
		if st := w.now("mute"); st.Status != "connected" {
			t.Errorf("got %+v", st)
		}
	})
}

func TestS2_03_Timeouts(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		mute := w.serve("mute")
		mute.hold = make(chan struct{}) // never answers its first message
		w.serve("docs", tool("a", "")).call = hanging
		w.serve("long", tool("a", "")).call = hanging
		w.dial(`mute "timeoutMs":4000,"protocolVersion":"legacy"`, `docs "timeoutMs":1500`, `long`)
		pass(3999 * time.Millisecond)
		if st := w.now("mute"); st.Status != "connecting" {
			t.Errorf("got %+v", st)
		}
		pass(time.Millisecond)
		if st := w.now("mute"); st.Status != "failed" || !strings.Contains(st.Error, "took longer than 4s; timeoutMs sets that time") {
			t.Errorf("got %+v", st)
		}

		start := time.Now()
		e := w.refusal(pack.KindTransport, "docs_a", "{}", "no answer before the deadline")
		if took := time.Since(start); took != 1500*time.Millisecond || e.Limit != "server_time" {
			t.Errorf("ended after %v with %+v", took, e)
		}
		start = time.Now()
		w.refusal(pack.KindTransport, "long_a", "{}")
		if took := time.Since(start); took != time.Minute {
			t.Errorf("the default is %v", took)
		}
		start = time.Now()
		_, err := w.pack.Invoke(t.Context(), &pack.Call{Tool: "long_a", Timeout: time.Second})
		if e := wantError(t, err, pack.KindTransport); time.Since(start) != time.Second || e.Limit != "" {
			t.Errorf("the call's own time: %v, %+v", time.Since(start), e)
		}
	})
}

func TestS2_13_ListChanged(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("git", tool("log", ""))
		f.capabilities = `{"tools":{"listChanged":true}}`
		w.dial("git")
		pass(3 * time.Second)
		w.status("git")
		w.mu.Lock()
		before := w.changes
		w.mu.Unlock()

		f.change(func() { f.tools = append(f.tools, tool("push", "")) })
		l := f.newest().listener()
		l.Notification("notifications/tools/list_changed", nil)
		if st := w.status("git"); st.ToolCount != 2 {
			t.Errorf("the next ready did not list again: %+v", st)
		}
		w.wantNames("git_log", "git_push")
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.changes != before+1 {
			t.Errorf("the host heard of %d changes, want 1", w.changes-before)
		}
	})
}

// Servers whose lists are out of date are listed anew side by side.
func TestS2_13_ReadyListsSideBySide(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		names := []string{"a", "b", "c"}
		for _, name := range names {
			w.serve(name, tool("x", "")) // without a word on how long its list holds
		}
		w.dial(names...)
		pass(3 * time.Second)
		w.status("a")
		pass(3 * time.Second)
		for _, name := range names {
			f := w.servers[name]
			f.change(func() {
				f.tools = append(f.tools, tool("y", ""))
				f.list = func() { time.Sleep(2 * time.Second) }
			})
		}
		start := time.Now()
		w.status("a")
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("three lists of 2 s took %v", took)
		}
		w.wantNames("a_x", "a_y", "b_x", "b_y", "c_x", "c_y")
	})
}

func TestS2_02_SignIn(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("notion", tool("read", `,"annotations":{"readOnlyHint":true}`), tool("write", ""))
		f.call = answering("ok")
		signedIn := false
		f.refuse = func(int) error {
			if signedIn {
				return nil
			}
			return &mcpclient.WireError{Op: "send", Status: 401, Reason: "status 401", Delivered: "no"}
		}
		w.serve("git", tool("log", ""))
		w.dial(`notion "oauth":true,"headers":{"Authorization":"Bearer hidden-value"}`, "git")
		st := w.status("notion") // does not wait
		if st.Status != "failed" || !st.NeedsSignIn || !strings.Contains(st.Error, "401") {
			t.Errorf("got %+v", st)
		}
		pass(time.Hour)
		if f.attempts() != 1 {
			t.Errorf("a server that waits for the user was tried %d times", f.attempts())
		}
		if got := names(w.pack, pack.KindCommand); !slices.Equal(got, []string{"command/mcp", "command/connect", "command/disconnect"}) {
			t.Errorf("commands %q", got)
		}
		if len(w.logged("the MCP server's entry was taken with a warning")) != 1 {
			t.Error("no warning that headers have no effect")
		}
		w.refusal(pack.KindMessage, "command/connect", `{}`, "must name a server")
		w.refusal(pack.KindMessage, "command/connect", `{"name":"nation"}`, `unknown server "nation"`, `"notion"`)
		w.refusal(pack.KindMessage, "command/connect", `{"name":"git"}`, "has no oauth")
		w.refusal(pack.KindMessage, "command/connect", `{"name":"notion"}`, "waits for the user to sign in")
		if f.attempts() != 2 {
			t.Errorf("%d attempts", f.attempts())
		}

		signedIn = true
		if got := w.text("command/connect", `{"name":"notion"}`); !strings.Contains(got, "is connected") {
			t.Errorf("got %q", got)
		}
		w.wantNames("notion_read", "notion_write", "git_log")
		w.answer = func(*pack.Question) *pack.Answer { return &pack.Answer{Action: pack.Accept} }
		w.text("notion_read", "{}")
		w.text("notion_write", "{}")
		if asked := w.asked(); len(asked) != 1 || asked[0].Tool.ServerTool != "write" {
			t.Errorf("asked about %d calls, want the one that is not read-only", len(asked))
		}

		w.text("command/disconnect", `{"name":"notion"}`)
		synctest.Wait()
		if st := w.now("notion"); st.Status != "failed" || !st.NeedsSignIn || !strings.Contains(st.Error, "/connect notion") {
			t.Errorf("got %+v", st)
		}
		w.wantNames("git_log")
		pass(time.Hour)
		if f.attempts() != 3 {
			t.Errorf("a server that the user has disconnected was tried %d times", f.attempts()-3)
		}
		w.text("command/connect", `{"name":"notion"}`)
		w.wantNames("notion_read", "notion_write", "git_log")
	})
}

func TestS2_07_TheCommandMCP(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("git", tool("log", ""), tool("push", ""))
		w.serve("one", tool("x", ""))
		w.serve("bad").refuse = func(int) error { return errors.New("secret in it") }
		w.dial("git", "one", "bad")
		if got, want := w.text("command/mcp", "{}"), "git: connected, 2 tools\none: connected, 1 tool\nbad: failed: internal error"; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
