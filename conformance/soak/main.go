// Command soak drives the built toolhost binary through thousands of invokes with
// random cancels against the embedded fake server, and compares what the host saw
// with what the server saw:
//
//	go run ./conformance/soak [-n 10000] [-race] [-seed N]
//
// For each framing and each era of MCP it checks that every invoke was answered
// once, that at least three in ten gave a result and three in ten were cancelled,
// that no call ran twice, that the server heard of every cancel of a call it was
// running, that every message keeps to the schemas of the protocol, and that the
// child holds as many file descriptors at the end as at the start. Before that it
// checks that a host which reads in order is never set back to an older state of a
// server. It prints the figures and exits 1 when something did not hold.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/conformance/internal/child"
)

func main() {
	n := flag.Int("n", 10_000, "invokes in each run")
	race := flag.Bool("race", false, "build the child with the race detector")
	seed := flag.Uint64("seed", rand.Uint64(), "seed of the random choices")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *n, *race, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		stop()
		os.Exit(1)
	}
}

// runLimit bounds one run; without -race it takes some seconds.
const runLimit = 10 * time.Minute

func run(ctx context.Context, out io.Writer, n int, race bool, seed uint64) error {
	work, err := os.MkdirTemp("", "toolhost-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var flags []string
	if race {
		flags = []string{"-race"}
	}
	binary, err := child.Build(ctx, work, flags...)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d invokes a run, 64 in flight, race detector %v, seed %d\n", n, race, seed)
	passed, failed := 0, 0
	for _, r := range runs(binary, n, seed) {
		ctx, cancel := context.WithTimeout(ctx, runLimit)
		faults, err := r.run(ctx)
		cancel()
		if err != nil {
			return err
		}
		r.print(out)
		for _, fault := range faults {
			fmt.Fprintf(out, "  FAIL %s\n", fault)
		}
		if len(faults) > 0 {
			failed++
		} else {
			passed++
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return fmt.Errorf("%d runs failed", failed)
	}
	return nil
}

// A part is one run: it says what did not hold and prints its figures. An error
// means that it could not be made.
type part interface {
	run(ctx context.Context) (faults []string, err error)
	print(out io.Writer)
}

func runs(binary string, n int, seed uint64) []part {
	parts := []part{&statuses{binary: binary, rounds: 300}}
	for _, framing := range []child.Framing{child.Newline, child.LSP} {
		for _, era := range []fakeserver.Era{fakeserver.Legacy, fakeserver.Modern} {
			parts = append(parts, &soak{binary: binary, framing: framing, era: era, n: n, seed: seed})
		}
	}
	return parts
}
