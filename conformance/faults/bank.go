package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A laterPart is a part of the product that does not exist yet, and the faults that
// only it can meet. They are printed at the end of every run.
type laterPart struct {
	with string
	ids  []string
}

var later = []laterPart{
	{"sign-in", strings.Fields("B155 B157 B159 B161 B163 B165 B167 B169 B171 B173")},
}

// A bank is what faults.md says of its rows.
type bank map[string]bankRow // by id

type bankRow struct{ area, mode string }

// readBank reads the tables of faults.md: headings name the areas, the first
// column holds the id, the last the mode.
func readBank(folder string) (bank, error) {
	text, err := os.ReadFile(filepath.Join(folder, "faults.md"))
	if err != nil {
		return nil, err
	}
	b := bank{}
	area := ""
	for line := range strings.Lines(string(text)) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			area = strings.TrimSpace(heading)
		}
		columns := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if id := strings.TrimSpace(columns[0]); len(columns) > 1 && len(id) == 4 && id[0] == 'B' {
			b[id] = bankRow{area, strings.TrimSpace(columns[len(columns)-1])}
		}
	}
	if len(b) == 0 {
		return nil, fmt.Errorf("%s holds no rows", folder)
	}
	return b, nil
}

// covers checks that each fault of the bank is played, under its own heading and
// by its own mode, or comes later, and that nothing else is.
func (b bank) covers(areas []area, later []laterPart) error {
	played := map[string]bool{}
	for _, area := range areas {
		for _, r := range area.rows {
			known, ok := b[r.id]
			switch {
			case !ok:
				return fmt.Errorf("row %v: the bank has no such fault", r)
			case known.area != area.name:
				return fmt.Errorf("row %v stands in the area %q, in the bank in %q", r, area.name, known.area)
			case r.mode == known.mode:
				played[r.id] = true
			case r.mode != sibling:
				return fmt.Errorf("row %v: the bank's mode is %s", r, known.mode)
			}
		}
	}
	for _, l := range later {
		for _, id := range l.ids {
			if _, ok := b[id]; !ok || played[id] {
				return fmt.Errorf("%s: listed as coming later, but it is played or not in the bank", id)
			}
			played[id] = true
		}
	}
	var missing []string
	for id := range b {
		if !played[id] {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		return fmt.Errorf("faults of the bank that are neither played nor named as coming later: %v", missing)
	}
	return nil
}
