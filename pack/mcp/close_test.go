package mcp

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

func TestCloseEndsEverything(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		ready, starting := w.serve("ready", tool("a")), w.serve("starting")
		failing, listing := w.serve("failing"), w.serve("listing")
		ready.call = answering(`{"content":[]}`)
		starting.start = silent
		failing.start = refusing("connection refused")
		listing.list = func(ctx context.Context, _ mcpclient.Handler) error { return silent(ctx, 0) }
		w.construct(`{"ready":{"url":"https://mcp.test"},"starting":{"url":"https://mcp.test"},
			"failing":{"url":"https://mcp.test"},"listing":{"url":"https://mcp.test"},"files":{"command":"x"}}`)
		before := time.Now()
		if err := w.pack.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(before); took != 0 {
			t.Errorf("took %v", took)
		}
		for name, f := range w.servers {
			if attempts, closed, _ := f.counts(); closed != attempts {
				t.Errorf("%s: %d of %d transports are closed", name, closed, attempts)
			}
		}
		for _, f := range []*fakeServer{ready, listing} {
			if _, _, ended := f.counts(); ended != 1 {
				t.Errorf("a session was ended %d times", ended)
			}
		}
		pass(time.Hour)
		if n, _, _ := failing.counts(); n != 1 {
			t.Errorf("%d attempts: a task lives on", n)
		}
		e := w.refusal(pack.KindTransport, "call_dynamic_tool", `{"namespace":"ready","toolName":"a"}`, "closed")
		if e.Delivered != pack.DeliveredNo {
			t.Errorf("got %+v", e)
		}
	})
}

func TestCloseIsSideBySideAndBounded(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		for i := range 3 {
			w.serve(fmt.Sprint("s", i), tool("a")).closing = func(ctx context.Context) { <-ctx.Done() }
		}
		w.dial()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		before := time.Now()
		w.pack.Close(ctx)
		if took := time.Since(before); took != 2*time.Second {
			t.Errorf("took %v, want the context's 2s", took)
		}
	})
}

func TestTheProcessEndsTheTasks(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("docs")
		f.start = refusing("connection refused")
		w.dial()
		w.runtime.cancel()
		pass(time.Hour)
		if n, _, _ := f.counts(); n != 1 {
			t.Errorf("%d attempts after the runtime has ended", n)
		}
	})
}

func TestAPanicLeavesTheServerInError(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("docs").start = func(context.Context, int) error { panic("boom") }
		w.serve("git", tool("a"))
		w.dial()
		if got := w.status("docs"); got.Status != "error" || got.Error != "internal error" {
			t.Errorf("got %+v", got)
		}
		if got := w.status("git"); got.Status != "ready" {
			t.Errorf("the other: %+v", got)
		}
	})
}
