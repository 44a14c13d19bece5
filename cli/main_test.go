package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/stdiomcp"
)

// childMode, in the environment, makes the test binary a child of the demo: an
// honest one, or one of the liars. childCopy names a folder for a copy of what
// went through its stdin and stdout.
const (
	childMode = "TOOLHOST_TEST_CHILD"
	childCopy = "TOOLHOST_TEST_COPY"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "guard" {
		if err := stdiomcp.Guard(); err != nil {
			panic(err)
		}
		return
	}
	if len(os.Args) == 3 && os.Args[1] == roleLocal {
		localKinds[os.Args[2]]()
		return
	}
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0")) // for guards
	mode := os.Getenv(childMode)
	if mode == "" {
		os.Exit(m.Run())
	}
	l, ok := liars[mode]
	if !ok {
		panic("there is no liar " + mode)
	}
	os.Exit(lie(l, os.Getenv(childCopy)))
}

// child returns the command of a child in that mode.
func child(t *testing.T, mode string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	// With the race detector a program sleeps for a second before it exits.
	cmd.Env = append(os.Environ(), childMode+"="+mode, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// A liar changes what an honest child writes, line by line, and how it ends.
type liar struct {
	line func(line string) string // nil for the line as it is; "" drops it
	end  int                      // the exit code
	want string                   // what the demo must say of it; "" for an honest one
}

var liars = map[string]liar{
	"honest":             {},
	"odd but honest":     {line: replace(`{"jsonrpc":"2.0",`, `{ "\u006asonrpc" :"2.0", `)},
	"another sum":        {line: replace(`"content":"42"`, `"content":"43"`), want: `answered "43"`},
	"trusted":            {line: replace(`"content":"42","untrusted":true`, `"content":"42"`), want: "untrusted: false"},
	"another protocol":   {line: replace(`"protocol":"1"`, `"protocol":"2"`), want: `protocol "2"`},
	"a third tool":       {line: replace(`"tools":[`, `"tools":[{"name":"mcp/extra"},`), want: "mcp/extra"},
	"another schema":     {line: replace(`\"inputSchema\":{`, `\"inputSchema\":{\"x\":1,`), want: "the schema of add"},
	"never ready":        {line: replace(`"status":"ready"`, `"status":"loading"`), want: `has the status "loading"`},
	"silent at a call":   {line: drop(`"id":5,`), want: "request 5 has no answer"},
	"answers a cancel":   {line: replace(`"code":-32800`, `"code":-32603`), want: "request 6 was answered with the error -32603"},
	"no kind":            {line: replace(`"kind":"backend"`, `"kind":"none"`), want: `kind "none"`},
	"success at failure": {line: replace(`"id":7,"error":`, `"id":7,"result":{"content":""},"was":`), want: "request 7 was answered with a result"},
	"two answers":        {line: twice(`"id":8,`), want: "request 8 twice"},
	"the wrong id":       {line: replace(`"id":5,`, `"id":55,`), want: "request 55, which is not open"},
	"noise on stdout":    {line: func(line string) string { return line + "\nlistening on port 3000" }, want: "a line that is no message"},
	"exit code 1":        {end: 1, want: "exit status 1"},
}

func replace(old, new string) func(string) string {
	return func(line string) string { return strings.ReplaceAll(line, old, new) }
}

func drop(what string) func(string) string {
	return func(line string) string {
		if strings.Contains(line, what) {
			return ""
		}
		return line
	}
}

func twice(what string) func(string) string {
	return func(line string) string {
		if strings.Contains(line, what) {
			return line + "\n" + line
		}
		return line
	}
}

// lie serves as toolhost does and passes what it writes through the liar.
func lie(l liar, folder string) int {
	stdin, stdout := io.Reader(os.Stdin), io.Writer(os.Stdout)
	if folder != "" {
		stdin = io.TeeReader(stdin, create(folder+"/stdin"))
		stdout = io.MultiWriter(stdout, create(folder+"/stdout"))
	}
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- Run(context.Background(), []string{"serve"}, stdin, w, os.Stderr)
		w.Close()
	}()
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		if l.line != nil && line != "" {
			line = l.line(line)
		}
		if line != "" {
			fmt.Fprintln(stdout, line)
		}
		if err != nil {
			break
		}
	}
	if c := <-code; l.end == 0 {
		return c
	}
	return l.end
}

func create(name string) *os.File {
	f, err := os.Create(name)
	if err != nil {
		panic(err)
	}
	return f
}

// run runs the command line and returns what it printed.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = Run(t.Context(), args, strings.NewReader(stdin), &out, &errOut)
	return code, out.String(), errOut.String()
}
