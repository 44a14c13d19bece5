package main

import (
	"strings"
	"testing"
)

func TestKnownFailures(t *testing.T) {
	list, err := readKnown(knownFailures)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatal("the file was not read")
	}
	for _, s := range scenarios {
		var reasons int
		for _, k := range list {
			if k.matches(s.name) {
				reasons++
			}
		}
		if reasons > 1 {
			t.Errorf("%s is matched %d times", s.name, reasons)
		}
		if s.skills && reasons > 0 {
			t.Errorf("%s is not applicable, and cannot fail", s.name)
		}
	}
	if reasonFor(list, "auth/dpop") == "" || reasonFor(list, "tools_call") != "" {
		t.Error("patterns do not match as they should")
	}
}

func TestKnownFailuresThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"tools_call\n":               "no reason",
		"tools_call  # a comment":    "no reason",
		"tools_cal   a reason\n":     "no scenario is called so",
		"auth        a reason\n":     "no scenario is called so",
		"too[ls_call a reason\n":     "syntax error",
		"# fine\n\nnothing else x\n": "no scenario is called so",
	} {
		if _, err := readKnown(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	list, err := readKnown("\n# comment\n  tools_*   one reason  # comment\n")
	if err != nil || len(list) != 1 || list[0] != (knownFailure{"tools_*", "one reason"}) {
		t.Errorf("%q, %v", list, err)
	}
}
