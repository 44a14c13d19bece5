package main

import (
	"context"
	"encoding/json"
	"fmt"
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
	for _, example := range []struct {
		language, program, file string
		of                      int // how many examples of the language there are
	}{
		{"python", "python3", "host.py", 2},
		{"js", "node", "host.mjs", 1},
	} {
		t.Run(example.language, func(t *testing.T) {
			path := interpreter(t, example.program)
			code := blocks(t, example.language)
			if len(code) != example.of {
				t.Fatalf("README.md has %d examples", len(code))
			}
			out, stderr, err := runExample(t, dir, path, example.file, code[0], "")
			const want = `{"namespaces":[{"namespace":"everything","status":"ready","tools":["echo"]}]}` + "\nEcho: hello\n"
			if err != nil || out != want || stderr != "" {
				t.Errorf("%v\nstdout %q\nwant   %q\nstderr %s", err, out, want, stderr)
			}
		})
	}
}

// runExample runs a program of README.md in dir, with that stdin, until it ends.
func runExample(t *testing.T, dir, interpreter, file, code, stdin string) (stdout, stderr string, err error) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter, file)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(binary(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stdin = strings.NewReader(stdin)
	var errOut strings.Builder
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	return strings.ReplaceAll(string(out), "\r\n", "\n"), errOut.String(), err
}

// roleLocalEverything, as its argument, makes the test binary the local server that
// README.md names.
const roleLocalEverything = "local-everything"

// localEverything is the tool of that server which asks its user, as far as the
// example goes.
func localEverything() {
	s := fakeserver.New(fakeserver.Options{
		Era:  fakeserver.Legacy,
		Name: "mcp-servers/everything",
		Tools: []fakeserver.Tool{{
			Name:       "trigger-elicitation-request",
			Definition: fakeserver.Define("trigger-elicitation-request", "Trigger a request from the server for user elicitation", `{"type":"object"}`),
			Asks: []fakeserver.Round{{"request": `{"message":"Please provide inputs","requestedSchema":{"type":"object",` +
				`"properties":{"name":{"type":"string"},"integer":{"type":"integer","default":42}},"required":["name"]}}`}},
		}},
	})
	defer s.Close()
	s.ServeStdio()
}

// TestReadmeHostThatAnswers runs the host of README.md that answers questions, with
// the mcp.json beside it, save for the command and the address.
func TestReadmeHostThatAnswers(t *testing.T) {
	const command, address = `"npx", "args": ["-y", "@modelcontextprotocol/server-everything"]`, "https://docs.example/mcp"
	python := interpreter(t, "python3")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	code, config := blocks(t, "python")[1], blocks(t, "json")[1]
	if strings.Count(config, command) != 1 || strings.Count(config, address) != 1 {
		t.Fatalf("the second mcp.json of README.md does not name %s and %s", command, address)
	}
	config = strings.Replace(config, command, fmt.Sprintf(`%q, "args": [%q]`, self, roleLocalEverything), 1)
	config = strings.Replace(config, address, everything(t).URL(), 1)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	const list = "['mcp/everything_trigger-elicitation-request']\n"
	out, stderr, err := runExample(t, dir, python, "host.py", code, "yes\nAnn\n")
	if want := list + `{"request":{"action":"accept","content":{"name":"Ann","integer":42}}}` + "\n"; err != nil || out != want {
		t.Errorf("%v\nstdout %q\nwant   %q\nstderr %s", err, out, want, stderr)
	}
	if want := "Run mcp/everything_trigger-elicitation-request with {}? (yes/no) everything: Please provide inputs\nname: "; stderr != want {
		t.Errorf("the user is asked %q, want %q", stderr, want)
	}
	out, stderr, err = runExample(t, dir, python, "host.py", code, "no\n")
	if err == nil || out != list || !strings.Contains(stderr, "was not approved") {
		t.Errorf("without a yes: %v\nstdout %q\nstderr %s", err, out, stderr)
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
