// Command bench measures the built toolhost binary and prints the figures:
//
//	go run ./conformance/bench [-rounds 5] [-slice 1s] [-op blob|echo]
//
// The size of the binary, the time from spawn to the first answer and to the first
// result of a tool, the memory with 1 and with 100 servers, and the rate and the
// CPU of one invoke beside a bare keep-alive HTTP POST of the same message, at
// 100 B, 10 KB and 1 MB with 1 and 16 in flight.
//
// The two are measured side by side: each round times a slice of one and a slice of
// the other, in turn, and a ratio is the median of the ratios round by round. The
// MCP server is a process of its own that answers without decoding JSON, so that it
// is not what is measured. Generator, server and child share the machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

func main() {
	rounds := flag.Int("rounds", 5, "rounds for each cell")
	slice := flag.Duration("slice", time.Second, "length of one measurement")
	op := flag.String("op", "blob", "what carries the bytes: blob, the answer; echo, the argument and the answer")
	serve := flag.Bool("serve", false, "be the MCP server (used by the command itself)")
	flag.Parse()
	if *serve {
		if err := serveFast(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := &bench{out: os.Stdout, rounds: *rounds, slice: *slice, op: *op}
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// bench holds what every measurement needs.
type bench struct {
	out    io.Writer
	rounds int
	slice  time.Duration
	op     string

	toolhost string // the binary
	url      string // of the fast server
}

func (b *bench) run(ctx context.Context) error {
	if b.op != "blob" && b.op != "echo" {
		return fmt.Errorf("-op %q: it is blob or echo", b.op)
	}
	work, err := os.MkdirTemp("", "toolhost-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if b.toolhost, err = child.Build(ctx, work, "-trimpath", "-ldflags=-s -w"); err != nil {
		return err
	}
	url, stop, err := startFast(ctx)
	if err != nil {
		return err
	}
	defer stop()
	b.url = url

	fmt.Fprintf(b.out, "%s %s/%s, %d CPUs\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	info, err := os.Stat(b.toolhost)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "binary (-trimpath -ldflags \"-s -w\"): %.1f MB\n", float64(info.Size())/1e6)
	for _, measure := range []func(context.Context) error{b.start, b.memory, b.calls} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return nil
}
