package main

import "encoding/json"

// The packs that play cases.
const (
	dynamicPack = "runvil/mcp"
	toolsPack   = "tanstack/mcp"
)

// A packKind is what differs between the packs for a host.
type packKind struct {
	config func(servers string) string            // of construct, from the entries by name
	call   func(server, tool, args string) string // the params of invoke, without the closing brace

	ready   string          // the status of a server that can be used
	failed  string          // the status of one that could not be started
	loading map[string]bool // the statuses of one that may come to either

	asks string // the capabilities of a host for the questions that there can be
}

var packs = map[string]*packKind{
	dynamicPack: {
		config: func(servers string) string { return servers },
		call: func(server, tool, args string) string {
			if args != "" {
				args = `,"arguments":` + args
			}
			return `{"tool":"` + packID + `/call_dynamic_tool","arguments":{"namespace":` + quote(server) + `,"toolName":` + quote(tool) + args + "}"
		},
		ready: "ready", failed: "error", loading: map[string]bool{"loading": true},
	},
	toolsPack: {
		config: func(servers string) string { return `{"servers":` + servers + `}` },
		call: func(server, tool, args string) string {
			if args != "" {
				args = `,"arguments":` + args
			}
			return `{"tool":` + quote(packID+"/"+server+"_"+tool) + args
		},
		ready: "connected", failed: "failed", loading: map[string]bool{"connecting": true, "reconnecting": true},
		asks: `{"approve":true,"open":true,"elicit":{"form":true,"url":true}}`,
	},
}

// abilities are those that a host declares: to hear of everything, and to be asked
// what asks says, an object.
func abilities(asks string) string {
	declared := map[string]json.RawMessage{}
	for _, name := range []string{"status", "changed", "log", "progress"} {
		declared[name] = json.RawMessage("true")
	}
	_ = json.Unmarshal([]byte(asks), &declared) // "" adds nothing
	text, err := json.Marshal(declared)
	if err != nil {
		panic(err) // what was read can be written
	}
	return `{"name":"checklist","version":"1","capabilities":` + string(text) + `}`
}
