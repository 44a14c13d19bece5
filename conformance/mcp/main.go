// Command mcp tries the built toolhost binary with the official MCP conformance
// suite, the client side of it:
//
//	go run ./conformance/mcp [-scenario GLOB] [-mode auto|pinned|both] [-repeat N] [-v]
//	go run ./conformance/mcp -set 2025-11-25|2026-07-28 [-mode ...] [-repeat N]
//
// It installs the suite and the Node.js that the suite needs by the lock file in
// npm, builds toolhost as it is released and the driver, which the suite starts as
// its client, and runs every client scenario at every revision it exists for: with
// toolhost left to find the revision out (auto), and told it (pinned). With -set
// it runs a whole requirement set as the suite does, all scenarios at once.
//
// A scenario passes by its checks, not by an exit code: no check may have failed or
// warned, those that the table in scenarios.go requires must have succeeded, and
// the driver must have seen the right end. A client that does nothing passes several
// scenarios by the suite's own rules.
//
// Scenarios in known-failures.txt must fail, and do not count. Those about skills
// are not applicable to a client that is no skills host, and do not count either.
//
// Without -scenario and -set it tries itself as well, see guards.go: a host that
// does nothing, and hosts with one rule broken. That takes minutes; -guards=core
// leaves out the builds that break a rule of signing in. It prints a table, ends with a line
// "N passed, N failed", and exits 1 when anything was not as it should be.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

func main() {
	var o options
	flag.StringVar(&o.scenario, "scenario", "", "only scenarios whose names this pattern matches, as auth/*")
	flag.StringVar(&o.mode, "mode", "both", "auto, pinned or both")
	flag.StringVar(&o.set, "set", "", "run the requirement set of this revision, all scenarios at once")
	flag.IntVar(&o.repeat, "repeat", 1, "how often to run everything")
	flag.StringVar(&o.guards, "guards", "all", "which builds with a rule broken to try: all, or core")
	flag.BoolVar(&o.verbose, "v", false, "print every run with its checks")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := runAll(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		stop()
		os.Exit(1)
	}
}

type options struct {
	scenario, mode, set, guards string
	repeat                      int
	verbose                     bool
}

// modes returns the modes to run.
func (o *options) modes() ([]string, error) {
	switch o.mode {
	case "both":
		return []string{auto, pinned}, nil
	case auto, pinned:
		return []string{o.mode}, nil
	}
	return nil, fmt.Errorf("the mode %q is none of auto, pinned, both", o.mode)
}

// breakages returns the broken builds to try.
func (o *options) breakages() ([]breakage, error) {
	switch o.guards {
	case "all":
		return slices.Concat(broken, brokenSignIn), nil
	case "core":
		return broken, nil
	}
	return nil, fmt.Errorf("the guards %q are neither all nor core", o.guards)
}

// plan returns the runs of one round.
func (o *options) plan() ([]run, error) {
	modes, err := o.modes()
	if err != nil {
		return nil, err
	}
	if o.set != "" && o.scenario != "" {
		return nil, errors.New("a requirement set is run as a whole: -set and -scenario exclude each other")
	}
	if _, err := path.Match(o.scenario, ""); err != nil {
		return nil, fmt.Errorf("the pattern %q: %w", o.scenario, err)
	}
	var runs []run
	for _, row := range rows() {
		matches, _ := path.Match(o.scenario, row.name) // the pattern is a good one
		if o.scenario != "" && !matches || o.set != "" && !row.inSet(o.set) {
			continue
		}
		for _, mode := range modes {
			runs = append(runs, run{row, mode})
		}
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("no scenario is called %q, and no requirement set %q", o.scenario, o.set)
	}
	return runs, nil
}

// releaseFlags are those that toolhost is released with.
var releaseFlags = []string{"-trimpath", "-ldflags=-s -w"}

func runAll(ctx context.Context, out io.Writer, o options) error {
	runs, err := o.plan()
	if err != nil {
		return err
	}
	breakages, err := o.breakages()
	if err != nil {
		return err
	}
	known, err := readKnown(knownFailures)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "toolhost-mcp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if strings.Contains(work, " ") {
		return fmt.Errorf("the suite splits commands at spaces, and the folder for temporary files has one: %s", work)
	}
	root, err := child.Root(ctx)
	if err != nil {
		return err
	}
	here := filepath.Join(root, "conformance", "mcp")
	s := &suite{work: work, mark: fmt.Sprintf("TOOLHOST_MCP_RUN=%d-%d", os.Getpid(), time.Now().UnixNano())}
	if s.node, s.index, err = install(ctx, filepath.Join(here, "npm")); err != nil {
		return err
	}
	if err := s.compare(ctx); err != nil {
		return err
	}
	if s.driver, err = child.GoBuild(ctx, filepath.Join(here, "driver"), filepath.Join(work, "driver")); err != nil {
		return err
	}
	host, err := child.Build(ctx, work, releaseFlags...)
	if err != nil {
		return err
	}

	board := scoreboard{known: known}
	for n := range o.repeat {
		began := time.Now()
		var outcomes []outcome
		if o.set != "" {
			outcomes, err = s.sets(ctx, out, runs, o.set, host)
		} else {
			outcomes, err = s.each(ctx, runs, host)
		}
		if err != nil {
			return err
		}
		board.add(outcomes)
		if o.repeat > 1 {
			fmt.Fprintf(out, "round %d of %d: %v\n", n+1, o.repeat, time.Since(began).Round(10*time.Millisecond))
		}
	}
	if o.scenario == "" && o.set == "" {
		guards, err := s.guards(ctx, root, host, breakages)
		if err != nil {
			return err
		}
		board.guards = guards
	}
	board.guards = append(board.guards, s.nothingLeft())
	return board.print(out, o.verbose)
}

// parallel is how many scenarios run at once.
var parallel = min(2, runtime.NumCPU())
