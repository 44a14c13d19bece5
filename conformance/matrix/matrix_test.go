package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The commands are not run here.
var rows = variants(commands{})

func TestRowsHaveNamesOfTheirOwn(t *testing.T) {
	var names []string
	for _, v := range rows {
		if slices.Contains(names, v.name()) {
			t.Errorf("two rows are called %s", v.name())
		}
		names = append(names, v.name())
	}
}

// Each era and each form of an answer is tried with several SDKs.
func TestEveryEraAndForm(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		for _, reply := range []string{"json", "sse"} {
			var with []string
			for _, v := range rows {
				if v.era == era && v.reply == reply {
					with = append(with, v.sdk.key)
				}
			}
			if len(with) < 3 {
				t.Errorf("%s, %s: only %q", era, reply, with)
			}
		}
	}
}

// The matrix names the versions that the lock files install.
func TestVersionsAreFound(t *testing.T) {
	for _, v := range rows {
		if version, err := v.sdk.pin.version("."); err != nil || strings.Count(version, ".") != 2 {
			t.Errorf("%s: %q, %v", v.name(), version, err)
		}
	}
	if _, err := (pin{"node/package.json", `"left-pad": "(.*)"`}).version("."); err == nil {
		t.Error("a package that is not there has a version")
	}
}

func TestKnownFaultsAreOfCellsThatExist(t *testing.T) {
	for _, f := range knownFaults {
		row := slices.IndexFunc(rows, func(v variant) bool { return v.name() == f.row })
		column := slices.IndexFunc(steps, func(s step) bool { return s.name == f.step })
		if row < 0 || column < 0 || f.says == "" || f.reason == "" {
			t.Errorf("%+v", f)
			continue
		}
		if why := steps[column].without(rows[row]); why != "" {
			t.Errorf("%s, %s: %s", f.row, f.step, why)
		}
	}
}

func TestWords(t *testing.T) {
	fault := knownFaults[0]
	for _, row := range []struct {
		situation string
		cell      cell
		want      string
	}{
		{"it works", cell{row: "a", step: "list"}, green},
		{"it does not", cell{row: "a", step: "list", err: errors.New("x")}, red},
		{"it means nothing", cell{row: "a", step: "list", without: "no tools"}, nothing},
		{"it means nothing and goes wrong", cell{row: "a", step: "list", without: "no tools", err: errors.New("x")}, red},
		{"a known fault", cell{row: fault.row, step: fault.step, err: errors.New(fault.says)}, known},
		{"another fault in its place", cell{row: fault.row, step: fault.step, err: errors.New("x")}, red},
		{"a known fault that has gone", cell{row: fault.row, step: fault.step}, red},
	} {
		if got := row.cell.word(); got != row.want {
			t.Errorf("%s: %s, not %s", row.situation, got, row.want)
		}
	}
}

func TestPrintFailsWithOneRedCellAndWithNone(t *testing.T) {
	v := rows[0]
	m := matrix{variants: []variant{v}, versions: map[string]string{v.sdk.key: "1.2.3"}}
	for _, s := range steps {
		m.cells = append(m.cells, cell{row: v.name(), step: s.name})
	}
	var out strings.Builder
	if err := m.print(&out); err != nil || !strings.Contains(out.String(), "6 passed, 0 failed\n") {
		t.Errorf("good: %v\n%s", err, &out)
	}
	out.Reset()
	m.cells[1].err = errors.New("no answer")
	if err := m.print(&out); err == nil || !strings.Contains(out.String(), "FAIL ts1-legacy-sse, call: no answer\n") {
		t.Errorf("bad: %v\n%s", err, &out)
	}
	m.cells = nil
	if err := m.print(&out); err == nil {
		t.Error("an empty matrix is no success")
	}
}

func TestMarkdown(t *testing.T) {
	fault := knownFaults[0]
	row := slices.IndexFunc(rows, func(v variant) bool { return v.name() == fault.row })
	m := matrix{variants: rows[row : row+1], versions: map[string]string{"python": "1.2.3"}}
	for _, s := range steps {
		c := cell{row: fault.row, step: s.name}
		if s.name == fault.step {
			c.err = errors.New(fault.says)
		}
		m.cells = append(m.cells, c)
	}
	want := "| server | era | reply | list | call | cancel | progress | list_changed | restart |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n" +
		"| Python SDK 1.2.3 | 2025-11-25 | SSE | ok | ok | ok | ok | peer (1) | ok |\n" +
		"\n(1) " + fault.reason + " " + fault.link + "\n"
	if got := m.markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestReplaceMatrix(t *testing.T) {
	readme := "before\n" + beginMark + "old\n" + endMark + "after\n"
	got, err := replaceMatrix(readme, "new\n")
	if want := "before\n" + beginMark + "new\n" + endMark + "after\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := replaceMatrix("no place for it", "new\n"); err == nil {
		t.Error("a README without the lines gave no error")
	}
}

func TestLedgerKeepsCallsApart(t *testing.T) {
	l := ledger{Lines: []string{"echo m1", "slow m11", "cancelled m11", "echo m1"}}
	if err := ran(l, "m11", "slow m11", "cancelled m11"); err != nil {
		t.Error(err)
	}
	if err := ran(l, "m1", "echo m1"); err == nil {
		t.Error("a call that ran twice is not noticed")
	}
	if err := ran(l, "m2", "echo m2"); err == nil {
		t.Error("a call that never ran is not noticed")
	}
}

func TestFlags(t *testing.T) {
	for _, opts := range []options{{without: "python"}, {update: true, only: "go"}, {update: true, without: "rust"}} {
		if err := run(t.Context(), &strings.Builder{}, opts); err == nil {
			t.Errorf("%+v gave no error", opts)
		}
	}
	if err := keep(filepath.Join(t.TempDir(), "README.md"), "", false); err == nil {
		t.Error("a missing README gave no error")
	}
}
