package main

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// The ends of a child, from protocol.md: what it is told, and how it goes.

const construct = `{"pack":"runvil/mcp","protocol":"1","config":{}}`

// inFlight starts a child with one call that the server will not answer.
func inFlight(t *testing.T, setups ...setup) (*child, *fakeserver.Server) {
	t.Helper()
	server := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern})
	c := start(t, setups...)
	c.construct(map[string]string{"demo": server.URL()})
	c.call("7", "demo", "slow", `{"ms":600000}`)
	ledger(t, server, func(l *fakeserver.Ledger) bool { return l.Outcomes("slow", fakeserver.Running) == 1 })
	return c, server
}

// ledger waits until the server's ledger shows something.
func ledger(t *testing.T, server *fakeserver.Server, shows func(*fakeserver.Ledger) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := server.Wait(ctx, shows); err != nil {
		t.Fatalf("the server did not see it: %v", err)
	}
}

func TestEndOfInput(t *testing.T) {
	t.Run("B231 nothing was said", func(t *testing.T) {
		c := start(t)
		c.end()
		if c.stderr.Len() > 0 {
			t.Errorf("stderr: %s", c.stderr)
		}
	})
	t.Run("an idle pack", func(t *testing.T) {
		server := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Legacy})
		c := start(t)
		c.construct(map[string]string{"demo": server.URL()})
		began := time.Now()
		c.end()
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the end took %v, want at most 3s when the servers obey", took)
		}
		if sessions := server.Ledger().Sessions; sessions != 0 {
			t.Errorf("%d sessions are left at the server", sessions)
		}
	})
	t.Run("S1-21 a call in flight is answered and its server told", func(t *testing.T) {
		c, server := inFlight(t)
		began := time.Now()
		c.end()
		c.answer("7").fails(t, -32800)
		if took := time.Since(began); took < time.Second || took > 5*time.Second {
			t.Errorf("the end took %v, want the 1s that calls get, and at most 5s", took)
		}
		ledger(t, server, func(l *fakeserver.Ledger) bool { return l.Outcomes("slow", fakeserver.Cancelled) == 1 })
	})
	t.Run("a call that ends in time is answered with its result", func(t *testing.T) {
		server := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern})
		c := start(t)
		c.construct(map[string]string{"demo": server.URL()})
		c.call("7", "demo", "slow", `{"ms":300}`)
		c.end()
		if got := c.answer("7").content(t); got != "slept 300 ms" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("B245 many requests at once", func(t *testing.T) {
		c := start(t)
		const n = 1000
		c.request("0", "construct", construct)
		for id := 1; id <= n; id++ {
			c.request(fmt.Sprint(id), "invoke", `{"tool":"mcp/get_dynamic_tools"}`)
		}
		c.end()
		for id := 1; id <= n; id++ {
			if got := c.answer(fmt.Sprint(id)).content(t); got != `{"namespaces":[]}` {
				t.Fatalf("request %d: %s", id, got)
			}
		}
	})
	t.Run("within a line", func(t *testing.T) {
		c := start(t)
		c.request("1", "construct", construct)
		c.write(`{"jsonrpc":"2.0","id":2,"method":"rea`)
		c.stdin.Close()
		if state := c.wait(); state.ExitCode() != 0 {
			t.Errorf("ended with %v", state)
		}
		if r := c.answer("1"); r.Error != nil {
			t.Errorf("construct: %s", r.Error.Message)
		}
	})
}

func TestSignals(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run("S1-21 "+signal.String()+" ends it as end of input does", func(t *testing.T) {
			c, server := inFlight(t)
			began := time.Now()
			c.cmd.Process.Signal(signal)
			if state := c.wait(); state.ExitCode() != 0 {
				t.Errorf("ended with %v, want exit code 0\n%s", state, c.stderr)
			}
			c.answer("7").fails(t, -32800)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("the end took %v", took)
			}
			ledger(t, server, func(l *fakeserver.Ledger) bool { return l.Outcomes("slow", fakeserver.Cancelled) == 1 })
		})
	}
	t.Run("a second SIGTERM ends it at once", func(t *testing.T) {
		c, _ := inFlight(t)
		c.cmd.Process.Signal(syscall.SIGTERM)
		// A request that is turned away shows that the first has arrived.
		for id := 100; ; id++ {
			c.request(fmt.Sprint(id), "ready", `{"id":"mcp"}`)
			if c.answer(fmt.Sprint(id)).Error != nil {
				break
			}
		}
		began := time.Now()
		c.cmd.Process.Signal(syscall.SIGTERM)
		if state := c.exit(); state.ExitCode() != 128+int(syscall.SIGTERM) {
			t.Errorf("ended with %v, want exit code %d", state, 128+int(syscall.SIGTERM))
		}
		if took := time.Since(began); took > 900*time.Millisecond { // an orderly end gives the call a second
			t.Errorf("it took %v", took)
		}
	})
}

func TestBrokenPipes(t *testing.T) {
	t.Run("a broken stdout counts as end of input", func(t *testing.T) {
		c, server := inFlight(t)
		c.stdout.Close()
		c.write(`{"jsonrpc":"2.0","id":8,"method":"ready","params":{"id":"mcp"}}` + "\n")
		began := time.Now()
		if state := c.exit(); state.ExitCode() != 0 {
			t.Errorf("ended with %v, want exit code 0\n%s", state, c.stderr)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the end took %v", took)
		}
		ledger(t, server, func(l *fakeserver.Ledger) bool { return l.Outcomes("slow", fakeserver.Cancelled) == 1 })
	})
	t.Run("B233 the host is killed", func(t *testing.T) {
		c, server := inFlight(t)
		c.stdin.Close()
		c.stdout.Close()
		if state := c.exit(); state.ExitCode() != 0 {
			t.Errorf("ended with %v, want exit code 0\n%s", state, c.stderr)
		}
		ledger(t, server, func(l *fakeserver.Ledger) bool { return l.Outcomes("slow", fakeserver.Cancelled) == 1 })
	})
	t.Run("B249 a stderr that nobody reads", func(t *testing.T) {
		r, w := pipe(t)
		defer r.Close()
		c := start(t, withStderr(w), withArgs("--log-level", "debug"))
		w.Close()
		// Each entry is refused with a warning, of more bytes than a pipe holds.
		const entries = 100
		config := make([]string, entries)
		for i := range config {
			config[i] = fmt.Sprintf(`"%s%d":{"type":"sse","url":"http://127.0.0.1/"}`, strings.Repeat("n", 1000), i)
		}
		for id := range 20 {
			c.request(fmt.Sprint(id), "construct", fmt.Sprintf(`{"pack":"runvil/mcp","id":"p%d","protocol":"1","config":{%s}}`, id, strings.Join(config, ",")))
		}
		for id := range 20 {
			if r := c.answer(fmt.Sprint(id)); r.Error != nil {
				t.Fatalf("construct: %s", r.Error.Message)
			}
		}
		c.end()
	})
	t.Run("B249 a stderr that is closed", func(t *testing.T) {
		r, w := pipe(t)
		c := start(t, withStderr(w), withArgs("--log-level", "debug"))
		w.Close()
		r.Close()
		c.request("1", "construct", `{"pack":"runvil/mcp","protocol":"1","config":{"a":{"type":"sse","url":"http://127.0.0.1/"}}}`)
		if r := c.answer("1"); r.Error != nil {
			t.Fatalf("construct: %s", r.Error.Message)
		}
		c.end()
	})
}

func TestLargeMessages(t *testing.T) {
	server := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern})
	for _, row := range []struct {
		name   string
		size   int
		setups []setup
	}{
		{"10 MB on a line", 10 << 20, []setup{untraced}},
		{"1 MB on a line", 1 << 20, nil},
		{"1 MB in an LSP frame", 1 << 20, []setup{lspFraming}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := start(t, row.setups...)
			c.construct(map[string]string{"demo": server.URL()})
			text := strings.Repeat("0123456789abcde\\n", row.size/17)
			c.call(`"big"`, "demo", "echo", `{"text":"`+text+`"}`)
			if got, want := c.answer(`"big"`).content(t), strings.ReplaceAll(text, `\n`, "\n"); got != want {
				t.Errorf("%d bytes came back of %d", len(got), len(want))
			}
			c.end()
		})
	}
	t.Run("L01 a line over the limit is answered and skipped", func(t *testing.T) {
		c := start(t)
		c.sendLong(`"long"`, 16<<20)
		c.request("2", "construct", construct)
		if r := c.answer("2"); r.Error != nil {
			t.Errorf("the next line: %s", r.Error.Message)
		}
		r := c.answer(`"long"`)
		r.fails(t, -32600)
		if r.Error != nil && r.Error.Data.Limit != "host_line" {
			t.Errorf("the error does not name its limit: %s", r.Error.Message)
		}
		c.end()
	})
}

func TestArgumentsReachServe(t *testing.T) {
	c := start(t, withArgs("--limit", "host_line=64KiB", "--log-format", "json"))
	c.sendLong("1", 64<<10)
	c.answer("1").fails(t, -32600)
	c.request("2", "construct", `{"pack":"runvil/mcp","protocol":"1","config":{"a":{"type":"sse","url":"http://127.0.0.1/"}}}`)
	c.answer("2")
	c.end()
	if got := c.stderr.String(); !strings.HasPrefix(got, `{"time":`) || !strings.Contains(got, `"the MCP server's entry was refused"`) {
		t.Errorf("stderr: %s", got)
	}
}

// TestT77_NoSecretsInACrash: a crash shows no secret and leaves no core file,
// whatever the environment asks for.
func TestT77_NoSecretsInACrash(t *testing.T) {
	const canary = "canary-3b1d9a7e5c2f4860"
	server := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern, Require: map[string]string{"X-Key": canary}})
	c := start(t, withEnv("GOTRACEBACK=crash", "THE_KEY="+canary))
	c.request("1", "construct", fmt.Sprintf(`{"pack":"runvil/mcp","protocol":"1","config":{"demo":{"url":%q,"headers":{"X-Key":"${env:THE_KEY}"}}}}`, server.URL()))
	c.answer("1")
	ledger(t, server, func(l *fakeserver.Ledger) bool { return l.Count("POST", "tools/list") > 0 })
	c.cmd.Process.Signal(syscall.SIGABRT)
	state := c.exit()
	status := state.Sys().(syscall.WaitStatus)
	if !status.Signaled() || status.CoreDump() {
		t.Errorf("ended with %v, want to be ended by a signal without a core", state)
	}
	if !bytes.Contains(c.stderr.Bytes(), []byte("goroutine ")) {
		t.Errorf("there was no crash: %s", c.stderr)
	}
	if bytes.Contains(c.stderr.Bytes(), []byte(canary)) {
		t.Error("stderr holds the secret")
	}
}

// TestStart measures from spawn to the first answer.
func TestStart(t *testing.T) {
	var times []time.Duration
	for range 5 {
		began := time.Now()
		c := start(t)
		c.request("1", "construct", construct)
		c.answer("1")
		times = append(times, time.Since(began))
		c.end()
	}
	slices.Sort(times)
	t.Logf("spawn to the first answer: median %v of %v", times[len(times)/2], times)
	if times[0] > time.Second {
		t.Errorf("the fastest start took %v", times[0])
	}
}

// The product is one static binary: it needs no interpreter and no library.
func TestBinaryIsStatic(t *testing.T) {
	if raceDetector || runtime.GOOS != "linux" {
		t.Log("only the release build for Linux is looked at")
		return
	}
	file, err := elf.Open(binary(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the binary is linked dynamically")
		}
	}
}
