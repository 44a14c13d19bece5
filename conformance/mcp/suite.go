package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

// A suite starts the official suite's program.
type suite struct {
	node, index string // the program
	driver      string // the binary that it starts as its client
	work        string // for reports
	mark        string // in the environment of every process that comes of this run
}

// processLimit bounds one process of the suite. Its own limit for a client is 30 s.
const processLimit = time.Minute

// start returns the suite's process with arguments, not yet started.
func (s *suite) start(ctx context.Context, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.node, append([]string{s.index}, arguments...)...)
	cmd.Dir = s.work
	// The cache saves a third of the time that the suite takes to start.
	cmd.Env = append(os.Environ(), s.mark, "NODE_COMPILE_CACHE="+filepath.Join(s.work, "compiled"))
	cmd.WaitDelay = 3 * time.Second // for what it leaves behind with its pipes open
	return cmd
}

// client is the command with which the suite starts the driver over a host.
func (s *suite) client(host, mode string) string {
	return s.driver + " -host " + host + " -mode " + mode
}

// compare holds the table of scenarios against what the suite lists, so that none
// is left out.
func (s *suite) compare(ctx context.Context) error {
	text, err := s.start(ctx, "list", "--client").Output()
	if err != nil {
		return fmt.Errorf("list the suite's scenarios: %w", err)
	}
	var theirs, ours []string
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			theirs = append(theirs, name)
		}
	}
	for i := range scenarios {
		ours = append(ours, scenarios[i].listing())
	}
	return differ(theirs, ours)
}

// differ returns what one list of scenarios has and the other has not.
func differ(theirs, ours []string) error {
	var errs []error
	for _, name := range theirs {
		if !slices.Contains(ours, name) {
			errs = append(errs, fmt.Errorf("the suite has %s, and scenarios.go has not", name))
		}
	}
	for _, name := range ours {
		if !slices.Contains(theirs, name) {
			errs = append(errs, fmt.Errorf("scenarios.go has %s, and the suite has not", name))
		}
	}
	return errors.Join(errs...)
}

// each makes every run with a process of its own, some of them at a time.
func (s *suite) each(ctx context.Context, runs []run, host string) ([]outcome, error) {
	outcomes := make([]outcome, len(runs))
	next := make(chan int)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for i := range next {
				outcomes[i] = s.one(ctx, runs[i], host)
			}
		})
	}
	for i := range runs {
		next <- i
	}
	close(next)
	workers.Wait()
	return outcomes, context.Cause(ctx)
}

// one makes one run.
func (s *suite) one(ctx context.Context, r run, host string) outcome {
	o := outcome{run: r}
	folder, err := os.MkdirTemp(s.work, "report-")
	if err != nil {
		o.broke = err
		return o
	}
	defer os.RemoveAll(folder)
	ctx, cancel := context.WithTimeout(ctx, processLimit)
	defer cancel()
	// --force: the scenarios of extensions belong to no revision.
	cmd := s.start(ctx, "client", "--command", s.client(host, r.mode),
		"--scenario", r.name, "--spec-version", r.era, "--force", "--output-dir", folder)
	began := time.Now()
	text, exit := cmd.CombinedOutput()
	o.took = time.Since(began)
	reports, err := findReports(folder)
	if err == nil && len(reports) != 1 {
		err = fmt.Errorf("%d reports, want one", len(reports))
	}
	if err == nil {
		err = o.read(reports[r.name])
	}
	// The suite's exit code agrees with what we read, or one of us is wrong.
	if bad, _ := judge(nil, o.checks); err == nil && len(bad) == 0 && o.driver != nil && o.driver.OK && exit != nil {
		err = errors.New("the suite calls it failed, though no check failed and the driver ended well")
	}
	if err != nil {
		o.broke = fmt.Errorf("the suite: %w (its process: %v)\n%s", err, exit, text)
	}
	return o
}

// sets runs a requirement set in each mode of runs, as the suite does it: all
// scenarios at once.
func (s *suite) sets(ctx context.Context, out io.Writer, runs []run, revision, host string) ([]outcome, error) {
	var all []outcome
	for _, mode := range []string{auto, pinned} {
		var expected []run
		for _, r := range runs {
			if r.mode == mode {
				expected = append(expected, r)
			}
		}
		if len(expected) == 0 {
			continue
		}
		outcomes, took, err := s.set(ctx, expected, revision, mode, host)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "requirement set %s, %s: %d scenarios at once in %v\n", revision, mode, len(outcomes), took.Round(10*time.Millisecond))
		all = append(all, outcomes...)
	}
	return all, nil
}

func (s *suite) set(ctx context.Context, expected []run, revision, mode, host string) ([]outcome, time.Duration, error) {
	folder, err := os.MkdirTemp(s.work, "set-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(folder)
	ctx, cancel := context.WithTimeout(ctx, processLimit)
	defer cancel()
	cmd := s.start(ctx, "client", "--command", s.client(host, mode), "--requirements", revision, "--output-dir", folder)
	began := time.Now()
	text, exit := cmd.CombinedOutput() // it exits 1 while there are known failures
	took := time.Since(began)
	reports, err := findReports(folder)
	if err != nil {
		return nil, 0, fmt.Errorf("requirement set %s: %w (its process: %v)\n%s", revision, err, exit, text)
	}
	var outcomes []outcome
	for _, r := range expected {
		o := outcome{run: r}
		if report, ok := reports[r.name]; !ok {
			o.broke = fmt.Errorf("the suite did not run it in the requirement set %s (its process: %v)", revision, exit)
		} else {
			o.broke = o.read(report)
		}
		delete(reports, r.name)
		outcomes = append(outcomes, o)
	}
	for name := range reports {
		return nil, 0, fmt.Errorf("the requirement set %s has %s, and scenarios.go has not", revision, name)
	}
	return outcomes, took, nil
}

// reportTime is what the suite puts behind a scenario's name.
var reportTime = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\dA-Z-]+$`)

// findReports returns the folders of the reports below a folder, by scenario.
func findReports(folder string) (map[string]string, error) {
	reports := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "checks.json" {
			return err
		}
		path = filepath.Dir(path)
		name, err := filepath.Rel(folder, path)
		reports[reportTime.ReplaceAllString(filepath.ToSlash(name), "")] = path
		return err
	})
	return reports, err
}

// read reads a report.
func (o *outcome) read(report string) error {
	text, err := os.ReadFile(filepath.Join(report, "checks.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &o.checks); err != nil {
		return fmt.Errorf("checks.json: %w", err)
	}
	stderr, err := os.ReadFile(filepath.Join(report, "stderr.txt"))
	if err != nil {
		return err
	}
	o.stderr = string(stderr)
	stdout, err := os.ReadFile(filepath.Join(report, "stdout.txt"))
	if err != nil {
		return err
	}
	lines := bytes.Split(bytes.TrimSpace(stdout), []byte("\n"))
	verdict := new(driverVerdict)
	if err := json.Unmarshal(lines[len(lines)-1], verdict); err == nil {
		o.driver = verdict
	}
	return nil
}

// nothingLeft looks for processes that the runs have left behind, and ends them.
func (s *suite) nothingLeft() guard {
	g := guard{name: "no process is left behind"}
	left, err := child.Marked(s.mark)
	if err != nil {
		g.faults = append(g.faults, err.Error())
	}
	for _, process := range left {
		g.faults = append(g.faults, fmt.Sprintf("%d %s", process.PID, process.Command))
		if p, err := os.FindProcess(process.PID); err == nil {
			p.Kill()
		}
	}
	return g
}
