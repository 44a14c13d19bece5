package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// A scoreboard collects outcomes, those of every round, and guards.
type scoreboard struct {
	known    []knownFailure
	outcomes []outcome
	guards   []guard
}

func (b *scoreboard) add(outcomes []outcome) { b.outcomes = append(b.outcomes, outcomes...) }

// print writes a table of scenarios by modes, the guards, and what failed. The
// error says that something did.
func (b *scoreboard) print(out io.Writer, verbose bool) error {
	if err := b.table(out); err != nil {
		return err
	}
	count := map[verdict]int{}
	for _, g := range b.guards {
		v := pass
		if len(g.faults) > 0 {
			v = fail
		}
		count[v]++
		fmt.Fprintf(out, "%s guard: %s\n", v, g.name)
		for _, fault := range g.faults {
			fmt.Fprintf(out, "     %s\n", fault)
		}
	}
	for i := range b.outcomes {
		o := &b.outcomes[i]
		v, why := o.verdict(b.known)
		count[v]++
		if verbose || v == fail || v == stale {
			o.print(out, v, why, verbose)
		}
	}
	failed := count[fail] + count[stale]
	fmt.Fprintf(out, "%d failed as is known, %d not applicable\n", count[known], count[na])
	fmt.Fprintf(out, "%d passed, %d failed\n", count[pass], failed)
	switch {
	case failed > 0:
		return errors.New("not everything was as it should be")
	case len(b.outcomes) == 0:
		return errors.New("nothing was run")
	}
	return nil
}

// print writes one outcome with its verdict and the reasons for that.
func (o *outcome) print(out io.Writer, v verdict, why []string, verbose bool) {
	fmt.Fprintf(out, "%s %v (%.2f s)\n", v, o.run, o.took.Seconds())
	for _, line := range why {
		fmt.Fprintf(out, "     %s\n", line)
	}
	if v == fail && o.stderr != "" {
		fmt.Fprintf(out, "     stderr: %s\n", strings.TrimSpace(o.stderr))
	}
	if !verbose {
		return
	}
	for _, c := range o.checks {
		if c.Status != "INFO" {
			fmt.Fprintf(out, "     %s %s (%s)\n", c.Status, c.ID, c.Name)
		}
	}
}

// table writes a line for each row that was run.
func (b *scoreboard) table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\trevision\tauto\tpinned\tchecks\t")
	for _, row := range rows() {
		left, checks := b.cell(run{row, auto})
		right, others := b.cell(run{row, pinned})
		if left == notRun && right == notRun {
			continue
		}
		if others != checks {
			checks = strings.TrimSpace(checks + " " + others)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\n", row.name, row.era, left, right, checks)
	}
	fmt.Fprintln(w)
	return w.Flush()
}

const notRun = "-"

// cell sums up the rounds of a run: their verdict, with a count where they differ,
// and the checks of the last.
func (b *scoreboard) cell(r run) (cell, checks string) {
	var first verdict
	same, all := 0, 0
	for i := range b.outcomes {
		o := &b.outcomes[i]
		if o.name != r.name || o.era != r.era || o.mode != r.mode {
			continue
		}
		v, _ := o.verdict(b.known)
		if all == 0 {
			first = v
		}
		all++
		if v == first {
			same++
		}
		good, of := tally(o.checks)
		checks = fmt.Sprintf("%d/%d", good, of)
	}
	switch {
	case all == 0:
		return notRun, ""
	case same < all:
		return fmt.Sprintf("FLAKY (%s in %d of %d)", first, same, all), checks
	}
	return string(first), checks
}
