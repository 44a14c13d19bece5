package cli

import (
	"io/fs"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/spec"
)

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		situation string
		args      []string
		code      int
		stdout    string
		stderr    []string
	}{
		{"help", []string{"--help"}, 0, "Available Commands:", nil},
		{"help on a command", []string{"help", "serve"}, 0, "--log-level LEVEL", nil},
		{"help on the limits", []string{"help", "limits"}, 0, "host_line", nil},
		{"a command that is none", []string{"serv"}, 2, "", []string{`unknown command "serv"; did you mean serve?`, `Run "toolhost --help"`}},
		{"a flag that is none", []string{"serve", "--quiet"}, 2, "", []string{"--quiet", `Run "toolhost serve --help"`}},
		{"an argument where there is none", []string{"serve", "now"}, 2, "", []string{"serve takes flags only, and no argument; usage: toolhost serve [flags]\n", `Run "toolhost serve --help"`}},
		{"too few arguments", []string{"call", "docs"}, 2, "", []string{"too few arguments; usage: toolhost call --config FILE SERVER TOOL [JSON|@FILE|-] [flags]\n"}},
		{"too many arguments", []string{"call", "docs", "add", "{a:", "1}"}, 2, "", []string{"too many arguments (4); quote what belongs together; usage: toolhost call "}},
		{"two of what excludes the other", []string{"spec", "--list", "--openrpc"}, 2, "", []string{"--list, --openrpc and NAME exclude each other"}},
		{"help on what is none", []string{"help", "bogus"}, 2, "", []string{`unknown command "bogus"; the topics are exit-codes and limits`, `Run "toolhost help --help"`}},
		{"help on what is nearly one", []string{"help", "serv"}, 2, "", []string{`unknown command "serv"; did you mean serve?`}},
		{"help on an argument", []string{"help", "serve", "now"}, 2, "", []string{`unknown command "serve now"`}},
		{"help on a command of a command", []string{"help", "completion", "bash"}, 0, "bash", nil},
		{"help on nothing", []string{"help"}, 0, "Available Commands:", nil},
		{"no time to wait", []string{"check", "--config", "-", "--timeout", "-1s"}, 2, "", []string{"want a time above 0, as 30s"}},
		{"a time that is none", []string{"check", "--config", "-", "--timeout", "30"}, 2, "", []string{"want a time above 0, as 30s"}},
		{"a level that is none", []string{"serve", "--log-level", "loud"}, 2, "", []string{"want debug, info, warn or error"}},
		{"a format that is none", []string{"serve", "--log-format", "xml"}, 2, "", []string{"want text or json"}},
		{"a limit that is none", []string{"serve", "--limit", "speed=1"}, 2, "", []string{`limit "speed" is unknown; known: host_line`}},
		{"a limit out of range", []string{"serve", "--limit", "call_time=2h"}, 2, "", []string{"limit call_time: 2h0m0s is outside 1s to 1h0m0s"}},
		{"no configuration", []string{"check"}, 2, "", []string{"--config FILE"}},
		{"a name that is not in the protocol", []string{"spec", "schema/none"}, 2, "", []string{`no file "schema/none"`, "toolhost spec --list"}},
		{"controls in an argument", []string{"\x1b[2J"}, 2, "", []string{`\x1b[2J`}},
	} {
		t.Run(test.situation, func(t *testing.T) {
			code, stdout, stderr := run(t, "", test.args...)
			if code != test.code || !strings.Contains(stdout, test.stdout) || test.stdout == "" && stdout != "" {
				t.Errorf("exit code %d, want %d\n%s", code, test.code, stdout)
			}
			for _, want := range test.stderr {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr %q, want %q", stderr, want)
				}
			}
			if len(test.stderr) == 0 && stderr != "" {
				t.Errorf("stderr %q", stderr)
			}
		})
	}
}

// TestNoArguments serves when stdin is no terminal.
func TestNoArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"serve"}} {
		code, stdout, stderr := run(t, `{"jsonrpc":"2.0","id":1,"method":"construct","params":{"pack":"runvil/mcp","protocol":"1"}}`+"\n", args...)
		if want := `{"jsonrpc":"2.0","id":1,"result":{"protocol":"1","child":{"name":"toolhost","version":"` + version + `"}`; code != 0 || !strings.HasPrefix(stdout, want) || strings.Count(stdout, "\n") != 1 || stderr != "" {
			t.Errorf("%q: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
}

func TestLimitsTopicListsEveryLimit(t *testing.T) {
	_, text, _ := run(t, "", "help", "limits")
	for _, row := range limit.Rows() {
		if !strings.Contains(text, "\n"+row.Text+" ") {
			t.Errorf("%s is missing", row.Text)
		}
	}
}

func TestSpec(t *testing.T) {
	_, protocol, _ := run(t, "", "spec")
	if want, _ := fs.ReadFile(spec.FS, "protocol.md"); protocol != string(want) || len(want) == 0 {
		t.Errorf("spec prints %d bytes, protocol.md has %d", len(protocol), len(want))
	}
	_, list, _ := run(t, "", "spec", "--list")
	for name := range strings.Lines(list) {
		name = strings.TrimSpace(name)
		code, text, _ := run(t, "", "spec", name)
		if want, err := fs.ReadFile(spec.FS, name); code != 0 || err != nil || text != string(want) {
			t.Errorf("spec %s: exit code %d, %d bytes of %d, %v", name, code, len(text), len(want), err)
		}
	}
	if !strings.Contains(list, "schema/invoke.params.json\n") {
		t.Errorf("spec --list:\n%s", list)
	}
	if _, text, _ := run(t, "", "spec", "schema/invoke.params"); !strings.HasPrefix(text, "{") {
		t.Errorf("a name without its ending: %s", text)
	}
	if _, text, _ := run(t, "", "spec", "--openrpc"); text != string(spec.OpenRPC()) {
		t.Errorf("spec --openrpc: %s", text)
	}
}

func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "--version"} {
		if code, text, stderr := run(t, "", arg); code != 0 || !strings.HasPrefix(text, "toolhost "+version+" (protocol 1, go1.") || strings.Count(text, "\n") != 1 || stderr != "" {
			t.Errorf("%s: exit code %d: %s%s", arg, code, text, stderr)
		}
	}
	build := &debug.BuildInfo{GoVersion: "go1.26.0", Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.modified", Value: "true"},
	}}
	if got, want := versionLine(build), "toolhost "+version+" (protocol 1, go1.26.0, commit 0123456789ab with changes)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
