package mcp

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
)

// telling makes a server one that declares tools.listChanged and has a stream open
// for its words. The function returned speaks there.
func (f *fakeServer) telling(legacy bool) (changed func()) {
	words := make(chan bool)
	f.capabilities, f.legacy = `{"tools":{"listChanged":true}}`, legacy
	f.listen = func(ctx context.Context, req *mcpclient.Request, l mcpclient.Listener) error {
		l.Opened()
		if req != nil {
			l.Notification("notifications/subscriptions/acknowledged", []byte(`{"notifications":{"toolsListChanged":true}}`))
		}
		for {
			select {
			case <-words:
				l.Notification("notifications/tools/list_changed", nil)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return func() { words <- true }
}

// offers changes what the server lists, on one page.
func (f *fakeServer) offers(tools ...string) {
	f.change(func() { f.tools = []string{strings.Join(tools, ",")} })
}

// lists counts the requests for a page.
func (f *fakeServer) lists() int { return len(f.sent("tools/list")) }

// names are the tools of a namespace as the overview has them.
func (w *world) names(namespace string) string {
	w.t.Helper()
	for _, n := range w.list(`{}`)["namespaces"].([]any) {
		row := n.(map[string]any)
		if row["namespace"] == namespace {
			return strings.Trim(fmt.Sprint(row["tools"]), "[]")
		}
	}
	w.t.Fatalf("no namespace %q", namespace)
	return ""
}

// looked are the tools of docs as a look at that namespace has them.
func (w *world) looked() string {
	w.t.Helper()
	var names []string
	for _, tool := range w.list(`{"namespace":"docs"}`)["tools"].([]any) {
		names = append(names, tool.(map[string]any)["name"].(string))
	}
	return strings.Join(names, " ")
}

// took returns how long f takes.
func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

var eras = map[string]bool{"modern": false, "legacy": true}

func TestSUB08_TheListingFollowsTheServer(t *testing.T) {
	for era, legacy := range eras {
		t.Run(era, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				f := w.serve("docs", tool("a"), tool("b"))
				f.call = answering(`{"content":[{"type":"text","text":"ok"}]}`)
				changed := f.telling(legacy)
				w.dial()
				told := len(w.log.statuses)
				for _, step := range []struct {
					name  string
					tools []string
					count int
					told  bool // the host hears of it
				}{
					{"a tool is added", []string{tool("a"), tool("b"), tool("c")}, 3, true},
					{"a tool is removed", []string{tool("a"), tool("c")}, 2, true},
					{"B179 a schema changes", []string{tool("a"), `{"name":"c","description":"does more","inputSchema":{"type":"object","required":["x"]}}`}, 2, false},
					{"nothing changes", []string{tool("a"), `{"name":"c","description":"does more","inputSchema":{"type":"object","required":["x"]}}`}, 2, false},
				} {
					pass(time.Minute)
					f.offers(step.tools...)
					changed()
					synctest.Wait() // no use has asked for it
					if got := w.status("docs"); got.Status != "ready" || got.ToolCount != step.count {
						t.Errorf("%s: %+v, want %d tools", step.name, got, step.count)
					}
					if got := len(w.log.statuses) - told; (got == 1) != step.told {
						t.Errorf("%s: the host was told %d times", step.name, got)
					}
					told = len(w.log.statuses)
				}
				if got := w.names("docs"); got != "a c" {
					t.Errorf("the overview has %q", got)
				}
				want := `{"namespace":"docs","name":"c","description":"does more","inputSchema":{"type":"object","required":["x"]}}`
				if got := w.answer(`{"namespace":"docs","toolName":"c"}`); got != want {
					t.Errorf("B179: got %s", got)
				}
				if _, err := w.invoke("call_dynamic_tool", `{"namespace":"docs","toolName":"c"}`); err != nil {
					t.Error(err)
				}
				w.refusal(pack.KindMessage, "call_dynamic_tool", `{"namespace":"docs","toolName":"b"}`, "unknown tool")
				if n := f.lists(); n != 5 {
					t.Errorf("%d lists, want one for the start and one for each change", n)
				}
			})
		})
	}
}

// B113: what a call says of the list is true for the next look, whoever was told
// first.
func TestB113_ListChangedDuringACall(t *testing.T) {
	for era, legacy := range eras {
		t.Run(era, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				f := w.serve("docs", tool("echo"), tool("old"))
				f.legacy = legacy
				f.list = func(context.Context, mcpclient.Handler) error { time.Sleep(100 * time.Millisecond); return nil }
				f.call = func(_ context.Context, _ *mcpclient.Request, h mcpclient.Handler) (string, error) {
					f.offers(tool("echo"), tool("new"))
					h.Notification("notifications/tools/list_changed", nil)
					return `{"content":[]}`, nil
				}
				w.dial()
				pass(time.Minute)
				if _, err := w.invoke("call_dynamic_tool", `{"namespace":"docs","toolName":"echo"}`); err != nil {
					t.Fatal(err)
				}
				if got := w.names("docs"); got != "echo new" {
					t.Errorf("the next look has %q", got)
				}
				if n := f.lists(); n != 2 {
					t.Errorf("%d lists", n)
				}
			})
		})
	}
}

// B115, CCH-14, S1-17: a listing that fails, or is empty all of a sudden, loses
// nothing at once.
func TestB115_OldToolsAreKept(t *testing.T) {
	failing := func(context.Context, mcpclient.Handler) error {
		return &mcpclient.WireError{Op: "send", Status: 503, Reason: "status 503"}
	}
	const note = "this list may be out of date: listing again failed: status 503"
	start := func(t *testing.T, w *world) (f *fakeServer, changed func()) {
		f = w.serve("docs", tool("a"), tool("b"))
		f.call = answering(`{"content":[]}`)
		changed = f.telling(true)
		w.dial()
		pass(time.Minute)
		return f, changed
	}
	usable := func(t *testing.T, w *world, at string) {
		t.Helper()
		if got := w.status("docs"); got.Status != "ready" || got.ToolCount != 2 || got.Error != "" {
			t.Errorf("%s: %+v", at, got)
		}
		if _, err := w.invoke("call_dynamic_tool", `{"namespace":"docs","toolName":"b"}`); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
	t.Run("empty for a moment", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			f, changed := start(t, w)
			f.offers()
			changed()
			synctest.Wait()
			usable(t, w, "while it is empty")
			f.offers(tool("a"), tool("b"), tool("c"))
			pass(2 * time.Second) // L25
			if got := w.looked(); got != "a b c" || f.lists() != 3 {
				t.Errorf("after the second try: %q, %d lists", got, f.lists())
			}
		})
	})
	t.Run("empty for good", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			f, changed := start(t, w)
			f.offers()
			changed()
			pass(2*time.Second - time.Millisecond)
			usable(t, w, "before the second try")
			pass(2 * time.Millisecond)
			if got := w.status("docs"); got.Status != "ready" || got.ToolCount != 0 || w.looked() != "" || f.lists() != 3 {
				t.Errorf("after it: %+v, %d lists", got, f.lists())
			}
		})
	})
	t.Run("empty, and then a failure", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			f, changed := start(t, w)
			f.offers()
			changed()
			synctest.Wait()
			f.change(func() { f.list = failing })
			pass(time.Minute)
			usable(t, w, "after both")
			f.change(func() { f.list = nil })
			f.offers(tool("c"))
			w.names("docs") // a use has it listed, whatever the session makes of the empty list
			synctest.Wait()
			if got := w.names("docs"); got != "c" {
				t.Errorf("once it lists again: %q", got)
			}
		})
	})
	t.Run("a failure", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			f, changed := start(t, w)
			f.change(func() { f.list = failing })
			changed()
			pass(time.Hour)
			if n := f.lists(); n != 3 {
				t.Errorf("%d lists in an hour, want that of the start and two tries", n)
			}
			usable(t, w, "while it fails")
			if n := len(w.log.lines("the MCP server's tools could not be listed anew")); n != 2 {
				t.Errorf("%d records", n)
			}
			if got := w.list(`{"namespace":"docs"}`)["note"]; got != note {
				t.Errorf("the note is %v", got)
			}
			synctest.Wait()
			if n := f.lists(); n != 4 {
				t.Errorf("%d lists, want one more for the use", n)
			}
			f.change(func() { f.list = nil })
			f.offers(tool("c"))
			pass(time.Minute)
			w.looked() // has it listed; what fails is not waited for
			synctest.Wait()
			doc := w.list(`{"namespace":"docs"}`)
			if got := w.names("docs"); got != "c" || doc["note"] != nil {
				t.Errorf("once it lists again: %q, note %v", got, doc["note"])
			}
		})
	})
	t.Run("a failure for a moment", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			f, changed := start(t, w)
			f.change(func() { f.list = failing })
			f.offers(tool("a"), tool("b"), tool("c"))
			changed()
			synctest.Wait()
			f.change(func() { f.list = nil })
			pass(2 * time.Second)
			if got := w.names("docs"); got != "a b c" || f.lists() != 3 {
				t.Errorf("got %q after %d lists", got, f.lists())
			}
			if doc := w.list(`{"namespace":"docs"}`); doc["note"] != nil {
				t.Errorf("the note is %v", doc["note"])
			}
		})
	})
}

// L25, SUB-08: changes are merged, and lists are apart.
func TestL25_Bursts(t *testing.T) {
	for era, legacy := range eras {
		t.Run("1,000 at once, "+era, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				f := w.serve("docs", tool("a"))
				changed := f.telling(legacy)
				w.dial()
				pass(time.Minute)
				before := f.lists()
				for range 1000 {
					changed()
				}
				f.offers(tool("z")) // the last of them is the one that counts
				changed()
				pass(time.Minute)
				if n := f.lists() - before; n > 2 {
					t.Errorf("%d lists", n)
				}
				if got := w.names("docs"); got != "z" {
					t.Errorf("the overview has %q", got)
				}
			})
		})
	}
	t.Run("10 a second, each a change", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			f := w.serve("docs", tool("a"))
			changed := f.telling(false)
			var at []time.Time
			f.list = func(context.Context, mcpclient.Handler) error { at = append(at, time.Now()); return nil }
			w.dial()
			for i := range 600 {
				f.offers(tool(fmt.Sprint("t", i)))
				changed()
				pass(100 * time.Millisecond)
			}
			at = at[1:] // without that of the start
			for i := range at[1:] {
				if apart := at[i+1].Sub(at[i]); apart < 2*time.Second {
					t.Errorf("two lists %v apart", apart)
				}
			}
			if len(at) < 25 || len(at) > 31 {
				t.Errorf("%d lists in a minute", len(at))
			}
		})
	})
	t.Run("each listing is answered by another word", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			f := w.serve("docs", tool("a"))
			f.list = func(_ context.Context, h mcpclient.Handler) error {
				h.Notification("notifications/tools/list_changed", nil)
				return nil
			}
			w.dial()
			pass(time.Hour)
			if n := f.lists(); n > 70 {
				t.Errorf("%d lists in an hour, though nothing changes", n)
			}
			// Who looks does not wait as long as the server has us wait.
			f.offers(tool("b"))
			if d := took(func() { w.looked() }); d > 2*time.Second || w.names("docs") != "b" {
				t.Errorf("after %v the overview has %q", d, w.names("docs"))
			}
		})
	})
}

// CCH-08: time alone asks for nothing.
func TestCCH08_AnIdleHour(t *testing.T) {
	for _, ttl := range []string{``, `,"ttlMs":0`, `,"ttlMs":5000`} {
		for era, legacy := range eras {
			for _, listening := range []bool{true, false} {
				bubble(t, func(t *testing.T, w *world) {
					f := w.serve("docs", tool("a"))
					f.ttl, f.legacy = ttl, legacy
					if listening {
						f.telling(legacy)
					}
					w.dial()
					pass(time.Second)
					before := len(f.requests)
					pass(time.Hour)
					w.status("docs") // ready does not ask either
					synctest.Wait()
					if n := len(f.requests) - before; n != 0 {
						t.Errorf("%s, ttl %q, listening %v: %d requests", era, ttl, listening, n)
					}
				})
			}
		}
	}
}

// What a look costs, by what the server says of how long its listing holds.
func TestCCH07_ExpiredListingsAreFetchedOnUse(t *testing.T) {
	for _, row := range []struct {
		name              string
		ttl               string
		legacy, listening bool
		after             time.Duration // the looks, since the start
		lists             int           // that a look at the namespace makes
	}{
		{"CCH-02 within the time to live", `,"ttlMs":60000`, false, false, 59 * time.Second, 0},
		{"CCH-07 after it", `,"ttlMs":60000`, false, false, time.Minute, 1},
		{"CCH-07 after it, while the server tells of changes", `,"ttlMs":60000`, false, true, time.Minute, 1},
		{"CCH-03 no time to live", `,"ttlMs":0`, false, false, 2 * time.Second, 1},
		{"CCH-04 none given", ``, false, false, 2 * time.Second, 1},
		{"L25 no time to live, but just listed", `,"ttlMs":0`, false, false, time.Second, 0},
		{"no time to live, but the server tells of changes", `,"ttlMs":0`, false, true, time.Hour, 0},
		{"CCH-04 a revision without times to live", ``, true, false, time.Hour, 0},
		{"the same, and the server tells of changes", ``, true, true, time.Hour, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				f := w.serve("docs", tool("a"))
				f.ttl, f.legacy = row.ttl, row.legacy
				if row.listening {
					f.telling(row.legacy)
				}
				w.dial()
				f.offers(tool("b"))
				pass(row.after)
				want := "a"
				if row.lists > 0 {
					want = "b"
				}
				if got := w.looked(); got != want || f.lists() != 1+row.lists {
					t.Errorf("a look has %q after %d lists, want %q after %d", got, f.lists(), want, 1+row.lists)
				}
				for range 100 {
					w.looked()
				}
				if n := f.lists(); n != 1+row.lists {
					t.Errorf("%d lists after 100 more looks at once", n)
				}
			})
			bubble(t, func(t *testing.T, w *world) { // the overview does not wait
				f := w.serve("docs", tool("a"))
				f.ttl, f.legacy = row.ttl, row.legacy
				if row.listening {
					f.telling(row.legacy)
				}
				w.dial()
				f.change(func() {
					f.list = func(context.Context, mcpclient.Handler) error { time.Sleep(time.Second); return nil }
				})
				f.offers(tool("b"))
				pass(row.after)
				if d := took(func() { w.names("docs") }); d != 0 {
					t.Errorf("the overview took %v", d)
				}
				pass(time.Second)
				want := "a"
				if row.lists > 0 {
					want = "b"
				}
				if got := w.names("docs"); got != want {
					t.Errorf("the overview has %q, want %q", got, want)
				}
			})
		})
	}
}

// CCH-14: a server that lists slowly, or not at all, is waited for once, and
// nothing else waits.
func TestCCH14_ASlowListingBlocksNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("docs", tool("a"))
		f.call = answering(`{"content":[]}`)
		w.serve("git", tool("log"))
		changed := f.telling(true)
		w.dial()
		pass(time.Minute)
		f.change(func() { f.list = func(ctx context.Context, _ mcpclient.Handler) error { return silent(ctx, 0) } })
		changed()
		synctest.Wait()
		quick := func(name string, f func()) {
			t.Helper()
			if d := took(f); d != 0 {
				t.Errorf("%s took %v", name, d)
			}
		}
		quick("a call", func() { w.invoke("call_dynamic_tool", `{"namespace":"docs","toolName":"a"}`) })
		quick("another server's listing", func() { w.list(`{"namespace":"git"}`) })
		if d := took(func() {
			if got := w.names("docs"); got != "a" {
				t.Errorf("the overview has %q", got)
			}
		}); d != bridge.Patience {
			t.Errorf("the first look took %v, want %v", d, bridge.Patience)
		}
		quick("the second look", func() { w.names("docs") })
		quick("a look at the namespace", func() { w.looked() })
		quick("an unknown tool", func() {
			w.refusal(pack.KindMessage, "call_dynamic_tool", `{"namespace":"docs","toolName":"x"}`, "unknown tool")
		})

		pass(5 * time.Minute) // L14 ends the listing, and the one more that follows it
		f.change(func() { f.list = nil })
		f.offers(tool("b"))
		w.names("docs")
		pass(2 * time.Second)
		if got := w.names("docs"); got != "b" {
			t.Errorf("once it answers again: %q", got)
		}
		f.change(func() {
			f.list = func(context.Context, mcpclient.Handler) error { time.Sleep(bridge.Patience / 2); return nil }
		})
		f.offers(tool("c"))
		changed()
		synctest.Wait()
		if got := w.names("docs"); got != "c" {
			t.Errorf("waits begin anew: %q", got)
		}
	})
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("docs", tool("a"))
		changed := f.telling(true)
		w.dial()
		pass(time.Minute)
		f.change(func() { f.list = func(ctx context.Context, _ mcpclient.Handler) error { return silent(ctx, 0) } })
		changed()
		synctest.Wait()
		get := func(ctx context.Context, timeout time.Duration) (*pack.Result, error) {
			return w.pack.Invoke(ctx, &pack.Call{Tool: "get_dynamic_tools", Arguments: pack.Raw(`{}`), Timeout: timeout})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := get(ctx, 0)
		wantError(t, err, pack.KindCancelled)
		if d := took(func() { _, err = get(t.Context(), 500*time.Millisecond) }); err != nil || d >= 500*time.Millisecond {
			t.Errorf("a call with a short deadline: %v after %v", err, d)
		}
		if d := took(func() { get(t.Context(), 0) }); d != bridge.Patience {
			t.Errorf("one with more patience took %v: the other's wait proved nothing", d)
		}
	})
}

// A tool that is not listed may be there by now.
func TestUnknownToolsAreLookedForOnce(t *testing.T) {
	for _, row := range []struct {
		name              string
		ttl               string
		legacy, listening bool
		asks              bool
	}{
		{"a legacy server that does not tell of changes", ``, true, false, true},
		{"a modern one", ``, false, false, true},
		{"one that vouches for its listing by a time to live", `,"ttlMs":3600000`, false, false, false},
		{"one that tells of changes", ``, true, true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				f := w.serve("docs", tool("a"))
				f.ttl, f.legacy = row.ttl, row.legacy
				if row.listening {
					f.telling(row.legacy)
				}
				f.call = answering(`{"content":[]}`)
				w.dial()
				pass(time.Minute)
				f.offers(tool("a"), tool("b"))
				const b = `{"namespace":"docs","toolName":"b"}`
				if !row.asks {
					w.refusal(pack.KindMessage, "call_dynamic_tool", b, "unknown tool")
					if n := f.lists(); n != 1 {
						t.Errorf("%d lists", n)
					}
					return
				}
				if _, err := w.invoke("call_dynamic_tool", b); err != nil {
					t.Error(err)
				}
				for range 100 {
					w.refusal(pack.KindMessage, "call_dynamic_tool", `{"namespace":"docs","toolName":"x"}`, "unknown tool", `"b"`)
					w.refusal(pack.KindMessage, "get_dynamic_tools", `{"namespace":"docs","toolName":"x"}`, "unknown tool")
				}
				if n := f.lists(); n != 2 {
					t.Errorf("L25: %d lists", n)
				}
			})
		})
	}
}

// CCH-09: entries share nothing, even with one url.
func TestCCH09_EachEntryHasItsOwnListing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		mine, yours := w.serve("mine", tool("a")), w.serve("yours", tool("b"))
		mine.ttl, yours.ttl = `,"ttlMs":60000,"cacheScope":"public"`, `,"ttlMs":60000,"cacheScope":"private"`
		w.construct(`{"mine":{"url":"https://mcp.test","headers":{"X-User":"me"}},"yours":{"url":"https://mcp.test","headers":{"X-User":"you"}}}`)
		if w.names("mine") != "a" || w.names("yours") != "b" || mine.lists() != 1 || yours.lists() != 1 {
			t.Errorf("%q after %d lists, %q after %d", w.names("mine"), mine.lists(), w.names("yours"), yours.lists())
		}
	})
}

// A start begins to listen before it lists, and does not wait long for that.
func TestTheStartListens(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("docs", tool("a"))
		f.telling(true)
		f.list = func(context.Context, mcpclient.Handler) error {
			if f.streams != 1 {
				t.Errorf("it lists with %d streams open", f.streams)
			}
			return nil
		}
		if d := took(func() { w.dial() }); d != 0 {
			t.Errorf("took %v", d)
		}
	})
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("docs", tool("a"))
		f.telling(true)
		f.listen = func(ctx context.Context, _ *mcpclient.Request, l mcpclient.Listener) error { return silent(ctx, 0) }
		w.dial()
		pass(bridge.OpenTime - time.Millisecond)
		if got := w.status("docs"); got.Status != "loading" {
			t.Errorf("just before: %+v", got)
		}
		pass(time.Millisecond)
		if got := w.status("docs"); got.Status != "ready" {
			t.Errorf("a stream that is not opened: %+v", got)
		}
	})
	bubble(t, func(t *testing.T, w *world) { // a start that fails stops listening
		f := w.serve("docs", tool("a"))
		f.telling(true)
		f.list = func(context.Context, mcpclient.Handler) error {
			return &mcpclient.WireError{Op: "send", Status: 503, Reason: "status 503"}
		}
		w.dial()
		pass(time.Hour)
		if f.streams != 0 || len(f.sent("listen")) < 30 {
			t.Errorf("%d streams are open after %d starts", f.streams, len(f.sent("listen")))
		}
	})
}

// SUB-07: nothing outlives Close, whatever it meets.
func TestSUB07_CloseEndsListeningAndListing(t *testing.T) {
	for era, legacy := range eras {
		for _, hangs := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, hanging %v", era, hangs), func(t *testing.T) {
				bubble(t, func(t *testing.T, w *world) {
					f := w.serve("docs", tool("a"))
					changed := f.telling(legacy)
					w.dial()
					pass(time.Minute)
					if hangs {
						f.change(func() { f.list = func(ctx context.Context, _ mcpclient.Handler) error { return silent(ctx, 0) } })
						changed()
						synctest.Wait()
					}
					if d := took(func() { w.pack.Close(t.Context()) }); d != 0 {
						t.Errorf("took %v", d)
					}
					attempts, closed, _ := f.counts()
					if f.streams != 0 || closed != attempts {
						t.Errorf("%d streams, %d of %d transports closed", f.streams, closed, attempts)
					}
					before := len(f.requests)
					w.answer(`{}`) // from what there is
					pass(time.Hour)
					if n := len(f.requests) - before; n != 0 {
						t.Errorf("%d requests after that", n)
					}
				})
			})
		}
	}
}

// A fault of ours while listing leaves the server usable.
func TestAPanicWhileListingAnew(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("docs", tool("a"))
		f.call = answering(`{"content":[]}`)
		changed := f.telling(true)
		w.dial()
		pass(time.Minute)
		f.change(func() { f.list = func(context.Context, mcpclient.Handler) error { panic("boom") } })
		changed()
		synctest.Wait()
		if got := w.status("docs"); got.Status != "ready" || w.names("docs") != "a" {
			t.Errorf("%+v", got)
		}
		if _, err := w.invoke("call_dynamic_tool", `{"namespace":"docs","toolName":"a"}`); err != nil {
			t.Error(err)
		}
		if f.streams != 0 {
			t.Errorf("%d streams are left open", f.streams)
		}
	})
}
