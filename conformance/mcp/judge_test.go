package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// good returns the checks of a client that passes a row.
func good(r row) []check {
	checks := []check{{ID: "incoming-request", Name: "IncomingRequest", Status: "INFO"}}
	for _, need := range r.need() {
		for range need.n {
			checks = append(checks, check{ID: need.id, Name: need.name, Status: "SUCCESS"})
		}
	}
	if r.skills {
		checks = append(checks, check{ID: "sep-2640-host", Status: "SKIPPED"})
	}
	return checks
}

// rowOf returns the row of a scenario at a revision.
func rowOf(t *testing.T, name, era string) row {
	t.Helper()
	for _, r := range rows() {
		if r.name == name && r.era == era {
			return r
		}
	}
	t.Fatalf("no row %s %s", name, era)
	return row{}
}

// TestNeedsAreNeeded takes each needed check away, of every row: a client that does
// nothing has none of them, and passes nothing.
func TestNeedsAreNeeded(t *testing.T) {
	for _, r := range rows() {
		checks := good(r)
		if bad, missing := judge(r.need(), checks); len(bad)+len(missing) > 0 {
			t.Errorf("%v, a good report: %q %q", r, bad, missing)
		}
		if len(r.need()) == 0 != r.skills {
			t.Errorf("%v has %d needs", r, len(r.need()))
		}
		for i, c := range checks {
			if c.Status != "SUCCESS" {
				continue
			}
			for _, less := range [][]check{
				slices.Delete(slices.Clone(checks), i, i+1),
				with(checks, i, "SKIPPED"),
				with(checks, i, "INFO"),
			} {
				if _, missing := judge(r.need(), less); len(missing) != 1 || !strings.Contains(missing[0], c.ID) {
					t.Errorf("%v without one %s: missing %q", r, c.ID, missing)
				}
			}
		}
	}
}

// with returns checks with another status for one of them.
func with(checks []check, i int, status string) []check {
	checks = slices.Clone(checks)
	checks[i].Status = status
	return checks
}

func TestBadChecks(t *testing.T) {
	r := rowOf(t, "tools_call", rev2511)
	for _, status := range []string{"FAILURE", "WARNING", "success", "", "NEW"} {
		checks := append(good(r), check{ID: "more", Name: "More", Status: status, ErrorMessage: "why"})
		bad, missing := judge(r.need(), checks)
		if len(bad) != 1 || len(missing) != 0 || !strings.Contains(bad[0], "more (More) why") {
			t.Errorf("%q: %q %q", status, bad, missing)
		}
	}
}

func TestVerdicts(t *testing.T) {
	core := rowOf(t, "tools_call", rev2511)
	skills := rowOf(t, "sep-2640-client-verify-size", rev2607)
	fine := &driverVerdict{OK: true}
	failures := []knownFailure{{"tools_*", "no reason"}}
	for name, test := range map[string]struct {
		row      row
		checks   []check
		driver   *driverVerdict
		broke    error
		failures []knownFailure
		want     verdict
	}{
		"all is well":                           {core, good(core), fine, nil, nil, pass},
		"a check is missing":                    {core, good(core)[1:2], fine, nil, nil, fail},
		"the driver saw something else":         {core, good(core), &driverVerdict{}, nil, nil, fail},
		"the driver hung":                       {core, good(core), nil, nil, nil, fail},
		"the suite broke":                       {core, good(core), fine, errors.New("x"), nil, fail},
		"a known failure":                       {core, nil, fine, nil, failures, known},
		"a known failure seen by the driver":    {core, good(core), &driverVerdict{}, nil, failures, known},
		"a known failure that passes":           {core, good(core), fine, nil, failures, stale},
		"a known failure when the suite broke":  {core, nil, nil, errors.New("x"), failures, fail},
		"skills are skipped":                    {skills, good(skills), fine, nil, nil, na},
		"skills are skipped and the host fails": {skills, good(skills), &driverVerdict{}, nil, nil, fail},
		"skills are tried":                      {skills, []check{{ID: "sep-2640-host", Status: "SUCCESS"}}, fine, nil, nil, fail},
		"skills are not even skipped":           {skills, nil, fine, nil, nil, fail},
	} {
		o := outcome{run: run{test.row, auto}, checks: test.checks, driver: test.driver, broke: test.broke}
		if got, why := o.verdict(test.failures); got != test.want {
			t.Errorf("%s: %s %q, want %s", name, got, why, test.want)
		}
	}
}
