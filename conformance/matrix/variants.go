package main

import (
	"fmt"
	"path/filepath"

	"github.com/toolhost/toolhost/conformance/internal/mcpserver"
)

// A variant is one row of the matrix: a server, the era it is to speak and the form
// of its answers.
type variant struct {
	sdk     sdk
	era     string // legacy or modern
	reply   string // sse or json
	command []string

	// pinned is set where the server speaks both eras whatever it is told: then
	// the entry in the configuration says which.
	pinned bool

	// streams is set where the server can say something before its answer. Most
	// that answer by a single JSON object have no room for progress.
	streams bool
}

func (v variant) name() string { return v.sdk.key + "-" + v.era + "-" + v.reply }

func (v variant) revision() string {
	if v.era == "modern" {
		return mcpserver.Modern
	}
	return mcpserver.Legacy
}

// entry is the server's entry in the configuration.
func (v variant) entry(url string) string {
	if v.pinned && v.era == "legacy" {
		return fmt.Sprintf(`{"url":%q,"protocolVersion":"legacy"}`, url)
	}
	return fmt.Sprintf(`{"url":%q}`, url)
}

// launch returns the command that starts the server on a port, 0 for a free one,
// and what it needs in its environment.
func (v variant) launch(port string) (command, env []string) {
	if v.sdk.portEnv != "" {
		return v.command, []string{v.sdk.portEnv + "=" + port}
	}
	return append(v.command[:len(v.command):len(v.command)], "--port", port, "--era", v.era, "--reply", v.reply), nil
}

// An sdk is what a server is built with.
type sdk struct {
	key     string
	title   string
	pin     pin // where its version is written
	tools   *tools
	portEnv string // the variable that says its port; "" where an option does
}

// The names under which a server has its tools, and what they take and answer. text
// is the mark of the call, which the ledger holds; "%s" stands for it.
type tools struct {
	echo, echoInput, echoAnswer string
	slow, slowInput             string // with "%d" for the milliseconds
	steps                       int    // of slow, each followed by progress
	ledger                      string // "" when it is asked by HTTP
	grow                        string // "" when the listing never changes
}

var (
	ourTools = &tools{
		echo: "echo", echoInput: `{"text":"%s"}`, echoAnswer: "%s",
		slow: "slow", slowInput: `{"text":"%[1]s","ms":%[2]d}`, steps: 5,
		ledger: "ledger", grow: "grow",
	}
	// Arguments that a tool does not know are dropped by the server, after its
	// ledger has seen them.
	everythingTools = &tools{
		echo: "echo", echoInput: `{"message":"%s"}`, echoAnswer: "Echo: %s",
		slow: "trigger-long-running-operation", slowInput: `{"text":"%[1]s","duration":%[2]de-3,"steps":5}`, steps: 5,
	}
)

// The SDKs, in the order of the matrix.
var (
	typescript1 = sdk{key: "ts1", title: "TypeScript SDK", pin: pin{"node/package.json", `"@modelcontextprotocol/sdk": "([\d.]+)"`}, tools: ourTools}
	typescript2 = sdk{key: "ts2", title: "TypeScript SDK", pin: pin{"node/package.json", `"@modelcontextprotocol/server": "([\d.]+)"`}, tools: ourTools}
	python      = sdk{key: "python", title: "Python SDK", pin: pin{"python/requirements.txt", `(?m)^mcp==([\d.]+)`}, tools: ourTools}
	golang      = sdk{key: "go", title: "Go SDK", pin: pin{"go/go.mod", `modelcontextprotocol/go-sdk v([\d.]+)`}, tools: ourTools}
	rust        = sdk{key: "rust", title: "Rust SDK", pin: pin{"rust/Cargo.toml", `rmcp = \{ version = "=([\d.]+)"`}, tools: ourTools}
	everything  = sdk{key: "everything", title: "server-everything", pin: pin{"../peers/npm/package.json", `server-everything": "([\d.]+)"`}, tools: everythingTools, portEnv: "PEER_PORT"}
)

// variants returns every row, given the commands that start the servers.
func variants(start commands) []variant {
	return []variant{
		{sdk: typescript1, era: "legacy", reply: "sse", command: start.typescript1, streams: true},
		{sdk: typescript1, era: "legacy", reply: "json", command: start.typescript1},
		{sdk: typescript2, era: "legacy", reply: "sse", command: start.typescript2, streams: true},
		{sdk: typescript2, era: "legacy", reply: "json", command: start.typescript2},
		{sdk: typescript2, era: "modern", reply: "sse", command: start.typescript2, streams: true},
		{sdk: typescript2, era: "modern", reply: "json", command: start.typescript2},
		{sdk: python, era: "legacy", reply: "sse", command: start.python, streams: true, pinned: true},
		{sdk: python, era: "legacy", reply: "json", command: start.python, pinned: true},
		{sdk: python, era: "modern", reply: "sse", command: start.python, streams: true},
		{sdk: python, era: "modern", reply: "json", command: start.python},
		{sdk: golang, era: "legacy", reply: "sse", command: start.golang, streams: true},
		// In a session the Go SDK tells progress on the GET stream when the answer
		// has no room for it.
		{sdk: golang, era: "legacy", reply: "json", command: start.golang, streams: true},
		{sdk: golang, era: "modern", reply: "sse", command: start.golang, streams: true},
		{sdk: golang, era: "modern", reply: "json", command: start.golang},
		// With sessions the Rust SDK always streams, and without it switches from
		// JSON to a stream when there is progress to tell.
		{sdk: rust, era: "legacy", reply: "sse", command: start.rust, streams: true},
		{sdk: rust, era: "modern", reply: "sse", command: start.rust, streams: true},
		{sdk: rust, era: "modern", reply: "json", command: start.rust, streams: true},
		{sdk: everything, era: "legacy", reply: "sse", command: start.everything, streams: true},
	}
}

// mark fills in the mark of a call, and the milliseconds where there are any.
func mark(format, text string, rest ...any) string {
	return fmt.Sprintf(format, append([]any{text}, rest...)...)
}

// A pin is the place where the version of a package is written.
type pin struct {
	file    string // below the folder of this command
	pattern string // its first group is the version
}

func (p pin) path(here string) string { return filepath.Join(here, filepath.FromSlash(p.file)) }
