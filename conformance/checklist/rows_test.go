package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestTally(t *testing.T) {
	s := Section{Rows: []Row{
		{ID: "A-01", Eras: "ABCD"},
		{ID: "A-02", Eras: "ABCD", Open: "AB"},
		{ID: "A-03", Eras: "ABC", Open: "ABC"},
		{ID: "A-04", Eras: "ABC"},
		{ID: "A-05", Eras: "D", NA: "D", Why: "x"},
		{ID: "A-06", Eras: "AD", NA: "A", Why: "x"},
	}}
	c := Tally(s, coverage{"A-01": "DCBA", "A-02": "BCD", "A-04": "AC", "A-06": "D"})
	if c.Run != 2 || c.Total() != 5 {
		t.Errorf("%d of %d run", c.Run, c.Total())
	}
	for name, pair := range map[string][2][]string{
		"not for this product": {c.NA, {"A-05"}},
		"open":                 {c.Open, {"A-02 (A)", "A-03 (ABC)"}},
		"lost":                 {c.Lost, {"A-04 (B)"}},
		"stale":                {c.Stale, {"A-02 (B)"}},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: got %q, want %q", name, pair[0], pair[1])
		}
	}
}

func TestTableNamesWhatIsLost(t *testing.T) {
	var out strings.Builder
	faults := table(&out, []Section{{Section: 1, Title: "T", Rows: []Row{{ID: "A-01", Eras: "A"}, {ID: "A-02", Eras: "B", Open: "B"}}}}, coverage{})
	if len(faults) != 1 || !strings.Contains(faults[0], "A-01 (A) has no case any more") {
		t.Errorf("%q", faults)
	}
	if !strings.Contains(out.String(), "0 of   2 rows run") || !strings.Contains(out.String(), "open: A-02 (B)") {
		t.Errorf("%s", out.String())
	}
}

func TestRowsSurviveWriting(t *testing.T) {
	rows, err := ReadRows("../cases/rows.json")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rows.json")
	if err := WriteRows(file, rows); err != nil {
		t.Fatal(err)
	}
	again, err := ReadRows(file)
	if err != nil || !reflect.DeepEqual(rows, again) {
		t.Errorf("they changed: %v", err)
	}
}

func TestReadRowsRefuses(t *testing.T) {
	for row, want := range map[string]string{
		`{"id":"A-01","eras":"AX"}`:                         "letters of ABCD",
		`{"id":"A-01","eras":"A","open":"B"}`:               "some of its eras",
		`{"id":"A-01","eras":"A","na":"A"}`:                 "na and why belong together",
		`{"id":"A-01","eras":"A"},{"id":"A-01","eras":"B"}`: "stands twice",
		`{"id":"A-01","eras":"A","opened":"A"}`:             "unknown field",
	} {
		file := filepath.Join(t.TempDir(), "rows.json")
		if err := os.WriteFile(file, []byte(`[{"section":1,"title":"t","folder":"f","rows":[`+row+`]}]`), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRows(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", row, err, want)
		}
	}
}

func TestPlaced(t *testing.T) {
	sections := []Section{{Folder: "lifecycle", Rows: []Row{{ID: "LIF-04", Eras: "ABC"}, {ID: "LIF-05", Eras: "ABC"}}}}
	for name, want := range map[string]string{
		"lifecycle/LIF-04-x": "",
		"versions/LIF-04-x":  "its name must be",
		"lifecycle/LIF-05-x": "its name must be",
	} {
		err := placed(sections, []*Case{{Name: name, Rows: []string{"LIF-04"}, Eras: "A"}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := placed(sections, []*Case{{Name: "lifecycle/LIF-04-x", Rows: []string{"LIF-04", "LIF-99"}, Eras: "A"}}); err == nil {
		t.Error("a row that is not there was taken")
	}
	if err := placed(sections, []*Case{{Name: "lifecycle/LIF-04-x", Rows: []string{"LIF-04"}, Eras: "D"}}); err == nil {
		t.Error("a case of another era was taken")
	}
}
