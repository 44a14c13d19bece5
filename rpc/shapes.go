package rpc

import (
	"github.com/toolhost/toolhost/pack"
)

// appendTools appends the tools of a pack as the protocol's Tool objects.
func appendTools(m *message, id string, tools []pack.Tool) {
	m.buf = append(m.buf, '[')
	for i := range tools {
		if i > 0 {
			m.buf = append(m.buf, ',')
		}
		appendTool(m, id, &tools[i])
	}
	m.buf = append(m.buf, ']')
}

func appendTool(m *message, id string, t *pack.Tool) {
	o := object{m: m}
	o.text("name", id+"/"+t.Name)
	o.text("kind", string(t.Kind))
	o.opt("title", t.Title)
	o.opt("description", t.Description)
	o.optRaw("inputSchema", t.InputSchema)
	o.optRaw("outputSchema", t.OutputSchema)
	o.optRaw("annotations", t.Annotations)
	o.set("untrusted", t.Untrusted)
	o.set("needsApproval", t.NeedsApproval)
	o.set("codeMode", t.CodeMode)
	o.opt("server", t.Server)
	o.opt("serverTool", t.ServerTool)
	o.end()
}

// appendServers appends the states of servers.
func appendServers(m *message, servers []pack.ServerStatus, scrub func(string) string) {
	m.buf = append(m.buf, '[')
	for i, s := range servers {
		if i > 0 {
			m.buf = append(m.buf, ',')
		}
		o := object{m: m}
		o.text("name", s.Name)
		o.text("status", s.Status)
		o.number("toolCount", int64(s.ToolCount))
		o.opt("error", scrub(s.Error))
		o.set("needsSignIn", s.NeedsSignIn)
		o.end()
	}
	m.buf = append(m.buf, ']')
}

func constructResult(id []byte, version string, instance *pack.Instance) *message {
	tools := instance.Tools()
	m := newResponse(id, "result")
	o := object{m: m}
	o.text("protocol", protocolVersion)
	child := object{m: o.name("child")}
	child.text("name", "toolhost")
	child.text("version", version)
	child.end()
	p := object{m: o.name("pack")}
	p.text("name", instance.Info.Name)
	p.text("id", instance.ID)
	p.text("description", instance.Info.Description)
	p.opt("prelude", instance.Info.Prelude)
	p.end()
	appendTools(o.name("tools"), instance.ID, tools)
	o.end()
	return m.end()
}

func readyResult(id []byte, pack string, tools []pack.Tool, servers []pack.ServerStatus, scrub func(string) string) *message {
	m := newResponse(id, "result")
	o := object{m: m}
	appendTools(o.name("tools"), pack, tools)
	appendServers(o.name("servers"), servers, scrub)
	o.end()
	return m.end()
}

func invokeResult(id []byte, r *pack.Result) *message {
	m := newResponse(id, "result")
	o := object{m: m}
	o.raw("content", r.Content)
	o.flag("untrusted", r.Untrusted)
	o.optRaw("structured", r.Structured)
	o.optRaw("blocks", r.Blocks)
	o.end()
	return m.end()
}

func cancelResult(id []byte, cancelled bool) *message {
	m := newResponse(id, "result")
	o := object{m: m}
	o.flag("cancelled", cancelled)
	o.end()
	return m.end()
}

func closeResult(id []byte) *message {
	m := newResponse(id, "result")
	o := object{m: m}
	o.end()
	return m.end()
}
