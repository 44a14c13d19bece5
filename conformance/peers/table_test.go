package main

import (
	"strings"
	"testing"
)

func TestBoardFailsWithOneBadStepAndWithNone(t *testing.T) {
	steps := []step{{Step: "construct", OK: true}, {Server: "a", Step: "echo", OK: true}, {Server: "b", Step: "echo", OK: true}}
	var good, bad, empty scoreboard
	var out strings.Builder
	good.add("python", "all at once", steps)
	if err := good.print(&out, false); err != nil || !strings.Contains(out.String(), "3 passed, 0 failed") {
		t.Errorf("good: %v\n%s", err, &out)
	}
	out.Reset()
	steps[1].OK, steps[1].Detail = false, "no echo"
	bad.add("python", "all at once", steps)
	if err := bad.print(&out, false); err == nil || !strings.Contains(out.String(), "echo       FAIL") || !strings.Contains(out.String(), "a echo: no echo") {
		t.Errorf("bad: %v\n%s", err, &out)
	}
	if err := empty.print(&out, false); err == nil {
		t.Error("an empty board is no success")
	}
}

// A driver that stops early must not look like one that passed: each step of each
// server is expected by name.
func TestEveryStepIsExpected(t *testing.T) {
	some := peers{{spec: spec{Name: "a", Progress: 1}}, {spec: spec{Name: "b"}}}
	got := expectedSteps(some)
	if want := len(childSteps) + 2*len(serverSteps) - 1; len(got) != want {
		t.Errorf("%d steps, not %d", len(got), want)
	}
	for _, s := range got {
		if s.OK || (s.Server == "b" && s.Step == "progress") {
			t.Errorf("%+v", s)
		}
	}
}

func TestReadSteps(t *testing.T) {
	steps, err := readSteps([]byte("{\"server\":\"a\",\"step\":\"echo\",\"ok\":true,\"detail\":\"\"}\n"))
	if err != nil || len(steps) != 1 || steps[0] != (step{"a", "echo", true, ""}) {
		t.Errorf("%+v, %v", steps, err)
	}
	if _, err := readSteps([]byte("Traceback\n")); err == nil || !strings.Contains(err.Error(), "Traceback") {
		t.Errorf("%v", err)
	}
}
