package main

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed known-failures.txt
var knownFailures string

// A knownFailure says why the scenarios that a pattern matches cannot pass yet.
type knownFailure struct{ pattern, reason string }

// readKnown reads the file. A line that cannot be used, or that is about no
// scenario of the table, is an error.
func readKnown(text string) ([]knownFailure, error) {
	var known []knownFailure
	var errs []error
	for line := range strings.Lines(text) {
		line, _, _ := strings.Cut(line, "#")
		pattern, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
		k := knownFailure{pattern, strings.TrimSpace(reason)}
		if pattern == "" {
			continue
		}
		if _, err := path.Match(pattern, ""); err != nil {
			errs = append(errs, fmt.Errorf("known failure %s: %w", pattern, err))
			continue
		}
		if k.reason == "" {
			errs = append(errs, fmt.Errorf("known failure %s: it has no reason", pattern))
		}
		if !slices.ContainsFunc(scenarios, func(s scenario) bool { return k.matches(s.name) }) {
			errs = append(errs, fmt.Errorf("known failure %s: no scenario is called so; remove it", pattern))
		}
		known = append(known, k)
	}
	return known, errors.Join(errs...)
}

func (k knownFailure) matches(scenario string) bool {
	matches, err := path.Match(k.pattern, scenario)
	return err == nil && matches
}

// reasonFor returns why a scenario must fail, "" when it must not.
func reasonFor(known []knownFailure, scenario string) string {
	for _, k := range known {
		if k.matches(scenario) {
			return k.reason
		}
	}
	return ""
}
