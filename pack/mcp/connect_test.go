package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

// refusing is how a server answers that is not there.
func refusing(reason string) func(context.Context, int) error {
	return func(context.Context, int) error {
		return &mcpclient.WireError{Op: "connect", Reason: reason, Delivered: "no"}
	}
}

// silent is how a server answers that never does.
func silent(ctx context.Context, _ int) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestS1_14_OneTaskForEachEntryListsEveryPage(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.runtime.held = true
		docs := w.serve("docs")
		docs.tools = []string{tool("a") + "," + tool("b"), tool("c"), tool("d")}
		w.serve("git", tool("log"))
		w.construct(`{"docs":{"url":"https://mcp.test"},"git":{"url":"https://mcp.test"},"files":{"command":"x"}}`)
		if n := len(w.runtime.tasks); n != 2 {
			t.Fatalf("%d tasks for 2 parsed entries", n)
		}
		w.runtime.release()
		synctest.Wait()
		if got := w.status("docs"); got.Status != "ready" || got.ToolCount != 4 {
			t.Errorf("got %+v, want the tools of all three pages", got)
		}
		if n := len(docs.sent("tools/list")); n != 3 {
			t.Errorf("%d requests for 3 pages", n)
		}
		if n, _, _ := docs.counts(); n != 1 {
			t.Errorf("%d attempts", n)
		}
	})
}

func TestS1_14_TwoMinutesInAll(t *testing.T) {
	for _, row := range []struct {
		name  string
		serve func(f *fakeServer)
	}{
		{"a server that never answers", func(f *fakeServer) { f.start = silent }},
		{"a listing that never ends", func(f *fakeServer) {
			f.list = func(ctx context.Context, _ mcpclient.Handler) error { return silent(ctx, 0) }
		}},
		{"time used up by the handshake counts", func(f *fakeServer) {
			f.start = func(ctx context.Context, _ int) error { time.Sleep(90 * time.Second); return nil }
			f.list = func(ctx context.Context, _ mcpclient.Handler) error { return silent(ctx, 0) }
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				row.serve(w.serve("docs", tool("a")))
				w.dial()
				pass(2*time.Minute - time.Millisecond)
				if got := w.status("docs"); got.Status != "loading" {
					t.Errorf("just before: %+v", got)
				}
				pass(2 * time.Millisecond)
				got := w.status("docs")
				if got.Status != "error" || !strings.Contains(got.Error, "_time (2m0s)") {
					t.Errorf("L32 just after: %+v, want the limit's error", got)
				}
			})
		})
	}
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("docs", tool("a"))
		f.list = func(ctx context.Context, _ mcpclient.Handler) error {
			time.Sleep(2*time.Minute - time.Millisecond)
			return nil
		}
		w.dial()
		pass(2 * time.Minute)
		if got := w.status("docs"); got.Status != "ready" {
			t.Errorf("a start just below the limit: %+v", got)
		}
	})
}

func TestS1_15_ReadyResolvesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("slow").start = silent
		w.serve("docs", tool("a"))
		w.construct(`{"slow":{"url":"https://mcp.test"},"docs":{"url":"https://mcp.test"},"files":{"command":"x"}}`)
		before := time.Now()
		statuses, err := pack.Readier(w.inside()).Ready(t.Context())
		if err != nil || time.Since(before) != 0 {
			t.Fatalf("%v after %v", err, time.Since(before))
		}
		want := []pack.ServerStatus{
			{Name: "docs", Status: "ready", ToolCount: 1},
			{Name: "files", Status: "error", Error: "local MCP servers (command) are not supported yet"},
			{Name: "slow", Status: "loading"},
		}
		if !slices.Equal(statuses, want) {
			t.Errorf("got %+v, want %+v", statuses, want)
		}
		if n := len(w.pack.Tools()); n != 2 {
			t.Errorf("%d tools while a server is loading", n)
		}
		if got := w.list(`{"namespace":"slow"}`); got["status"] != "loading" || len(got["tools"].([]any)) != 0 {
			t.Errorf("listed as %v", got)
		}
	})
}

func TestS1_16_RetriesAfterOneSecondDoublingToSixty(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var at []time.Time
		f := w.serve("docs", tool("a"))
		f.start = func(ctx context.Context, n int) error {
			at = append(at, time.Now())
			return refusing(fmt.Sprintf("connection refused, %d", n))(ctx, n)
		}
		w.dial()
		if got := w.status("docs"); got.Status != "error" || got.Error != "connection refused, 1" {
			t.Errorf("after the first failure: %+v", got)
		}
		pass(30 * time.Minute)
		var waits []int
		for i := range at[1:] {
			waits = append(waits, int(at[i+1].Sub(at[i])/time.Second))
		}
		want := []int{1, 2, 4, 8, 16, 32}
		for len(want) < len(waits) {
			want = append(want, 60) // L35, for ever
		}
		if len(waits) < 30 || !slices.Equal(waits, want) {
			t.Errorf("waited %v", waits)
		}
		if got := w.status("docs"); got.Error != fmt.Sprintf("connection refused, %d", len(at)) {
			t.Errorf("the reason is not the last one's: %+v", got)
		}
		attempts, closed, _ := f.counts()
		if closed != attempts {
			t.Errorf("%d of %d transports were closed", closed, attempts)
		}

		f.change(func() { f.start = nil }) // it answers now
		pass(time.Minute)
		if got := w.status("docs"); got.Status != "ready" || got.Error != "" || got.ToolCount != 1 {
			t.Errorf("once it answers: %+v", got)
		}
		pass(time.Hour)
		if n, _, _ := f.counts(); n != attempts+1 {
			t.Errorf("a server that is ready was started again: %d attempts after %d", n, attempts)
		}
	})
}

func TestS1_16_WhateverTheFailure(t *testing.T) {
	wire := func(e mcpclient.WireError) func(context.Context, int) error {
		return func(context.Context, int) error { return &e }
	}
	for _, row := range []struct {
		name, reason string
		start        func(context.Context, int) error
	}{
		{"401 without a sign-in", "status 401", wire(mcpclient.WireError{Op: "send", Status: 401, Reason: "status 401", Final: true})},
		{"403", "status 403", wire(mcpclient.WireError{Op: "send", Status: 403, Reason: "status 403", Final: true})},
		{"a redirect", "redirect", wire(mcpclient.WireError{Op: "send", Status: 307, Reason: "the server answers with a redirect", Final: true})},
		{"a fault of ours", "internal error", func(context.Context, int) error { return errors.New("secret detail") }},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				f := w.serve("docs", tool("a"))
				f.start = func(ctx context.Context, n int) error {
					if n < 3 {
						return row.start(ctx, n)
					}
					return nil
				}
				w.dial()
				if got := w.status("docs"); got.Status != "error" || !strings.Contains(got.Error, row.reason) {
					t.Errorf("after the failure: %+v, want the reason %q", got, row.reason)
				}
				pass(3*time.Second + time.Millisecond)
				if got := w.status("docs"); got.Status != "ready" {
					t.Errorf("after 1 s and 2 s: %+v", got)
				}
			})
		})
	}
}

func TestS1_16_TheFailureOfTheListing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("docs", tool("a"))
		n := 0
		f.list = func(context.Context, mcpclient.Handler) error {
			if n++; n == 1 {
				return &mcpclient.ServerError{Code: -32603, Message: "the index is\nbeing built"}
			}
			return nil
		}
		w.dial()
		got := w.status("docs")
		if got.Status != "error" || !strings.Contains(got.Error, "being built") {
			t.Errorf("got %+v", got)
		}
		if _, closed, ended := f.counts(); closed != 1 {
			t.Errorf("the session that listed nothing is still open: %d closed, %d ended", closed, ended)
		}
		pass(time.Second)
		if got := w.status("docs"); got.Status != "ready" {
			t.Errorf("after a second: %+v", got)
		}
	})
}

func TestStartFailuresAreLoggedOnceWhileTheyRepeat(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("docs").start = func(ctx context.Context, n int) error {
			if n == 5 {
				return refusing("status 503")(ctx, n)
			}
			return refusing("connection refused")(ctx, n)
		}
		w.dial()
		pass(30 * time.Minute)
		var warned []string
		for _, line := range w.log.lines("the MCP server did not start") {
			if line["level"] == "WARN" {
				warned = append(warned, line["reason"].(string))
			}
		}
		if want := []string{"connection refused", "status 503", "connection refused"}; !slices.Equal(warned, want) {
			t.Errorf("warned %q, want %q", warned, want)
		}
	})
}

func TestS1_17_ReadyStaysReady(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("docs", tool("a"))
		down := false
		f.call = func(context.Context, *mcpclient.Request, mcpclient.Handler) (string, error) {
			if down {
				return "", &mcpclient.WireError{Op: "connect", Reason: "connection refused", Delivered: "no"}
			}
			return `{"content":[{"type":"text","text":"ok"}]}`, nil
		}
		w.dial()
		down = true
		e := w.refusal(pack.KindTransport, "call_dynamic_tool", `{"namespace":"docs","toolName":"a"}`, `"docs"`, "connection refused")
		if e.Server != "docs" || e.Delivered != pack.DeliveredNo || !e.Retryable {
			t.Errorf("got %+v", e)
		}
		pass(time.Hour)
		if got := w.status("docs"); got.Status != "ready" {
			t.Errorf("after the failure: %+v", got)
		}
		if n, _, _ := f.counts(); n != 1 {
			t.Errorf("%d attempts", n)
		}
		down = false
		if _, err := w.invoke("call_dynamic_tool", `{"namespace":"docs","toolName":"a"}`); err != nil {
			t.Errorf("once it is back: %v", err)
		}
	})
}

func TestStatusTellsTheHostOfEachChange(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("docs", tool("a")).start = func(ctx context.Context, n int) error {
			if n < 4 {
				return refusing("connection refused")(ctx, n)
			}
			return nil
		}
		w.dial()
		pass(time.Minute)
		var got []string
		for _, list := range w.log.statuses {
			got = append(got, fmt.Sprintf("%s %s %d", list[0].Status, list[0].Error, list[0].ToolCount))
		}
		// The second and third failure are no change.
		if want := []string{"error connection refused 0", "ready  1"}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
	bubble(t, func(t *testing.T, w *world) {
		w.host.Status = nil // a host that did not declare it
		w.serve("docs", tool("a"))
		w.dial()
		if got := w.status("docs"); got.Status != "ready" {
			t.Errorf("got %+v", got)
		}
	})
}
