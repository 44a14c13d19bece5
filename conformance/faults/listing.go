package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// This file plays the area "Tool listing".

func listingRows() []row {
	rows := inBoth([]fault{
		{
			id: "B101", mode: "list-cursor-empty-page", in: bothEras.shaped(), must: "an empty cursor is a cursor, and is sent",
			judge: func(p *play) {
				p.ready()
				p.lists("first_page", "echo", "second_page")
				pages := p.seen().of("tools/list")
				p.want(len(pages) == 2 && strings.Contains(pages[1].Body, `"cursor":""`), "%d pages were asked for", len(pages))
				p.twoCalls()
			},
		},
		{
			id: "B103", mode: "list-null-optionals", in: bothEras.shaped(), must: "null counts as absent; a tool is described by its title, then its name",
			judge: func(p *play) {
				p.works()
				p.lists("echo", "titled")
				described(p, "echo", "echo", `{"type":"object","properties":null,"required":null}`)
				described(p, "titled", "A title", `{"type":"object"}`)
			},
		},
		{
			id: "B105", mode: "list-bad-entries", in: bothEras.shaped(), must: "good tools are kept, one record tells of the broken ones",
			judge: func(p *play) {
				p.ready()
				p.lists("good")
				p.logged(1, "level=WARN", "the list of tools is not whole")
				p.gives("good", `{}`, "ok good")
			},
		},
		{
			id: "B107", mode: "list-schema-odd", in: bothEras.shaped(), must: "a schema that is an object passes as it is, a tool with another is left out, the others are kept",
			judge: func(p *play) {
				p.ready()
				p.lists("odd_5", "odd_6", "odd_7", "odd_8", "odd_9", "good")
				described(p, "odd_5", "d", `{"type":"string"}`)
				described(p, "odd_6", "d", `{"anyOf":[{"type":"object"},{"type":"object","properties":{"a":{}}}]}`)
				described(p, "odd_7", "d", `{"$schema":"http://json-schema.org/draft-07/schema#"}`)
				described(p, "odd_8", "d", `{"type":["object","null"]}`)
				described(p, "odd_9", "d", `{}`)
				p.gives("odd_6", `{}`, "ok odd_6")
				p.logged(1, "level=WARN", "the list of tools is not whole")
			},
		},
		{
			id: "B109", mode: "list-schema-remote-ref", in: bothEras.shaped(), must: "nothing is fetched that a schema names; what such a schema describes cannot be checked, and is not called",
			judge: func(p *play) {
				p.ready()
				p.lists("remote", "echo")
				p.failed(p.call("remote", `{"a":1}`), "transport", "no", "outputSchema", "nothing is fetched")
				p.echo("second")
			},
		},
		{
			id: "B111", mode: "list-names-collide", in: bothEras.shaped(), must: "every name reaches its own tool, a doubled name is kept once, with one warning",
			judge: func(p *play) {
				p.ready()
				long := strings.Repeat("n", 139)
				names := []string{"a.b", "a_b", "a/b", "a-b", long + "1", long + "2", "twice", "A_B"}
				p.lists(names...)
				for _, name := range names {
					p.gives(name, `{}`, "called:"+name)
				}
				described(p, "twice", "entry 6", `{"type":"object"}`)
				p.logged(1, "level=WARN", "twice")
				o := p.call("A_b", `{}`)
				p.failed(o, "message", "")
				p.ran(len(names))
			},
		},
		{
			id: "B113", mode: "list-changed-once", in: bothEras, must: "the new list is there before the next turn; the call of a new tool reaches the server",
			judge: func(p *play) {
				p.ready()
				p.lists("echo", "old_tool")
				p.echo("the list changes")
				p.listsWithin(relistTime, "echo", "new_tool")
				p.gives("new_tool", `{}`, "ok new_tool")
			},
		},
		{
			id: "B115", mode: "list-changed-undeclared", in: bothEras, must: "the tools are not lost for ever when a list is empty for a moment",
			judge: func(p *play) {
				p.ready()
				p.echo("the list changes")
				p.pause(relistTime)
				p.listsWithin(relistTime, "echo")
				p.echo("second")
			},
		},
		{
			id: "B117", mode: "list-bad-param-header", in: modernOnly.shaped(), must: "a tool with a bad header is left out, the others are kept, and a good header is sent",
			judge: func(p *play) {
				p.ready()
				p.lists("good_header", "echo")
				p.logged(1, "level=WARN", "the list of tools is not whole", "crlf", "items", "twice", "number", "space", "empty")
				p.gives("good_header", `{"p":"west"}`, "ok good_header")
				for _, r := range p.seen().of("tools/call") {
					p.want(r.Headers.Get("Mcp-Param-Region") == "west", "the header is %q", r.Headers.Get("Mcp-Param-Region"))
				}
			},
		},
		{
			id: "B119", mode: "list-same-server-name", in: bothEras.shaped().twice(), must: "the namespace decides which server is called",
			judge: func(p *play) {
				p.ready()
				p.want(p.status("second").Status == "ready", "the second server is %v", p.status("second"))
				for range 2 {
					p.gives("search", `{}`, "A")
					o := p.invoke("second", "search", `{}`)
					p.want(o.err == nil && o.text == "B", "the second server gave %v", o)
				}
				for namespace, description := range map[string]string{"faulty": "search of A", "second": "search of B"} {
					tools := p.list(namespace)
					p.want(len(tools) == 1 && tools[0].Description == description, "%s lists %v", namespace, tools)
				}
				p.ran(4)
			},
		},
	})
	return append(rows, listingSiblings()...)
}

// relistTime is within which a changed list must be seen; the child merges changes
// for up to two seconds.
const relistTime = 4 * sec

// listsWithin waits until the tools of the faulty server have those names.
func (p *play) listsWithin(limit time.Duration, names ...string) {
	for deadline := time.Now().Add(limit); ; p.pause(20 * msec) {
		var got []string
		for _, tool := range p.list("faulty") {
			got = append(got, tool.Name)
		}
		if slices.Equal(got, names) {
			return
		}
		if time.Now().After(deadline) || p.ctx.Err() != nil {
			p.want(false, "the tools are %q after %v, not %q", got, limit, names)
			return
		}
	}
}

// described checks a tool's description and the bytes of its schema.
func described(p *play, name, description, schema string) {
	for _, tool := range p.list("faulty") {
		if tool.Name == name {
			p.want(tool.Description == description && string(tool.InputSchema) == schema, "%s is described as %q, %s", name, tool.Description, tool.InputSchema)
			return
		}
	}
	p.want(false, "%s is not listed", name)
}

// listedAs waits until a tool is listed with that description.
func (p *play) listedAs(name, description string) {
	for deadline := time.Now().Add(relistTime); time.Now().Before(deadline); p.pause(20 * msec) {
		for _, tool := range p.list("faulty") {
			if tool.Name == name && tool.Description == description {
				return
			}
		}
	}
	p.want(false, "%s is never listed as %q", name, description)
}

func listingSiblings() []row {
	var faults []fault
	add := func(f fault) { faults = append(faults, f) }
	page := func(members string) fakeserver.Reply {
		return fakeserver.Reply{Body: fakeserver.Result(`{"resultType":"complete",` + members + `}`)}
	}
	const echo = `{"name":"echo","description":"d","inputSchema":{"type":"object"}}`

	for _, r := range []struct{ id, members, part string }{
		{"B105", `"tools":null`, "tools"}, {"B105", `"tools":{}`, "tools"}, {"B105", `"tools":"echo"`, "tools"}, {"B105", `"x":1`, "tools"},
		{"B101", `"tools":[` + echo + `],"nextCursor":7`, "nextCursor"}, {"B101", `"tools":[` + echo + `],"nextCursor":{}`, "nextCursor"},
		{"B105", `"tools":[],"tools":[` + echo + `]`, "twice"},
	} {
		add(fault{id: r.id, name: r.members, in: bothEras, must: "the start fails at once and says what is malformed",
			server: scripted(on("tools/list", page(r.members))), judge: func(p *play) { p.fails("malformed", r.part) }})
	}
	for name, next := range map[string]string{"a cursor that repeats": `"again"`, "an empty cursor that repeats": `""`} {
		add(fault{id: "B101", name: name, in: bothEras, must: "the list ends with a note, what was read is kept",
			server: scripted(on("tools/list", page(`"tools":[`+echo+`],"nextCursor":`+next))),
			judge: func(p *play) {
				p.ready()
				p.lists("echo")
				p.logged(1, "level=WARN", "repeats a cursor")
				p.sent("tools/list", 2)
				p.echo("first")
			}})
	}
	add(fault{id: "B101", name: "a cursor of odd characters", in: bothEras, must: "the cursor goes back byte for byte",
		server: scripted(fakeserver.Row{Method: "tools/list", Nth: 1, Reply: page(`"tools":[` + echo + `],"nextCursor":"\u00e9\/\n\u0000 =+&"`)}, fakeserver.Row{Method: "tools/list", Nth: 2, Reply: page(`"tools":[]`)}),
		judge: func(p *play) {
			p.ready()
			p.lists("echo")
			pages := p.seen().of("tools/list")
			p.want(len(pages) == 2 && strings.Contains(pages[1].Body, `"cursor":"\u00e9\/\n\u0000 =+&"`), "the cursor was not sent back")
		}})
	add(fault{id: "B101", name: "pages without end", in: bothEras.limit("list_pages=20"), must: "the list is cut at the limit with a note, what was read is kept",
		server: func(p *play) fakeserver.Options {
			opts := p.options()
			opts.Tools, opts.PageSize = append(fakeserver.Builtin(), fakeserver.Filler(200)...), 2
			return opts
		},
		judge: func(p *play) {
			p.ready()
			p.want(len(p.list("faulty")) == 40, "%d tools", len(p.list("faulty")))
			p.logged(1, "level=WARN", "list_pages")
			p.twoCalls()
		}})
	add(fault{id: "B101", name: "a page that fails", in: bothEras, must: "the start fails with the server's words and is tried again",
		server: func(p *play) fakeserver.Options {
			opts := p.options(fakeserver.Row{Method: "tools/list", Nth: 2, Reply: fakeserver.Reply{Body: fakeserver.Fault(-32603, "the second page is gone")}})
			opts.PageSize = 4
			return opts
		},
		judge: func(p *play) {
			p.fails("the second page is gone")
			p.readyWithin(3 * sec)
			p.want(len(p.list("faulty")) == 9, "%d tools", len(p.list("faulty")))
		}})

	for name, script := range map[string][]fakeserver.Row{
		"without the capability": {on("initialize", fakeserver.Reply{Body: fakeserver.Result(`{"protocolVersion":"2025-11-25","capabilities":{"prompts":{}},"serverInfo":{"name":"s","version":"1"}}`)})},
		"that does not know it":  {on("tools/list", fakeserver.Reply{Body: fakeserver.Fault(-32601, "Method not found")})},
	} {
		add(fault{id: "B105", name: "a server " + name, in: legacyOnly, must: "the server is ready and has no tools; one record says why",
			server: sessionless(script...),
			judge: func(p *play) {
				p.ready()
				p.want(len(p.list("faulty")) == 0, "%d tools", len(p.list("faulty")))
				p.logged(1, "level=WARN", "the list of tools is not whole")
				o := p.call("echo", `{}`)
				p.failed(o, "message", "", p.pack.unknown)
			}})
	}
	add(fault{id: "B101", name: "of 3000 tools", in: bothEras.shaped(), must: "every page is read, and the last tool can be called",
		server: func(p *play) fakeserver.Options {
			opts := p.options()
			opts.Tools, opts.PageSize = append(fakeserver.Filler(3000), fakeserver.Builtin()...), 100
			return opts
		},
		judge: func(p *play) {
			p.ready()
			p.want(len(p.list("faulty")) == 3009, "%d tools", len(p.list("faulty")))
			p.twoCalls()
		}})

	// Names. What cannot be seen is left out with a note, all else is called by
	// exactly the name that is listed.
	names := []string{"a.b.c", "dir/tool", "with space", " lead", "tail ", "名前", "émoji😀", "semi;colon", `quote"d`, `back\slash`, strings.Repeat("n", 128), strings.Repeat("m", 200),
		"__proto__", "constructor", "UPPER", "upper", "a,b", "=?base64?YQ==?=", "%41", "a%00b", "..", "<b>", "${env:HOME}", "'; drop", "0", "-", "null", "e\u0301", "\u00e9", "mcp/call_dynamic_tool"}
	hidden := []string{"tab\there", "new\nline", "nul\x00", "esc\x1b[31m", "del\x7f", "bidi\u202e", "zero\u200bwidth", "c1\u009b", "ls\u2028", "tag\U000e0041", strings.Repeat("x", 2000)}
	add(fault{id: "B111", name: "odd names", in: bothEras.shaped(), must: "each name that can be seen is called exactly as it is listed, the others are left out with one record",
		server: func(p *play) fakeserver.Options {
			opts := p.options()
			opts.Tools = nil
			for _, name := range append(append([]string{}, names...), hidden...) {
				opts.Tools = append(opts.Tools, fakeserver.Tool{Name: name, Definition: fakeserver.Define(name, "d", `{"type":"object"}`), Run: named(name)})
			}
			return opts
		},
		judge: func(p *play) {
			p.ready()
			p.lists(names...)
			for _, name := range names {
				p.gives(name, `{}`, "called:"+name)
			}
			p.ran(len(names))
			p.logged(1, "level=WARN", "the list of tools is not whole")
		}})

	// Definitions.
	for _, r := range []struct{ id, definition, description, schema string }{
		{"B103", `{"name":"t","inputSchema":{"type":"object"}}`, "t", `{"type":"object"}`},
		{"B103", `{"name":"t","description":"","title":"","inputSchema":{}}`, "t", `{}`},
		{"B103", `{"name":"t","description":7,"title":["x"],"inputSchema":{}}`, "t", `{}`},
		{"B103", `{"name":"t","description":null,"title":"T","annotations":{"title":"A"},"inputSchema":{}}`, "T", `{}`},
		{"B103", `{"x":{"name":"u"},"name":"t","icons":7,"execution":[],"annotations":"x","outputSchema":true,"inputSchema":{"b":1,"a":2.50,"b":1}}`, "t", `{"b":1,"a":2.50,"b":1}`},
		{"B107", `{"name":"t","inputSchema":{"type":"object","properties":{"x":{"type":["string","null"],"default":1e400}},"required":"x"}}`, "t", `{"type":"object","properties":{"x":{"type":["string","null"],"default":1e400}},"required":"x"}`},
		{"B107", `{"name":"t","inputSchema":{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}}`, "t", `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`},
	} {
		add(fault{id: r.id, name: r.definition, in: bothEras, must: "what is optional may be odd; the schema passes byte for byte",
			server: scripted(on("tools/list", page(`"tools":[null,`+r.definition+`]`))),
			judge:  func(p *play) { p.ready(); p.lists("t"); described(p, "t", r.description, r.schema) }})
	}
	for _, definition := range []string{`{"name":"t"}`, `{"name":"t","inputSchema":null}`, `{"name":"t","inputSchema":"{}"}`, `{"name":null,"inputSchema":{}}`, `{"Name":"t","inputSchema":{}}`,
		`{"name":"t","input_schema":{}}`, `{"name":"t","inputSchema":{},"inputSchema":{}}`, `{"name":"t\ud800","inputSchema":{}}`,
		`{"name":"t","description":"` + strings.Repeat("d", 300<<10) + `","inputSchema":{}}`} {
		add(fault{id: "B105", name: fmt.Sprintf("%.60s", definition), in: bothEras, must: "the tool is left out with one record, the others are kept",
			server: scripted(on("tools/list", page(`"tools":[`+definition+`,`+echo+`]`))),
			judge: func(p *play) {
				p.ready()
				p.lists("echo")
				p.logged(1, "level=WARN", "the list of tools is not whole")
				p.twoCalls()
			}})
	}
	// x-mcp-header, in other places and spellings.
	header := func(value, kind string) string { return `{"type":"` + kind + `","x-mcp-header":` + value + `}` }
	for _, property := range []string{header(`"X:Y"`, "string"), header(`"\u00fc"`, "string"), header(`" A"`, "string"), header(`"A\t"`, "string"), header(`7`, "string"), header(`null`, "string"),
		header(`"A"`, "object"), header(`"A"`, "array"), header(`"A"`, "null"), `{"x-mcp-header":"A"}`, `{"type":["string"],"x-mcp-header":"A"}`, `{"anyOf":[` + header(`"A"`, "string") + `]}`,
		`{"type":"string","x-mcp-\u0068eader":"a b"}`, `{"$ref":"#/$defs/x","$defs":{"x":` + header(`"A"`, "string") + `}}`, `{"additionalProperties":` + header(`"A"`, "string") + `}`} {
		add(fault{id: "B117", name: property, in: modernOnly, must: "a tool with a bad header is left out, the others are kept",
			server: scripted(on("tools/list", page(`"tools":[{"name":"bad","inputSchema":{"type":"object","properties":{"p":`+property+`}}},`+echo+`]`))),
			judge: func(p *play) {
				p.ready()
				p.lists("echo")
				p.logged(1, "level=WARN", "left out", "bad")
				p.twoCalls()
			}})
	}
	return sorted(inBoth(faults))
}

// named is a tool that answers with its name.
func named(name string) func(context.Context, *fakeserver.Call) fakeserver.Output {
	return func(context.Context, *fakeserver.Call) fakeserver.Output { return fakeserver.Text("called:" + name) }
}
