package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

func TestEveryRowSaysWhatItIs(t *testing.T) {
	seen := map[string]bool{}
	for _, area := range areas() {
		for _, r := range area.rows {
			if r.id == "" || r.mode == "" || r.must == "" || r.try == nil {
				t.Errorf("%v says too little", r)
			}
			if seen[r.String()] {
				t.Errorf("two rows are called %v", r)
			}
			seen[r.String()] = true
		}
	}
}

const page = `# Faults
## Calls
| id | seen in | mode |
| --- | --- | --- |
| B001 | x#1 | call-one |
| B003 | x#2 | call-two |
## OAuth
| B155 | x | oauth |
`

func TestCovers(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "faults.md"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	one, two := row{id: "B001", mode: "call-one"}, row{id: "B003", mode: "call-two"}
	for _, test := range []struct {
		name  string
		area  string
		rows  []row
		later string
		want  string
	}{
		{"all of them", "Calls", []row{one, two, {id: "B001", mode: sibling}}, "B155", "<nil>"},
		{"one is missing", "Calls", []row{one}, "B155", "[B003]"},
		{"only a sibling is there", "Calls", []row{one, {id: "B003", mode: sibling}}, "B155", "[B003]"},
		{"one comes later and is not named", "Calls", []row{one, two}, "", "[B155]"},
		{"one comes later and is played", "Calls", []row{one, two}, "B155 B003", "B003"},
		{"a later one that is none", "Calls", []row{one, two}, "B155 B157", "B157"},
		{"another heading", "Call", []row{one, two}, "B155", "stands in the area"},
		{"another mode", "Calls", []row{one, {id: "B003", mode: "call-one"}}, "B155", "the bank's mode is call-two"},
		{"an id of nobody", "Calls", []row{one, two, {id: "B005", mode: sibling}}, "B155", "no such fault"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, err := readBank(folder)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(b.covers([]area{{test.area, test.rows}}, []laterPart{{"sign-in", strings.Fields(test.later)}}))
			if !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if _, err := readBank(t.TempDir()); err == nil {
		t.Error("a folder without a bank is one")
	}
}

func TestMatches(t *testing.T) {
	r := row{id: "B011", mode: "http-429", name: "status 404/x"}
	for glob, want := range map[string]bool{
		"*": true, "B011": true, "B01*": true, "B012": false, "http-*": true, "HTTP*": true, "*404/x": true, "*404*": true, "SSE*": false,
	} {
		if got, err := r.matches("HTTP replies", glob); got != want || err != nil {
			t.Errorf("%q: %v, %v", glob, got, err)
		}
	}
	if _, err := r.matches("", "["); err == nil {
		t.Error("a broken glob is none")
	}
}

func TestTally(t *testing.T) {
	var all tally
	for _, of := range []struct {
		id     string
		faults []string
	}{{"B001", nil}, {"B001", []string{"x"}}, {"B001", nil}, {"B003", nil}} {
		all.count(&trial{row: row{id: of.id}, faults: of.faults})
	}
	if all.faults() != "1/2" || all.rows() != "3/4" {
		t.Errorf("faults %s, rows %s", all.faults(), all.rows())
	}
}

// Each row spoils one thing of a call that failed as it must.
func TestFailedFindsAnotherOutcome(t *testing.T) {
	good := func() outcome {
		e := &child.Error{Code: -32003, Message: "status 500 here"}
		e.Data.Kind, e.Data.Delivered = "transport", "unknown"
		return outcome{err: e, took: time.Second}
	}
	for name, spoil := range map[string]func(*outcome){
		"":                 func(*outcome) {},
		"a call that must": func(o *outcome) { o.err = nil },
		"not kind":         func(o *outcome) { o.err.Data.Kind = "backend" },
		"delivered":        func(o *outcome) { o.err.Data.Delivered = "yes" },
		"only after":       func(o *outcome) { o.took = 3 * time.Second },
		"lacks":            func(o *outcome) { o.err.Message = "status 501" },
	} {
		o, p := good(), &play{trial: &trial{}}
		spoil(&o)
		p.failed(o, "transport", "unknown", "500")
		got := strings.Join(p.trial.faults, "; ")
		if (got == "") != (name == "") || !strings.Contains(got, name) {
			t.Errorf("%q: got %q", name, got)
		}
	}
}
