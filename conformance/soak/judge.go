package main

import (
	"fmt"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// count counts the answers by what they are.
func (s *soak) count() map[string]int {
	count := map[string]int{}
	for _, in := range s.invokes {
		switch in.answer {
		case "result", "cancelled":
			count[in.answer]++
		case "": // none came; judge says so
		default:
			count["other"]++
		}
	}
	return count
}

// judge compares what the host saw with what the server saw and returns what does
// not agree, the first few of each kind.
func (s *soak) judge() []string {
	var f faults
	count := s.count()
	if total := count["result"] + count["cancelled"] + count["other"]; total != s.n {
		f.add("answers", "%d answers to %d invokes", total, s.n)
	}
	for _, kind := range []string{"result", "cancelled"} {
		if count[kind] < s.n*3/10 {
			f.add("counts", "%d invokes ended as %s, fewer than three in ten", count[kind], kind)
		}
	}
	for _, stray := range s.child.Strays() {
		f.add("strays", "no host should see this: %s", stray)
	}
	for i, in := range s.invokes {
		if in.answer == "result" && in.plan == cancel || in.answer == "cancelled" && in.plan == leave || in.answer != "result" && in.answer != "cancelled" {
			f.add("answers", "invoke %d (plan %d) ended as %q", i, in.plan, in.answer)
		}
	}
	s.judgeLedger(&f)
	return f.list
}

// judgeLedger checks the runs: none twice; a result means one run that the server
// answered; a cancelled call never ran, or its run was cancelled, or (where its end
// and the cancel met) was answered.
func (s *soak) judgeLedger(f *faults) {
	for _, complaint := range s.ledger.Complaints {
		f.add("complaints", "the client broke a rule: %s", complaint)
	}
	runs := make([]int, s.n)
	for _, run := range s.ledger.Runs {
		i, err := decodeNonce(run)
		if err != nil || i < 0 || i >= s.n {
			f.add("nonces", "a run with the nonce %q", run.Nonce)
			continue
		}
		runs[i]++
		in := s.invokes[i]
		agrees := run.Outcome == fakeserver.Answered && (in.answer == "result" || in.plan == either) ||
			run.Outcome == fakeserver.Cancelled && in.answer == "cancelled"
		if !agrees {
			f.add("outcomes", "invoke %d (plan %d) ended as %q at the host and as %q at the server", i, in.plan, in.answer, run.Outcome)
		}
	}
	for i, n := range runs {
		if n > 1 || n == 0 && s.invokes[i].answer == "result" {
			f.add("runs", "invoke %d (%s) ran %d times", i, s.invokes[i].answer, n)
		}
	}
	if n := s.ledger.Outcomes("", fakeserver.Cancelled); n*20 < s.n {
		f.add("counts", "the server ran only %d of the cancelled calls: too few to judge by", n)
	}
	for _, c := range s.ledger.Cancels {
		if c.Early {
			s.overtaken++
		}
	}
}

// faults collects sentences, a few of each kind.
type faults struct {
	list []string
	seen map[string]int
}

func (f *faults) add(kind, format string, args ...any) {
	const enough = 5
	if f.seen == nil {
		f.seen = map[string]int{}
	}
	f.seen[kind]++
	switch n := f.seen[kind]; {
	case n <= enough:
		f.list = append(f.list, fmt.Sprintf(format, args...))
	case n == enough+1:
		f.list = append(f.list, "and more of the kind: "+kind)
	}
}
