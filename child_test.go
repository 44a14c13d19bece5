package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/spec"
	"github.com/toolhost/toolhost/spec/speccheck"
)

// patience is far more than anything here takes. It turns a hang into a failure.
const patience = 30 * time.Second

var buildDir string

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == roleLocalEverything {
		localEverything()
		return
	}
	dir, err := os.MkdirTemp("", "toolhost")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	// A program with the race detector sleeps for a second before it exits.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

var build = sync.OnceValues(func() (string, error) {
	name := filepath.Join(buildDir, "toolhost")
	build := exec.Command("go", "build", "-o", name)
	if raceDetector {
		build.Args = append(build.Args, "-race")
	} else {
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	}
	build.Args = append(build.Args, ".")
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return name, nil
})

// binary returns the path of the program, built once.
func binary(t testing.TB) string {
	t.Helper()
	name, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// A child is a real `toolhost serve` behind pipes, and the host's end of them.
// Every message in both directions is held against the protocol.
type child struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *bytes.Buffer // complete once the child has ended; nil when the test reads it
	lsp    bool
	trace  *speccheck.Checker // nil for none

	lines   chan []byte // messages of the child; closed at the end of its stdout
	waiting map[string][]byte
	reading sync.WaitGroup
	ended   bool
}

// A setup changes how a child is started.
type setup func(*child)

func lspFraming(c *child) { c.lsp = true }

// untraced holds nothing against the protocol: for messages that are too large
// to validate in passing.
func untraced(c *child) { c.trace = nil }

func withArgs(args ...string) setup {
	return func(c *child) { c.cmd.Args = append(c.cmd.Args, args...) }
}

func withEnv(env ...string) setup {
	return func(c *child) { c.cmd.Env = append(os.Environ(), env...) }
}

// withStderr gives the child that file for its stderr.
func withStderr(f *os.File) setup {
	return func(c *child) { c.stderr, c.cmd.Stderr = nil, f }
}

// start starts a child, which has ended when the test has.
func start(t testing.TB, setups ...setup) *child {
	t.Helper()
	trace, err := speccheck.New()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{
		t:       t,
		cmd:     exec.Command(binary(t), "serve"),
		stderr:  &bytes.Buffer{},
		trace:   trace,
		lines:   make(chan []byte, 1<<16),
		waiting: map[string][]byte{},
	}
	c.cmd.Stderr = c.stderr
	for _, setup := range setups {
		setup(c)
	}
	childIn, hostOut := pipe(t)
	hostIn, childOut := pipe(t)
	c.cmd.Stdin, c.cmd.Stdout = childIn, childOut
	c.stdin, c.stdout = hostOut, hostIn
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	childIn.Close()
	childOut.Close()
	c.reading.Go(c.read)
	t.Cleanup(func() {
		if !c.ended {
			c.cmd.Process.Kill()
			c.cmd.Wait()
		}
		c.stdin.Close()
		c.stdout.Close()
		c.reading.Wait()
	})
	return c
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// read takes the child's messages and holds them against the protocol.
func (c *child) read() {
	defer close(c.lines)
	for in := bufio.NewReader(c.stdout); ; {
		message, err := c.frame(in)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed):
			return
		case err != nil:
			c.t.Errorf("the child's stdout: %v", err)
			return
		}
		if err := c.note(spec.ChildToHost, message); err != nil {
			c.t.Errorf("the child wrote what the protocol does not allow: %v\n%.500s", err, message)
		}
		c.lines <- message
	}
}

// note holds a message against the protocol.
func (c *child) note(direction string, message []byte) error {
	if c.trace == nil {
		return nil
	}
	return c.trace.Trace(direction, message)
}

// frame reads one message.
func (c *child) frame(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		if len(line) > 0 {
			err = fmt.Errorf("ends within the line %.100q: %w", line, io.ErrUnexpectedEOF)
		}
		return nil, err
	}
	if !c.lsp {
		return bytes.TrimSuffix(line, []byte("\n")), nil
	}
	length, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(string(line), "Content-Length: "), "\r\n"))
	if err != nil {
		return nil, fmt.Errorf("no Content-Length: %.100q", line)
	}
	if blank, err := in.ReadString('\n'); err != nil || blank != "\r\n" {
		return nil, fmt.Errorf("no blank line after the header: %.100q, %v", blank, err)
	}
	message := make([]byte, length)
	_, err = io.ReadFull(in, message)
	return message, err
}

// write sends bytes as they are.
func (c *child) write(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.stdin, text); err != nil {
		c.t.Fatalf("the child does not read: %v", err)
	}
}

// sendLong sends a request on a line of more than size bytes.
func (c *child) sendLong(id string, size int) {
	c.t.Helper()
	// A short one stands for it in the trace, since validating takes a while.
	if err := c.note(spec.HostToChild, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"ready","params":{"id":"x"}}`, id)); err != nil {
		c.t.Fatal(err)
	}
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ready","params":{"id":"%s"}}`+"\n", id, strings.Repeat("x", size)))
}

// send sends one message that the protocol allows.
func (c *child) send(message string) {
	c.t.Helper()
	if err := c.note(spec.HostToChild, []byte(message)); err != nil {
		c.t.Fatalf("the test writes what the protocol does not allow: %v\n%.500s", err, message)
	}
	if c.lsp {
		c.write(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(message), message))
	} else {
		c.write(message + "\n")
	}
}

func (c *child) request(id, method, params string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
}

// A reply is the child's answer to one request.
type reply struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    struct {
			Kind, Limit string
			Untrusted   bool
		}
	}
}

// content returns the text of the result of an invoke.
func (r *reply) content(t testing.TB) string {
	t.Helper()
	var result struct{ Content *string }
	if r.Error != nil {
		t.Fatalf("request %s failed: %d %s", r.ID, r.Error.Code, r.Error.Message)
	}
	if err := json.Unmarshal(r.Result, &result); err != nil || result.Content == nil {
		t.Fatalf("the result has no content: %.500s", r.Result)
	}
	return *result.Content
}

// fails reports an answer that is not the error of that code.
func (r *reply) fails(t testing.TB, code int) {
	t.Helper()
	switch {
	case r.Error == nil:
		t.Errorf("request %s has the result %.200s, want the error %d", r.ID, r.Result, code)
	case r.Error.Code != code:
		t.Errorf("request %s failed with %d (%s), want %d", r.ID, r.Error.Code, r.Error.Message, code)
	}
}

// answer waits for the answer to the request of that id, as it was written.
func (c *child) answer(id string) *reply {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		if message, ok := c.waiting[id]; ok {
			delete(c.waiting, id)
			r := &reply{}
			if err := json.Unmarshal(message, r); err != nil {
				c.t.Fatal(err)
			}
			return r
		}
		select {
		case message, ok := <-c.lines:
			if !ok {
				c.t.Fatalf("the child ended without an answer to %s", id)
			}
			var r reply
			if err := json.Unmarshal(message, &r); err != nil {
				c.t.Fatalf("%v: %.200s", err, message)
			}
			if r.Method == "" {
				c.waiting[string(r.ID)] = message
			}
		case <-timeout:
			c.t.Fatalf("no answer to %s within %v", id, patience)
		}
	}
}

// construct makes the pack over the servers, by name, and waits until they are
// ready.
func (c *child) construct(servers map[string]string) {
	c.t.Helper()
	var config []string
	for name, url := range servers {
		config = append(config, fmt.Sprintf(`%q:{"url":%q}`, name, url))
	}
	c.request(`"construct"`, "construct", fmt.Sprintf(`{"pack":"runvil/mcp","protocol":%q,"config":{%s}}`, spec.Version(), strings.Join(config, ",")))
	if r := c.answer(`"construct"`); r.Error != nil {
		c.t.Fatalf("construct: %s", r.Error.Message)
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		c.request(`"ready"`, "ready", `{"id":"mcp"}`)
		var state struct {
			Servers []struct{ Status, Error string }
		}
		if err := json.Unmarshal(c.answer(`"ready"`).Result, &state); err != nil {
			c.t.Fatal(err)
		}
		loading := 0
		for _, s := range state.Servers {
			switch s.Status {
			case "loading":
				loading++
			case "error":
				c.t.Fatalf("a server failed: %s", s.Error)
			}
		}
		if loading == 0 {
			return
		}
	}
	c.t.Fatal("the servers are still loading")
}

// call sends an invoke of call_dynamic_tool.
func (c *child) call(id, namespace, tool, arguments string) {
	c.t.Helper()
	c.request(id, "invoke", fmt.Sprintf(`{"tool":"mcp/call_dynamic_tool","arguments":{"namespace":%q,"toolName":%q,"arguments":%s}}`, namespace, tool, arguments))
}

// wait returns how the child ended, which it must do by itself, with every
// request answered.
func (c *child) wait() *os.ProcessState {
	c.t.Helper()
	state := c.exit()
	if c.trace != nil {
		if open := c.trace.Open(spec.HostToChild); len(open) > 0 {
			c.t.Errorf("the child ended without an answer to %q", open)
		}
	}
	return state
}

// exit is wait for a child that may leave requests open.
func (c *child) exit() *os.ProcessState {
	c.t.Helper()
	done := make(chan struct{})
	go func() {
		// Errors of the exit code are in ProcessState.
		c.cmd.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patience):
		c.t.Errorf("the child has not ended after %v", patience)
		c.cmd.Process.Kill()
		<-done
	}
	c.ended = true
	c.reading.Wait()
	return c.cmd.ProcessState
}

// end closes the child's stdin and expects exit code 0.
func (c *child) end() {
	c.t.Helper()
	c.stdin.Close()
	if state := c.wait(); state.ExitCode() != 0 {
		c.t.Errorf("the child ended with %v, want exit code 0\n%s", state, c.stderr)
	}
}
