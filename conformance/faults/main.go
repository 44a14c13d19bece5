// Command faults tries the built toolhost binary against the bank of faults that
// users met with other MCP clients and plugin hosts (faults.md beside the
// repository, played by its faultserver):
//
//	go run ./conformance/faults [-v] [-run B231] [-bank ../shared/faults]
//
// Each row of the table names the fault, how it is played, and what must come of
// it; the rows of an area stand in a file of their own. The program prints one
// line for each row and exits 1 when one did not behave as its text says.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

func main() {
	verbose := flag.Bool("v", false, "print what each row says of the behaviour")
	only := flag.String("run", "", "only rows whose id or mode begins so")
	bank := flag.String("bank", filepath.Join("..", "shared", "faults"), "the folder of faults.md and faultserver, from the root of the repository")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *bank, *only, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		stop()
		os.Exit(1)
	}
}

// A row is one fault, played in one way.
type row struct {
	id   string // in faults.md
	mode string // of faultserver
	name string // what is particular about this row; "" for a mode with one
	must string // the right behaviour, in the words of faults.md or of our protocol
	try  func(t *trial)
}

func (r row) String() string {
	return strings.TrimSpace(r.id + " " + r.mode + " " + r.name)
}

// A trial is one row being tried.
type trial struct {
	ctx         context.Context
	row         row
	toolhost    string // the binaries
	faultserver string
	work        string // a folder for the files of this row
	faults      []string
}

// want notes a fault unless ok holds.
func (t *trial) want(ok bool, format string, args ...any) {
	if !ok {
		t.faults = append(t.faults, fmt.Sprintf(format, args...))
	}
}

// none notes a fault unless the list is empty.
func (t *trial) none(what string, list []string) { t.want(len(list) == 0, "%s: %q", what, list) }

// fail notes a fault and tells whether there was one: what the trial needed could
// not be done.
func (t *trial) fail(err error) bool {
	t.want(err == nil, "%v", err)
	return err != nil
}

// rowLimit bounds the trial of one row.
const rowLimit = time.Minute

func run(ctx context.Context, out io.Writer, bank, only string, verbose bool) error {
	work, err := os.MkdirTemp("", "toolhost-faults-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	root, err := child.Root(ctx)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(bank) {
		bank = filepath.Join(root, bank)
	}
	if _, err := os.Stat(filepath.Join(bank, "faultserver", "go.mod")); err != nil {
		return fmt.Errorf("the bank of faults is missing; name its folder with -bank: %w", err)
	}
	faultserver, err := child.GoBuild(ctx, filepath.Join(bank, "faultserver"), filepath.Join(work, "faultserver"))
	if err != nil {
		return err
	}
	toolhost, err := child.Build(ctx, work)
	if err != nil {
		return err
	}
	passed, failed := 0, 0
	for i, r := range slices.Concat(hostRows(), configRows()) {
		if !strings.HasPrefix(r.id, only) && !strings.HasPrefix(r.mode, only) {
			continue
		}
		t := &trial{row: r, toolhost: toolhost, faultserver: faultserver, work: filepath.Join(work, fmt.Sprint(i))}
		if err := os.Mkdir(t.work, 0o700); err != nil {
			return err
		}
		var cancel context.CancelFunc
		t.ctx, cancel = context.WithTimeout(ctx, rowLimit)
		r.try(t)
		cancel()
		verdict := "PASS"
		if len(t.faults) > 0 {
			verdict = "FAIL"
			failed++
		} else {
			passed++
		}
		fmt.Fprintf(out, "%s %v\n", verdict, r)
		if verbose || len(t.faults) > 0 {
			fmt.Fprintf(out, "     must: %s\n", r.must)
		}
		for _, fault := range t.faults {
			fmt.Fprintf(out, "     but:  %s\n", fault)
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	switch {
	case failed > 0:
		return fmt.Errorf("%d rows failed", failed)
	case passed == 0:
		return fmt.Errorf("no row is called %q", only)
	}
	return nil
}
