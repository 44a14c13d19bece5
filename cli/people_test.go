package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// configure writes an mcp.json file with those entries, as JSON texts by name,
// and returns its name.
func configure(t *testing.T, entries ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "mcp.json")
	text := `{"mcpServers": {` + strings.Join(entries, ",") + `}}`
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func entry(name string, server *fakeserver.Server) string {
	return fmt.Sprintf(`%q: {"url": %q}`, name, server.URL())
}

func TestCheck(t *testing.T) {
	server := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern})
	closed, err := refusingURL()
	if err != nil {
		t.Fatal(err)
	}
	good := configure(t, entry("b", server), entry("a", server))
	tools := len(fakeserver.Builtin())

	t.Run("all are connected", func(t *testing.T) {
		code, stdout, stderr := run(t, "", "check", "--config", good)
		line := fmt.Sprintf("connected   a  %d tools\n", tools)
		if code != 0 || !strings.Contains(stdout, line) || !strings.HasSuffix(stdout, "all servers are connected (2)\n") || stderr != "" {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	})
	t.Run("the bare object on stdin", func(t *testing.T) {
		code, stdout, stderr := run(t, "{"+entry("a", server)+"}", "check", "--config", "-", "--json")
		want := fmt.Sprintf(`{"ready":true,"servers":[{"name":"a","status":"connected","toolCount":%d}]}`+"\n", tools)
		if code != 0 || stdout != want || stderr != "" {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	})
	t.Run("S1-10 one is refused and one does not answer", func(t *testing.T) {
		config := configure(t, entry("good", server), `"old": {"type": "sse", "url": "http://127.0.0.1/"}`,
			`"local": {"command": "toolhost-test-gone"}`, fmt.Sprintf(`"gone": {"url": %q}`, closed), `"unset": {"url": "${env:TOOLHOST_TEST_UNSET}"}`)
		code, stdout, _ := run(t, "", "check", "--config", config)
		if code != exitNotReady || !strings.HasSuffix(stdout, "1 of 5 servers are connected\n") {
			t.Errorf("exit code %d\n%s", code, stdout)
		}
		for _, want := range []string{
			`failed      local  the command "toolhost-test-gone" was not found; install it, or write its full path` + "\n",
			"failed      old  ", "failed      gone  ", "connected   good  ",
			"TOOLHOST_TEST_UNSET",
		} {
			if strings.Count(stdout, want) != 1 {
				t.Errorf("not once %q in\n%s", want, stdout)
			}
		}
		code, stdout, _ = run(t, "", "check", "--config", config, "--json")
		var report struct {
			Ready   bool
			Servers []struct {
				Name, Status, Error string
				ToolCount           int
			}
		}
		if err := json.Unmarshal([]byte(stdout), &report); err != nil {
			t.Fatal(err)
		}
		if code != exitNotReady || report.Ready || len(report.Servers) != 5 || report.Servers[0].Name != "good" || report.Servers[1].Name != "old" || report.Servers[1].Error == "" {
			t.Errorf("exit code %d: %+v", code, report)
		}
	})
	t.Run("one does not answer in time", func(t *testing.T) {
		silent := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern, Script: []fakeserver.Row{
			{Method: "server/discover", Reply: fakeserver.Reply{Hold: true, Chunks: []fakeserver.Chunk{{Text: ": wait\n\n"}}}},
		}})
		code, stdout, _ := run(t, "", "check", "--config", configure(t, entry("good", server), entry("silent", silent)), "--timeout", "300ms")
		if want := "connecting  silent  no answer within 300ms; give it longer by --timeout\n"; code != exitNotReady || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d\n%s", code, stdout)
		}
	})
	t.Run("B201 warnings", func(t *testing.T) {
		config := configure(t, entry("good", server), `"twice": {"url": 1}, "twice": {"url": 2}`,
			fmt.Sprintf(`"odd": {"url": %q, "disabled": true, "headers": {"X-Key": "${TOOLHOST_TEST_KEY}"}}`, server.URL()),
			// A credential in the wrong place, too: names are shown, unless they are secret.
			fmt.Sprintf(`"swapped": {"url": %q, "headers": {"canary-5f0c1e9a77b2": "", "X-Other": "canary-5f0c1e9a77b2"}}`, server.URL()))
		const disabled = "disabled has no effect: the server is used; take the entry out to switch it off"
		const placeholder = `headers: "X-Key" holds a placeholder`
		_, stdout, stderr := run(t, "", "check", "--config", config, "--limit", "tools=1")
		for _, want := range []string{
			"warning     odd  " + disabled + "\n", "warning     odd  " + placeholder,
			"warning     good  the list of tools exceeds the limit tools (1); it was cut\n",
			"failed      twice  the name stands twice in the configuration",
			`warning     swapped  headers: "[redacted]" is empty` + "\n",
		} {
			if strings.Count(stdout, want) != 1 || stderr != "" {
				t.Errorf("not once %q in\n%s%s", want, stdout, stderr)
			}
		}
		_, stdout, _ = run(t, "", "check", "--config", config, "--json")
		var report struct {
			Servers []struct {
				Name     string
				Warnings []string
			}
		}
		if err := json.Unmarshal([]byte(stdout), &report); err != nil || len(report.Servers) != 4 {
			t.Fatalf("%v: %s", err, stdout)
		}
		if odd := report.Servers[2]; odd.Name != "odd" || len(odd.Warnings) != 2 || !slices.Contains(odd.Warnings, disabled) {
			t.Errorf("%s", stdout)
		}
		if strings.Contains(stdout, "null") || len(report.Servers[0].Warnings) != 0 {
			t.Errorf("a server without warnings: %s", stdout)
		}
	})
	t.Run("a server without a name hides no other", func(t *testing.T) {
		code, stdout, _ := run(t, "", "check", "--config", configure(t, entry("", server), entry("a", server)))
		if code != 0 || !strings.Contains(stdout, "connected   \"\"  ") || !strings.HasSuffix(stdout, "all servers are connected (2)\n") {
			t.Errorf("exit code %d\n%s", code, stdout)
		}
	})
	t.Run("no servers", func(t *testing.T) {
		code, stdout, stderr := run(t, "{}", "check", "--config", "-")
		if code != 0 || stdout != "no servers are configured\n" || stderr != "" {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	})
	t.Run("S1-02 no object", func(t *testing.T) {
		code, stdout, stderr := run(t, "[1]", "check", "--config", "-")
		if code != 6 || stdout != "" || !strings.Contains(stderr, "the MCP configuration must be a JSON object of servers by name") {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	})
}

func TestTools(t *testing.T) {
	server := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Legacy, Tools: []fakeserver.Tool{
		{Name: "find", Definition: fakeserver.Define("find", "Finds \x1b[31mthings.\x1b[0m", `{"type":"object","properties":{"z":{"maximum":1e400},"a":{"type":"string","pattern":"<&>"}}}`)},
		{Name: "list", Definition: fakeserver.Define("list", "", `{"type":"object"}`)},
	}})
	const reason = "the entry has both url and command; keep one of them"
	config := configure(t, fmt.Sprintf(`"docs": {"url": %q, "needsApproval": {"tools": "list"}}`, server.URL()), `"both": {"command": "npx", "url": "u"}`)
	for _, test := range []struct {
		situation string
		args      []string
		code      int
		want      string // on stdout, or in stderr for another code than 0
	}{
		{"all servers", nil, 0, "docs  connected\n  find\n  list\nboth  failed; " + reason + "\n"},
		{"one server", []string{"docs"}, 0, "find\n  Finds \\u{1b}[31mthings.\\u{1b}[0m\nlist\n  list\n"},
		{"one tool", []string{"docs", "list"}, 0, "list  (for a model docs_list; the user is asked before it runs)\nlist\n\n{\n  \"type\": \"object\"\n}\n"},
		{"all, as JSON", []string{"--json"}, 0, `{"namespaces":[{"namespace":"docs","status":"connected","tools":["find","list"]},{"namespace":"both","status":"failed","reason":"` + reason + `","tools":[]}]}` + "\n"},
		{"one server, as JSON", []string{"docs", "--json"}, 0, `{"namespace":"docs","status":"connected","tools":[` +
			`{"name":"find","modelName":"docs_find","description":"Finds \u001b[31mthings.\u001b[0m","inputSchema":{"type":"object","properties":{"z":{"maximum":1e400},"a":{"type":"string","pattern":"<&>"}}}},` +
			`{"name":"list","modelName":"docs_list","description":"list","inputSchema":{"type":"object"},"needsApproval":true}]}` + "\n"},
		{"one tool, as JSON", []string{"docs", "list", "--json"}, 0, `{"namespace":"docs","name":"list","modelName":"docs_list","description":"list","inputSchema":{"type":"object"},"needsApproval":true}` + "\n"},
		{"unknown server", []string{"doc"}, 3, `unknown server "doc"; did you mean "docs"?`},
		{"unknown tool", []string{"docs", "fin"}, 3, `unknown tool "fin" of server "docs"; did you mean "find"?`},
		{"a tool of a server that is not connected", []string{"both", "x"}, 3, `server "both" is not connected: ` + reason},
		{"too many names", []string{"a", "b", "c"}, 2, "toolhost tools --help"},
	} {
		t.Run(test.situation, func(t *testing.T) {
			code, stdout, stderr := run(t, "", append([]string{"tools", "--config", config}, test.args...)...)
			if code != test.code || code == 0 && stdout != test.want || code != 0 && (stdout != "" || !strings.Contains(stderr, test.want)) {
				t.Errorf("exit code %d, want %d\nstdout %q\nstderr %q\nwant   %q", code, test.code, stdout, stderr, test.want)
			}
		})
	}
	t.Run("a server that is not connected", func(t *testing.T) {
		code, stdout, stderr := run(t, "", "tools", "--config", config, "both")
		if want := "both  failed; " + reason + "\n"; code != exitNotReady || stdout != want || stderr != "" {
			t.Errorf("exit code %d\nstdout %q\nstderr %q", code, stdout, stderr)
		}
	})
	t.Run("a list that is not whole", func(t *testing.T) {
		const note = "docs  connected; the list of tools exceeds the limit tools (1); it was cut\n"
		for _, test := range []struct {
			args []string
			want string
		}{
			{nil, note + "  find\nboth  failed; "},
			{[]string{"docs"}, note + "find\n"},
		} {
			code, stdout, _ := run(t, "", append([]string{"tools", "--config", config, "--limit", "tools=1"}, test.args...)...)
			if code != 0 || !strings.HasPrefix(stdout, test.want) {
				t.Errorf("exit code %d\nstdout %q\nwant   %q", code, stdout, test.want)
			}
		}
	})
}

func TestCall(t *testing.T) {
	server := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern})
	drops := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern, Script: []fakeserver.Row{
		{Method: "tools/call", Reply: fakeserver.Reply{Drop: true}},
	}})
	closed, err := refusingURL()
	if err != nil {
		t.Fatal(err)
	}
	silent := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern, Script: []fakeserver.Row{
		{Method: "server/discover", Reply: fakeserver.Reply{Hold: true, Chunks: []fakeserver.Chunk{{Text: ": wait\n\n"}}}},
	}})
	config := configure(t, entry("demo", server), entry("drops", drops), entry("silent", silent), fmt.Sprintf(`"gone": {"url": %q}`, closed))
	for _, test := range []struct {
		situation string
		stdin     string
		args      []string
		code      int
		want      string // on stdout, or in stderr for another code than 0
	}{
		{"arguments on the command line", "", []string{"demo", "add", `{"a": 2, "b": 40}`}, 0, "42\n"},
		{"arguments on stdin", `{"a": 1, "b": 1}`, []string{"demo", "add", "-"}, 0, "2\n"},
		{"no arguments", "", []string{"demo", "raw_args"}, 0, "{}\n"},
		{"S1-20 the tool fails", "", []string{"demo", "fail", `{"text": "first\nsecond \u001b[2J"}`}, 4, "toolhost: first\nsecond \\u{1b}[2J\n"},
		{"S1-20 the connection fails", "", []string{"drops", "echo", `{"text": ""}`}, 5, "toolhost: "},
		{"unknown server", "", []string{"dem", "add"}, 3, `unknown server "dem"; did you mean "demo"?`},
		{"unknown tool", "", []string{"demo", "ad"}, 3, `unknown tool "ad" of server "demo"; `},
		{"S1-09 a server that is not connected", "", []string{"gone", "add"}, 3, `toolhost: server "gone" is not connected: cannot connect to `},
		{"no answer in time", "", []string{"silent", "add", "--timeout", "300ms"}, 3, `toolhost: server "silent" is not connected: no answer within 300ms; give it longer by --timeout` + "\n"},
		{"arguments that are no object", "", []string{"demo", "add", "3"}, 2, "must be a JSON object"},
		{"arguments that are no JSON", "", []string{"demo", "add", "{a}"}, 2, "the arguments:1:2:"},
		{"arguments that are no JSON, on stdin", "{a}", []string{"demo", "add", "-"}, 2, "stdin:1:2:"},
		{"too few names", "", []string{"demo"}, 2, "toolhost call --help"},
	} {
		t.Run(test.situation, func(t *testing.T) {
			code, stdout, stderr := run(t, test.stdin, append([]string{"call", "--config", config}, test.args...)...)
			if code != test.code || code == 0 && stdout != test.want || code != 0 && (stdout != "" || !strings.Contains(stderr, test.want)) {
				t.Errorf("exit code %d, want %d\nstdout %q\nstderr %q\nwant   %q", code, test.code, stdout, stderr, test.want)
			}
			if strings.Contains(stderr, "background") {
				t.Errorf("a command that ends promises to go on: %s", stderr)
			}
		})
	}
	t.Run("stdin twice", func(t *testing.T) {
		if code, _, stderr := run(t, "{}", "call", "--config", "-", "demo", "add", "-"); code != 2 || !strings.Contains(stderr, "cannot be both") {
			t.Errorf("exit code %d: %s", code, stderr)
		}
	})
}
