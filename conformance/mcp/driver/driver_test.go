package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// seenFile names the variable that tells the test binary, when it plays the host,
// where to write what it sees, and playVariable how it plays.
const (
	seenFile     = "TOOLHOST_TEST_SEEN"
	playVariable = "TOOLHOST_TEST_PLAY"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		playHost()
		os.Exit(0)
	}
	// A program with the race detector sleeps for a second before it exits.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	os.Exit(m.Run())
}

// playHost writes its arguments, its environment and every message that it reads to
// a file, and answers as a toolhost with the tools that the scenarios want.
func playHost() {
	play := os.Getenv(playVariable)
	if play == "nothing" {
		return
	}
	seen, err := os.Create(os.Getenv(seenFile))
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(seen, os.Args)
	for _, variable := range os.Environ() {
		fmt.Fprintln(seen, variable)
	}
	if play, ok := strings.CutPrefix(play, "sign-in: "); ok {
		fakeSignIn(play, io.TeeReader(os.Stdin, seen), os.Stdout)
		return
	}
	servers := func(status string) string {
		return `[{"name":"conformance","status":"` + status + `","toolCount":0}]`
	}
	asked, direct := 0, false
	var held json.RawMessage // the id of the call whose question is open
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Fprintln(seen, lines.Text())
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Tool, Pack string }
			Result json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		result := ""
		switch {
		case m.Method == "cancel":
			continue
		case m.Result != nil:
			m.ID, held = held, nil
			result = `{"content":"confirmed","untrusted":true}`
		case play == "ask" && m.Params.Tool == "mcp/conformance_test_mrtr_echo_state":
			held = m.ID
			fmt.Println(`{"jsonrpc":"2.0","id":1,"method":"elicit","params":{"id":"mcp","invoke":` + string(m.ID) +
				`,"server":"conformance","mode":"form","message":"?","schema":{"type":"object"}}}`)
			continue
		case m.Method == "ready" && direct:
			status, tools := "connected", `{"name":"mcp/conformance_a","kind":"tool","description":"d","inputSchema":{"type":"object"},"untrusted":true,"server":"conformance","serverTool":"a"}`
			if play == "error" {
				status = "failed"
			}
			if play == "empty" {
				tools = ""
			}
			result = `{"tools":[` + tools + `],"servers":` + servers(status) + `}`
		case m.Method == "construct":
			direct = m.Params.Pack == "tanstack/mcp"
			result = `{"protocol":"1","child":{"name":"x","version":"0"},"pack":{"name":"runvil/mcp","id":"mcp","description":"d"},"tools":[]}`
		case m.Method == "ready":
			result = `{"tools":[],"servers":` + servers("loading") + `}`
		case m.Params.Tool == "mcp/get_dynamic_tools":
			asked++
			listing := `{"namespace":"conformance","status":"ready","tools":[` +
				`{"name":"add_numbers","description":"d","inputSchema":{"type":"object"}},` +
				`{"name":"json_schema_2020_12_tool","description":"d","inputSchema":{"$defs":{"a":1.0},"type":"object"}}]}`
			switch {
			case play == "error":
				listing = `{"namespace":"conformance","status":"error","reason":"the reason","tools":[]}`
			case play == "empty":
				listing = `{"namespace":"conformance","status":"ready","tools":[]}`
			case play == "loading" && asked < 3:
				listing = `{"namespace":"conformance","status":"loading","tools":[]}`
			}
			text, _ := json.Marshal(listing)
			result = `{"content":` + string(text) + `,"untrusted":true}`
		case play == "wrong":
			result = `{"content":"7","untrusted":true}`
		case play == "silent":
			result = `{"content":"","untrusted":true}`
		default:
			result = `{"content":"The sum is 8","untrusted":true}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		if play == "loading" && asked < 3 {
			fmt.Printf(`{"jsonrpc":"2.0","method":"status","params":{"id":"mcp","servers":%s}}`+"\n", servers("ready"))
		}
		if play == "noise" {
			fmt.Println("hello")
		}
	}
}

const url = "http://localhost:1/mcp"

// drive plays a scenario over a host that plays as told, and returns what the host
// has seen, line by line.
func drive(t *testing.T, scenario, inputs, mode, play string) ([]string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "seen")
	t.Setenv(seenFile, file)
	t.Setenv(playVariable, play)
	t.Setenv("MCP_CONFORMANCE_SCENARIO", scenario)
	t.Setenv("MCP_CONFORMANCE_PROTOCOL_VERSION", "2025-06-18")
	t.Setenv("MCP_CONFORMANCE_CONTEXT", inputs)
	t.Setenv("MCP_CONFORMANCE_LATER", "1") // what a later suite may add
	ran := run(t.Context(), os.Args[0], mode, []string{url})
	text, err := os.ReadFile(file)
	if err != nil && play != "nothing" {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n"), ran
}

const twoCalls = `{"name":"http-custom-headers","toolCalls":[` +
	`{"name":"add_numbers","arguments":{"z":1.50,"a":null,"big":12345678901234567890}},{"name":"other","arguments":{}}]}`

// TestHostSeesNothingOfTheSuite: environment, arguments and configuration of the
// host do not tell which scenario it is in.
func TestHostSeesNothingOfTheSuite(t *testing.T) {
	for _, row := range plays {
		scenario, inputs := row.scenario, ""
		if scenario == "http-custom-headers" {
			inputs = twoCalls
		}
		seen, err := drive(t, scenario, inputs, "pinned", "")
		if err != nil {
			t.Errorf("%s: %v", scenario, err)
		}
		if !slices.ContainsFunc(seen, func(line string) bool { return strings.HasPrefix(line, seenFile+"=") }) {
			t.Fatalf("the environment was not seen: %q", seen)
		}
		for _, line := range seen {
			if strings.Contains(line, "MCP_CONFORMANCE") || strings.Contains(line, scenario) {
				t.Errorf("%s: the host sees %s", scenario, line)
			}
		}
	}
}

func TestModes(t *testing.T) {
	for mode, entry := range map[string]string{
		"auto":   `{"conformance":{"url":"` + url + `"}}`,
		"pinned": `{"conformance":{"url":"` + url + `","protocolVersion":"2025-06-18"}}`,
	} {
		seen, err := drive(t, "initialize", "", mode, "")
		if err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		want := `"config":` + entry + `,`
		if !slices.ContainsFunc(seen, func(line string) bool { return strings.Contains(line, want) }) {
			t.Errorf("%s: no %s in %q", mode, want, seen)
		}
	}
}

func TestCallsPassAsTheyAre(t *testing.T) {
	for _, test := range []struct {
		scenario, inputs string
		want             []string
	}{
		{"tools_call", "", []string{`{"arguments":{"a":5,"b":3},"namespace":"conformance","toolName":"add_numbers"}`}},
		{"http-custom-headers", twoCalls, []string{
			`{"arguments":{"z":1.50,"a":null,"big":12345678901234567890},"namespace":"conformance","toolName":"add_numbers"}`,
			`{"arguments":{},"namespace":"conformance","toolName":"other"}`,
		}},
		{"sse-retry", "", []string{
			`{"arguments":{},"namespace":"conformance","toolName":"add_numbers"}`,
			`{"arguments":{},"namespace":"conformance","toolName":"json_schema_2020_12_tool"}`,
		}},
		{"json-schema-2020-12-preservation", "", []string{
			`{"arguments":{"schema":{"$defs":{"a":1.0},"type":"object"}},"namespace":"conformance","toolName":"json_schema_echo"}`,
		}},
	} {
		seen, err := drive(t, test.scenario, test.inputs, "auto", "")
		if err != nil {
			t.Errorf("%s: %v", test.scenario, err)
		}
		var calls []string
		for _, line := range seen {
			var m struct {
				Method string
				Params struct {
					Tool      string
					Arguments json.RawMessage
				}
			}
			if json.Unmarshal([]byte(line), &m) == nil && m.Params.Tool == "mcp/call_dynamic_tool" {
				calls = append(calls, string(m.Params.Arguments))
			}
		}
		if !slices.Equal(calls, test.want) {
			t.Errorf("%s: calls\n%s\nwant\n%s", test.scenario, strings.Join(calls, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

func TestEndStates(t *testing.T) {
	for name, test := range map[string]struct{ scenario, play, err string }{
		"the server needs a while":        {"tools_call", "loading", ""},
		"the server is in error":          {"initialize", "error", `status "error": the reason`},
		"no tool is listed":               {"initialize", "empty", ""},
		"no tool is there to be called":   {"sse-retry", "empty", "lists no tool"},
		"no schema is there to be sent":   {"json-schema-2020-12-preservation", "empty", "is not listed"},
		"no calls are given":              {"http-custom-headers", "", "gives no calls"},
		"the result is another":           {"tools_call", "wrong", `make "7"`},
		"the result is empty":             {"sse-retry", "silent", "the result is empty"},
		"the host writes what is no JSON": {"initialize", "noise", "should not have come"},
		"the host does nothing":           {"initialize", "nothing", "construct: "},
	} {
		if _, err := drive(t, test.scenario, "", "auto", test.play); (err == nil) != (test.err == "") ||
			err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v, want %q", name, err, test.err)
		}
	}
}

// TestPlaysWithAUser: the pack with a user is constructed, and says what its user
// takes; the scenario's end state is judged as in the others.
func TestPlaysWithAUser(t *testing.T) {
	for name, test := range map[string]struct{ scenario, play, err string }{
		"every form is accepted as it is": {"elicitation-sep1034-client-defaults", "", ""},
		"another call while one asks":     {"sep-2322-client-request-state", "ask", ""},
		"no question comes":               {"sep-2322-client-request-state", "", "question did not come"},
		"the server is in error":          {"sep-2322-client-request-state", "error", "could not be used"},
		"no tool is there to be called":   {"elicitation-sep1034-client-defaults", "empty", "lists no tool"},
		"the result is empty":             {"elicitation-sep1034-client-defaults", "silent", "the result is empty"},
	} {
		seen, err := drive(t, test.scenario, "", "pinned", test.play)
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v, want %q", name, err, test.err)
		}
		if !slices.ContainsFunc(seen, func(line string) bool {
			return strings.Contains(line, `"pack":"tanstack/mcp"`) && strings.Contains(line, `"elicit":{"form":true}`) && strings.Contains(line, `"protocolVersion":"2025-06-18"`)
		}) {
			t.Errorf("%s: the host was not constructed so: %q", name, seen)
		}
		if test.play == "ask" && !slices.ContainsFunc(seen, func(line string) bool { return strings.Contains(line, `"content":{"confirmed":true}`) }) {
			t.Errorf("%s: the question was not answered: %q", name, seen)
		}
	}
}

func TestWithoutATask(t *testing.T) {
	t.Setenv("MCP_CONFORMANCE_SCENARIO", "")
	for name, test := range map[string]struct {
		scenario, bin, mode string
		args                []string
		err                 string
	}{
		"no scenario":         {"", "x", "auto", []string{url}, "did not say which scenario"},
		"an unknown scenario": {"later", "x", "auto", []string{url}, "no steps are known"},
		"no host":             {"initialize", "", "auto", []string{url}, "usage"},
		"no url":              {"initialize", "x", "auto", nil, "usage"},
		"an unknown mode":     {"initialize", "x", "fast", []string{url}, "usage"},
	} {
		t.Setenv("MCP_CONFORMANCE_SCENARIO", test.scenario)
		t.Setenv("MCP_CONFORMANCE_PROTOCOL_VERSION", "2025-11-25")
		if err := run(t.Context(), test.bin, test.mode, test.args); err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v, want %q", name, err, test.err)
		}
	}
}
