package main

import (
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/conformance/internal/child"
)

// This file plays the area "Result conversion".

func resultRows() []row {
	gives := func(texts ...string) func(*play) {
		return func(p *play) {
			p.ready()
			for range 2 {
				p.gives("echo", `{}`, texts[min(p.n, len(texts))-1])
			}
			p.ran(2)
		}
	}
	rows := inBoth([]fault{
		{id: "B121", mode: "res-no-content", in: bothEras.shaped().times(3), must: "the structured JSON, else an empty text that is a success", judge: gives(`{"answer":42}`, "")},
		{
			id: "B123", mode: "res-error-structured", in: bothEras.shaped().times(2), must: "an error with its text, or the structured JSON where there is none",
			judge: func(p *play) {
				p.ready()
				o := p.call("echo", `{}`)
				p.failed(o, "backend", "yes", []string{`{"code":"RATE_LIMITED","retry_after":30}`, "database refused"}[p.n-1])
				p.want(o.err == nil || o.err.Data.Server == "faulty", "data.server: %v", o)
				p.ran(1)
			},
		},
		{
			id: "B125", mode: "res-no-mime", in: bothEras.shaped(), must: "a placeholder with a default type; data is not decoded",
			judge: gives("[resource omitted: application/octet-stream]\n\n[image omitted: application/octet-stream]\n\n[audio omitted: application/octet-stream]\n\n[image omitted: image/png]\n\nend"),
		},
		{
			id: "B127", mode: "res-resource-odd", in: bothEras.shaped(), must: "text wins, empty text stays empty, a placeholder when there is neither, a link by its uri",
			judge: gives("inline\n\n[resource omitted: application/octet-stream]\n\n\n\n[resource: file:///d]\n\nend"),
		},
		{
			id: "B129", mode: "res-huge-image", name: "of 10 MiB", in: bothEras.shaped().flag("-size", fmt.Sprint(10<<20)), must: "a placeholder; the data is not passed on",
			judge: func(p *play) { p.gives10(); p.light() },
		},
		{
			id: "B129", mode: "res-huge-image", name: "of 30 MiB", in: bothEras.shaped().limit("server_message=64MiB", "sse_event=64MiB"), must: "a placeholder; the data is not passed on",
			judge: func(p *play) { p.gives10(); p.light() },
		},
		{
			id: "B129", mode: "res-huge-image", name: "of 30 MiB, over the limit", in: bothEras.shaped(), must: "beyond the limit an error that names it, at once; the next call works",
			judge: func(p *play) {
				p.ready()
				o := p.call("echo", `{}`)
				want := map[string]string{"json": "server_message", "sse": "sse_event"}[p.reply]
				p.failed(o, "transport", "unknown", want)
				p.want(o.err == nil || o.err.Data.Limit == want, "data.limit: %v", o)
				p.light()
			},
		},
		{id: "B131", mode: "res-content-string", in: bothEras.shaped().times(2), must: "readable text", judge: gives("hello")},
		{
			id: "B133", mode: "res-url-elicitation", in: bothEras.shaped(), must: "a readable error with the message; nothing is opened",
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{}`), "backend", "yes", "This request needs you to visit a page")
			},
		},
		{
			id: "B135", mode: "res-order-mixed", in: bothEras.shaped(), must: "all seven blocks, in order",
			judge: gives("first\n\n[image omitted: image/png]\n\n[audio omitted: audio/wav]\n\nresource text\n\n[resource omitted: application/pdf]\n\n[resource: file:///c]\n\nlast"),
		},
		{
			id: "B137", mode: "res-error-then-ok", in: bothEras.shaped(), must: "an error of the tool is no failure of the server: the next call works on the same session",
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{}`), "backend", "yes", "disk full")
				p.gives("echo", `{}`, "fine")
				p.want(p.status("faulty").Status == "ready", "the server is no longer ready")
				s := p.seen()
				p.want(len(s.of("initialize")) <= 1, "%d handshakes", len(s.of("initialize")))
				p.ran(2)
			},
		},
	})
	rows = append(rows, questionResultRows()...)
	return append(rows, resultSiblings()...)
}

// gives10 checks the answer with the huge image: the text for the model never holds
// it. The typed blocks, which only tanstack/mcp gives, do.
func (p *play) gives10() {
	p.ready()
	o := p.call("echo", `{}`)
	p.want(o.err == nil && o.text == "before\n\n[image omitted: image/png]\n\nafter", "%v", o)
	if p.pack == direct {
		p.want(strings.Count(p.said.String(), "AAAA") > 1<<20, "the image is not in the blocks")
		return
	}
	p.want(o.took < 2*atOnce, "it took %v", o.took)
	p.never("AAAA")
}

// light checks that the child has not grown.
func (p *play) light() {
	use, err := child.UsageOf(p.child.PID())
	p.fail(err)
	p.want(use.RSS < 300<<20, "the child holds %d MiB", use.RSS>>20)
}

func resultSiblings() []row {
	var faults []fault
	const (
		text  = `{"type":"text","text":"a"}`
		image = `[image omitted: `
	)
	for _, r := range []struct{ id, members, text, kind string }{
		{"B121", `"content":[]`, "", ""},
		{"B121", `"content":[],"structuredContent":{}`, "{}", ""},
		{"B121", `"content":null,"structuredContent":[1,2.50]`, "[1,2.50]", ""},
		{"B121", `"structuredContent":"text"`, `"text"`, ""},
		{"B121", `"structuredContent":null`, "", ""},
		{"B121", `"structuredContent":12345678901234567890`, "12345678901234567890", ""},
		{"B121", `"content":[{"type":"text","text":""}],"structuredContent":{"a":1}`, "", ""},
		{"B121", `"content":[` + text + `],"structuredContent":{"a":1}`, "a", ""},
		{"B123", `"isError":true`, "gave no reason", "backend"},
		{"B123", `"isError":true,"content":[]`, "gave no reason", "backend"},
		{"B123", `"isError":true,"content":"words"`, "words", "backend"},
		{"B123", `"isError":true,"content":[{"type":"text","text":""}],"structuredContent":{"code":"X"}`, `{"code":"X"}`, "backend"},
		{"B123", `"isError":true,"content":[{"type":"image","data":"AA","mimeType":"image/png"}]`, "[image omitted: image/png]", "backend"},
		{"B123", `"isError":null,"content":[` + text + `]`, "a", ""},
		{"B123", `"isError":false,"content":[` + text + `]`, "a", ""},
		{"B123", `"isError":"true","content":[` + text + `]`, "isError", "transport"},
		{"B123", `"isError":1,"content":[` + text + `]`, "isError", "transport"},
		{"B123", `"iserror":true,"content":[` + text + `]`, "a", ""},
		{"B125", `"content":[{"type":"image"}]`, image + "application/octet-stream]", ""},
		{"B125", `"content":[{"type":"image","mimeType":7,"data":7}]`, image + "application/octet-stream]", ""},
		{"B125", `"content":[{"type":"image","mimeType":"","data":""}]`, image + "]", ""},
		{"B127", `"content":[{"type":"resource"}]`, "[resource omitted: application/octet-stream]", ""},
		{"B127", `"content":[{"type":"resource","resource":null}]`, "[resource omitted: application/octet-stream]", ""},
		{"B127", `"content":[{"type":"resource","resource":{"text":7,"blob":"AA","mimeType":"a/b"}}]`, "[resource omitted: a/b]", ""},
		{"B127", `"content":[{"type":"resource_link"}]`, "[resource link omitted: no uri in it]", ""},
		{"B127", `"content":[{"type":"resource_link","uri":"javascript:alert(1)","name":"x"}]`, "[resource: javascript:alert(1)]", ""},
		{"B131", `"content":[null,7,"x",[],{}]`, "its type is missing", ""},
		{"B131", `"content":[{"text":"a"}]`, "its type is missing", ""},
		{"B131", `"content":[{"type":"text"},` + text + `]`, "[text omitted: no text in it]\n\na", ""},
		{"B131", `"content":[{"type":"text","text":7}]`, "[text omitted: no text in it]", ""},
		{"B131", `"content":[{"type":"video","data":"AA"}]`, "[video omitted: unknown type of content]", ""},
		{"B131", `"content":[{"type":"TEXT","text":"a"}]`, "[TEXT omitted: unknown type of content]", ""},
		{"B131", `"content":7`, "content", "transport"},
		{"B131", `"content":true`, "content", "transport"},
		{"B131", `"content":""`, "", ""},
		{"B135", `"content":[{"type":"text","text":"\ud83d\ude00 \u0000 \u2028 \"q\" \\ \/"}]`, "\U0001f600 \x00 \u2028 \"q\" \\ /", ""},
		{"B135", `"content":[` + strings.Repeat(text+",", 4999) + text + `]`, strings.Repeat("a\n\n", 4999) + "a", ""},
		{"B135", `"_meta":{"a":1},"content":[{"type":"text","text":"a","annotations":{"audience":["user"]},"_meta":null,"x":1}],"x":[]`, "a", ""},
	} {
		faults = append(faults, fault{id: r.id, name: fmt.Sprintf("%.80s", r.members), in: bothEras,
			must:   "what the text of the fault says of its kind; the next call works",
			server: scripted(onCall(1, jsonReply(`{"jsonrpc":"2.0","id":%ID%,"result":{`+r.members+`,"resultType":"complete"}}`))),
			judge: func(p *play) {
				p.ready()
				o := p.call("echo", `{"text":"x"}`)
				switch {
				case r.kind != "":
					p.failed(o, r.kind, "yes", r.text)
				case strings.HasPrefix(r.text, "its type"):
					p.want(o.err == nil && strings.Contains(o.text, r.text), "%v", o)
				default:
					p.want(o.err == nil && o.text == r.text, "%v, not %.300q", o, r.text)
				}
				p.echo("second")
			}})
	}
	for name, reply := range map[string]string{
		"of a kind to come": `{"resultType":"partial","content":[]}`, "of no kind": `{"resultType":7,"content":[]}`,
	} {
		faults = append(faults, fault{id: "B121", name: "a result " + name, in: modernOnly, must: "an unknown resultType is malformed, never a success",
			server: scripted(onCall(1, fakeserver.Reply{Body: fakeserver.Result(reply)})),
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{"text":"x"}`), "transport", "yes", "resultType")
				p.echo("second")
			}})
	}
	for name, reply := range map[string]string{
		"asks for input":   `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"Type your password"}}},"requestState":"x"}`,
		"asks for nothing": `{"resultType":"input_required","requestState":"x"}`,
	} {
		faults = append(faults, fault{id: "B133", name: "a result that " + name, in: modernOnly, must: "an error that says what the tool wants; nobody is asked",
			server: scripted(onCall(1, fakeserver.Reply{Body: fakeserver.Result(reply)})),
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{"text":"x"}`), "backend", "yes", `tool "echo" asks`)
				p.echo("second")
			}})
	}
	for _, code := range []int{-32042, -32602, -32601, -32603, -32000, -32002, -32700, -32800, 0, 1, 404, -2147483649} {
		faults = append(faults, fault{id: "B133", name: fmt.Sprint("error ", code), in: bothEras, must: "a readable error with the message; the server stays as it is",
			server: scripted(onCall(1, fakeserver.Reply{Body: fakeserver.Fault(code, "the reason is here")})),
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{"text":"x"}`), "backend", "yes", "the reason is here")
				p.echo("second")
				p.sent("tools/call", 2)
				p.want(p.status("faulty").Status == "ready", "the server is no longer ready")
			}})
	}
	return sorted(inBoth(faults))
}
