package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// blocks returns the code blocks of README.md in that language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, match := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		found = append(found, match[1])
	}
	return found
}

// interpreter returns the path of a language's program. A machine without it may
// skip the test; CI may not.
func interpreter(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("%s is not on this machine", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// everything stands for the server that README.md names: its echo tool, in the
// bytes that it answers.
func everything(t *testing.T) *fakeserver.Server {
	return fakeserver.StartTest(t, fakeserver.Options{
		Era:  fakeserver.Legacy,
		Name: "mcp-servers/everything",
		Tools: []fakeserver.Tool{{
			Name:       "echo",
			Definition: fakeserver.Define("echo", "Echoes back the input string", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`),
			Run: func(_ context.Context, call *fakeserver.Call) fakeserver.Output {
				var message string
				if err := call.Arg("message", &message); err != nil {
					t.Error(err)
				}
				return fakeserver.Text("Echo: " + message)
			},
		}},
	})
}

// TestReadmeExamples runs the programs of README.md as they stand there, with
// the mcp.json that stands there, save for the port.
func TestReadmeExamples(t *testing.T) {
	const documented = "http://localhost:3001/mcp"
	dir := t.TempDir()
	server := everything(t)
	config := blocks(t, "json")[0]
	if !strings.Contains(config, documented) {
		t.Fatalf("the first mcp.json of README.md does not name %s", documented)
	}
	config = strings.Replace(config, documented, server.URL(), 1)
	if err := os.WriteFile(filepath.Join(dir, "mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, example := range []struct{ language, program, file string }{
		{"python", "python3", "host.py"},
		{"js", "node", "host.mjs"},
	} {
		t.Run(example.language, func(t *testing.T) {
			path := interpreter(t, example.program)
			code := blocks(t, example.language)
			if len(code) != 1 {
				t.Fatalf("README.md has %d examples", len(code))
			}
			if err := os.WriteFile(filepath.Join(dir, example.file), []byte(code[0]), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, path, example.file)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(binary(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			const want = `{"namespaces":[{"namespace":"everything","status":"ready","tools":["echo"]}]}` + "\nEcho: hello\n"
			if got := strings.ReplaceAll(string(out), "\r\n", "\n"); err != nil || got != want || stderr.Len() > 0 {
				t.Errorf("%v\nstdout %q\nwant   %q\nstderr %s", err, got, want, &stderr)
			}
		})
	}
}

// TestReadmeNames holds the rest of README.md against what is there.
func TestReadmeNames(t *testing.T) {
	for _, text := range blocks(t, "json") {
		var config struct {
			McpServers map[string]struct{ URL string }
		}
		if err := json.Unmarshal([]byte(text), &config); err != nil || len(config.McpServers) == 0 {
			t.Errorf("%v: %s", err, text)
		}
	}
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(match[1]); err != nil {
			t.Errorf("README.md links to what does not exist: %v", err)
		}
	}
	for _, match := range regexp.MustCompile("toolhost ([a-z]+) ").FindAllStringSubmatch(strings.Join(blocks(t, "sh"), "\n"), -1) {
		if out, err := exec.Command(binary(t), match[1], "--help").CombinedOutput(); err != nil {
			t.Errorf("toolhost %s: %v\n%s", match[1], err, out)
		}
	}
}
