package main

import (
	"encoding/json"
	"strings"
	"time"
)

// A pack is one behind which servers are played. What a row says of a server in the
// words of runvil/mcp holds for both.
type pack struct {
	name      string
	statuses  map[string]string // its word for each of runvil/mcp
	callLimit string            // that ends a call that takes too long
	startTime string            // what a reason names that ends a start so
	firstWait time.Duration     // between a start that fails and the next
	unknown   string            // what it says of a tool of a server that has none

	config func(servers string) string                             // of a construct
	invoke func(p *play, namespace, tool, arguments string) string // the members of an invoke
	limit  func(name string) string                                // its name for a limit of runvil/mcp
	list   func(p *play, namespace string) (listing []listed, err error)
}

var (
	dynamic = &pack{
		name:      "runvil/mcp",
		statuses:  map[string]string{"loading": "loading", "ready": "ready", "error": "error"},
		callLimit: "call_time",
		startTime: "start_time",
		firstWait: time.Second,
		unknown:   "it has none",
		config:    func(servers string) string { return servers },
		invoke: func(_ *play, namespace, tool, arguments string) string {
			return `"tool":"mcp/call_dynamic_tool","arguments":{"namespace":` + quote(namespace) + `,"toolName":` + quote(tool) + `,"arguments":` + arguments + `}`
		},
		limit: func(name string) string { return name },
		list:  listDynamic,
	}
	// direct takes one time for the start and for calls.
	direct = &pack{
		name:      "tanstack/mcp",
		statuses:  map[string]string{"connecting": "loading", "connected": "ready", "failed": "error", "reconnecting": "reconnecting"},
		callLimit: "server_time",
		startTime: "timeoutMs",
		firstWait: 500 * msec,
		unknown:   "unknown tool",
		config:    func(servers string) string { return `{"servers":` + servers + `}` },
		invoke: func(p *play, namespace, tool, arguments string) string {
			name := "mcp/" + namespace + "_" + tool
			if listed := p.names[[2]string{namespace, tool}]; listed != "" { // one that a model could not say is changed
				name = listed
			}
			return `"tool":` + quote(name) + `,"arguments":` + arguments
		},
		limit: func(name string) string {
			if name == "start_time" || name == "call_time" {
				return "server_time"
			}
			return name
		},
		list: listDirect,
	}
)

// limits are the arguments that set the limits of the child: those of the row, and
// before them what every row has.
func (k *pack) limits(own []string) (args []string) {
	values := map[string]string{}
	for _, l := range append([]string{"start_time=20s", "call_time=20s"}, own...) {
		name, value, _ := strings.Cut(l, "=")
		values[k.limit(name)] = value
	}
	for name, value := range values {
		args = append(args, "--limit", name+"="+value)
	}
	return args
}

// A listed is a tool as its server lists it.
type listed struct {
	Name, Description string
	InputSchema       json.RawMessage
}

// list returns the tools of a server, in order.
func (p *play) list(namespace string) []listed {
	tools, err := p.pack.list(p, namespace)
	p.fail(err)
	return tools
}

func listDynamic(p *play, namespace string) ([]listed, error) {
	reply, err := p.child.Call(p.ctx, "invoke", `{"tool":"mcp/get_dynamic_tools","arguments":{"namespace":`+quote(namespace)+`}}`)
	if err != nil {
		return nil, err
	}
	var result struct{ Content string }
	if err := reply.Decode(&result); err != nil {
		return nil, err
	}
	var listing struct{ Tools []listed }
	err = json.Unmarshal([]byte(result.Content), &listing)
	return listing.Tools, err
}

func listDirect(p *play, namespace string) ([]listed, error) {
	reply, err := p.child.Call(p.ctx, "ready", `{"id":"mcp"}`)
	if err != nil {
		return nil, err
	}
	var ready struct {
		Tools []struct {
			listed
			Kind, Server, ServerTool string
		}
	}
	if err := reply.Decode(&ready); err != nil {
		return nil, err
	}
	var tools []listed
	for _, t := range ready.Tools {
		if t.Kind == "tool" && t.Server == namespace {
			p.names[[2]string{namespace, t.ServerTool}] = t.listed.Name
			t.listed.Name = t.ServerTool
			tools = append(tools, t.listed)
		}
	}
	return tools, nil
}

// inBoth returns the rows of faults behind both packs. Those of siblings that are about
// the bytes of a reply, which both leave to the same client, are played behind one.
func inBoth(faults []fault) []row {
	return append(rowsBehind(dynamic, faults), rowsBehind(direct, faults)...)
}
