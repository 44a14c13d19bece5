package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
)

func TestReadConfig(t *testing.T) {
	for _, test := range []struct{ situation, text, want, err string }{
		{"the whole file", `{"mcpServers": {"a": {"url": "u"}}}`, `{"a": {"url": "u"}}`, ""},
		{"the object itself", ` {"a": {"url": "u"}} `, `{"a": {"url": "u"}}`, ""},
		{"a byte order mark", "\xef\xbb\xbf{}", `{}`, ""},
		{"mcpServers is no object", `{"mcpServers": 3}`, `3`, ""},
		{"a server called servers", `{"servers": {"url": "u"}}`, `{"servers": {"url": "u"}}`, ""},
		{"the member of VS Code", `{"servers": {"a": {"url": "u"}}}`, "", `the servers are under "servers"; rename it to "mcpServers"`},
		{"B195 a comment", "{\n  // mine\n  \"a\": {}\n}", "", "mcp.json:2:3: "},
		{"B195 a comment is named", "{\n  /* mine */}", "", "JSON has no comments, so remove them"},
		{"B195 a trailing comma", "{\"mcpServers\": {\n\"a\": {},\n}}", "", "mcp.json:3:1: "},
		{"B195 a trailing comma is named", "{\"a\": [1,]}", "", "JSON has no comma after the last member, so remove it"},
		{"an empty file", "", "", "mcp.json:1:1: "},
		{"L40 too large", `{"a": "` + strings.Repeat("x", 1<<20) + `"}`, "", "exceeds the limit config_file (1MiB)"},
		{"L11 too deep", strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600), "", "mcp.json:1:"},
	} {
		name := filepath.Join(t.TempDir(), "mcp.json")
		if err := os.WriteFile(name, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := (&app{}).readConfig(name, limit.Table{})
		switch {
		case test.err == "" && (err != nil || string(got) != test.want):
			t.Errorf("%s: got %s, %v", test.situation, got, err)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s: error %v, want %s", test.situation, err, test.err)
		}
	}
}

func TestReadConfigFromElsewhere(t *testing.T) {
	a := &app{in: strings.NewReader(`{"a": {}}`)}
	if got, err := a.readConfig("-", limit.Table{}); err != nil || string(got) != `{"a": {}}` {
		t.Errorf("stdin: got %s, %v", got, err)
	}
	if _, err := a.readConfig(filepath.Join(t.TempDir(), "none.json"), limit.Table{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	var usage *usageError
	if _, err := a.readConfig("", limit.Table{}); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--config FILE") {
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
	} {
		a := &app{in: strings.NewReader(`{"from": "stdin"}`)}
		got, err := a.readArguments(test.given, limit.Table{})
		if test.err == "" && (err != nil || string(got) != test.want) || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: got %s, %v", test.given, got, err)
		}
	}
}

func TestOnlyServer(t *testing.T) {
	for _, test := range []struct{ config, name, want string }{
		{`{"a": {"url": 1}, "b": [2]}`, "b", `{"b":[2]}`},
		{`{"a": 1, "\u0061": 2, "b": 3}`, "a", `{"a":1,"\u0061":2}`},
		{`{"a": 1}`, "b", `{"a": 1}`},
		{`{"a": 1}`, "", `{"a": 1}`},
		{`[1]`, "a", `[1]`},
	} {
		if got := string(onlyServer([]byte(test.config), test.name)); got != test.want {
			t.Errorf("%s in %s: got %s, want %s", test.name, test.config, got, test.want)
		}
	}
}
