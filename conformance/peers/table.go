package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// columnOf names a run: its one server, or all of them in one child.
func columnOf(some []peer) string {
	if len(some) == 1 {
		return some[0].Name
	}
	return "all at once"
}

// A scoreboard collects the steps of every driver on every column.
type scoreboard struct {
	rows []result
}

type result struct {
	driver, column string
	step
}

func (b *scoreboard) add(driver, column string, steps []step) {
	for _, s := range steps {
		b.rows = append(b.rows, result{driver, column, s})
	}
}

// print writes a table of steps by servers for each driver, then the failures. The
// error says how many there are.
func (b *scoreboard) print(out io.Writer, verbose bool) error {
	var drivers, columns, steps []string
	for _, r := range b.rows {
		drivers = addNew(drivers, r.driver)
		columns = addNew(columns, r.column)
		steps = addNew(steps, r.Step)
	}
	failed := 0
	for _, driver := range drivers {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "%s\t", driver)
		for _, column := range columns {
			fmt.Fprintf(w, "%s\t", column)
		}
		fmt.Fprintln(w)
		for _, name := range steps {
			fmt.Fprintf(w, "%s\t", name)
			for _, column := range columns {
				fmt.Fprintf(w, "%s\t", b.cell(driver, column, name))
			}
			fmt.Fprintln(w)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	for _, r := range b.rows {
		if !r.OK {
			failed++
			fmt.Fprintf(out, "FAIL %s, %s, %s %s: %s\n", r.driver, r.column, r.Server, r.Step, r.Detail)
		} else if verbose {
			fmt.Fprintf(out, "ok   %s, %s, %s %s: %s\n", r.driver, r.column, r.Server, r.Step, r.Detail)
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", len(b.rows)-failed, failed)
	if failed > 0 {
		return errors.New("some steps failed")
	}
	if len(b.rows) == 0 {
		return errors.New("no step was performed")
	}
	return nil
}

// cell sums up one step of a column: it passed where each of its servers did, and
// is "-" where it does not apply.
func (b *scoreboard) cell(driver, column, step string) string {
	cell := "-"
	for _, r := range b.rows {
		if r.driver == driver && r.column == column && r.Step == step {
			if !r.OK {
				return "FAIL"
			}
			cell = "PASS"
		}
	}
	return cell
}

func addNew(list []string, word string) []string {
	if slices.Contains(list, word) {
		return list
	}
	return append(list, word)
}
