// Command atmostonce proves that a tools/call is never sent twice, and that what an
// error says of its delivery is true. Between the built toolhost binary and a server
// that keeps a ledger (conformance/fakeserver) stands a proxy, which breaks the
// connection of a call at a chosen byte of the request or of the reply: by closing
// it, by resetting it, by going silent until it closes, the deadline ends the call,
// or the host cancels it. Every way is tried in both eras, for answers as JSON and
// as streams, on fresh and on kept connections, with and without the headers on
// which Go's own transport sends a request again. A second part answers calls with
// statuses that other clients repeat, before and after the tool has run.
//
//	go run ./conformance/atmostonce [-full] [-v]
//
// Each call carries a nonce of its own, by which the ledger is asked how often it
// ran. The program prints what came of the calls by cause, and exits 1 when one ran
// twice, came twice without need, or ran otherwise than its outcome says.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

func main() {
	full := flag.Bool("full", false, "cut at every byte, not at every seventh")
	verbose := flag.Bool("v", false, "print every call")
	parallel := flag.Int("parallel", 4, "how many children are driven at a time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *full, *verbose, *parallel); err != nil {
		fmt.Fprintln(os.Stderr, "atmostonce:", err)
		stop()
		os.Exit(1)
	}
}

// A job drives one child through many calls.
type job struct {
	name string
	run  func(ctx context.Context, toolhost string) ([]trial, error)

	trials []trial
	err    error
}

func run(ctx context.Context, out io.Writer, full, verbose bool, parallel int) error {
	work, err := os.MkdirTemp("", "toolhost-atmostonce-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	toolhost, err := child.Build(ctx, work)
	if err != nil {
		return err
	}
	began := time.Now()
	step := 7
	if full {
		step = 1
	}
	jobs := append(cutJobs(step), statusJobs()...)
	free := make(chan struct{}, parallel)
	var busy sync.WaitGroup
	for _, j := range jobs {
		busy.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			j.trials, j.err = j.run(ctx, toolhost)
		})
	}
	busy.Wait()

	var all []trial
	for _, j := range jobs {
		if j.err != nil {
			return fmt.Errorf("%s: %w", j.name, j.err)
		}
		all = append(all, j.trials...)
	}
	return print(out, all, verbose, time.Since(began))
}

// print prints the calls by cause and outcome, then what is wrong.
func print(out io.Writer, trials []trial, verbose bool, took time.Duration) error {
	type key struct{ cause, outcome string }
	counts := map[key]int{}
	sums := map[string]int{}
	var causes []string
	bad, kept := 0, 0
	for _, t := range trials {
		if sums[t.cause] == 0 {
			causes = append(causes, t.cause)
		}
		sums[t.cause]++
		counts[key{t.cause, t.outcome}]++
		counts[key{"all", t.outcome}]++
		if t.kept {
			kept++
		}
		violations := t.violations()
		if verbose || len(violations) > 0 {
			fmt.Fprintf(out, "%v\n", t)
		}
		for _, v := range violations {
			fmt.Fprintf(out, "     but: %s\n", v)
		}
		if len(violations) > 0 {
			bad++
		}
	}
	sums["all"] = len(trials)
	slices.SortFunc(causes, cmp.Compare)
	fmt.Fprintf(out, "%-44s %7s", "cause", "calls")
	for _, o := range outcomes {
		fmt.Fprintf(out, " %10s", o)
	}
	fmt.Fprintln(out)
	for _, cause := range append(causes, "all") {
		fmt.Fprintf(out, "%-44s %7d", cause, sums[cause])
		for _, o := range outcomes {
			fmt.Fprintf(out, " %10d", counts[key{cause, o}])
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "%d of the calls went out on a kept connection, in %v\n", kept, took.Round(time.Second))
	fmt.Fprintf(out, "%d passed, %d failed\n", len(trials)-bad, bad)
	if bad > 0 {
		return fmt.Errorf("%d calls went wrong", bad)
	}
	return nil
}
