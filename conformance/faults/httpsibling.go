package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// This file plays siblings of the faults in http.go.

func httpSiblings() []row {
	var faults []fault
	add := func(f fault) { faults = append(faults, f) }

	// Receipts of a notification.
	for _, r := range []struct {
		name  string
		reply fakeserver.Reply
	}{
		{"200 with a body of JSON", fakeserver.Reply{Body: `{"ok":true}`}},
		{"200 with half a JSON-RPC answer", fakeserver.Reply{Body: `{"jsonrpc":"2.0","id":nu`}},
		{"201", fakeserver.Reply{Status: 201}},
		{"206 compressed", fakeserver.Reply{Status: 206, Header: map[string]string{"Content-Encoding": "br"}, Body: "\x8b\x02"}},
		{"202 with a stream that never ends", fakeserver.Reply{Status: 202, Chunks: []fakeserver.Chunk{{Text: ": hm\n\n"}}, Hold: true}},
		{"299", fakeserver.Reply{Status: 299, Header: map[string]string{"Content-Type": "nonsense"}, Body: "?"}},
	} {
		add(fault{id: "B001", name: r.name, in: legacyOnly.shaped(), must: "any 2xx is the receipt of a notification; nothing is read from it",
			server: sessionless(on("notifications/initialized", r.reply)), judge: (*play).works})
	}
	for _, status := range []int{400, 401, 403, 404, 500, 503} {
		add(fault{id: "B001", name: fmt.Sprint("refused with ", status), in: legacyOnly.limit("start_time=4s"),
			must:   "the start fails at once and the error names the status",
			server: scripted(on("notifications/initialized", fakeserver.Reply{Status: status, Body: "no"})),
			judge:  func(p *play) { p.fails(fmt.Sprint("status ", status)) }})
	}

	// Media types.
	for _, contentType := range []string{"application/json ; charset=utf-8", "application/json;", `APPLICATION/JSON;charset="UTF-8"`, " application/json", "application/json;profile=x;q=1"} {
		add(fault{id: "B007", name: fmt.Sprintf("%q", contentType), in: bothEras, must: "media types are compared without case and parameters",
			server: scripted(onCall(0, fakeserver.Reply{Header: map[string]string{"Content-Type": contentType}, Body: callResult})),
			judge:  func(p *play) { p.ready(); p.gives("echo", `{"text":"x"}`, "the answer") }})
	}
	for _, contentType := range []string{"text/event-stream;charset=UTF-8", "Text/Event-Stream ; charset=utf-8", "TEXT/EVENT-STREAM;"} {
		add(fault{id: "B007", name: fmt.Sprintf("%q", contentType), in: bothEras, must: "media types are compared without case and parameters",
			server: scripted(onCall(0, fakeserver.Reply{Header: map[string]string{"Content-Type": contentType}, Body: "data: " + callResult + "\n\n"})),
			judge:  func(p *play) { p.ready(); p.gives("echo", `{"text":"x"}`, "the answer") }})
	}
	for _, contentType := range []string{"text/html", "text/plain; charset=utf-8", "application/jsonp", "text/json-event-stream", "nonsense"} {
		add(fault{id: "B009", name: fmt.Sprintf("%q", contentType), in: bothEras, must: "another type ends the call at once and is named",
			server: scripted(onCall(1, fakeserver.Reply{Header: map[string]string{"Content-Type": contentType}, Body: "<h1>hello</h1>"})),
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{"text":"x"}`), "transport", "unknown", "neither JSON nor an event stream", strings.TrimSuffix(contentType, "; charset=utf-8"))
				p.echo("second")
			}})
	}
	for name, body := range map[string]string{"no type, no body": "", "no type, HTML": "<h1>hello</h1>", "no type, an array": "[1]", "no type, an event": "data: {}\n\n"} {
		add(fault{id: "B009", name: name, in: bothEras, must: "the call ends at once with an error",
			server: scripted(onCall(1, wire("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %LEN%\r\n\r\n"+body))),
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{"text":"x"}`), "transport", "unknown")
				p.echo("second")
			}})
	}

	// Retry-After, in odd spellings, on both statuses that have it.
	for _, status := range []string{"429", "503"} {
		for _, after := range []string{" 2 ", "2.5", "-1", "soon", "99999999999999999999", "Wed, 21 Oct 2015 07:28:00 GMT", "0", ""} {
			add(fault{id: "B011", name: status + " Retry-After: " + after, in: bothEras,
				must:   "the call fails at once with the status and is not sent again; the next one works",
				server: scripted(onCall(1, wire("HTTP/1.1 "+status+" Busy\r\nConnection: close\r\nretry-after: "+after+"\r\nContent-Length: %LEN%\r\n\r\nbusy"))),
				judge: func(p *play) {
					p.ready()
					p.failed(p.call("echo", `{"text":"x"}`), "transport", "unknown", status)
					p.sent("tools/call", 1)
					p.echo("second")
				}})
		}
	}
	for _, method := range []string{"initialize", "tools/list"} {
		in := bothEras
		if method == "initialize" {
			in = legacyOnly
		}
		add(fault{id: "B011", name: "on " + method, in: in,
			must:   "a request without side effects is sent again, not before its time",
			server: scripted(fakeserver.Row{Method: method, Nth: 1, Reply: fakeserver.Reply{Status: 429, Header: map[string]string{"Retry-After": "1"}, Body: "slow down"}}),
			judge: func(p *play) {
				p.readyWithin(3 * sec)
				p.twoCalls()
				p.sent(method, 2)
			}})
		add(fault{id: "B011", name: "on " + method + ", for a minute", in: in,
			must:   "the start fails with the status and the wait, and is not tried again before its time",
			server: scripted(on(method, fakeserver.Reply{Status: 429, Header: map[string]string{"Retry-After": "61"}, Body: "slow down"})),
			judge: func(p *play) {
				p.fails("429", "try again in 1m1s")
				p.pause(2500 * msec)
				p.sent(method, 1)
			}})
	}

	// Redirects, wherever they come.
	for _, status := range []int{300, 301, 302, 303, 304, 305, 307, 308, 399} {
		location := map[string]string{"Location": "http://127.0.0.1:1/elsewhere?code=" + secret}
		first := map[string]string{legacy: "initialize", modern: "server/discover"}
		add(fault{id: "B019", name: fmt.Sprint(status, " at the start"), in: bothEras, must: "the error names the status and the origin; nothing follows",
			server: func(p *play) fakeserver.Options {
				return p.options(on(first[p.era], fakeserver.Reply{Status: status, Header: location}))
			},
			judge: func(p *play) { p.fails(fmt.Sprint(status), "http://127.0.0.1:1") }})
		add(fault{id: "B019", name: fmt.Sprint(status, " on a call"), in: bothEras, must: "the call fails with the status and is not sent again; the next one works",
			server: scripted(onCall(1, fakeserver.Reply{Status: status, Header: location})),
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{"text":"x"}`), "transport", "unknown", fmt.Sprint(status), "http://127.0.0.1:1")
				p.sent("tools/call", 1)
				p.echo("second")
			}})
	}
	add(fault{id: "B021", name: "of the list, without a place", in: bothEras, must: "the start fails and the error names the status",
		server: scripted(on("tools/list", fakeserver.Reply{Status: 302})), judge: func(p *play) { p.fails("302") }})
	add(fault{id: "B021", name: "of a notification", in: legacyOnly, must: "the start fails and the error names the status",
		server: scripted(on("notifications/initialized", fakeserver.Reply{Status: 308, Header: map[string]string{"Location": "/other"}})),
		judge:  func(p *play) { p.fails("308", "/other"); p.sent("GET", 0) }})

	// The end of a session.
	for name, reply := range map[string]fakeserver.Reply{
		"200": {}, "202": {Status: 202}, "400": {Status: 400, Body: "no"}, "401": {Status: 401}, "403": {Status: 403}, "405": {Status: 405},
		"500": {Status: 500, Body: "boom"}, "501": {Status: 501}, "307": {Status: 307, Header: map[string]string{"Location": "/elsewhere"}},
		"a reset": {Drop: true}, "no answer": {Hold: true, Chunks: []fakeserver.Chunk{{After: endTime}}},
	} {
		add(fault{id: "B027", name: "DELETE gets " + name, in: legacyOnly, must: "the close succeeds without a word, in time, and opens no new session",
			server: scripted(fakeserver.Row{HTTP: "DELETE", Reply: reply}),
			judge: func(p *play) {
				p.works()
				p.closes()
				p.sent("DELETE", 1)
				p.sent("initialize", 1)
				p.logged(0, "level=WARN")
			}})
	}

	// Replies 1xx, and HTTP that is none.
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for name, text := range map[string]string{
		"102":                    "HTTP/1.1 102 Processing\r\n\r\n" + head + "Content-Length: 999\r\n\r\n",
		"103 five times":         strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 5) + head + "Content-Length: 999\r\n\r\n",
		"a body without length":  head + "Connection: close\r\n\r\n",
		"HTTP/1.0":               strings.Replace(head, "1.1", "1.0", 1) + "\r\n",
		"chunks with extensions": head + "Transfer-Encoding: chunked\r\n\r\n",
		"a bare LF in the head":  strings.ReplaceAll(head, "\r\n", "\n") + "Connection: close\n\n",
	} {
		add(fault{id: "B031", name: name, in: bothEras, must: "the call works",
			server: scripted(onCall(0, fakeserver.Reply{Func: func(w http.ResponseWriter, r *http.Request) {
				body := filled(callResult, r)
				head := strings.Replace(text, "999", fmt.Sprint(len(body)), 1)
				if strings.Contains(head, "chunked") {
					body = fmt.Sprintf("1;name=value\r\n%s\r\n%X;x\r\n%s\r\n0\r\nX-Trailer: x\r\n\r\n", body[:1], len(body)-1, body[1:])
				}
				hijacked(w, func(conn net.Conn) { io.WriteString(conn, head+body) })
			}})),
			judge: func(p *play) { p.ready(); p.gives("echo", `{"text":"x"}`, "the answer") }})
	}
	for name, text := range map[string]string{
		"101":                        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
		"no HTTP at all":             "SSH-2.0-OpenSSH_9.6\r\n",
		"a status that is no number": "HTTP/1.1 OK\r\n\r\n",
		"two lengths":                head + "Content-Length: 3\r\nContent-Length: 5\r\n\r\n{}",
		"a negative length":          head + "Content-Length: -1\r\n\r\n{}",
		"a length that is too long":  head + "Content-Length: 5000\r\n\r\n" + callResult,
		"a chunk that is no chunk":   head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
		"chunks without an end":      head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
		"a header of 300 KB":         head + "X: " + strings.Repeat("x", 300<<10) + "\r\nContent-Length: 2\r\n\r\n{}",
		"1000 headers":               head + strings.Repeat("X: y\r\n", 1000) + "Content-Length: 2\r\n\r\n{}",
		"nothing":                    "",
	} {
		add(fault{id: "B017", name: name, in: bothEras, must: "the call fails at once, is not sent again, and the next one works",
			server: scripted(onCall(1, wire(text))),
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{"text":"x"}`), "transport", "unknown")
				p.sent("tools/call", 1)
				p.echo("second")
			}})
	}

	// A reply before the request is read, and a connection for each request.
	for name, status := range map[string]int{"413": 413, "403": 403, "500": 500} {
		add(fault{id: "B017", name: name + " before a large request is read", in: bothEras, must: "the call fails at once, with the status where it came through; it is not sent again, and the next one works",
			server: scripted(),
			before: func(w http.ResponseWriter, r *http.Request) bool {
				if r.ContentLength < 1<<20 {
					return false
				}
				w.Header().Set("Connection", "close")
				http.Error(w, "not that much", status)
				return true
			},
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{"text":"`+strings.Repeat("x", 4<<20)+`"}`), "transport", "unknown")
				p.sent("tools/call", 0)
				p.echo("second")
			}})
	}
	add(fault{id: "B013", name: "a connection for each reply, as it is said", in: bothEras.shaped(), must: "every call works on a fresh connection and runs once",
		server: scripted(),
		before: func(w http.ResponseWriter, _ *http.Request) bool { w.Header().Set("Connection", "close"); return false },
		judge: func(p *play) {
			p.ready()
			for n := range 10 {
				p.echo(fmt.Sprint("call ", n))
			}
			p.ran(10)
		}})
	add(fault{id: "B013", name: "a reply after three quiet seconds", in: bothEras, must: "nothing but the deadline ends a call",
		server: scripted(onCall(1, fakeserver.Reply{After: 3 * sec, Healthy: true})),
		judge: func(p *play) {
			p.ready()
			o := p.call("echo", `{"text":"late"}`)
			p.want(o.err == nil && o.text == "late" && o.took >= 3*sec, "%v", o)
		}})

	// Content codings.
	for _, coding := range []string{"br", "deflate", "zstd", "gzip, gzip", "compress", "GZIP", "aws-chunked"} {
		add(fault{id: "B015", name: coding, in: bothEras, must: "the call fails at once with an error that names the coding; no garbage in it",
			server: scripted(onCall(1, fakeserver.Reply{Header: map[string]string{"Content-Encoding": coding}, Body: "\x1f\x8b\x08\x00garbage"})),
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{"text":"x"}`), "transport", "unknown", "compressed", coding)
				p.noGarbage()
			}})
	}
	add(fault{id: "B015", name: "plain bytes called gzip", in: bothEras.limit("gzip=1"), must: "the call fails at once with an error; no garbage in it",
		server: scripted(onCall(1, fakeserver.Reply{Header: map[string]string{"Content-Encoding": "gzip"}, Body: callResult})),
		judge: func(p *play) {
			p.ready()
			p.failed(p.call("echo", `{"text":"x"}`), "transport", "unknown", "broke off", "damaged")
			p.noGarbage()
		}})
	add(fault{id: "B015", name: "identity", in: bothEras, must: "identity is no compression",
		server: scripted(onCall(1, fakeserver.Reply{Header: map[string]string{"Content-Encoding": "Identity"}, Body: callResult})),
		judge:  func(p *play) { p.ready(); p.gives("echo", `{"text":"x"}`, "the answer") }})
	add(fault{id: "B015", name: "an error that is compressed", in: bothEras, must: "the call fails at once with the status; no garbage in the error",
		server: scripted(onCall(1, fakeserver.Reply{Status: 400, Header: map[string]string{"Content-Encoding": "gzip"}, Body: "\x1f\x8b\x08\x00garbage"})),
		judge: func(p *play) {
			p.ready()
			p.failed(p.call("echo", `{"text":"x"}`), "transport", "unknown", "400")
			p.noGarbage()
		}})

	// Every status to a call.
	for _, s := range callStatuses {
		add(fault{id: "B011", name: fmt.Sprint("status ", s.status, " to a call"), in: bothEras,
			must:   "the call fails at once, names the status, is not sent again, and the next one works",
			server: scripted(onCall(1, fakeserver.Reply{Status: s.status, Body: s.body})),
			judge: func(p *play) {
				p.ready()
				if s.status == 404 && p.era == legacy { // the session is lost: B059
					p.echo("again")
					p.sent("initialize", 2)
				} else {
					p.failed(p.call("echo", `{"text":"x"}`), "transport", s.delivered, fmt.Sprint(s.status))
					p.sent("tools/call", 1)
				}
				p.echo("second")
			}})
	}
	return sorted(inBoth(faults))
}

// callStatuses are statuses without a word of MCP in their body.
var callStatuses = func() (list []struct {
	status          int
	delivered, body string
}) {
	type row = struct {
		status          int
		delivered, body string
	}
	for _, status := range []int{200, 201, 202, 203, 204, 205, 206, 226} {
		list = append(list, row{status, "unknown", ""})
	}
	for _, status := range []int{400, 402, 403, 404, 405, 406, 408, 409, 410, 411, 412, 413, 414, 415, 417, 418, 421, 422, 423, 424, 425, 426, 428, 431, 444, 451, 498, 499,
		500, 501, 502, 504, 505, 507, 508, 510, 511, 520, 521, 522, 523, 524, 525, 526, 529, 530, 599, 999} {
		list = append(list, row{status, "unknown", "<html>no</html>"})
	}
	for _, status := range []int{401, 407} {
		list = append(list, row{status, "no", "<html>no</html>"})
	}
	return list
}()

// noGarbage checks that nothing that is no text came out.
func (p *play) noGarbage() {
	p.want(!strings.Contains(p.said.String(), "garbage"), "the compressed bytes came out")
}
