package main

import (
	"fmt"
	"io"
	"time"
)

// A table is what came of the servers, in their order.
type table []outcome

// An outcome is what came of every step on one server.
type outcome struct {
	variant variant
	cells   []cell // as steps
}

// A cell is one step on one server.
type cell struct {
	without bool // the server has nothing for it
	err     error
	took    time.Duration
}

func (c cell) String() string {
	switch {
	case c.err != nil:
		return "FAIL"
	case c.without:
		return "–"
	}
	return "ok"
}

// print prints the table and what went wrong. The error says that something did.
func (t table) print(out io.Writer, verbose bool) error {
	line := func(first string, text func(i int) string) {
		fmt.Fprintf(out, "%-20s", first)
		for i := range steps {
			fmt.Fprintf(out, " %-10s", text(i))
		}
		fmt.Fprintln(out)
	}
	line("server", func(i int) string { return steps[i].name })
	passed, failed := 0, 0
	for _, o := range t {
		line(o.variant.name(), func(i int) string { return o.cells[i].String() })
		if verbose {
			line("", func(i int) string { return o.cells[i].took.Round(time.Millisecond).String() })
		}
		for _, c := range o.cells {
			switch {
			case c.err != nil:
				failed++
			case !c.without:
				passed++
			}
		}
	}
	for _, o := range t {
		for i, c := range o.cells {
			if c.err != nil {
				fmt.Fprintf(out, "\nFAIL %s: %s\n%v\n", o.variant.name(), steps[i].name, c.err)
			}
		}
	}
	fmt.Fprintf(out, "\n%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return fmt.Errorf("%d steps failed", failed)
	}
	return nil
}
