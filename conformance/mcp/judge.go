package main

import (
	"fmt"
	"time"
)

// The modes that a scenario is run in.
const (
	auto   = "auto"   // toolhost finds out which revision the server speaks
	pinned = "pinned" // the configuration names it
)

// A run is one scenario at one revision in one mode.
type run struct {
	row
	mode string
}

func (r run) String() string { return r.row.String() + " " + r.mode }

// A check is one line of the suite's report.
type check struct {
	ID           string
	Name         string
	Status       string
	ErrorMessage string
}

// An outcome is what came of a run.
type outcome struct {
	run
	checks []check
	driver *driverVerdict // nil when the driver did not get to say one
	stderr string         // of the driver and the host
	took   time.Duration  // 0 in a requirement set

	// broke says why there is nothing to judge: the suite itself failed. Such a run
	// fails whatever is known of its scenario.
	broke error
}

// A driverVerdict is the last line of the driver's stdout.
type driverVerdict struct {
	OK     bool
	Reason string
}

// judge returns what is wrong with the checks alone: one that failed or warned, and
// needs that did not succeed.
func judge(needs []need, checks []check) (bad, missing []string) {
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS", "INFO", "SKIPPED":
		default:
			bad = append(bad, fmt.Sprintf("%s %s (%s) %s", c.Status, c.ID, c.Name, c.ErrorMessage))
		}
	}
	for _, need := range needs {
		n := 0
		for _, c := range checks {
			if c.Status == "SUCCESS" && c.ID == need.id && (need.name == "" || need.name == c.Name) {
				n++
			}
		}
		if n < need.n {
			missing = append(missing, fmt.Sprintf("%s %s succeeded %d of %d times", need.id, need.name, n, need.n))
		}
	}
	return bad, missing
}

// A verdict is what is made of an outcome.
type verdict string

const (
	pass  verdict = "PASS"
	fail  verdict = "FAIL"
	known verdict = "known" // it failed, as is known
	stale verdict = "STALE" // it passed, though it is known to fail
	na    verdict = "n/a"   // the suite skipped it for something that toolhost does not have
)

// verdict judges the outcome, with what is wrong. failures are the known ones.
func (o *outcome) verdict(failures []knownFailure) (verdict, []string) {
	if o.broke != nil {
		return fail, []string{o.broke.Error()}
	}
	bad, missing := judge(o.need(), o.checks)
	faults := append(bad, missing...)
	switch {
	case o.driver == nil:
		faults = append(faults, "the driver did not come to its end")
	case !o.driver.OK:
		faults = append(faults, "the driver: "+o.driver.Reason)
	}
	reason := reasonFor(failures, o.name)
	switch {
	case reason != "" && len(faults) > 0:
		return known, []string{reason}
	case reason != "":
		return stale, []string{"it passes and is known to fail (" + reason + "); take it out of known-failures.txt"}
	case len(faults) > 0:
		return fail, faults
	case o.skills && skipped(o.checks):
		return na, []string{"it is about skills, an extension that toolhost does not have"}
	case o.skills:
		return fail, []string{"it is applicable now; say in scenarios.go what it must show"}
	}
	return pass, nil
}

// skipped reports whether the suite skipped every check that it did not merely note.
func skipped(checks []check) bool {
	n := 0
	for _, c := range checks {
		switch c.Status {
		case "SKIPPED":
			n++
		case "INFO":
		default:
			return false
		}
	}
	return n > 0
}

// tally counts the checks that succeeded, and those that succeeded or did not.
func tally(checks []check) (good, all int) {
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			good++
			all++
		case "FAILURE", "WARNING":
			all++
		}
	}
	return good, all
}
