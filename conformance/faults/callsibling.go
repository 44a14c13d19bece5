package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// This file plays siblings of the faults in calls.go.

func callSiblings() []row {
	var faults []fault
	add := func(f fault) { faults = append(faults, f) }
	// Ways to hang.
	hangs := map[string]fakeserver.Reply{
		"no byte":                 {Func: waitForEnd},
		"the head of JSON only":   {Func: headOnly("application/json")},
		"the head of a stream":    {Func: headOnly("text/event-stream")},
		"half an answer":          held(`data: {"jsonrpc":"2.0","id":%ID%,"res`),
		"an event without an end": held("data: " + callResult + "\n"),
		"a foreign answer":        held(`data: {"jsonrpc":"2.0","id":424242,"result":{}}` + "\n\n"),
		"comments":                trickle(": keep\n\n"),
		"progress":                trickle(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}` + "\n\n"),
		"spaces of JSON":          {Func: slowJSON},
		"half a status line":      {Func: wireAndHold("HTTP/1.1 20")},
		"endless 1xx":             {Func: wireForEver("HTTP/1.1 102 Processing\r\n\r\n", 50*msec)},
	}
	for name, reply := range hangs {
		add(fault{id: "B145", name: name, in: bothEras.limit("call_time=1s"), must: "an error at the deadline, the server is told, other calls are fine",
			server: scripted(onCall(1, reply)),
			judge: func(p *play) {
				p.ready()
				slow := p.startSlow("")
				p.echo("beside")
				p.overdue(p.await(slow))
				p.told(1)
				p.echo("after")
			}})
		add(fault{id: "B141", name: "of " + name, in: bothEras, must: "the call ends at once when it is cancelled, the server is told once",
			server: scripted(onCall(1, reply)),
			judge: func(p *play) {
				p.ready()
				p.cancel(p.startSlow(""))
				p.told(1)
				p.echo("after")
			}})
		add(fault{id: "B145", name: name + ", at the end of the pack", in: bothEras, must: "the pack closes in time, the call ends, the server is told",
			server: scripted(onCall(1, reply)),
			judge: func(p *play) {
				p.ready()
				slow := p.startSlow("")
				p.closes()
				o := p.await(slow)
				p.want(o.err != nil && o.err.Code == -32800, "%v", o)
				p.told(1)
			}})
	}
	add(fault{id: "B145", name: "with a time of the host", in: bothEras, must: "the host's time ends the call",
		server: scripted(onCall(1, fakeserver.Reply{Func: waitForEnd})),
		judge: func(p *play) {
			p.ready()
			o := p.await(p.startSlow(`,"timeoutMs":300`))
			p.want(o.err != nil && o.err.Data.Kind == "transport" && o.err.Data.Delivered == "unknown" && 250*msec < o.took && o.took < time.Second, "%v", o)
			p.told(1)
			p.echo("after")
		}})
	for _, method := range []string{"server/discover", "initialize", "notifications/initialized", "tools/list"} {
		in := bothEras
		if method == "initialize" || method == "notifications/initialized" {
			in = legacyOnly
		}
		if method == "server/discover" {
			in = modernOnly
		}
		add(fault{id: "B145", name: "at " + method, in: in.limit("start_time=1s"), must: "the start fails at its deadline, which is named, and is tried again",
			server: scripted(fakeserver.Row{Method: method, Nth: 1, Reply: fakeserver.Reply{Func: waitForEnd}}),
			judge: func(p *play) {
				if method == "server/discover" { // a part of the time goes to it, then a handshake finds out the era
					p.readyWithin(3 * sec)
				} else {
					p.fails(p.pack.startTime)
					p.readyWithin(4 * sec)
				}
				p.echo("first")
			}})
	}
	progress := `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%ID%,"progress":1}}` + "\n\n"
	for _, members := range []string{"", `,"progress":true`} {
		add(fault{id: "B147", name: "of 10000 messages of progress" + members, in: bothEras, must: "the answer comes at once; what nobody asked for, or came too fast, is left out",
			server: scripted(onCall(1, stream(strings.Repeat(progress, 10000), "data: "+callResult+"\n\n"))),
			judge: func(p *play) {
				p.ready()
				o := p.await(p.send("faulty", "echo", `{"text":"x"}`, members))
				p.want(o.err == nil && o.text == "the answer" && o.took < atOnce, "%v", o)
				n := strings.Count(p.said.String(), `"method":"progress"`)
				p.want(n < 100 && (n > 0) == (members != ""), "%d messages of progress", n)
				p.echo("after")
			}})
	}
	add(fault{id: "B149", name: "300 calls at once", in: bothEras.shaped(), must: "those beyond the limit wait for their turn; each runs once",
		server: scripted(),
		judge: func(p *play) {
			p.ready()
			var calls []pending
			for n := range 300 {
				calls = append(calls, p.send("faulty", "echo", fmt.Sprintf(`{"text":"%d"}`, n), ""))
			}
			for n, c := range calls {
				o := p.await(c)
				p.want(o.err == nil && o.text == fmt.Sprint(n), "call %d: %v", n, o)
			}
			p.ran(300)
		}})
	// The receipt of a cancel.
	for name, reply := range map[string]fakeserver.Reply{
		"400": {Status: 400, Body: "no"}, "401": {Status: 401}, "404": {Status: 404}, "429": {Status: 429, Header: map[string]string{"Retry-After": "1"}}, "503": {Status: 503, Header: map[string]string{"Retry-After": "0"}},
		"307": {Status: 307, Header: map[string]string{"Location": "/elsewhere"}}, "a reset": {Drop: true}, "200 with JSON": {Body: "{}"}, "a stream that stays": {Chunks: []fakeserver.Chunk{{Text: ":\n\n"}}, Hold: true},
	} {
		add(fault{id: "B141", name: "whose receipt is " + name, in: legacyOnly, must: "the caller does not see it, the cancel is sent once, the session is kept",
			server: scripted(on("notifications/cancelled", reply), onCall(1, fakeserver.Reply{Func: waitForEnd})),
			judge: func(p *play) {
				p.ready()
				p.cancel(p.startSlow(""))
				p.told(1)
				p.pause(1200 * msec)
				p.sent("notifications/cancelled", 1)
				p.echo("after")
				p.sent("initialize", 1)
			}})
	}
	// Cancels by the server.
	for name, params := range map[string]string{
		"without a reason": `{"requestId":%ID%}`, "with an odd reason": `{"requestId":%ID%,"reason":{"a":1}}`, "with a long reason": `{"requestId":%ID%,"reason":"` + strings.Repeat("r\\n", 50000) + `"}`,
	} {
		add(fault{id: "B143", name: name, in: legacyOnly, must: "the call ends at once",
			server: scripted(onCall(1, held(`data: {"jsonrpc":"2.0","method":"notifications/cancelled","params":`+params+"}\n\n"))),
			judge: func(p *play) {
				p.ready()
				o := p.call("echo", `{"text":"x"}`)
				p.failed(o, "transport", "yes", "cancelled")
				p.want(o.err == nil || len(o.err.Message) < 1000, "%d bytes", len(o.err.Message))
				p.echo("after")
				p.sent("notifications/cancelled", 0)
			}})
	}
	for name, params := range map[string]string{
		"of another call": `{"requestId":424242}`, "of no call": `{}`, "of a call that is a text": `{"requestId":"%ID%"}`, "of null": `{"requestId":null}`, "without params": `null`,
	} {
		add(fault{id: "B143", name: name, in: bothEras, must: "it is ignored, the call goes on",
			server: scripted(onCall(1, stream(`data: {"jsonrpc":"2.0","method":"notifications/cancelled","params":`+params+"}\n\n", "data: "+callResult+"\n\n"))),
			judge:  func(p *play) { p.ready(); p.gives("echo", `{"text":"x"}`, "the answer"); p.echo("after") }})
	}
	// Resuming a stream.
	for name, again := range map[string]fakeserver.Reply{
		"405": {Status: 405}, "404": {Status: 404}, "400": {Status: 400}, "200 with JSON": {Body: "{}"}, "307": {Status: 307, Header: map[string]string{"Location": "/elsewhere"}}, "204": {Status: 204},
	} {
		add(fault{id: "B153", name: "a stream that breaks off, and GET gets " + name, in: legacyOnly, must: lostAtOnce,
			server: scripted(onCall(1, stream("id: 5\nretry: 10\ndata:\n\n")), fakeserver.Row{HTTP: "GET", Reply: again}),
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{"text":"x"}`), "transport", "unknown", "the stream ended before the answer")
				p.sent("tools/call", 1)
				p.want(len(p.seen().of("GET")) <= 2, "%d GETs", len(p.seen().of("GET")))
				p.echo("after")
			}})
	}
	add(fault{id: "B153", name: "a stream that is resumed twice", in: legacyOnly, must: "each GET carries the last id, and the answer comes; the call is sent once",
		server: func(p *play) fakeserver.Options {
			var id atomic.Value // of the call, for the stream that goes on
			first := fakeserver.Reply{Func: func(w http.ResponseWriter, r *http.Request) {
				id.Store(filled("%ID%", r))
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, "id: a\nretry: 10\ndata:\n\n")
			}}
			again := fakeserver.Reply{Func: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				switch r.Header.Get("Last-Event-Id") {
				case "a":
					fmt.Fprint(w, "id: b\ndata:\n\n")
				case "b":
					fmt.Fprint(w, "data: "+strings.ReplaceAll(callResult, "%ID%", id.Load().(string))+"\n\n")
				default: // the client listens
					w.WriteHeader(http.StatusMethodNotAllowed)
				}
			}}
			return p.options(onCall(1, first), fakeserver.Row{HTTP: "GET", Reply: again})
		},
		judge: func(p *play) {
			p.ready()
			o := p.call("echo", `{"text":"x"}`)
			p.want(o.err == nil && o.text == "the answer", "%v", o)
			var ids []string
			for _, r := range p.seen().of("GET") {
				if id := r.Headers.Get("Last-Event-Id"); id != "" {
					ids = append(ids, id)
				}
			}
			p.want(slices.Equal(ids, []string{"a", "b"}), "the stream was resumed behind %q", ids)
			p.sent("tools/call", 1)
			p.echo("after")
		}})
	add(fault{id: "B153", name: "a stream that breaks off again and again", in: legacyOnly.limit("call_time=3s"), must: "it is resumed with the last id, with waits, and in the end the call fails; it is not sent again",
		server: scripted(onCall(1, stream("id: 5\nretry: 10\ndata:\n\n")), fakeserver.Row{HTTP: "GET", Reply: stream("id: 5\ndata:\n\n")}),
		judge: func(p *play) {
			p.ready()
			o := p.call("echo", `{"text":"x"}`)
			p.want(o.err != nil && o.err.Data.Kind == "transport" && o.err.Data.Delivered == "unknown", "%v", o)
			gets := p.seen().of("GET")
			p.want(1 <= len(gets) && len(gets) <= 6, "%d GETs", len(gets))
			for _, r := range gets {
				id := r.Headers.Get("Last-Event-Id")
				p.want(id == "5" || id == "", "Last-Event-ID is %q", id)
			}
			p.sent("tools/call", 1)
			p.echo("after")
		}})
	return sorted(inBoth(faults))
}

// told checks that the server hears n times that a call is off: by a message, or
// by the end of the reply.
func (p *play) told(n int) {
	if p.era == legacy {
		p.until(atOnce, "the server was not told", func(s *seen) bool { return len(s.of("notifications/cancelled")) == n })
	} else {
		p.sent("notifications/cancelled", 0)
	}
}
