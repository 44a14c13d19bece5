package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/httpmcp"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

// A shelf is what a fake server lists: it can be changed while the server runs.
type shelf struct {
	tools atomic.Pointer[[]fakeserver.Tool]
}

func (s *shelf) put(tools ...fakeserver.Tool) { s.tools.Store(&tools) }

// row answers tools/list from the shelf; ttl are members of the result.
func (s *shelf) row(ttl string) fakeserver.Row {
	return fakeserver.Row{Method: "tools/list", Reply: fakeserver.Reply{Func: func(w http.ResponseWriter, r *http.Request) {
		var req struct{ ID json.RawMessage }
		body, _ := io.ReadAll(r.Body)
		json.Unmarshal(body, &req)
		var definitions []string
		for _, tool := range *s.tools.Load() {
			definitions = append(definitions, tool.Definition)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[%s]%s}}`, req.ID, strings.Join(definitions, ","), ttl)
	}}}
}

// piped constructs the pack over a server in memory, with the carrier that
// toolhost uses, inside a bubble. The server is docs.
func (w *world) piped(server *fakeserver.Server) {
	w.t.Helper()
	client := httpmcp.NewClient(&httpmcp.ClientConfig{Dial: server.Pipe()})
	w.t.Cleanup(client.CloseIdleConnections)
	registry := pack.NewRegistry()
	err := Install(registry, nil, &Options{NewTransport: func(entry *mcpclient.Entry, host *pack.Host) mcpclient.Transport {
		return httpmcp.New(entry.URL, &httpmcp.Options{Scrub: host.Scrub, Log: host.Log, RoundTripper: client.Transport})
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	if w.pack, err = registry.Construct("runvil/mcp", "", pack.Raw(`{"docs":{"url":"http://mcp.test/mcp"}}`), w.host); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
	if got := w.status("docs"); got.Status != "ready" {
		w.t.Fatalf("got %+v", got)
	}
}

// telling are the servers that tell of changes.
var telling = []struct {
	name   string
	opts   fakeserver.Options
	stream string // the HTTP method that opens it
}{
	{"2025-11-25", fakeserver.Options{}, "GET"},
	{"2025-11-25 without sessions", fakeserver.Options{NoSessions: true}, "GET"},
	{"2025-06-18", fakeserver.Options{Versions: []string{"2025-06-18"}}, "GET"},
	{"2025-03-26", fakeserver.Options{Versions: []string{"2025-03-26"}}, "GET"},
	{"2026-07-28", fakeserver.Options{Era: fakeserver.Modern}, "POST"},
	{"both eras", fakeserver.Options{Era: fakeserver.Dual}, "POST"},
}

// streams counts the requests that opened a stream of the server's own.
func streams(l *fakeserver.Ledger) int {
	return l.Count("GET", "") + l.Count("POST", "subscriptions/listen")
}

func lists(server *fakeserver.Server) int { return server.Ledger().Count("POST", "tools/list") }

// SUB-08, HTL-03, HTL-15, HTM-01, CCH-08: over real HTTP, in every revision.
func TestSUB08_ListChangedEndToEnd(t *testing.T) {
	for _, kind := range telling {
		t.Run(kind.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				all := fakeserver.Builtin()
				echo, add, slow := all[0], all[1], all[2]
				var offer shelf
				offer.put(echo)
				opts := kind.opts
				opts.Listen, opts.Script = true, []fakeserver.Row{offer.row("")}
				server := fakeserver.New(opts)
				defer server.Close()
				w.piped(server)
				if n := server.Ledger().Listeners; n != 1 {
					t.Fatalf("%d streams are open once the server is ready", n)
				}
				check := func(name, want string) {
					t.Helper()
					synctest.Wait()
					if got := w.names("docs"); got != want {
						t.Errorf("%s: %q, want %q", name, got, want)
					}
				}
				check("at first", "echo")
				offer.put(echo, add)
				server.Notify("notifications/tools/list_changed", "")
				check("one more", "echo add")
				if got := w.call("add", `{"a":1,"b":2}`); got != "3" {
					t.Errorf("the new tool gives %q", got)
				}
				pass(time.Minute)
				before := lists(server)
				for range 1000 {
					server.Notify("notifications/tools/list_changed", "")
				}
				offer.put(slow)
				server.Notify("notifications/tools/list_changed", "")
				pass(4 * time.Second)
				check("L25 a burst", "slow")
				if n := lists(server) - before; n > 2 {
					t.Errorf("L25: %d lists for a burst of 1,001", n)
				}

				// L34 opens a stream anew on which nothing comes, and that is all.
				before, opened := lists(server), streams(server.Ledger())
				pass(time.Hour)
				if n := lists(server) - before; n != 0 {
					t.Errorf("CCH-08: %d lists in an idle hour", n)
				}
				if n := streams(server.Ledger()) - opened; n > 30 {
					t.Errorf("%d streams in an idle hour", n)
				}
				offer.put(echo, slow)
				server.Notify("notifications/tools/list_changed", "")
				check("after the idle hour", "echo slow")

				for _, r := range server.Ledger().Requests {
					if accept := r.Header.Get("Accept"); r.HTTP == "GET" && accept != "text/event-stream" {
						t.Errorf("HTL-03: GET with Accept %q", accept)
					}
					if r.HTTP != "POST" && r.HTTP != kind.stream {
						t.Errorf("HTM-01: a %s", r.HTTP)
					}
				}
				w.pack.Close(t.Context())
				synctest.Wait()
				if l := server.Ledger(); l.Listeners != 0 || l.Sessions != 0 || l.Open != 0 {
					t.Errorf("SUB-07: %d streams, %d sessions, %d requests are left", l.Listeners, l.Sessions, l.Open)
				}
				server.Verify(t)
			})
		})
	}
}

// A server that forgets its sessions, with and without a call that finds out.
func TestHTL06_LostSessionsWhileListening(t *testing.T) {
	start := func(t *testing.T, w *world, get ...fakeserver.Row) (*fakeserver.Server, *shelf) {
		offer := new(shelf)
		offer.put(fakeserver.Builtin()[0])
		server := fakeserver.New(fakeserver.Options{Listen: true, Script: append(get, offer.row(""))})
		w.piped(server)
		return server, offer
	}
	after := func(t *testing.T, w *world, server *fakeserver.Server, offer *shelf) {
		t.Helper()
		offer.put(fakeserver.Builtin()[:2]...)
		if n := server.Notify("notifications/tools/list_changed", ""); n != 1 {
			t.Errorf("%d streams are open", n)
		}
		synctest.Wait()
		if got := w.names("docs"); got != "echo add" {
			t.Errorf("the new session hears nothing: %q", got)
		}
		if l := server.Ledger(); l.Count("POST", "initialize") != 2 || l.Sessions != 1 {
			t.Errorf("%d handshakes, %d sessions", l.Count("POST", "initialize"), l.Sessions)
		}
		server.Verify(t)
	}
	t.Run("a call finds out", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			server, offer := start(t, w)
			defer server.Close()
			server.DropSessions()
			w.call("echo", `{"text":"x"}`)
			synctest.Wait()
			after(t, w, server, offer)
		})
	})
	t.Run("the stream finds out", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			broken := fakeserver.Reply{Chunks: []fakeserver.Chunk{{Text: ": hello\n\n"}, {After: time.Minute, Text: ": bye\n\n"}}, Drop: true}
			server, offer := start(t, w, fakeserver.Row{HTTP: "GET", Nth: 1, Reply: broken})
			defer server.Close()
			server.DropSessions()
			pass(2 * time.Minute)
			after(t, w, server, offer)
		})
	})
	t.Run("again and again", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			var rows []fakeserver.Row
			for n := 1; n < 2000; n++ {
				reply := fakeserver.Reply{Chunks: []fakeserver.Chunk{{Text: ": hello\n\n"}}}
				if n%2 == 0 {
					reply = fakeserver.Reply{Status: http.StatusNotFound}
				}
				rows = append(rows, fakeserver.Row{HTTP: "GET", Nth: n, Reply: reply})
			}
			server, _ := start(t, w, rows...)
			defer server.Close()
			pass(time.Hour)
			if l := server.Ledger(); l.Count("POST", "initialize") > 65 || l.Count("GET", "") > 130 {
				t.Errorf("%d handshakes, %d streams in an hour", l.Count("POST", "initialize"), l.Count("GET", ""))
			}
			if got := w.call("echo", `{"text":"still"}`); got != "still" {
				t.Errorf("got %q", got)
			}
		})
	})
}

// HTL-04, SUB-02, SUB-05, B023, B025: a server that offers no stream works as any
// other, and is asked once.
func TestHTL04_SUB05_NoStreamEndToEnd(t *testing.T) {
	html := map[string]string{"Content-Type": "text/html"}
	for _, row := range []struct {
		name   string
		era    fakeserver.Era
		stream fakeserver.Reply
	}{
		{"400", fakeserver.Legacy, fakeserver.Reply{Status: 400, Body: "No sessionId"}},
		{"401", fakeserver.Legacy, fakeserver.Reply{Status: 401}},
		{"404", fakeserver.Legacy, fakeserver.Reply{Status: 404}},
		{"405", fakeserver.Legacy, fakeserver.Reply{Status: 405}},
		{"501", fakeserver.Legacy, fakeserver.Reply{Status: 501}},
		{"200 with JSON", fakeserver.Legacy, fakeserver.Reply{Body: "{}"}},
		{"200 with HTML", fakeserver.Legacy, fakeserver.Reply{Header: html, Body: "<p>hello"}},
		{"404 and -32601", fakeserver.Modern, fakeserver.Reply{Status: 404, Body: fakeserver.Fault(-32601, "Method not found")}},
		{"200 and -32601", fakeserver.Modern, fakeserver.Reply{Body: fakeserver.Fault(-32601, "Method not found")}},
		{"200 with HTML, modern", fakeserver.Modern, fakeserver.Reply{Header: html, Body: "<p>hello"}},
		{"another filter", fakeserver.Modern, fakeserver.Reply{Hold: true, Chunks: []fakeserver.Chunk{fakeserver.Event(
			`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%ID%},"notifications":{}}}`)}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				which := fakeserver.Row{HTTP: "GET", Reply: row.stream}
				if row.era == fakeserver.Modern {
					which = fakeserver.Row{Method: "subscriptions/listen", Reply: row.stream}
				}
				server := fakeserver.New(fakeserver.Options{Era: row.era, Script: []fakeserver.Row{which}})
				defer server.Close()
				w.piped(server)
				pass(time.Hour)
				l := server.Ledger()
				if n := streams(l); n != 1 || l.Streams != 0 || l.Count("POST", "tools/list") != 1 {
					t.Errorf("%d tries, %d streams open, %d lists in an hour", n, l.Streams, l.Count("POST", "tools/list"))
				}
				if got := w.call("echo", `{"text":"x"}`); got != "x" {
					t.Errorf("got %q", got)
				}
				server.Verify(t)
			})
		})
	}
}

// SUB-04: ends of a subscription, in order and not, over real HTTP.
func TestSUB04_SubscriptionsThatEnd(t *testing.T) {
	const ack = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%ID%},"notifications":{"toolsListChanged":true}}}`
	end := fakeserver.Event(fakeserver.Result(`{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":%ID%}}`))
	for name, reply := range map[string]fakeserver.Reply{
		"one JSON body at once": {Body: fakeserver.Result(`{"resultType":"complete"}`)},
		"a graceful end":        {Chunks: []fakeserver.Chunk{fakeserver.Event(ack), end}},
		"an abrupt end":         {Chunks: []fakeserver.Chunk{fakeserver.Event(ack)}},
		"a broken connection":   {Chunks: []fakeserver.Chunk{fakeserver.Event(ack)}, Drop: true},
		"503":                   {Status: 503},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				var offer shelf
				offer.put(fakeserver.Builtin()[0])
				server := fakeserver.New(fakeserver.Options{Era: fakeserver.Modern, Script: []fakeserver.Row{
					{Method: "subscriptions/listen", Reply: reply}, offer.row(`,"ttlMs":0`)}})
				defer server.Close()
				w.piped(server)
				pass(time.Hour)
				if l := server.Ledger(); streams(l) > 65 || streams(l) < 60 || l.Count("POST", "tools/list") != 1 {
					t.Errorf("%d subscriptions, %d lists in an hour", streams(l), l.Count("POST", "tools/list"))
				}
				offer.put(fakeserver.Builtin()[:2]...)
				if got := w.looked(); got != "echo add" {
					t.Errorf("CCH-03 a look without a subscription: %q", got)
				}
				server.Verify(t)
			})
		})
	}
}
