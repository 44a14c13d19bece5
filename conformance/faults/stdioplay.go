package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/conformance/internal/child"
)

// This file starts faulty servers over stdio, and looks at what is left of them.

// The variables in the entry of a local server: a secret, and a mark by which its
// processes and all that these start are found.
const (
	tokenName = "FAULT_TOKEN"
	envSecret = secret + "-env"
	markName  = "FAULT_PLAY"
)

func (p *play) mark() string { return markName + "=" + p.work }

// localPeer is the peer of a server that the child starts: faultserver, or this
// program as a sibling, which keeps what comes on its stdin.
func (p *play) localPeer() (*peer, error) {
	kept := filepath.Join(p.work, "stdin")
	local := &peer{stop: func() {}, seen: func() (seen, error) { return seenOnStdin(kept) }}
	command := append([]string{p.faultserver, "-mode", p.row.mode, "-n", fmt.Sprint(p.n)}, p.fault.in.flags...)
	var err error
	switch {
	case p.fault.servers != nil:
		local.entries, err = p.fault.servers(p)
		return local, err
	case p.fault.act != nil:
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = []string{self, stdioRole, p.fault.act.name, p.era, kept}
	}
	local.entries, err = faultyEntry(map[string]any{
		"command": command[0], "args": command[1:], "env": map[string]string{tokenName: envSecret, markName: p.work},
	})
	return local, err
}

// seenOnStdin is what came to a sibling, in all its lives. faultserver keeps nothing.
func seenOnStdin(file string) (seen, error) {
	s := seen{Methods: map[string]int{}}
	text, err := os.ReadFile(file)
	if err != nil {
		if os.IsNotExist(err) {
			err = nil
		}
		return s, err
	}
	for line := range bytes.Lines(text) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(line, &m); err != nil && bytes.HasSuffix(line, []byte("\n")) {
			return s, fmt.Errorf("the server got a line that is no message: %w: %.200q", err, line)
		}
		s.Methods[m.Method]++
		s.Requests = append(s.Requests, request{Verb: fakeserver.Line, Body: string(line), RPC: m.Method, ID: string(m.ID)})
	}
	s.Exec = s.Methods["tools/call"]
	return s, nil
}

// starts returns how many times the server has been started: each one says so in its
// first line on stderr.
func (p *play) starts() (n int) {
	for line := range strings.Lines(p.log.String()) {
		if strings.Contains(line, "the server wrote to stderr") && strings.Contains(line, `\"pid\"`) {
			n++
		}
	}
	return n
}

// startedOnce checks that nothing has made the child start the server again.
func (p *play) startedOnce() {
	p.want(p.starts() == 1, "the server was started %d times", p.starts())
}

// restarted waits until the child has connected to the server again.
func (p *play) restarted() {
	p.statusOf("faulty", "reconnecting")
	p.statusOf("faulty", "ready")
}

// statusOf waits until a server is of a status, by what the host was notified of last.
func (p *play) statusOf(server, want string) {
	for deadline := time.Now().Add(2 * atOnce); ; p.pause(5 * time.Millisecond) {
		said, mark := p.said.String(), `"name":`+quote(server)+`,"status":"`
		word := ""
		if i := strings.LastIndex(said, mark); i >= 0 {
			word, _, _ = strings.Cut(said[i+len(mark):], `"`)
		}
		if p.pack.statuses[word] == want {
			return
		}
		if time.Now().After(deadline) || p.ctx.Err() != nil {
			p.want(false, "the server %q never was %q", server, want)
			return
		}
	}
}

// nothingRuns checks that no process of the server is left, nor what it has started.
func (p *play) nothingRuns() {
	left, err := child.Marked(p.mark())
	p.fail(err)
	p.want(len(left) == 0, "after the pack has closed these run: %v", left)
}
