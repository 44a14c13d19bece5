package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

// A trial is one server being tried.
type trial struct {
	variant
	*server
	binary string
	stdin  string // what the server keeps
	secret string // a value of its env, which may come out nowhere
	host   *host  // of the steps that share a child
	marks  int
}

// The variable by which what the servers of a trial have left behind is found: they
// get it from their entry, and give it to what they start.
const markName = "TOOLHOST_LOCAL_TRIAL"

func (t *trial) mark() string { return markName + "=" + t.secret }

// stepLimit bounds a step.
const stepLimit = 30 * time.Second

// tryOne performs every step on one server. What goes wrong before the first is a
// fault of all.
func tryOne(ctx context.Context, folder, binary string, v variant, start commands) outcome {
	o := outcome{variant: v, cells: make([]cell, len(steps))}
	t, err := begin(ctx, folder, binary, v, start)
	if err != nil {
		for i := range o.cells {
			o.cells[i].err = fmt.Errorf("start: %w", err)
		}
		return o
	}
	defer t.letGo()
	for i, s := range steps {
		c := &o.cells[i]
		if c.without = s.without != nil && s.without(t.server); c.without {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, stepLimit)
		began := time.Now()
		c.err = s.try(t, limited)
		c.took = time.Since(began)
		cancel()
	}
	return o
}

func begin(ctx context.Context, folder, binary string, v variant, start commands) (*trial, error) {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	t := &trial{variant: v, binary: binary, stdin: filepath.Join(folder, "stdin"), secret: fmt.Sprintf("s3cr3t-%d-%s", os.Getpid(), v.name())}
	var err error
	if t.server, err = v.make(start, folder, t.stdin, v.era); err != nil {
		return nil, err
	}
	if t.env == nil {
		t.env = map[string]string{}
	}
	t.env[markName] = t.secret
	t.host, err = startHost(binary)
	if err != nil {
		return nil, err
	}
	return t, t.host.construct(ctx, "mcp", t.title, t.entry())
}

// letGo ends what a failed step has left.
func (t *trial) letGo() {
	if t.release != nil {
		t.release()
	}
	kill(t.host.child.PID())
	servers, guards, _ := t.processes()
	for _, p := range slices.Concat(guards, servers) {
		kill(p.PID)
	}
}

// entry is the server's entry in the configuration.
func (t *trial) entry() string {
	entry := map[string]any{
		"command": t.command[0], "args": t.command[1:], "env": t.env, "needsApproval": json.RawMessage(t.rule), "timeoutMs": 20000,
	}
	if t.pin != "" {
		entry["protocolVersion"] = t.pin
	}
	text, err := json.Marshal(entry)
	if err != nil {
		panic(err) // it is ours
	}
	return string(text)
}

// named is the name under which the pack offers one of the server's tools.
func (t *trial) named(id, tool string) string { return id + "/" + t.title + "_" + tool }

func (t *trial) invoke(ctx context.Context, c call) (answer, error) {
	return t.host.invoke(ctx, t.named("mcp", c.name), c.arguments)
}

// next returns a mark for one more call.
func (t *trial) next() string {
	t.marks++
	return fmt.Sprintf("mark-%d-", t.marks)
}

// startSlow starts a call that does not end by itself, and returns when the server
// has it.
func (t *trial) startSlow(ctx context.Context, h *host) (pending, message, error) {
	mark := t.next()
	c, err := t.slow(mark)
	if err != nil {
		return pending{}, message{}, err
	}
	p, err := h.send(t.named("mcp", c.name), c.arguments)
	if err != nil {
		return pending{}, message{}, err
	}
	got, err := t.await(ctx, "tools/call", mark)
	if err != nil {
		return pending{}, message{}, err
	}
	got[0].mark = mark
	return p, got[0], nil
}

// finish lets go what slow calls hold.
func (t *trial) finish() {
	if t.release != nil {
		t.release()
	}
}

// processes returns what runs of the trial: the servers, and the guards of these.
func (t *trial) processes() (servers, guards []child.Process, err error) {
	all, err := child.Marked(t.mark())
	for _, p := range all {
		if p.Command == t.binary+" guard" {
			guards = append(guards, p)
		} else {
			servers = append(servers, p)
		}
	}
	return servers, guards, err
}

// oneServer returns the only server that runs.
func (t *trial) oneServer() (child.Process, error) {
	servers, guards, err := t.processes()
	if err != nil {
		return child.Process{}, err
	}
	if len(servers) != 1 || len(guards) != 1 || servers[0].Command != strings.Join(t.command, " ") {
		return child.Process{}, fmt.Errorf("there should be one server and its guard, and there are %v and %v", servers, guards)
	}
	return servers[0], nil
}

// nothingLeft waits until no process of the trial is left.
func (t *trial) nothingLeft(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for {
		servers, guards, err := t.processes()
		left := slices.Concat(guards, servers)
		if err != nil || len(left) == 0 {
			return err
		}
		if !pause(ctx) {
			return fmt.Errorf("%v later these are left: %v", limit, left)
		}
	}
}

// kill kills a process as kill -9 does.
func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// is checks an answer to the letter.
func (t *trial) is(got answer, want call) error {
	if got.err != nil || got.Content != want.content || string(got.Structured) != want.structured || string(got.Blocks) != want.blocks {
		return fmt.Errorf("%s %s gave %v;\nit must be %q, structured %s, blocks %s", want.name, want.arguments, got, want.content, want.structured, want.blocks)
	}
	if !got.Untrusted {
		return fmt.Errorf("the answer of %s is not marked untrusted", want.name)
	}
	return nil
}

// failed checks that a call failed with that kind, and says so of its delivery and the
// parts in its message.
func failed(got answer, kind, delivered string, parts ...string) error {
	if got.err == nil || got.err.Data.Kind != kind || got.err.Data.Delivered != delivered {
		return fmt.Errorf("it must fail with kind %s, delivered %q: %v", kind, delivered, got)
	}
	var errs []error
	for _, part := range parts {
		if !strings.Contains(got.err.Message, part) {
			errs = append(errs, fmt.Errorf("the error lacks %q: %v", part, got))
		}
	}
	return errors.Join(errs...)
}
