package main

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/conformance/internal/child"
)

// good returns a run of ten invokes in which all agrees.
func good() *soak {
	s := &soak{n: 10, child: &child.Child{}, ledger: &fakeserver.Ledger{}}
	for i := range s.n {
		in, outcome := invoke{leave, "result"}, fakeserver.Answered
		switch {
		case i >= 8:
			in = invoke{either, "cancelled"}
		case i >= 4:
			in, outcome = invoke{cancel, "cancelled"}, fakeserver.Cancelled
		}
		s.invokes = append(s.invokes, in)
		if i != 7 { // cancelled before it was sent
			s.ledger.Runs = append(s.ledger.Runs, fakeserver.Run{Tool: "slow", Nonce: string(rune('0' + i)), Outcome: outcome})
		}
	}
	return s
}

// Each row spoils one thing, which the judge must find.
func TestJudgeFindsWhatDoesNotAgree(t *testing.T) {
	rows := []struct {
		name  string
		spoil func(*soak)
		want  string
	}{
		{"nothing", func(*soak) {}, ""},
		{"an invoke without an answer", func(s *soak) { s.invokes[7].answer = "" }, "9 answers to 10 invokes"},
		{"an error of another kind", func(s *soak) { s.invokes[7].answer = "internal error" }, `ended as "internal error"`},
		{"a result of a cancelled call without end", func(s *soak) { s.invokes[4].answer = "result" }, `invoke 4 (plan 1) ended as "result"`},
		{"a cancel of a call that was left alone", func(s *soak) { s.invokes[0].answer = "cancelled" }, `invoke 0 (plan 0) ended as "cancelled"`},
		{"too few results", func(s *soak) {
			for i := range 2 {
				s.invokes[i] = invoke{cancel, "cancelled"}
				s.ledger.Runs[i].Outcome = fakeserver.Cancelled
			}
		}, "fewer than three in ten"},
		{"a call that ran twice", func(s *soak) { s.ledger.Runs = append(s.ledger.Runs, s.ledger.Runs[0]) }, "invoke 0 (result) ran 2 times"},
		{"a result that no run gave", func(s *soak) { s.ledger.Runs = s.ledger.Runs[1:] }, "invoke 0 (result) ran 0 times"},
		{"a cancel that the server did not hear of", func(s *soak) { s.ledger.Runs[5].Outcome = fakeserver.Running }, `as "running" at the server`},
		{"a result of a run that was cancelled", func(s *soak) { s.ledger.Runs[1].Outcome = fakeserver.Cancelled }, `as "result" at the host and as "cancelled"`},
		{"a run of a stranger", func(s *soak) { s.ledger.Runs[0].Nonce = "x" }, `the nonce "x"`},
		{"a rule that the client broke", func(s *soak) { s.ledger.Complaints = []string{"no Accept"} }, "no Accept"},
		{"no cancelled run at the server", func(s *soak) { s.ledger.Runs = s.ledger.Runs[:4] }, "too few to judge by"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := good()
			row.spoil(s)
			got := strings.Join(s.judge(), "\n")
			if !strings.Contains(got, row.want) || row.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestFaultsOfOneKindAreCut(t *testing.T) {
	var f faults
	for range 100 {
		f.add("runs", "ran twice")
	}
	f.add("answers", "none")
	if len(f.list) != 7 || f.list[5] != "and more of the kind: runs" {
		t.Errorf("%q", f.list)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var log tail
	for range 10 {
		log.Write([]byte(strings.Repeat("x", 10<<10)))
	}
	log.Write([]byte("the end"))
	if got := log.String(); len(got) != 64<<10 || !strings.HasSuffix(got, "the end") {
		t.Errorf("%d bytes", len(got))
	}
}
