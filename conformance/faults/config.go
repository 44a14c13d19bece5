package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/conformance/internal/child"
	"github.com/toolhost/toolhost/spec/speccheck"
)

// This file plays the area "mcp.json": faultserver prints a file, and a host gives
// its servers to our child, byte for byte.

// secret may appear in no output.
const secret = "S3CR3T-d41d8cd9"

// The environment of the child in these rows; FAULT_URL is added.
var configEnv = []string{
	"FAULT_SET=" + secret + "-set", "FAULT_A=" + secret + "-a", "FAULT_B=" + secret + "-b", "FAULT_NESTED=${env:FAULT_B}",
	"HOME=/home/somebody",
}

// A configRun is what came of a file.
type configRun struct {
	t       *trial
	servers map[string]serverStatus // as `ready` shows them in the end
	headers map[string][]string     // the values of each header that came to the server, without doubles
	log     string
}

type serverStatus struct{ Name, Status, Error string }

// status checks the end state of a server and returns its error.
func (c *configRun) status(name, want string) string {
	got, ok := c.servers[name]
	c.t.want(ok, "the server %q is not shown", name)
	c.t.want(!ok || got.Status == want, "the server %q is %q (%s), not %q", name, got.Status, got.Error, want)
	return got.Error
}

// refused checks that a server is refused with a reason that holds the parts, and
// that one warning says so.
func (c *configRun) refused(name string, parts ...string) {
	reason := c.status(name, "error")
	for _, part := range parts {
		c.t.want(strings.Contains(reason, part), "the server %q: %q is not in the reason %q", name, part, reason)
	}
	c.t.want(strings.Contains(c.log, "the MCP server's entry was refused"), "no warning on stderr")
}

// sent checks the values of a header that came to the server.
func (c *configRun) sent(header string, values ...string) {
	got := slices.Sorted(slices.Values(c.headers[header]))
	c.t.want(slices.Equal(got, slices.Sorted(slices.Values(values))), "the header %s came as %q, not %q", header, got, values)
}

// config prints the file of the row, constructs the pack over its servers, waits
// until none is loading, and lets check read the same file.
func (t *trial) config() *configRun {
	c := &configRun{t: t, servers: map[string]serverStatus{}, headers: map[string][]string{}}
	s, err := fakeserver.Start(fakeserver.Options{Era: fakeserver.Modern})
	if t.fail(err) {
		return c
	}
	defer s.Close()
	file, err := exec.CommandContext(t.ctx, t.faultserver, "-mode", t.row.mode, "-url", s.URL(), "-secret", secret).Output()
	if t.fail(err) {
		return c
	}
	env := append(slices.Clone(configEnv), "FAULT_URL="+s.URL())
	var config struct{ McpServers json.RawMessage }
	if t.fail(json.Unmarshal(file, &config)) {
		return c
	}
	output, err := c.construct(config.McpServers, env)
	if t.fail(err) {
		return c
	}
	for _, request := range s.Ledger().Requests {
		for name, values := range request.Header {
			if value := strings.Join(values, ","); !slices.Contains(c.headers[name], value) {
				c.headers[name] = append(c.headers[name], value)
			}
		}
	}
	_, checked := t.check(file, env)
	for where, text := range map[string]string{"the answers": output, "the log": c.log, "the output of check": checked} {
		for line := range strings.Lines(text) {
			t.want(!strings.Contains(line, secret), "a secret in %s: %s", where, line)
		}
	}
	return c
}

// construct gives the servers to a child and returns all that it answered.
func (c *configRun) construct(config json.RawMessage, env []string) (output string, err error) {
	var log lockedText
	checker, err := speccheck.New()
	if err != nil {
		return "", err
	}
	ch, err := child.Start(c.t.toolhost, child.Options{Env: env, Stderr: &log, Check: checker.Trace})
	if err != nil {
		return "", err
	}
	defer func() {
		err = errors.Join(err, ch.Stop(5*time.Second))
		c.t.none("messages that no host should see", ch.Strays())
		c.log = log.String()
	}()
	call := func(method, params string) json.RawMessage {
		reply, callErr := ch.Call(c.t.ctx, method, params)
		if callErr == nil && reply.Error != nil {
			callErr = reply.Error
		}
		err = errors.Join(err, callErr)
		output += string(reply.Result) + "\n"
		return reply.Result
	}
	call("construct", `{"pack":"runvil/mcp","config":`+string(config)+`}`)
	for loading := true; loading && err == nil; {
		var ready struct{ Servers []serverStatus }
		err = errors.Join(err, json.Unmarshal(call("ready", `{"id":"mcp"}`), &ready))
		loading = false
		for _, server := range ready.Servers {
			c.servers[server.Name] = server
			loading = loading || server.Status == "loading"
		}
		if loading {
			select {
			case <-time.After(10 * time.Millisecond):
			case <-c.t.ctx.Done():
				return output, fmt.Errorf("servers are still loading: %v", ready.Servers)
			}
		}
	}
	call("invoke", `{"tool":"mcp/get_dynamic_tools"}`)
	for _, name := range slices.Sorted(maps.Keys(c.servers)) {
		// A server that is not ready answers with an error, which must be as safe.
		quoted, quoteErr := json.Marshal(name)
		err = errors.Join(err, quoteErr)
		reply, callErr := ch.Call(c.t.ctx, "invoke", `{"tool":"mcp/get_dynamic_tools","arguments":{"namespace":`+string(quoted)+`}}`)
		err = errors.Join(err, callErr)
		output += fmt.Sprintf("%s %v\n", reply.Result, reply.Error)
	}
	return output, err
}

// check runs `toolhost check` on a file and returns its exit code and output.
func (t *trial) check(file []byte, env []string) (code int, output string) {
	name := filepath.Join(t.work, "mcp.json")
	t.fail(os.WriteFile(name, file, 0o600))
	cmd := exec.CommandContext(t.ctx, t.toolhost, "check", "--config", name, "--timeout", "2s")
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.fail(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// lockedText collects what a process writes.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// configRows are the rows of the area.
func configRows() []row {
	const notSupported = "local MCP servers (command) are not supported yet"
	judged := func(id, mode, must string, judge func(*configRun)) row {
		return row{id, mode, "", must, func(t *trial) {
			c := t.config()
			if len(t.faults) == 0 {
				judge(c)
			}
		}}
	}
	return []row{
		judged("B189", "cfg-env-vars", "only ${env:NAME} and ${userHome} are replaced, an unset one refuses its entry and is named, all else passes unchanged", func(c *configRun) {
			c.status("good", "ready")
			c.status("in_url", "ready")
			c.refused("unset", "FAULT_UNSET_9Z")
			c.sent("X-Set", "Bearer "+secret+"-set")
			c.sent("X-Brace", "${FAULT_SET}")
			c.sent("X-Dollar", "$FAULT_SET")
			c.sent("X-Percent", "%FAULT_SET%")
			c.sent("X-Home", "/home/somebody/x")
			c.sent("X-Other", "${workspaceFolder}")
			c.sent("Authorization")
		}),
		judged("B191", "cfg-env-odd", "one pass, no second expansion, broken forms unchanged", func(c *configRun) {
			for _, name := range []string{"empty", "two", "default", "open", "dollar", "nested", "space", "upper"} {
				c.status(name, "ready")
			}
			c.sent("X", "${env:}", secret+"-a"+secret+"-b", "${env:FAULT_A:-x}", "${env:FAULT_A", "$"+secret+"-a",
				"${env:FAULT_B}", "${env: FAULT_A }", "${ENV:FAULT_A}")
		}),
		judged("B193", "cfg-both-neither", "both, neither and empty ones are refused with a reason, the good one loads", func(c *configRun) {
			c.status("good", "ready")
			c.refused("both", "url", "command")
			for _, name := range []string{"neither", "empty_url", "empty_command", "empty"} {
				c.refused(name, "url")
			}
		}),
		{"B195", "cfg-jsonc", "", "a clear error with the line, or accepted; never an empty list without a word", func(t *trial) {
			s, err := fakeserver.Start(fakeserver.Options{Era: fakeserver.Modern})
			if t.fail(err) {
				return
			}
			defer s.Close()
			file, err := exec.CommandContext(t.ctx, t.faultserver, "-mode", t.row.mode, "-url", s.URL()).Output()
			if t.fail(err) {
				return
			}
			code, output := t.check(file, nil)
			accepted := code == 0 && strings.Contains(output, "good") && strings.Contains(output, "ready")
			explained := code != 0 && strings.Contains(output, "mcp.json:2:") && strings.Contains(output, "comment")
			t.want(accepted || explained, "code %d, %s", code, output)
		}},
		judged("B197", "cfg-dup-keys", "names match in exact case; an entry with a doubled name or member is refused, the others load", func(c *configRun) {
			c.refused("twice", "twice")
			c.refused("dup_url", "url")
			c.status("case", "ready")
			c.status("fold", "ready")
			c.refused("only_upper", "url")
			c.sent("X")
		}),
		judged("B199", "cfg-header-values", "an illegal name or value refuses its entry and names the key, the value is never printed", func(c *configRun) {
			for _, name := range []string{"v_tail", "v_crlf", "v_nul", "v_long"} {
				c.refused(name, "Authorization")
			}
			for _, name := range []string{"n_a b", "n_", "n_x:y", "n_ü", "n_new\nline"} {
				c.refused(name, "header")
			}
			// RFC 9110 section 5.5: obs-text may be sent, spaces at the ends are no part
			// of a value. Either rule is documented; none may print it.
			for _, name := range []string{"v_latin", "v_blank"} {
				_, ok := c.servers[name]
				c.t.want(ok, "the server %q is not shown", name)
			}
			c.sent("X-Injected")
		}),
		judged("B201", "cfg-extra-fields", "fields of other clients are ignored", func(c *configRun) {
			c.status("good", "ready")
			c.status("off", "ready") // S1-10: unknown fields are ignored
		}),
		judged("B203", "cfg-bad-command", "each local entry is refused with the fixed text at once, the good one loads", func(c *configRun) {
			c.status("good", "ready")
			for _, name := range []string{"missing", "not_exec", "bad_cwd", "spaces"} {
				c.refused(name, notSupported)
			}
		}),
	}
}
