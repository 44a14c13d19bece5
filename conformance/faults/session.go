package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// This file plays the area "Session, lifecycle, versions".

func sessionRows() []row {
	const reopened = "a lost session is opened anew inside the call, which runs once"
	rows := inBoth([]fault{
		{
			id: "B059", mode: "sess-404-once", in: legacyOnly.shaped(), must: reopened,
			judge: func(p *play) {
				p.ready()
				p.echo("first")
				p.ran(1)
				s := p.seen()
				p.want(len(s.of("initialize")) == 2, "%d handshakes, not 2", len(s.of("initialize")))
				for _, r := range s.of("initialize") {
					p.want(r.Headers.Get("Mcp-Session-Id") == "", "a handshake carries a session id")
				}
				p.echo("second")
				p.ran(2)
				p.sent("initialize", 2)
			},
		},
		{
			id: "B061", mode: "sess-404-no-session", in: bothEras, must: "a plain error that names 404, tried again with the usual waits",
			judge: func(p *play) {
				p.fails("404")
				first := len(p.seen().of("initialize"))
				p.pause(p.pack.firstWait * 3 / 2)
				again := len(p.seen().of("initialize"))
				p.want(first == 1 && again == 2, "%d handshakes at first, %d after the first wait", first, again)
			},
		},
		{
			id: "B063", mode: "sess-restart", in: bothEras,
			must: "calls in the gap fail at once as not delivered, the first one after it works",
			judge: func(p *play) {
				p.ready()
				p.echo("before")
				p.pause(400 * msec)
				o := p.call("echo", `{"text":"in the gap"}`)
				p.failed(o, "transport", "no", "connection refused")
				p.want(o.err == nil || o.err.Data.Retryable, "not retryable: %v", o)
				p.seen() // the log can be read when the port is open again
				p.echo("after")
				p.ran(2)
				if p.era == legacy {
					p.sent("initialize", 2)
				}
			},
		},
		{
			id: "B065", mode: "sess-late-id", in: legacyOnly, must: "the id of the handshake is kept",
			judge: func(p *play) { p.works(); p.counted("decoy_used", 0) },
		},
		{id: "B067", mode: "init-old-version", in: legacyOnly.shaped(), must: "every version that can be spoken is accepted", judge: (*play).works},
		{
			id: "B069", mode: "init-400-version", in: legacyOnly.shaped(), must: "one retry with a version of the server's list",
			judge: func(p *play) { p.works(); p.sent("initialize", 2) },
		},
		{
			id: "B071", mode: "init-slow-notif", in: legacyOnly.shaped(), must: "the first request waits for the receipt of the notification",
			judge: func(p *play) { p.works(); p.counted("too_early", 0) },
		},
		{
			id: "B073", mode: "init-empty-result", in: legacyOnly.shaped().times(2), must: "optional parts may be missing; a missing protocolVersion is named",
			judge: func(p *play) {
				if p.n == 2 {
					p.fails("protocolVersion")
					return
				}
				p.works()
			},
		},
		{id: "B075", mode: "era-200-32601", in: bothEras.shaped(), must: "the handshake comes after a refusal with status 200", judge: (*play).works},
		{
			id: "B077", mode: "era-modern-only", in: modernOnly.shaped(), must: "2026-07-28 is spoken",
			judge: func(p *play) { p.works(); p.sent("initialize", 0); p.sent("DELETE", 0) },
		},
		{
			id: "B077", mode: "era-modern-only", name: "pinned to a handshake", in: modernOnly.shaped().member(`"protocolVersion":"legacy"`),
			must: "an error that names the server's list, tried again with the usual waits",
			judge: func(p *play) {
				p.fails("2026-07-28")
				p.pause(p.pack.firstWait * 3 / 2)
				p.sent("initialize", 2)
			},
		},
	})
	return append(rows, sessionSiblings()...)
}

func sessionSiblings() []row {
	var faults []fault
	add := func(f fault) { faults = append(faults, f) }

	// What a server says that does not know the session any more.
	for name, reply := range map[string]fakeserver.Reply{
		"404 with HTML":              {Status: 404, Body: "<h1>Not Found</h1>", Header: map[string]string{"Content-Type": "text/html"}},
		"404 with nothing":           {Status: 404},
		"404 with a JSON-RPC error":  {Status: 404, Body: fakeserver.Fault(-32001, "Session not found")},
		"404 with an error, id null": {Status: 404, Body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`},
		"404 with an id of theirs":   {Status: 404, Body: `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}`},
		"404 that is an event":       {Status: 404, Chunks: []fakeserver.Chunk{{Text: "data: {}\n\n"}}},
	} {
		add(fault{id: "B059", name: name, in: legacyOnly, must: "a lost session is opened anew inside the call, which runs once",
			server: scripted(onCall(1, reply)),
			judge: func(p *play) {
				p.works()
				p.sent("initialize", 2)
			}})
		add(fault{id: "B059", name: name + ", for ever", in: legacyOnly, must: "one new session, then the error; no loop",
			server: scripted(onCall(0, reply)),
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{"text":"x"}`), "transport", "no", "404")
				p.sent("initialize", 2)
				p.sent("tools/call", 2)
			}})
	}
	add(fault{id: "B059", name: "400 that speaks of the session", in: legacyOnly,
		must:   "the call fails with the server's words, the next one has a new session",
		server: scripted(onCall(1, fakeserver.Reply{Status: 400, Body: fakeserver.Fault(-32000, "Bad Request: No valid session ID provided")})),
		judge: func(p *play) {
			p.ready()
			p.failed(p.call("echo", `{"text":"x"}`), "backend", "yes", "No valid session ID")
			p.echo("second")
			p.sent("initialize", 2)
		}})
	add(fault{id: "B059", name: "on the second page of the list", in: legacyOnly, must: "the list begins anew with a new session",
		server: func(p *play) fakeserver.Options {
			opts := p.options(fakeserver.Row{Method: "tools/list", Nth: 2, Reply: fakeserver.Reply{Status: 404}})
			opts.PageSize = 4
			return opts
		},
		judge: func(p *play) {
			p.works()
			p.sent("initialize", 2)
			p.want(len(p.list("faulty")) == 9, "%d tools", len(p.list("faulty")))
		}})
	add(fault{id: "B059", name: "under twenty calls at once", in: legacyOnly, must: "one new session for all of them, each runs once",
		server: func(p *play) fakeserver.Options { return p.options() },
		judge: func(p *play) {
			p.ready()
			p.peer.fake.DropSessions()
			var calls []pending
			for n := range 20 {
				calls = append(calls, p.send("faulty", "echo", fmt.Sprintf(`{"text":"%d","nonce":"%d"}`, n, n), ""))
			}
			for n, c := range calls {
				o := p.await(c)
				p.want(o.err == nil && o.text == fmt.Sprint(n), "call %d: %v", n, o)
				p.want(len(p.peer.fake.Ledger().RunsOf(fmt.Sprint(n))) == 1, "call %d ran %d times", n, len(p.peer.fake.Ledger().RunsOf(fmt.Sprint(n))))
			}
			p.sent("initialize", 2)
		}})
	add(fault{id: "B059", name: "and the new one is refused", in: legacyOnly, must: "the call fails at once as not delivered, with the reason",
		server: scripted(onCall(1, fakeserver.Reply{Status: 404}), fakeserver.Row{Method: "initialize", Nth: 2, Reply: fakeserver.Reply{Status: 401, Body: "sign in again"}}),
		judge: func(p *play) {
			p.ready()
			p.failed(p.call("echo", `{"text":"x"}`), "transport", "no", "401", "sign in again")
			p.echo("second")
			p.ran(1)
		}})

	// Session ids.
	for name, id := range map[string]string{"with a space": "a b", "too long": strings.Repeat("x", 5000), "not ASCII": "s\u00e9ssion"} {
		add(fault{id: "B065", name: "an id " + name, in: legacyOnly, must: "the start fails at once and does not quote the id",
			server: scripted(on("initialize", fakeserver.Reply{Header: map[string]string{"Mcp-Session-Id": id}, Body: initializeResult("2025-11-25")})),
			judge:  func(p *play) { p.fails("session id"); p.never(id) }})
	}
	add(fault{id: "B065", name: "ids on every answer, and two at the start", in: legacyOnly, must: "the first id of the handshake is kept",
		server: func(p *play) fakeserver.Options {
			opts := p.options(onCall(1, fakeserver.Reply{Header: map[string]string{"Mcp-Session-Id": "decoy"}, Body: callResult}),
				fakeserver.Row{Method: "initialize", Nth: 1, Reply: fakeserver.Reply{Func: func(w http.ResponseWriter, r *http.Request) {
					w.Header()["Mcp-Session-Id"] = []string{"the-first-id", "the-second-id"}
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, filled(initializeResult("2025-11-25"), r))
				}}})
			opts.NoSessions = true
			return opts
		},
		judge: func(p *play) {
			p.ready()
			p.gives("echo", `{"text":"x"}`, "the answer")
			p.echo("second")
			for _, r := range p.seen().of("tools/call") {
				p.want(r.Headers.Get("Mcp-Session-Id") == "the-first-id", "the session is %q", r.Headers.Get("Mcp-Session-Id"))
			}
		}})

	// Answers to initialize.
	for version, parts := range map[string][]string{
		`"2099-01-01"`: {"no protocol version in common", "2099-01-01"}, `"1.0"`: {"no protocol version in common"}, `""`: {"protocol version"},
		`null`: {"protocolVersion"}, `20250618`: {"protocolVersion"}, `["2025-06-18"]`: {"protocolVersion"}, `"\u0000\u202e"`: {"an unreadable version"},
	} {
		add(fault{id: "B073", name: "protocolVersion " + version, in: legacyOnly, must: "the start fails at once and says what is wrong",
			server: scripted(on("initialize", fakeserver.Reply{Body: initializeResult("")[:len(initializeResult(""))-len(`"",`+restOfInit)] + version + "," + restOfInit})),
			judge:  func(p *play) { p.fails(parts...) }})
	}
	for name, rest := range map[string]string{
		"nothing else": `"x":1}}`, "odd kinds": `"capabilities":[],"serverInfo":"x","instructions":7,"_meta":null}}`,
		"nulls": `"capabilities":null,"serverInfo":null,"instructions":null}}`, "null tools": `"capabilities":{"tools":{"listChanged":null}}}}`,
	} {
		add(fault{id: "B073", name: "a result with " + name, in: legacyOnly, must: "optional parts may be missing or odd",
			server: sessionless(on("initialize", fakeserver.Reply{Body: `{"jsonrpc":"2.0","id":%ID%,"result":{"protocolVersion":"2025-06-18",` + rest})),
			judge:  (*play).works})
	}
	for _, version := range []string{"2025-06-18", "2025-03-26", "2024-11-05"} {
		add(fault{id: "B067", name: version, in: legacyOnly.shaped(), must: "every version that can be spoken is accepted",
			server: sessionless(on("initialize", fakeserver.Reply{Body: initializeResult(version)})), judge: (*play).works})
	}
	for name, body := range map[string]string{
		"in data.supported only": `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-32602,"message":"Unsupported","data":{"supported":["2025-03-26"]}}}`,
		"with id null":           `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["1999-01-01","2025-03-26"]}}}`,
	} {
		for _, status := range []int{200, 400} {
			add(fault{id: "B069", name: fmt.Sprint(status, " ", name), in: legacyOnly, must: "one retry with a version of the server's list",
				server: func(p *play) fakeserver.Options {
					opts := p.options(fakeserver.Row{Method: "initialize", Nth: 1, Reply: fakeserver.Reply{Status: status, Body: body}})
					opts.Versions = []string{"2025-03-26"}
					return opts
				},
				judge: func(p *play) { p.works(); p.sent("initialize", 2) }})
		}
	}
	add(fault{id: "B069", name: "and none is ours", in: legacyOnly, must: "the error shows the server's list; no loop",
		server: scripted(on("initialize", fakeserver.Reply{Status: 400, Body: `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-32602,"message":"Unsupported","data":{"supported":["2099-01-01","2098-01-01"]}}}`})),
		judge:  func(p *play) { p.fails("2099-01-01", "2098-01-01"); p.sent("initialize", 1) }})
	add(fault{id: "B069", name: "and the next one is refused too", in: legacyOnly, must: "an error after one retry; no loop",
		server: scripted(on("initialize", fakeserver.Reply{Status: 400, Body: `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-32602,"message":"Unsupported version","data":{"supported":["2025-06-18","2025-03-26"]}}}`})),
		judge:  func(p *play) { p.fails("Unsupported version"); p.sent("initialize", 2) }})

	// What servers with a handshake make of the first modern request.
	discover := func(reply fakeserver.Reply) func(*play) fakeserver.Options {
		return scripted(on("server/discover", reply))
	}
	for name, reply := range map[string]fakeserver.Reply{
		"404 with HTML": {Status: 404, Body: "<h1>Not Found</h1>"}, "400 with text": {Status: 400, Body: "Bad Request: no session"}, "405": {Status: 405}, "406": {Status: 406}, "410": {Status: 410},
		"415": {Status: 415}, "422 with JSON": {Status: 422, Body: `{"detail":"x"}`}, "501": {Status: 501}, "200 with HTML": {Body: "<h1>Hi</h1>", Header: map[string]string{"Content-Type": "text/html"}},
		"200 with {}": {Body: "{}"}, "200 with nothing": {}, "202 with nothing": {Status: 202}, "204": {Status: 204}, "an empty result": {Body: fakeserver.Result("{}")},
		"an array": {Body: "[]"}, "null": {Body: "null"}, "a stream that ends": {Header: map[string]string{"Content-Type": "text/event-stream"}},
		"-32601, 404": {Status: 404, Body: fakeserver.Fault(-32601, "Method not found")}, "-32601, 400": {Status: 400, Body: fakeserver.Fault(-32601, "Method not found")},
		"-32602": {Body: fakeserver.Fault(-32602, "Invalid request parameters")}, "-32600, 400": {Status: 400, Body: fakeserver.Fault(-32600, "Missing session ID")},
		"-32000, 400": {Status: 400, Body: fakeserver.Fault(-32000, "Bad Request: Server not initialized")}, "-32603, 500": {Status: 500, Body: fakeserver.Fault(-32603, "Internal error")},
		"-32700, id null": {Status: 400, Body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`}, "500 with HTML": {Status: 500, Body: "<h1>Oops</h1>"},
		"-32002, 200": {Body: fakeserver.Fault(-32002, "Server not initialized")}, "an error that is a string": {Body: `{"jsonrpc":"2.0","id":%ID%,"error":"Method not found"}`},
		"an id of theirs": {Status: 400, Body: `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Missing session ID"}}`},
	} {
		add(fault{id: "B075", name: name, in: legacyOnly, must: "the handshake comes after whatever is no modern answer", server: discover(reply), judge: (*play).works})
	}
	add(fault{id: "B075", name: "no answer at all", in: legacyOnly.limit("start_time=4s"), must: "the handshake comes after a part of the time for the start",
		server: discover(fakeserver.Reply{Hold: true, Chunks: []fakeserver.Chunk{{Text: ":\n\n"}}}),
		judge:  func(p *play) { p.readyWithin(3 * sec); p.twoCalls() }})
	for _, status := range []int{401, 403, 407, 429, 502, 503} {
		add(fault{id: "B075", name: fmt.Sprint("status ", status), in: legacyOnly.limit("start_time=4s"), must: "the start fails with that status; no handshake is tried over it",
			server: discover(fakeserver.Reply{Status: status, Body: "no"}),
			judge: func(p *play) {
				p.fails(fmt.Sprint(status))
				p.sent("initialize", 0)
			}})
	}
	add(fault{id: "B061", name: "of the transport of 2024", in: legacyOnly, must: "an error with a hint at that transport; no loop of GETs",
		server: scripted(),
		before: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet {
				http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
				return true
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: endpoint\ndata: /messages?id=1\n\n")
			http.NewResponseController(w).Flush()
			gone(r)
			return true
		},
		judge: func(p *play) { p.fails("405", "HTTP+SSE transport of 2024") }})
	early := `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"early"}}` + "\n\n" + `data: {"jsonrpc":"2.0","id":"early","method":"ping"}` + "\n\n"
	add(fault{id: "B071", name: "messages before the answer to initialize", in: legacyOnly, must: "they are taken, and the start goes on",
		server: sessionless(on("initialize", stream(early, "data: "+initializeResult("2025-06-18")+"\n\n"))), judge: (*play).works})
	// A modern server that has no discover, and one that was replaced.
	add(fault{id: "B077", name: "without server/discover", in: modernOnly, must: "2026-07-28 is spoken",
		server: scripted(on("server/discover", fakeserver.Reply{Status: 404, Body: fakeserver.Fault(-32601, "Method not found")})), judge: (*play).works})
	add(fault{id: "B077", name: "of a revision to come", in: modernOnly, must: "the error names the server's list; no loop",
		server: scripted(on("server/discover", fakeserver.Reply{Status: 400, Body: `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2099-01-01"],"requested":"x"}}}`})),
		judge:  func(p *play) { p.fails("2099-01-01"); p.sent("initialize", 0) }})
	add(fault{id: "B063", name: "comes back of the other era", in: modernOnly, must: "the call that finds out fails; the next one works",
		server: scripted(onCall(1, fakeserver.Reply{Status: 400, Body: fakeserver.Fault(-32000, "Bad Request: Server not initialized")})),
		judge: func(p *play) {
			p.ready()
			p.failed(p.call("echo", `{"text":"x"}`), "backend", "yes", "not initialized")
			p.echo("second")
			p.ran(1)
		}})
	return sorted(inBoth(faults))
}

// initializeResult is an answer to initialize.
func initializeResult(version string) string {
	return fakeserver.Result(`{"protocolVersion":` + quote(version) + `,` + restOfInit[:len(restOfInit)-1])
}

const restOfInit = `"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`
