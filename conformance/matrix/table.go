package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// A cell is what came of one step on one variant.
type cell struct {
	row, step string
	without   string // why the step means nothing here; "" where it does
	err       error
}

// The words of a cell.
const (
	green   = "ok"
	nothing = "–"
	known   = "peer" // red, by a fault of the server that is in the list
	red     = "FAIL"
)

// word sums the cell up. What means nothing for a variant is red too where it goes
// wrong, and a known fault that has gone is.
func (c cell) word() string {
	fault := faultOf(c.row, c.step)
	switch {
	case fault != nil && fault.explains(c.err):
		return known
	case fault != nil || c.err != nil:
		return red
	case c.without != "":
		return nothing
	}
	return green
}

// detail says why a cell is red.
func (c cell) detail() string {
	if c.err == nil {
		return "it is in the list of known faults and works; take it out of known.go"
	}
	return c.err.Error()
}

// A matrix is all that was found out.
type matrix struct {
	variants []variant
	versions map[string]string // of the packages, by the SDK's key
	cells    []cell
}

// words returns the cells of one row.
func (m matrix) words(v variant) []string {
	var words []string
	for _, s := range steps {
		i := slices.IndexFunc(m.cells, func(c cell) bool { return c.row == v.name() && c.step == s.name })
		if i < 0 {
			words = append(words, red)
			continue
		}
		words = append(words, m.cells[i].word())
	}
	return words
}

// print writes the matrix for people, then what is red. The error says that there
// is such a cell.
func (m matrix) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\t%s\n", "server", strings.Join(stepNames(), "\t"))
	for _, v := range m.variants {
		fmt.Fprintf(w, "%s %s\t%s\n", v.name(), m.versions[v.sdk.key], strings.Join(m.words(v), "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	count := map[string]int{}
	for _, c := range m.cells {
		word := c.word()
		count[word]++
		switch word {
		case known:
			fault := faultOf(c.row, c.step)
			fmt.Fprintf(out, "peer %s, %s: %s %s\n", c.row, c.step, fault.reason, fault.link)
		case red:
			fmt.Fprintf(out, "FAIL %s, %s: %s\n", c.row, c.step, c.detail())
		}
	}
	fmt.Fprintf(out, "%d cells mean nothing, %d are red by a fault of the server\n", count[nothing], count[known])
	fmt.Fprintf(out, "%d passed, %d failed\n", count[green], count[red])
	if count[red] > 0 || count[green] == 0 {
		return errors.New("the matrix is not as it should be")
	}
	return nil
}

func stepNames() []string {
	var names []string
	for _, s := range steps {
		names = append(names, s.name)
	}
	return names
}

// markdown returns the matrix as it stands in the README.
func (m matrix) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| server | era | reply | %s |\n", strings.Join(stepNames(), " | "))
	fmt.Fprintf(&b, "|%s\n", strings.Repeat(" --- |", 3+len(steps)))
	var notes []string
	for _, v := range m.variants {
		fmt.Fprintf(&b, "| %s %s | %s | %s |", v.sdk.title, m.versions[v.sdk.key], v.revision(), strings.ToUpper(v.reply))
		for i, word := range m.words(v) {
			if word == known {
				fault := faultOf(v.name(), steps[i].name)
				note := fault.reason
				if fault.link != "" {
					note += " " + fault.link
				}
				if !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
				word = fmt.Sprintf("peer (%d)", 1+slices.Index(notes, note))
			}
			fmt.Fprintf(&b, " %s |", word)
		}
		fmt.Fprintln(&b)
	}
	for i, note := range notes {
		fmt.Fprintf(&b, "\n(%d) %s\n", i+1, note)
	}
	return b.String()
}

// The lines between which the README holds the matrix.
const (
	beginMark = "<!-- matrix: written by go run ./conformance/matrix -update -->\n"
	endMark   = "<!-- end of the matrix -->\n"
)

// replaceMatrix returns the README with another matrix.
func replaceMatrix(readme, table string) (string, error) {
	before, rest, ok := strings.Cut(readme, beginMark)
	_, after, ok2 := strings.Cut(rest, endMark)
	if !ok || !ok2 {
		return "", fmt.Errorf("the README does not hold the lines %q and %q", beginMark, endMark)
	}
	return before + beginMark + table + endMark + after, nil
}
