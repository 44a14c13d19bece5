package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

// A peer is a running MCP server with what the drivers should find there.
type peer struct {
	spec
	URL    string
	Ledger string
	Tools  []directTool // what it lists when it is asked without toolhost

	cmd   *exec.Cmd
	stdin io.Closer // the server ends when it is closed
}

type peers []peer

// startLimit bounds the start of one server.
const startLimit = 30 * time.Second

// startPeers installs, builds and starts the servers. What it has started is
// returned with an error too, to be stopped.
func startPeers(ctx context.Context, here, work, only string) (peers, error) {
	everything, err := installEverything(ctx, filepath.Join(here, "npm"))
	if err != nil {
		return nil, err
	}
	gosdk, err := child.GoBuild(ctx, filepath.Join(here, "gosdk"), filepath.Join(work, "gosdk"))
	if err != nil {
		return nil, err
	}
	var started peers
	for _, s := range specs(everything, gosdk) {
		if only != "" && s.Name != only {
			continue
		}
		p, err := startPeer(ctx, s)
		if p.cmd != nil {
			started = append(started, p)
		}
		if err != nil {
			return started, fmt.Errorf("start %s: %w", s.Name, err)
		}
	}
	if len(started) == 0 {
		return nil, fmt.Errorf("no server is called %q", only)
	}
	return started, nil
}

// installEverything installs the npm packages by their lock file and returns the
// command that starts server-everything over Streamable HTTP.
func installEverything(ctx context.Context, folder string) ([]string, error) {
	node, err := findNode(ctx)
	if err != nil {
		return nil, err
	}
	npm, err := findTool(ctx, "npm", "npm, which comes with Node.js", "--version")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, npm, "ci")
	cmd.Dir = folder
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm ci: %w\n%s", err, text)
	}
	return []string{
		node, "--import", filepath.Join(folder, "preload.mjs"),
		filepath.Join(folder, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js"), "streamableHttp",
	}, nil
}

// startPeer starts one server, waits for the line with its address and asks it
// for its tools.
func startPeer(ctx context.Context, s spec) (p peer, err error) {
	p.spec = s
	cmd := exec.Command(s.command[0], s.command[1:]...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return p, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return p, err
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return p, err
	}
	p.cmd, p.stdin = cmd, stdin

	address := make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		found := false
		for lines.Scan() { // to the end, for a server that logs here must not block
			var line struct{ URL, Ledger string }
			if !found && json.Unmarshal(lines.Bytes(), &line) == nil && line.URL != "" {
				found, p.URL, p.Ledger = true, line.URL, line.Ledger
				address <- nil
			}
		}
		if !found {
			address <- errors.New("it ended without printing its address")
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	select {
	case err = <-address:
	case <-ctx.Done():
		err = errors.New("it printed no address in time")
	}
	if err != nil {
		p.stop()
		return peer{}, fmt.Errorf("%w\n%s", err, &stderr)
	}
	p.Tools, err = listDirectly(ctx, p.URL, s.modern)
	return p, err
}

// stop ends the server and waits for it.
func (p *peer) stop() error {
	p.stdin.Close()
	timer := time.AfterFunc(5*time.Second, func() { p.cmd.Process.Kill() })
	defer timer.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("stop %s: %w", p.Name, err)
	}
	return nil
}

func (all peers) stop() error {
	var errs []error
	for i := range all {
		errs = append(errs, all[i].stop())
	}
	return errors.Join(errs...)
}

// writeScenario writes the file that a driver reads.
func writeScenario(work, binary string, some []peer) (string, error) {
	type server struct {
		URL    string       `json:"url"`
		Ledger string       `json:"ledger"`
		Tools  []directTool `json:"tools"`
		spec
	}
	scenario := struct {
		Command []string `json:"command"`
		Servers []server `json:"servers"`
	}{Command: []string{binary, "serve"}}
	for _, p := range some {
		scenario.Servers = append(scenario.Servers, server{p.URL, p.Ledger, p.Tools, p.spec})
	}
	text, err := json.MarshalIndent(scenario, "", "  ")
	if err != nil {
		return "", err
	}
	file := filepath.Join(work, "scenario.json")
	return file, os.WriteFile(file, text, 0o600)
}
