package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/conformance/internal/child"
	"github.com/toolhost/toolhost/conformance/internal/mcpserver"
)

// A peer is a running MCP server with what the drivers should find there.
type peer struct {
	spec
	*mcpserver.Process
	Tools []mcpserver.Tool // what it lists when it is asked without toolhost
}

type peers []peer

// startPeers installs, builds and starts the servers. What it has started is
// returned with an error too, to be stopped.
func startPeers(ctx context.Context, here, work, only string) (peers, error) {
	everything, err := mcpserver.InstallEverything(ctx, filepath.Join(here, "npm"))
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
		if p.Process != nil {
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

// startPeer starts one server and asks it for its tools.
func startPeer(ctx context.Context, s spec) (p peer, err error) {
	p.spec = s
	if p.Process, err = mcpserver.Start(ctx, s.command); err != nil {
		return p, err
	}
	revision := mcpserver.Legacy
	if s.modern {
		revision = mcpserver.Modern
	}
	client, err := mcpserver.Open(ctx, p.URL, revision)
	if err != nil {
		return p, err
	}
	p.Tools, err = client.List(ctx)
	return p, err
}

func (all peers) stop() error {
	var errs []error
	for i := range all {
		if err := all[i].Stop(); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", all[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

// writeScenario writes the file that a driver reads.
func writeScenario(work, binary string, some []peer) (string, error) {
	type server struct {
		URL    string           `json:"url"`
		Ledger string           `json:"ledger"`
		Tools  []mcpserver.Tool `json:"tools"`
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
