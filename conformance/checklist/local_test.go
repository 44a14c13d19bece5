package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// A played is a relay that a test has started, and its pipes.
type played struct {
	*exec.Cmd
	in       io.WriteCloser
	out, err *bufio.Reader
}

// local starts the process of a local server, as a client would.
func local(t *testing.T, opts fakeserver.Options, habits ...string) (*traffic, *played) {
	t.Helper()
	tr := newTraffic(newBreaker(nil))
	s, err := newStage(tr)
	if err != nil {
		t.Fatal(err)
	}
	server := fakeserver.New(opts)
	s.servers["b"] = &actor{"b", append([]string{}, habits...), server}
	s.open()
	path, arg, err := s.command("b")
	if err != nil {
		t.Fatal(err)
	}
	p := &played{Cmd: exec.Command(path, arg)}
	p.Env = append(os.Environ(), "WHO=me")
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := p.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out, p.err = bufio.NewReader(stdout), bufio.NewReader(stderr)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tr.stop()
		s.close()
		server.Close()
		tr.aside.Wait()
		p.Wait()
	})
	return tr, p
}

func (p *played) ask(t *testing.T, line string) string {
	t.Helper()
	if _, err := io.WriteString(p.in, line); err != nil {
		t.Fatal(err)
	}
	answer, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(answer)
}

// has waits until that has happened.
func has(t *testing.T, tr *traffic, pattern, matcher string) {
	t.Helper()
	w := words(pattern)
	p, err := w.pattern()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), stepTime)
	defer cancel()
	if err := tr.wait(ctx, 1, p, matcher); err != nil {
		t.Fatalf("%s: %v; there was %v", pattern, err, tr.all())
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}` + "\n"

func TestLocalServer(t *testing.T) {
	tr, p := local(t, fakeserver.Options{Script: []fakeserver.Row{
		{HTTP: fakeserver.Line, Method: "ping", Reply: fakeserver.Reply{Chunks: []fakeserver.Chunk{{Stderr: "on stderr\n"}, {Text: "as it is\n"}}}},
	}}, "bytewise")
	has(t, tr, "START@b", `{"body":{"env":{"WHO":"me"}}}`)
	var result struct {
		Result struct{ ProtocolVersion string }
	}
	if err := json.Unmarshal([]byte(p.ask(t, initialize)), &result); err != nil || result.Result.ProtocolVersion != "2025-11-25" {
		t.Errorf("%+v, %v", result, err)
	}
	if got := p.ask(t, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n"); got != "as it is" {
		t.Errorf("stdout: %q", got)
	}
	if got, err := p.err.ReadString('\n'); got != "on stderr\n" {
		t.Errorf("stderr: %q, %v", got, err)
	}
	has(t, tr, "LINE ping@b", "")
	p.in.Close()
	has(t, tr, "EOF@b", "")
	has(t, tr, "GONE@b", "")
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

func TestLocalServersThatStay(t *testing.T) {
	tr, p := local(t, fakeserver.Options{}, "ignores-eof", "ignores-term", "leaves")
	has(t, tr, "START@b", "")
	has(t, tr, "START grandchild@b", "")
	p.in.Close()
	has(t, tr, "EOF@b", "")
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Skip(fmt.Sprint("signals need Unix: ", err))
	}
	has(t, tr, "GONE@b", "")
	for _, r := range tr.all() {
		if r.http == gone && r.method == grandchild {
			t.Error("the process that was left behind has gone too")
		}
	}
}

func TestLocalServersThatEnd(t *testing.T) {
	tr, p := local(t, fakeserver.Options{Script: []fakeserver.Row{
		{HTTP: fakeserver.Line, Method: "initialize", Reply: fakeserver.Reply{Status: 3, Drop: true}},
	}})
	if _, err := io.WriteString(p.in, initialize); err != nil {
		t.Fatal(err)
	}
	has(t, tr, "GONE@b", "")
	_ = p.Wait()
	if code := p.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit code %d", code)
	}
}

// When who plays it is gone, so is a relay: nothing of a run stays behind.
func TestRelaysEndWithTheRun(t *testing.T) {
	tr, p := local(t, fakeserver.Options{}, "ignores-eof", "ignores-term")
	has(t, tr, "START@b", "")
	tr.stop()
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case <-ended:
	case <-time.After(stepTime):
		t.Fatal("it is still there")
	}
}
