package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

func main() {
	relay(os.Args)
	var o options
	flag.StringVar(&o.only, "run", "", "play only the cases with this in their name")
	flag.BoolVar(&o.verbose, "v", false, "print what went over the wire")
	flag.BoolVar(&o.update, "update", false, "write down in rows.json which rows have cases")
	flag.Parse()
	faults, err := run(context.Background(), o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}

// options are those of the command line.
type options struct {
	only            string
	verbose, update bool
}

// run plays the cases, prints what came of them, and returns one text for each
// thing that did not hold.
func run(ctx context.Context, o options, out io.Writer) (faults []string, err error) {
	root, err := child.Root(ctx)
	if err != nil {
		return nil, err
	}
	s, err := load(root, o.only)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "checklist")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := s.build(ctx, dir); err != nil {
		return nil, err
	}
	began := time.Now()
	ran := coverage{}
	passed := 0
	s.play(func(one *outcome) {
		ran.add(one)
		name := one.c.Name + " " + one.era
		if len(one.faults) > 0 {
			text := fmt.Sprintf("%s: %s\n%s", name, one.c.Proves, strings.Join(one.faults, "\n"))
			faults = append(faults, text)
			fmt.Fprintf(out, "FAIL %s\n", text)
			return
		}
		passed++
		if o.verbose {
			fmt.Fprintf(out, "ok   %s\n%s", name, one.played)
		}
	})
	switch {
	case o.update:
		update(s.sections, ran)
		err = WriteRows(s.rowsFile(), s.sections)
	case o.only == "":
		faults = append(faults, table(out, s.sections, ran)...)
	}
	fmt.Fprintf(out, "%d passed, %d failed in %v (%d cases, each in the revisions of its rule)\n",
		passed, len(faults), time.Since(began).Round(100*time.Millisecond), len(s.cases))
	return faults, err
}

// table prints how many rows of each section were run, and returns a text for each
// row that was lost.
func table(out io.Writer, sections []Section, ran coverage) (faults []string) {
	total, run := 0, 0
	for _, s := range sections {
		c := Tally(s, ran)
		total, run = total+c.Total(), run+c.Run
		fmt.Fprintf(out, "%4d. %-38s %3d of %3d rows run\n", s.Section, s.Title, c.Run, c.Total())
		if len(c.Open) > 0 {
			fmt.Fprintf(out, "      open: %s\n", strings.Join(c.Open, ", "))
		}
		if len(c.NA) > 0 {
			fmt.Fprintf(out, "      not for this product: %s\n", strings.Join(c.NA, ", "))
		}
		for _, row := range c.Lost {
			faults = append(faults, row+" has no case any more")
		}
		for _, row := range c.Stale {
			faults = append(faults, row+" has a case and is written down as open; -update takes that down")
		}
	}
	for _, fault := range faults {
		fmt.Fprintf(out, "FAIL %s\n", fault)
	}
	fmt.Fprintf(out, "%d of %d rows run\n", run, total)
	return faults
}
