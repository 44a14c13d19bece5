// Command peers tries the built toolhost binary against MCP servers that this
// project did not write, driven by a Python script and a Node script as users
// would write them. Run it from anywhere in the repository:
//
//	go run ./conformance/peers [-v] [-only NAME]
//
// It builds toolhost and the server on the official Go SDK (gosdk, a module of its
// own), installs the servers from npm by the lock file in npm, starts each server
// on a free port of 127.0.0.1, and lets driver.py and driver.mjs perform every
// step of the scenario on each. It prints a table and exits 1 when a step failed
// or was not performed. A missing tool fails the run with a sentence; nothing is
// skipped.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
	"github.com/toolhost/toolhost/conformance/internal/mcpserver"
)

func main() {
	verbose := flag.Bool("v", false, "print every step with its details")
	only := flag.String("only", "", "try this server alone")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *only, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		stop()
		os.Exit(1)
	}
}

// driverLimit bounds one run of a driver; it takes a few seconds.
const driverLimit = 2 * time.Minute

func run(ctx context.Context, out io.Writer, only string, verbose bool) (err error) {
	root, err := child.Root(ctx)
	if err != nil {
		return err
	}
	here := filepath.Join(root, "conformance", "peers")
	work, err := os.MkdirTemp("", "toolhost-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	drivers, err := findDrivers(ctx, here)
	if err != nil {
		return err
	}
	binary, err := child.Build(ctx, work)
	if err != nil {
		return err
	}
	peers, err := startPeers(ctx, here, work, only)
	defer func() { err = errors.Join(err, peers.stop()) }()
	if err != nil {
		return err
	}

	var board scoreboard
	for _, d := range drivers {
		// All servers in one child, then each in a child of its own.
		runs := [][]peer{peers}
		if len(peers) > 1 {
			for i := range peers {
				runs = append(runs, peers[i:i+1])
			}
		}
		for _, some := range runs {
			steps, err := d.perform(ctx, work, binary, some)
			if err != nil {
				return fmt.Errorf("%s on %s: %w", d.name, columnOf(some), err)
			}
			board.add(d.name, columnOf(some), steps)
		}
	}
	return board.print(out, verbose)
}

// A driver is a script that performs the scenario.
type driver struct {
	name    string
	command []string // the scenario's file is added
}

// findDrivers finds what runs the scripts.
func findDrivers(ctx context.Context, here string) ([]driver, error) {
	python, err := mcpserver.FindPython(ctx)
	if err != nil {
		return nil, err
	}
	node, err := mcpserver.FindNode(ctx)
	if err != nil {
		return nil, err
	}
	return []driver{
		{"python", []string{python, filepath.Join(here, "driver.py")}},
		{"node", []string{node, filepath.Join(here, "driver.mjs")}},
	}, nil
}

// perform runs the driver on some peers and returns the steps it printed, with
// those it did not print as failed ones.
func (d driver) perform(ctx context.Context, work, binary string, some []peer) ([]step, error) {
	file, err := writeScenario(work, binary, some)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, driverLimit)
	defer cancel()
	mark := fmt.Sprintf("TOOLHOST_PEERS_RUN=%d-%d", os.Getpid(), time.Now().UnixNano())
	cmd := exec.CommandContext(ctx, d.command[0], append(slices.Clone(d.command[1:]), file)...)
	cmd.Env = append(os.Environ(), mark)
	cmd.WaitDelay = 3 * time.Second // for what it leaves behind with its pipes open
	var log bytes.Buffer
	cmd.Stderr = &log
	text, runErr := cmd.Output()
	steps, err := readSteps(text)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, &log)
	}
	for _, expected := range expectedSteps(some) {
		if !slices.ContainsFunc(steps, func(s step) bool { return s.Server == expected.Server && s.Step == expected.Step }) {
			expected.Detail = fmt.Sprintf("the driver did not come to it and ended with: %v\n%s", runErr, &log)
			steps = append(steps, expected)
		}
	}
	return append(steps, nothingLeft(mark)), nil
}

// readSteps reads the lines that a driver printed.
func readSteps(text []byte) ([]step, error) {
	var steps []step
	for line := range bytes.Lines(text) {
		var s step
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, fmt.Errorf("a line that is no step: %w: %s", err, line)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// nothingLeft looks for processes that a driver has left behind, and ends them.
func nothingLeft(mark string) step {
	left, err := child.Marked(mark)
	s := step{Step: "no process left", OK: err == nil && len(left) == 0}
	if err != nil {
		s.Detail = err.Error()
	}
	for _, process := range left {
		s.Detail += fmt.Sprintf("%d %s; ", process.PID, process.Command)
		if p, err := os.FindProcess(process.PID); err == nil {
			p.Kill()
		}
	}
	return s
}
