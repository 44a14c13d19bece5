package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/redact"
)

func TestReadConfig(t *testing.T) {
	for _, test := range []struct{ situation, text, want, err string }{
		{"the whole file", `{"mcpServers": {"a": {"url": "u"}}}`, `{"a": {"url": "u"}}`, ""},
		{"the object itself", ` {"a": {"url": "u"}} `, `{"a": {"url": "u"}}`, ""},
		{"a byte order mark", "\xef\xbb\xbf{}", `{}`, ""},
		{"mcpServers is no object", `{"mcpServers": 3}`, "", "mcp.json: the MCP configuration must be a JSON object of servers by name, not a number"},
		{"mcpServers is null", `{"mcpServers": null}`, `{}`, ""},
		{"a server called servers", `{"servers": {"url": "u"}}`, `{"servers": {"url": "u"}}`, ""},
		{"the member of VS Code", `{"servers": {"a": {"url": "u"}}}`, "", `the servers are under "servers"; rename it to "mcpServers"`},
		{"the members of VS Code's settings", `{"mcp": {"servers": {"a": {"url": "u"}}}}`, "", `the servers are under "servers" in "mcp"; write that object under "mcpServers"`},
		{"another case", `{"McpServers": {"a": {"url": "u"}}}`, "", `the servers are under "McpServers"; rename it to "mcpServers"`},
		{"one entry without a name", `{"url": "https://a.example/"}`, "", `this is the entry of one server; write {"mcpServers": {"NAME": ...}} around it`},
		{"a server called url", `{"url": {"url": "u"}}`, `{"url": {"url": "u"}}`, ""},
		{"B195 a comment", "{\n  // mine\n  \"a\": {}\n}", "", "mcp.json:2:3: "},
		{"B195 a comment is named", "{\n  /* mine */}", "", "JSON has no comments, so remove them"},
		{"B195 a trailing comma", "{\"mcpServers\": {\n\"a\": {},\n}}", "", "mcp.json:3:1: "},
		{"B195 a trailing comma is named", "{\"a\": [1,]}", "", "JSON has no comma after the last member, so remove it"},
		{"an empty file", " \n", "", `mcp.json is empty; write {"mcpServers": {"NAME": {"url": "https://..."}}}`},
		{"UTF-16", "\xff\xfe{\x00}\x00", "", "mcp.json is UTF-16; save it as UTF-8"},
		{"T42 mcpServers twice", `{"mcpServers": {}, "inputs": [], "mcp\u0053ervers": {}}`, "", `mcp.json: "mcpServers" stands twice; put all servers into one of them`},
		{"a member of others twice", `{"inputs": 1, "inputs": 2, "mcpServers": {}}`, `{}`, ""},
		{"L40 too large", `{"a": "` + strings.Repeat("x", 1<<20) + `"}`, "", "exceeds the limit config_file (1MiB)"},
		{"L11 too deep", strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600), "", "mcp.json:1:"},
	} {
		name := filepath.Join(t.TempDir(), "mcp.json")
		if err := os.WriteFile(name, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := (&app{}).readConfig(t.Context(), name, limit.Table{})
		switch {
		case test.err == "" && (err != nil || string(got) != test.want):
			t.Errorf("%s: got %s, %v", test.situation, got, err)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s: error %v, want %s", test.situation, err, test.err)
		}
		if code := exitCode(err); err != nil && code != exitConfig {
			t.Errorf("%s: exit code %d", test.situation, code)
		}
	}
}

func TestReadConfigFromElsewhere(t *testing.T) {
	a := &app{in: strings.NewReader(`{"a": {}}`)}
	if got, err := a.readConfig(t.Context(), "-", limit.Table{}); err != nil || string(got) != `{"a": {}}` {
		t.Errorf("stdin: got %s, %v", got, err)
	}
	if _, err := a.readConfig(t.Context(), filepath.Join(t.TempDir(), "none.json"), limit.Table{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	var usage *usageError
	if _, err := a.readConfig(t.Context(), "", limit.Table{}); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--config FILE") {
		t.Errorf("no name: %v", err)
	}
}

func TestReadArguments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "arguments.json")
	if err := os.WriteFile(file, []byte(`{"from": "file"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ given, want, err string }{
		{`{"a": 1}`, `{"a": 1}`, ""},
		{"@" + file, `{"from": "file"}`, ""},
		{"-", `{"from": "stdin"}`, ""},
		{`[1]`, "", "must be a JSON object, as {\"name\": \"value\"}, not an array"},
		{`{a: 1}`, "", "the arguments:1:2: "},
		{"@" + file + "x", "", "no such file"},
		{"@" + filepath.Dir(file), "", "is a folder; only a regular file is read"},
		{" ", "", "the arguments are empty; leave them out or write {}"},
	} {
		a := &app{in: strings.NewReader(`{"from": "stdin"}`)}
		got, err := a.readArguments(t.Context(), test.given, limit.Table{})
		if test.err == "" && (err != nil || string(got) != test.want) || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: got %s, %v", test.given, got, err)
		}
		if code := exitCode(err); err != nil && code != exitUsage {
			t.Errorf("%s: exit code %d", test.given, code)
		}
	}
}

func TestOnlyServer(t *testing.T) {
	for _, test := range []struct{ config, name, want, err string }{
		{`{"a": {"url": 1}, "b": [2]}`, "b", `{"b":[2]}`, ""},
		{`{"a": 1, "\u0061": 2, "b": 3}`, "a", `{"a":1,"\u0061":2}`, ""},
		{`{"docs": 1, "git": 2}`, "doc", "", `unknown server "doc"; did you mean "docs"?`},
		{`{"docs": 1, "git": 2}`, "x", "", `unknown server "x"; known: "docs", "git"`},
		{`{"a": 1}`, "", "", `unknown server ""; known: "a"`},
		{`{}`, "a", "", `unknown server "a"; none is configured`},
	} {
		got, err := (&app{scrub: redact.NewScrubber()}).onlyServer([]byte(test.config), test.name)
		if string(got) != test.want || fmt.Sprint(err) != cmp.Or(test.err, "<nil>") {
			t.Errorf("%s in %s: got %s, %v; want %s, %s", test.name, test.config, got, err, test.want, test.err)
		}
	}
}
