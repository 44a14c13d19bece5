package main

import (
	"slices"
	"strings"
	"testing"
)

// TestMatrix counts: what the suite runs for each revision, by its documentation.
func TestMatrix(t *testing.T) {
	count := map[string]int{}
	for _, r := range rows() {
		group := r.era
		if r.skills {
			group = "skills"
		}
		count[group]++
		if r.inSet(r.era) == r.skills || r.inSet("2024-11-05") {
			t.Errorf("%v: in its set %v", r, r.inSet(r.era))
		}
	}
	want := map[string]int{rev2503: 2, rev2506: 5, rev2511: 25, rev2607: 39, "skills": 4}
	for group, n := range want {
		if count[group] != n {
			t.Errorf("%s: %d rows, want %d", group, count[group], n)
		}
	}
	seen := map[string]bool{}
	for i := range scenarios {
		s := &scenarios[i]
		if seen[s.name] || !slices.IsSorted(s.eras) {
			t.Errorf("%s stands twice, or its revisions %q are not in order", s.name, s.eras)
		}
		seen[s.name] = true
	}
}

func TestDiffer(t *testing.T) {
	ours := []string{"a [1]", "b [1,2]"}
	if err := differ(ours, ours); err != nil {
		t.Error(err)
	}
	for _, theirs := range [][]string{nil, {"a [1]"}, {"a [1]", "b [1,2]", "c [2]"}, {"a [1]", "b [2]"}} {
		if differ(theirs, ours) == nil {
			t.Errorf("%q is no different", theirs)
		}
	}
}

func TestPlan(t *testing.T) {
	for name, test := range map[string]struct {
		o    options
		want int
		err  string
	}{
		"everything":      {options{mode: "both"}, 150, ""},
		"one mode":        {options{mode: pinned}, 75, ""},
		"one scenario":    {options{mode: "both", scenario: "tools_call"}, 6, ""},
		"a pattern":       {options{mode: auto, scenario: "json-*"}, 3, ""},
		"a set":           {options{mode: "both", set: rev2511}, 50, ""},
		"no such set":     {options{mode: "both", set: "2024-11-05"}, 0, "no requirement set"},
		"no such pattern": {options{mode: "both", scenario: "auth"}, 0, "no scenario is called"},
		"a bad pattern":   {options{mode: "both", scenario: "[a"}, 0, "syntax error"},
		"a bad mode":      {options{mode: "fast"}, 0, "is none of"},
		"both":            {options{mode: "both", set: rev2511, scenario: "*"}, 0, "exclude each other"},
	} {
		runs, err := test.o.plan()
		if len(runs) != test.want || test.err == "" && err != nil ||
			test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: %d runs, %v", name, len(runs), err)
		}
	}
}
