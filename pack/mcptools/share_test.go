package mcptools

import (
	"testing"
	"testing/synctest"

	"github.com/toolhost/toolhost/pack"
)

const localEntry = `{"command":"srv","args":["--root","/w"],"env":{"A":"1"}}`

func TestS2_10_OneProcessForEqualEntries(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("files", tool("a", ""))
		f.call = answering("ok")
		first := w.construct("one", `{"servers":{"files":`+localEntry+`}}`)
		second := w.construct("two", `{"servers":{"files":{"env":{"A":"1"},"args":["--root","/w"],"command":"srv","timeoutMs":5000}}}`)
		if f.attempts() != 1 {
			t.Fatalf("%d processes for two packs with the same server", f.attempts())
		}
		for _, p := range []pack.Pack{first, second} {
			if got := names(p, pack.KindTool); len(got) != 1 || got[0] != "files_a" {
				t.Errorf("got %q", got)
			}
			if _, err := p.Invoke(t.Context(), &pack.Call{Tool: "files_a"}); err != nil {
				t.Error(err)
			}
		}
		if err := w.registry.Close(t.Context(), "one"); err != nil {
			t.Error(err)
		}
		if f.newest().closed {
			t.Fatal("the process ended with the first of its packs")
		}
		if _, err := second.Invoke(t.Context(), &pack.Call{Tool: "files_a"}); err != nil {
			t.Error(err)
		}
		if err := w.registry.Close(t.Context(), "two"); err != nil {
			t.Error(err)
		}
		if !f.newest().closed {
			t.Error("the process did not end with the last of its packs")
		}
		w.construct("one", `{"servers":{"files":`+localEntry+`}}`)
		if f.attempts() != 2 {
			t.Errorf("%d processes, want a new one", f.attempts())
		}
	})
}

func TestS2_10_OtherEntriesAreOtherProcesses(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("files", tool("a", ""))
		g := w.serve("other", tool("a", ""))
		w.construct("one", `{"servers":{"files":`+localEntry+`}}`)
		w.construct("two", `{"servers":{"files":{"command":"srv","args":["--root","/w"],"env":{"A":"2"}}}}`)
		w.construct("three", `{"servers":{"other":`+localEntry+`}}`)
		if f.attempts() != 2 || g.attempts() != 1 {
			t.Errorf("%d and %d processes", f.attempts(), g.attempts())
		}
	})
}

func TestS2_10_RemoteServersAreNotShared(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("docs", tool("a", ""))
		w.construct("one", `{"servers":{"docs":{"url":"https://mcp.test"}}}`)
		w.construct("two", `{"servers":{"docs":{"url":"https://mcp.test"}}}`)
		if f.attempts() != 2 {
			t.Errorf("%d connections for two packs", f.attempts())
		}
	})
}

func TestS2_10_AllPacksHearOfACrash(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("files", tool("a", ""))
		first := w.construct("one", `{"servers":{"files":`+localEntry+`}}`)
		w.construct("two", `{"servers":{"files":`+localEntry+`}}`)
		f.newest().crash("exit status 3")
		synctest.Wait()
		if len(names(first, pack.KindTool)) != 0 {
			t.Error("the first pack still offers the tools")
		}
		w.wantNames()
		for _, p := range []pack.Pack{first, w.pack} {
			if _, err := p.(*pack.Instance).Pack.(*mcptools).Ready(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
