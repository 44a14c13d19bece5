package mcp

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

func TestL21_FurtherCallsWait(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.host.Limits, _ = w.host.Limits.With("calls_per_server=2")
		w.host.Limits, _ = w.host.Limits.With("calls_waiting=1")
		release := make(chan struct{})
		f := w.serve("docs", tool("a"))
		f.call = func(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (string, error) {
			<-release
			return `{"content":[{"type":"text","text":"ok"}]}`, nil
		}
		w.serve("git", tool("a")).call = answering(`{"content":[]}`)
		w.dial()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		failed := make(chan error, 4)
		call := func(ctx context.Context, timeout time.Duration) {
			go func() {
				_, err := w.pack.Invoke(ctx, &pack.Call{Tool: "call_dynamic_tool", Arguments: pack.Raw(callA), Timeout: timeout})
				failed <- err
			}()
			synctest.Wait()
		}
		call(t.Context(), 0)
		call(t.Context(), 0)
		call(ctx, 0)
		if n := len(f.sent("tools/call")); n != 2 {
			t.Fatalf("%d calls are in flight, want 2", n)
		}

		// L22: nobody may wait any more, and it is said at once.
		e := w.refusal(pack.KindUnavailable, "call_dynamic_tool", callA, `"docs"`, "overloaded")
		if e.Limit != "calls_waiting" || !e.Retryable || e.Delivered != pack.DeliveredNo || e.Server != "docs" {
			t.Errorf("got %+v", e)
		}
		// Another server's calls are another matter.
		if _, err := w.invoke("call_dynamic_tool", `{"namespace":"git","toolName":"a"}`); err != nil {
			t.Error(err)
		}

		// A call that is dropped or late while it waits was never sent, and its
		// place is free again.
		cancel()
		if e := wantError(t, <-failed, pack.KindCancelled); e.Delivered != pack.DeliveredNo {
			t.Errorf("got %+v", e)
		}
		call(t.Context(), time.Second)
		if e := wantError(t, <-failed, pack.KindTransport, "deadline"); e.Delivered != pack.DeliveredNo {
			t.Errorf("got %+v", e)
		}
		call(t.Context(), 0)
		if n := len(f.sent("tools/call")); n != 2 {
			t.Errorf("%d calls are in flight, want 2", n)
		}
		close(release)
		for range 3 {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		if n := len(f.sent("tools/call")); n != 3 {
			t.Errorf("%d calls were sent, want 3", n)
		}
	})
}

func TestL22_TheDefault(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.docs(hanging)
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		kinds := map[pack.Kind]int{}
		var wg sync.WaitGroup
		for range 256 + 1024 + 10 {
			wg.Go(func() {
				_, err := w.pack.Invoke(ctx, &pack.Call{Tool: "call_dynamic_tool", Arguments: pack.Raw(callA)})
				mu.Lock()
				defer mu.Unlock()
				kinds[pack.AsError(err).Kind]++
			})
		}
		synctest.Wait()
		mu.Lock()
		if kinds[pack.KindUnavailable] != 10 || len(kinds) != 1 {
			t.Errorf("refused: %v, want 10 unavailable", kinds)
		}
		mu.Unlock()
		if n := len(f.sent("tools/call")); n != 256 {
			t.Errorf("%d calls are in flight, want 256", n)
		}
		cancel()
		wg.Wait()
	})
}
