package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// The revisions of MCP by the letters that rows and cases use for them.
var revisions = map[string]string{
	"A": "2025-03-26",
	"B": "2025-06-18",
	"C": "2025-11-25",
	"D": "2026-07-28",
}

// modern is the letter of the revision without a handshake, oldest that of the first.
const (
	modern = "D"
	oldest = "A"
)

// A Section is one part of the checklist, as rows.json lists it.
type Section struct {
	Section int    `json:"section"`
	Title   string `json:"title"`
	Folder  string `json:"folder"` // of its cases
	Rows    []Row  `json:"rows"`
}

// A Row is one rule that binds a client.
type Row struct {
	ID       string `json:"id"`
	Level    string `json:"level"`          // M must, MN must not, S should, SN should not, note, may, own
	Eras     string `json:"eras"`           // the letters of the revisions that have it
	Requires string `json:"requires"`       // in short
	NA       string `json:"na,omitempty"`   // eras in which it does not apply to this product
	Why      string `json:"why,omitempty"`  // and why
	Open     string `json:"open,omitempty"` // eras for which there is no case yet
}

// ReadRows reads rows.json.
func ReadRows(file string) ([]Section, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var sections []Section
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&sections); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	seen := map[string]bool{}
	for _, s := range sections {
		for _, row := range s.Rows {
			switch {
			case seen[row.ID]:
				return nil, fmt.Errorf("%s: %s stands twice", file, row.ID)
			case row.Eras == "" || minus(row.Eras, "ABCD") != "":
				return nil, fmt.Errorf("%s: %s: eras are letters of ABCD", file, row.ID)
			case minus(row.NA+row.Open, row.Eras) != "":
				return nil, fmt.Errorf("%s: %s: na and open are some of its eras", file, row.ID)
			case (row.NA == "") != (row.Why == ""):
				return nil, fmt.Errorf("%s: %s: na and why belong together", file, row.ID)
			}
			seen[row.ID] = true
		}
	}
	return sections, nil
}

// WriteRows writes rows.json, one row to a line.
func WriteRows(file string, sections []Section) error {
	var b strings.Builder
	b.WriteString("[\n")
	for i, s := range sections {
		fmt.Fprintf(&b, "{\"section\": %d, \"title\": %s, \"folder\": %s, \"rows\": [\n", s.Section, quote(s.Title), quote(s.Folder))
		for j, row := range s.Rows {
			text, err := json.Marshal(row)
			if err != nil {
				return err
			}
			b.WriteString("  " + string(text) + comma(j < len(s.Rows)-1) + "\n")
		}
		b.WriteString("]}" + comma(i < len(sections)-1) + "\n")
	}
	b.WriteString("]\n")
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

func comma(more bool) string {
	if more {
		return ","
	}
	return ""
}

// quote returns text as a JSON string.
func quote(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string can be encoded
	}
	return strings.TrimSpace(b.String())
}

// A Count says how much of a section has been run.
type Count struct {
	Section Section
	Run     int      // rows with a case in each of their eras
	NA      []string // rows that do not apply in any of their eras
	Open    []string // what has no case yet and is known to have none, as "BAS-13 (D)"
	Lost    []string // what has no case although it should
	Stale   []string // what has a case and is written down as open
}

// Total is the number of rows that can be run.
func (c *Count) Total() int { return len(c.Section.Rows) - len(c.NA) }

// Tally holds the rows of a section against the eras in which they were run, by
// row id.
func Tally(s Section, ran map[string]string) *Count {
	c := &Count{Section: s}
	for _, row := range s.Rows {
		applies := minus(row.Eras, row.NA)
		if applies == "" {
			c.NA = append(c.NA, row.ID)
			continue
		}
		missing := minus(applies, ran[row.ID])
		if missing == "" {
			c.Run++
		}
		if open := both(missing, row.Open); open != "" {
			c.Open = append(c.Open, row.ID+" ("+open+")")
		}
		if lost := minus(missing, row.Open); lost != "" {
			c.Lost = append(c.Lost, row.ID+" ("+lost+")")
		}
		if stale := minus(row.Open, missing); stale != "" {
			c.Stale = append(c.Stale, row.ID+" ("+stale+")")
		}
	}
	return c
}

// update writes into the rows which of them have no case.
func update(sections []Section, ran map[string]string) {
	for _, s := range sections {
		for i := range s.Rows {
			row := &s.Rows[i]
			row.Open = minus(minus(row.Eras, row.NA), ran[row.ID])
		}
	}
}

// minus returns the letters of a that are not in b.
func minus(a, b string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(b, r) {
			return -1
		}
		return r
	}, a)
}

// both returns the letters of a that are in b too.
func both(a, b string) string { return minus(a, minus(a, b)) }

// rowsByID returns every row by its id, and the folder of its section.
func rowsByID(sections []Section) (rows map[string]Row, folders map[string]string) {
	rows, folders = map[string]Row{}, map[string]string{}
	for _, s := range sections {
		for _, row := range s.Rows {
			rows[row.ID], folders[row.ID] = row, s.Folder
		}
	}
	return rows, folders
}

// sortedEras returns the letters in order, each once.
func sortedEras(letters string) string {
	list := strings.Split(letters, "")
	slices.Sort(list)
	return strings.Join(slices.Compact(list), "")
}
