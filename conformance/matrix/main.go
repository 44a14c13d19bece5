// Command matrix tries the built toolhost binary against MCP servers on the official
// SDKs, in each era and each form of answer that the SDK offers, and prints which of
// them list, call, cancel, tell progress, change their tools and come back after a
// crash as they should. Run it from anywhere in the repository:
//
//	go run ./conformance/matrix [-only NAME] [-without rust] [-update]
//
// Each server is a short program in its language (node, python, go, rust), installed
// from its lock file, and listens on 127.0.0.1; server-everything is that of
// conformance/peers. All have the same tools: echo, slow, ledger (what the others
// did), and grow, which adds a tool.
//
// It exits 1 when a cell is red, when one that is known to be red no longer is, and
// when the matrix in conformance/README.md is another one, which -update rewrites. A
// missing part fails the run with a sentence; nothing is skipped but what a flag says.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

func main() {
	var opts options
	flag.StringVar(&opts.only, "only", "", "try only the servers whose name begins so, as ts2-modern")
	flag.StringVar(&opts.without, "without", "", "rust: leave out the server on the Rust SDK, which takes a minute to build")
	flag.BoolVar(&opts.update, "update", false, "write the matrix into conformance/README.md")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, opts); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		stop()
		os.Exit(1)
	}
}

type options struct {
	only, without string
	update        bool
}

// whole reports whether every row is tried.
func (o options) whole() bool { return o.only == "" && o.without == "" }

func run(ctx context.Context, out io.Writer, opts options) error {
	if opts.without != "" && opts.without != rust.key {
		return fmt.Errorf("-without takes rust, not %q", opts.without)
	}
	if opts.update && !opts.whole() {
		return errors.New("-update needs every server: leave out -only and -without")
	}
	root, err := child.Root(ctx)
	if err != nil {
		return err
	}
	here := filepath.Join(root, "conformance", "matrix")
	work, err := os.MkdirTemp("", "toolhost-matrix-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	began := time.Now()
	binary, err := child.Build(ctx, work)
	if err != nil {
		return err
	}
	start, err := installer{here: here, work: work, rust: opts.without != rust.key}.run(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "installed in %.0f s\n", time.Since(began).Seconds())

	began = time.Now()
	m, err := try(ctx, here, binary, start, opts)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "tried in %.0f s\n\n", time.Since(began).Seconds())
	if err := m.print(out); err != nil || !opts.whole() {
		return err
	}
	return keep(filepath.Join(root, "conformance", "README.md"), m.markdown(), opts.update)
}

// atOnce is how many variants are tried side by side. They mostly wait.
const atOnce = 3

// try performs every step on every variant.
func try(ctx context.Context, here, binary string, start commands, opts options) (m matrix, err error) {
	m.versions = map[string]string{}
	for _, v := range variants(start) {
		if !strings.HasPrefix(v.name(), opts.only) || v.command == nil {
			continue
		}
		if m.versions[v.sdk.key], err = v.sdk.pin.version(here); err != nil {
			return m, err
		}
		m.variants = append(m.variants, v)
	}
	if len(m.variants) == 0 {
		return m, fmt.Errorf("the name of no server begins with %q", opts.only)
	}
	found := make([][]cell, len(m.variants))
	free := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, v := range m.variants {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			found[i] = tryOne(ctx, binary, v)
		})
	}
	all.Wait()
	m.cells = slices.Concat(found...)
	return m, context.Cause(ctx)
}

// tryOne performs every step on one variant. What goes wrong before the first and
// after the last is a fault of these.
func tryOne(ctx context.Context, binary string, v variant) []cell {
	var cells []cell
	for _, s := range steps {
		cells = append(cells, cell{row: v.name(), step: s.name, without: s.without(v)})
	}
	t, err := begin(ctx, binary, v)
	if err != nil {
		for i := range cells {
			cells[i].err = fmt.Errorf("start: %w", err)
		}
		return cells
	}
	for i, s := range steps {
		limited, cancel := context.WithTimeout(ctx, stepLimit)
		cells[i].err = s.try(t, limited)
		cancel()
	}
	last := &cells[len(cells)-1]
	last.err = errors.Join(last.err, t.end())
	return cells
}

// keep compares the matrix with that of the README, or writes it there.
func keep(file, table string, update bool) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := replaceMatrix(string(old), table)
	if err != nil {
		return err
	}
	if text == string(old) {
		return nil
	}
	if !update {
		return errors.New("conformance/README.md shows another matrix; run go run ./conformance/matrix -update")
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
