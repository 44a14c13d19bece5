// Command local tries the built toolhost binary against real MCP servers that it
// starts itself, over stdio, behind the pack tanstack/mcp. Run it from anywhere in the
// repository:
//
//	go run ./conformance/local [-only NAME] [-v]
//
// The servers are three from npm and those of conformance/matrix on the Python and Go
// SDKs, in each era that they speak. Every server keeps what comes on its stdin, so
// that the run sees what it was really sent. It prints which of them list, call, ask,
// wait for approval, are told of cancels, come back after a kill -9 and leave nothing
// behind, and exits 1 when a cell is red or a part is missing.
//
// It needs Linux, for kill -9 and /proc.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

func main() {
	var opts options
	flag.StringVar(&opts.only, "only", "", "try only the servers whose name begins so, as python-modern")
	flag.BoolVar(&opts.verbose, "v", false, "print how long each step took")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, opts); err != nil {
		fmt.Fprintln(os.Stderr, "local:", err)
		stop()
		os.Exit(1)
	}
}

type options struct {
	only    string
	verbose bool
}

func run(ctx context.Context, out io.Writer, opts options) error {
	root, err := child.Root(ctx)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "toolhost-local-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	began := time.Now()
	binary, err := child.Build(ctx, work)
	if err != nil {
		return err
	}
	start, err := install(ctx, filepath.Join(root, "conformance"), work)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "installed in %.0f s\n", time.Since(began).Seconds())

	began = time.Now()
	found, err := try(ctx, work, binary, start, opts)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "tried in %.0f s\n\n", time.Since(began).Seconds())
	return found.print(out, opts.verbose)
}

// atOnce is how many servers are tried side by side. They mostly wait.
const atOnce = 3

// try performs every step on every server.
func try(ctx context.Context, work, binary string, start commands, opts options) (table, error) {
	var chosen []variant
	for _, v := range variants {
		if strings.HasPrefix(v.name(), opts.only) {
			chosen = append(chosen, v)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("the name of no server begins with %q", opts.only)
	}
	found := make(table, len(chosen))
	free := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, v := range chosen {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			found[i] = tryOne(ctx, filepath.Join(work, v.name()), binary, v, start)
		})
	}
	all.Wait()
	return found, context.Cause(ctx)
}
