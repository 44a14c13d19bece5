package main

import (
	"errors"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	core := rowOf(t, "tools_call", rev2511)
	fine := &driverVerdict{OK: true}
	passes := func(mode string) outcome { return outcome{run: run{core, mode}, checks: good(core), driver: fine} }
	fails := func(mode string) outcome { return outcome{run: run{core, mode}, driver: fine, stderr: "a log"} }
	for name, test := range map[string]struct {
		board scoreboard
		fails bool
		want  []string
	}{
		"all is well": {scoreboard{outcomes: []outcome{passes(auto), passes(pinned)}}, false,
			[]string{"tools_call  2025-11-25  PASS  PASS    2/2", "2 passed, 0 failed"}},
		"one mode": {scoreboard{outcomes: []outcome{passes(pinned)}}, false,
			[]string{"tools_call  2025-11-25  -     PASS    2/2", "1 passed, 0 failed"}},
		"one fails": {scoreboard{outcomes: []outcome{passes(auto), fails(pinned)}}, true,
			[]string{"2025-11-25  PASS  FAIL    2/2 0/0", "FAIL tools_call 2025-11-25 pinned", "stderr: a log", "1 passed, 1 failed"}},
		"one round fails": {scoreboard{outcomes: []outcome{passes(auto), passes(auto), fails(auto)}}, true,
			[]string{"FLAKY (PASS in 2 of 3)", "2 passed, 1 failed"}},
		"the suite broke": {scoreboard{outcomes: []outcome{{run: run{core, auto}, broke: errors.New("no report")}}}, true,
			[]string{"no report", "0 passed, 1 failed"}},
		"it fails as is known": {scoreboard{known: []knownFailure{{"tools_call", "not yet"}}, outcomes: []outcome{fails(auto)}}, false,
			[]string{"known", "1 failed as is known", "0 passed, 0 failed"}},
		"a known failure passes": {scoreboard{known: []knownFailure{{"tools_call", "not yet"}}, outcomes: []outcome{passes(auto)}}, true,
			[]string{"STALE", "take it out of known-failures.txt", "0 passed, 1 failed"}},
		"a guard fails": {scoreboard{outcomes: []outcome{passes(auto)}, guards: []guard{{"one", nil}, {"two", []string{"a fault"}}}}, true,
			[]string{"PASS guard: one", "FAIL guard: two\n     a fault", "2 passed, 1 failed"}},
		"nothing": {scoreboard{}, true, []string{"0 passed, 0 failed"}},
	} {
		var out strings.Builder
		err := test.board.print(&out, false)
		if (err != nil) != test.fails {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, &out)
			}
		}
	}
}
