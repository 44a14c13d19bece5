// Command faults tries the built toolhost binary against the bank of faults that
// users met with other MCP clients and plugin hosts (faults.md beside the
// repository, played by its faultserver), and against siblings of those faults
// that the bank does not name (played by conformance/fakeserver, over stdio in a
// process that is this program again):
//
//	go run ./conformance/faults [-v] [-only 'B05*'] [-bank ../shared/faults]
//
// Each row names the fault, how it is played, and what must come of it; the rows
// of an area of faults.md stand in a file of their own. The program prints one
// line for each row and a table by area, names the faults that wait for a part of
// the product that does not exist yet, and exits 1 when a row did not behave as
// its text says or a fault of the bank is neither played nor named.
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

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/conformance/internal/child"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == stdioRole {
		if err := playStdio(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "faults:", err)
			os.Exit(1)
		}
		return
	}
	var f flags
	flag.BoolVar(&f.verbose, "v", false, "print what each row says of the behaviour, and how long it took")
	flag.StringVar(&f.only, "only", "*", "only rows whose id, mode, area or whole line matches this glob")
	flag.StringVar(&f.bank, "bank", filepath.Join("..", "shared", "faults"), "the folder of faults.md and faultserver, from the root of the repository")
	flag.IntVar(&f.parallel, "parallel", 4, "how many rows are tried at a time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, f); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		stop()
		os.Exit(1)
	}
}

type flags struct {
	verbose    bool
	only, bank string
	parallel   int
}

// areas are the areas of faults.md that are played, under its own headings.
func areas() []area {
	return []area{
		{"HTTP replies, headers and connections", httpRows()},
		{"SSE framing", sseRows()},
		{"Session, lifecycle, versions", sessionRows()},
		{"JSON-RPC envelope and JSON values", envelopeRows()},
		{"Tool listing", listingRows()},
		{"Result conversion", resultRows()},
		{"Calls, cancel, timeouts, progress", callRows()},
		{"Security and redaction", securityRows()},
		{"mcp.json", append(configRows(), commandRows()...)},
		{"Servers over stdio", stdioRows()},
		{"Host protocol on our own stdin and stdout", hostRows()},
	}
}

func run(ctx context.Context, out io.Writer, f flags) error {
	work, err := os.MkdirTemp("", "toolhost-faults-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	root, err := child.Root(ctx)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(f.bank) {
		f.bank = filepath.Join(root, f.bank)
	}
	bank, err := readBank(f.bank)
	if err != nil {
		return fmt.Errorf("the bank of faults is missing; name its folder with -bank: %w", err)
	}
	if err := bank.covers(areas(), later); err != nil {
		return err
	}
	with := tools{work: work}
	if with.faultserver, err = child.GoBuild(ctx, filepath.Join(f.bank, "faultserver"), filepath.Join(work, "faultserver")); err != nil {
		return err
	}
	if with.toolhost, err = child.Build(ctx, work); err != nil {
		return err
	}
	if with.good, err = fakeserver.Start(fakeserver.Options{Era: fakeserver.Modern}); err != nil {
		return err
	}
	defer with.good.Close()

	began := time.Now()
	tallies, err := tryAll(ctx, out, with, f)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%-44s %9s %9s\n", "area", "faults", "rows")
	var all tally
	for i, area := range areas() {
		fmt.Fprintf(out, "%-44s %9s %9s\n", area.name, tallies[i].faults(), tallies[i].rows())
		all.add(tallies[i])
	}
	for _, l := range later {
		fmt.Fprintf(out, "comes with %s: %s\n", l.with, strings.Join(l.ids, " "))
	}
	fmt.Fprintf(out, "in %v\n%d passed, %d failed\n", time.Since(began).Round(time.Second), all.passed, all.failed)
	switch {
	case all.failed > 0:
		return fmt.Errorf("%d rows failed", all.failed)
	case all.passed == 0:
		return fmt.Errorf("no row matches %q", f.only)
	}
	return nil
}

// tryAll tries the rows that f chooses, some at a time, and prints each in the
// order of the tables. It returns a tally for each area.
func tryAll(ctx context.Context, out io.Writer, with tools, f flags) ([]tally, error) {
	type job struct {
		area int
		row  row
		done chan *trial // takes the trial when it is over
	}
	var jobs []*job
	for i, area := range areas() {
		for _, r := range area.rows {
			chosen, err := r.matches(area.name, f.only)
			if err != nil {
				return nil, err
			}
			if chosen {
				jobs = append(jobs, &job{i, r, make(chan *trial, 1)})
			}
		}
	}
	free := make(chan struct{}, f.parallel)
	var busy sync.WaitGroup
	defer busy.Wait()
	busy.Go(func() {
		for n, j := range jobs {
			free <- struct{}{}
			busy.Go(func() {
				j.done <- try(ctx, with, j.row, n)
				<-free
			})
		}
	})
	tallies := make([]tally, len(areas()))
	for _, j := range jobs {
		t := <-j.done
		tallies[j.area].count(t)
		verdict := "PASS"
		if len(t.faults) > 0 {
			verdict = "FAIL"
		}
		fmt.Fprintf(out, "%s %v", verdict, j.row)
		if f.verbose {
			fmt.Fprintf(out, " (%v)", t.took.Round(10*time.Millisecond))
		}
		fmt.Fprintln(out)
		if f.verbose || len(t.faults) > 0 {
			fmt.Fprintf(out, "     must: %s\n", j.row.must)
		}
		for _, fault := range t.faults {
			fmt.Fprintf(out, "     but:  %s\n", fault)
		}
	}
	return tallies, ctx.Err()
}

// A tally counts what came of the rows of an area. A fault has passed when all of
// its rows have.
type tally struct {
	passed, failed int
	broken         map[string]bool // by id of the fault
}

func (t *tally) count(of *trial) {
	if t.broken == nil {
		t.broken = map[string]bool{}
	}
	bad := len(of.faults) > 0
	t.broken[of.row.id] = t.broken[of.row.id] || bad
	if bad {
		t.failed++
	} else {
		t.passed++
	}
}

func (t *tally) add(other tally) {
	t.passed += other.passed
	t.failed += other.failed
}

func (t *tally) rows() string { return fmt.Sprintf("%d/%d", t.passed, t.passed+t.failed) }

func (t *tally) faults() string {
	passed := 0
	for _, broken := range t.broken {
		if !broken {
			passed++
		}
	}
	return fmt.Sprintf("%d/%d", passed, len(t.broken))
}
