package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// This file plays the area "JSON-RPC envelope and JSON values".

// exact are arguments that a client changes when it decodes them.
const exact = `{"big":123456789012345678901234567890,"neg":-0,"exp":1E400,"small":1e-400,"dec":1.10,"z":[1.0,null,{}],"esc":"\u00e9\/\ud83d\ude00\u0000","twice":1,"twice":2,"":{"b":1,"a":2},"html":"<&>"}`

func envelopeRows() []row {
	rows := inBoth([]fault{
		{
			id: "B079", mode: "rpc-id-string", in: bothEras, must: "the start fails at once with an error that names the id",
			judge: func(p *play) { p.fails("malformed", "id") },
		},
		{
			id: "B081", mode: "rpc-error-null-id", in: bothEras.shaped(), must: "the message of an error without id is the error of its POST",
			judge: func(p *play) {
				p.ready()
				for range 2 {
					p.failed(p.call("echo", `{"text":"x"}`), "backend", "yes", "the real reason is here")
				}
				p.ran(0)
				p.sent("tools/call", 2)
			},
		},
		{
			id: "B083", mode: "rpc-both", in: bothEras.shaped(), must: "an answer with result and error is never a success",
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{"text":"x"}`), "transport", "yes", "both a result and an error")
				p.never("RESULT")
				p.sent("tools/call", 1)
			},
		},
		{
			id: "B085", mode: "rpc-batch", in: bothEras, must: "a batch fails the start at once in revisions without batches",
			judge: func(p *play) { p.fails("batch") },
		},
		{
			id: "B085", mode: "rpc-batch", name: "2025-03-26", in: legacyOnly.member(`"protocolVersion":"2025-03-26"`), must: "a batch is unpacked in the revision that has them",
			judge: (*play).works,
		},
		{
			id: "B087", mode: "rpc-server-ping", in: legacyOnly, must: "a ping on the stream of a call is answered with its own id, then the call completes",
			judge: func(p *play) {
				p.works()
				p.counted("pongs", 2)
				answers := 0
				for _, r := range p.seen().Requests {
					if r.RPC == "" && r.Verb == "POST" {
						answers++
						p.want(strings.Contains(r.Body, `"id":"srv-1"`) && strings.Contains(r.Body, `"result":{}`), "the pong is %s", r.Body)
					}
				}
				p.want(answers == 2, "%d answers", answers)
			},
		},
		{
			id: "B089", mode: "rpc-notif-null-id", in: bothEras, must: "a notification with a null id is ignored and not answered",
			judge: func(p *play) {
				p.works()
				for _, r := range p.seen().Requests {
					p.want(r.Verb != "POST" || r.RPC != "", "it was answered: %s", r.Body)
				}
			},
		},
		{
			id: "B091", mode: "json-args-exact", in: bothEras.shaped(), must: "arguments arrive as they were written",
			judge: func(p *play) {
				p.ready()
				p.gives("raw_args", exact, exact)
				p.gives("raw_args", `{}`, `{}`)
				p.ran(2)
			},
		},
		{
			id: "B093", mode: "json-bad-utf8", in: bothEras.shaped(), must: "replacement characters or an error, at once; the host gets valid UTF-8",
			judge: func(p *play) {
				p.ready()
				o := p.call("echo", `{}`)
				p.want(o.took < atOnce && (o.err == nil && strings.Contains(o.text, "latin \ufffd") || o.err != nil && o.err.Data.Kind == "transport"), "%v", o)
				p.call("echo", `{}`)
				p.ran(2)
			},
		},
		{
			id: "B095", mode: "json-dup-keys", in: bothEras.shaped(), must: "an answer with doubled members fails, a tool with doubled members is left out",
			judge: func(p *play) {
				p.ready()
				p.lists("echo")
				p.logged(1, "level=WARN", "the list of tools is not whole", "name stands twice")
				p.failed(p.call("echo", `{}`), "transport", "yes", "twice")
				p.never("SECOND")
				p.sent("tools/call", 1)
			},
		},
		{
			id: "B097", mode: "json-deep", in: bothEras.shaped(), must: "an error at once that names the limit; the process lives",
			judge: func(p *play) {
				p.ready()
				for range 2 {
					o := p.call("echo", `{}`)
					p.failed(o, "transport", "unknown", "json_depth")
					p.want(o.err == nil || o.err.Data.Limit == "json_depth", "data.limit: %v", o)
				}
				p.ran(2)
			},
		},
		{
			id: "B097", mode: "json-deep", name: "in a schema", in: bothEras.shaped().flag("-n", "2"), must: "the list is refused at once, the limit is named; the process lives",
			judge: func(p *play) { p.fails("json_depth") },
		},
		{
			id: "B099", mode: "json-truncated", in: bothEras, must: "a transport error at once; the call is not sent again",
			judge: func(p *play) {
				p.ready()
				for n := range 2 {
					p.failed(p.call("echo", `{"text":"cut"}`), "transport", "unknown", "the answer broke off")
					p.ran(n + 1)
				}
				p.sent("tools/call", 2)
			},
		},
	})
	return append(rows, envelopeSiblings()...)
}

func envelopeSiblings() []row {
	var faults []fault
	const result = `{"resultType":"complete","content":[{"type":"text","text":"the answer"}]}`
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	for _, r := range []struct {
		id, body  string
		kind      string // "" for the answer
		delivered string
		part      string
	}{
		// Ids.
		{"B079", `{"jsonrpc":"2.0","id":"%ID%","result":` + result + `}`, "transport", "yes", "id"},
		{"B079", `{"jsonrpc":"2.0","id":%ID%.0,"result":` + result + `}`, "transport", "yes", "id"},
		{"B079", `{"jsonrpc":"2.0","id":%ID%e0,"result":` + result + `}`, "transport", "yes", "id"},
		{"B079", `{"jsonrpc":"2.0","id":null,"result":` + result + `}`, "transport", "yes", "id"},
		{"B079", `{"jsonrpc":"2.0","result":` + result + `}`, "transport", "yes", "id"},
		{"B079", `{"jsonrpc":"2.0","id":[%ID%],"result":` + result + `}`, "transport", "yes", "id"},
		{"B079", `{"jsonrpc":"2.0","id":{},"result":` + result + `}`, "transport", "yes", "id"},
		{"B079", `{"jsonrpc":"2.0","id":true,"result":` + result + `}`, "transport", "yes", "id"},
		{"B079", `{"jsonrpc":"2.0","id":424242,"result":` + result + `}`, "transport", "unknown", "no answer"},
		{"B079", `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"FOREIGN"}}`, "transport", "unknown", "no answer"},
		{"B079", `{"jsonrpc":"2.0","id":18446744073709551615,"result":` + result + `}`, "transport", "unknown", "no answer"},
		// Errors.
		{"B081", `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the reason"}}`, "backend", "yes", "the reason"},
		{"B081", `{"jsonrpc":"2.0","error":{"code":-32603,"message":"the reason"}}`, "backend", "yes", "the reason"},
		{"B081", `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-32603}}`, "backend", "yes", "gave no reason"},
		{"B081", `{"jsonrpc":"2.0","id":%ID%,"error":{"code":0,"message":""}}`, "backend", "yes", "gave no reason"},
		{"B081", `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-32603,"message":null,"data":"the details"}}`, "backend", "yes", ""},
		{"B081", `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-32603,"message":{"text":"odd"}}}`, "backend", "yes", ""},
		{"B081", `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-32603,"message":"the reason","data":` + deep[:400] + deep[800:] + `}}`, "backend", "yes", "the reason"},
		{"B081", `{"jsonrpc":"2.0","id":%ID%,"error":{"code":"E_FAIL","message":"the reason"}}`, "transport", "yes", "code"},
		{"B081", `{"jsonrpc":"2.0","id":%ID%,"error":{"code":-1.5,"message":"the reason"}}`, "transport", "yes", "code"},
		{"B081", `{"jsonrpc":"2.0","id":%ID%,"error":"the reason"}`, "transport", "yes", "error"},
		{"B081", `{"jsonrpc":"2.0","id":%ID%,"error":[]}`, "transport", "yes", "error"},
		// Both, neither, null.
		{"B083", `{"jsonrpc":"2.0","id":%ID%,"result":` + result + `,"error":null}`, "", "", ""},
		{"B083", `{"jsonrpc":"2.0","id":%ID%,"result":null,"error":{"code":1,"message":"the reason"}}`, "backend", "yes", "the reason"},
		{"B083", `{"jsonrpc":"2.0","id":%ID%,"result":{},"error":{"code":1,"message":"the reason"}}`, "transport", "yes", "both"},
		{"B083", `{"jsonrpc":"2.0","id":%ID%,"result":null}`, "transport", "yes", "result"},
		{"B083", `{"jsonrpc":"2.0","id":%ID%,"result":null,"error":null}`, "transport", "yes", ""},
		{"B083", `{"jsonrpc":"2.0","id":%ID%,"result":"done"}`, "transport", "yes", "result"},
		{"B083", `{"jsonrpc":"2.0","id":%ID%,"result":[]}`, "transport", "yes", "result"},
		{"B083", `{"jsonrpc":"2.0","id":%ID%}`, "transport", "yes", "neither"},
		{"B083", `{"jsonrpc":"2.0","id":%ID%,"method":"x","result":` + result + `}`, "transport", "yes", "at once"},
		{"B083", `{"jsonrpc":"2.0","id":%ID%,"Result":` + result + `}`, "transport", "yes", "neither"},
		// What is no message.
		{"B083", `{"jsonrpc":"1.0","id":%ID%,"result":` + result + `}`, "transport", "unknown", "not a JSON-RPC message"},
		{"B083", `{"jsonrpc":2.0,"id":%ID%,"result":` + result + `}`, "transport", "unknown", "not a JSON-RPC message"},
		{"B083", `{"id":%ID%,"result":` + result + `}`, "transport", "unknown", "not a JSON-RPC message"},
		{"B083", result, "transport", "unknown", "not a JSON-RPC message"},
		{"B083", `"ok"`, "transport", "unknown", ""},
		{"B083", `null`, "transport", "unknown", ""},
		{"B083", `42`, "transport", "unknown", ""},
		{"B083", "  \r\n\t ", "transport", "unknown", "without an answer"},
		{"B083", `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, "transport", "unknown", "no answer"},
		// Arrays.
		{"B085", `[{"jsonrpc":"2.0","id":%ID%,"result":` + result + `}]`, "transport", "yes", "batch"},
		{"B085", `[]`, "transport", "yes", "batch"},
		{"B085", " \n[", "transport", "yes", "batch"},
		// JSON.
		{"B093", "\xEF\xBB\xBF" + `{"jsonrpc":"2.0","id":%ID%,"result":` + result + `}`, "", "", ""},
		{"B093", "\r\n " + `{"jsonrpc":"2.0","id":%ID%,"result":` + result + `}` + "\n\n", "", "", ""},
		{"B093", `{"jsonrpc":"2.0","id":%ID%,"result":` + result + `}{}`, "transport", "unknown", "not valid JSON"},
		{"B093", `{"jsonrpc":"2.0","id":%ID%,"result":` + result + `},`, "transport", "unknown", "not valid JSON"},
		{"B093", `{"jsonrpc":"2.0","id":%ID%,"result":` + strings.Replace(result, "}]}", "},]}", 1) + `}`, "transport", "unknown", "not valid JSON"},
		{"B093", `{'jsonrpc':'2.0'}`, "transport", "unknown", "not valid JSON"},
		{"B093", `{"jsonrpc":"2.0","id":%ID%,"result":{"content":[],"x":NaN}}`, "transport", "unknown", "not valid JSON"},
		{"B093", `{"jsonrpc":"2.0","id":%ID%,"result":{"content":[{"type":"text","text":"` + "a\nb" + `"}]}}`, "transport", "unknown", "not valid JSON"},
		{"B093", "{\"jsonrpc\":\"2.0\",\"id\":%ID%,\"result\":{\"con\xff\":1,\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"the answer\"}]}}", "transport", "unknown", "UTF-8"},
		{"B093", strings.ReplaceAll(`{"jsonrpc":"2.0","id":%ID%,"result":`+result+`}`, `the answer`, `the \u0061nswer`), "", "", ""},
		{"B093", `{"jsonrpc":"2.0","id":%ID%,"result":{"resultType":"complete","\ud800":"\udc00","content":[{"type":"text","text":"the answer"}]}}`, "", "", ""},
		// Doubled members.
		{"B095", `{"jsonrpc":"2.0","id":424242,"id":%ID%,"result":` + result + `}`, "transport", "yes", "twice"},
		{"B095", `{"jsonrpc":"2.0","id":%ID%,"error":{"code":1,"message":"a"},"error":null}`, "transport", "yes", "twice"},
		{"B095", `{"jsonrpc":"2.0","id":%ID%,"result":{"resultType":"complete","content":[],"content":[{"type":"text","text":"b"}]}}`, "transport", "yes", "twice"},
		{"B095", `{"jsonrpc":"2.0","id":%ID%,"result":{"resultType":"complete","content":[],"isError":false,"\u0069sError":true}}`, "transport", "yes", "twice"},
		{"B095", `{"jsonrpc":"2.0","id":%ID%,"error":{"code":1,"code":2,"message":"a"}}`, "transport", "yes", "twice"},
		{"B095", `{"jsonrpc":"2.0","id":%ID%,"result":{"structuredContent":{"a":1,"a":2},"content":[{"type":"text","text":"the answer"}],"resultType":"complete"}}`, "", "", ""},
		// Depth.
		{"B097", `{"jsonrpc":"2.0","id":%ID%,"result":{"resultType":"complete","content":[],"_meta":` + deep + `}}`, "transport", "unknown", "json_depth"},
		{"B097", `{"jsonrpc":"2.0","id":%ID%,"result":` + strings.Repeat(`{"a":`, 100000), "transport", "unknown", "json_depth"},
		{"B097", strings.Repeat(`[`, 100000), "transport", "yes", "batch"},
	} {
		name := fmt.Sprintf("%.90q", strings.NewReplacer(result, "RESULT", `{"jsonrpc":"2.0","id":%ID%,`, `{..., `).Replace(r.body))
		for i, form := range []func(string) fakeserver.Reply{jsonReply, eventReply} {
			blank := strings.TrimSpace(r.body) == ""
			if i == 1 && (blank || strings.ContainsAny(r.body, "\r\n")) {
				continue // blank data is no message, and a line break would end the field
			}
			part := r.part
			if i == 1 && part == "no answer" {
				part = "the stream ended before the answer"
			}
			faults = append(faults, fault{id: r.id, name: []string{"", "event "}[i] + name, in: bothEras,
				must:   "what is said of its kind, at once; the call is not sent again and the next one works",
				server: scripted(onCall(1, form(r.body))),
				judge: func(p *play) {
					p.ready()
					if o := p.call("echo", `{"text":"x"}`); r.kind != "" {
						p.failed(o, r.kind, r.delivered, part)
					} else {
						p.want(o.err == nil && o.text == "the answer", "%v", o)
					}
					p.sent("tools/call", 1)
					p.echo("second")
					p.never("FOREIGN")
				}})
		}
	}
	for _, status := range []int{400, 404, 422} {
		in := bothEras
		if status == 404 {
			in = modernOnly // else the session is lost: B059
		}
		for name, id := range map[string]string{"null": "null", "theirs": `"server-error"`, "another": "424242", "ours": "%ID%"} {
			faults = append(faults, fault{id: "B081", name: fmt.Sprintf("%d, id %s", status, name), in: in,
				must:   "the message of an error is the error of its POST, whatever its id",
				server: scripted(onCall(1, fakeserver.Reply{Status: status, Body: `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32602,"message":"the reason"}}`})),
				judge: func(p *play) {
					p.ready()
					p.failed(p.call("echo", `{"text":"x"}`), "backend", "yes", "the reason")
					p.echo("second")
				}})
		}
	}
	add := func(f fault) { faults = append(faults, f) }
	add(fault{id: "B091", name: "of a megabyte", in: bothEras.shaped(), must: "large arguments arrive as they were written",
		server: scripted(),
		judge: func(p *play) {
			p.ready()
			long := `{"text":"` + strings.Repeat(`\u00e9\/x`, 100<<10) + `"}`
			p.gives("raw_args", long, long)
		}})
	add(fault{id: "B093", name: "half a surrogate", in: bothEras, must: "the host gets valid JSON in UTF-8",
		server: scripted(onCall(1, jsonReply(`{"jsonrpc":"2.0","id":%ID%,"result":{"resultType":"complete","content":[{"type":"text","text":"half \ud83d end"}]}}`))),
		judge: func(p *play) {
			p.ready()
			o := p.call("echo", `{"text":"x"}`)
			p.want(o.err == nil && o.text == "half \ufffd end", "%v", o)
			p.echo("second")
		}})
	// Requests of the server.
	for name, ask := range map[string]string{
		"a ping with a number": `{"jsonrpc":"2.0","id":7,"method":"ping"}`, "a ping with params": `{"jsonrpc":"2.0","id":"a/\u0062","method":"ping","params":{"_meta":{}}}`,
		"sampling": `{"jsonrpc":"2.0","id":8,"method":"sampling/createMessage","params":{}}`, "roots": `{"jsonrpc":"2.0","id":9,"method":"roots/list"}`,
		"an unknown method": `{"jsonrpc":"2.0","id":-1,"method":"x/y"}`, "an id like ours": `{"jsonrpc":"2.0","id":%ID%,"method":"ping"}`,
	} {
		faults = append(faults, fault{id: "B087", name: name, in: legacyOnly, must: "it is answered once, with its own id, and the call completes",
			server: func(p *play) fakeserver.Options {
				return p.options(onCall(0, stream("data: "+ask+"\n\n", "data: "+callResult+"\n\n")))
			},
			judge: func(p *play) {
				p.ready()
				p.gives("echo", `{"text":"x"}`, "the answer")
				answers := func(s *seen) (n int) {
					for _, r := range s.Requests {
						if r.Verb == http.MethodPost && r.RPC == "" {
							n++
						}
					}
					return n
				}
				p.until(atOnce, "no answer came", func(s *seen) bool { return answers(s) == 1 })
			}})
	}
	return sorted(rowsBehind(dynamic, faults))
}
