package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A step is one line of a host section.
type step struct {
	textLine
	eventually bool   // do it again until it holds
	times      int    // do it so often
	parallel   bool   // at once
	begin      string // send it and go on; await has the answer
	verb       string
	doing
	expect string // what the answer must match, JSON; "" for anything but an error
}

// doing is what a step does: it asks the child something, or acts by itself.
type doing struct {
	ask *question
	act func(context.Context, *player) error
}

// A question is a request to the child.
type question struct {
	method string
	params func(*player) string
	// text takes the JSON text out of the answer's content, for what is judged;
	// else it is the whole result.
	text bool
}

// An action reads what follows its verb.
type action func(w *words) (doing, error)

// actions are the verbs of a host section. Those that ask the child something have
// an answer, which "-> MATCHER" is held against.
var actions = map[string]action{
	"serve":     parseServe,
	"construct": parseConstruct,
	"ready":     parseReady,
	"failed":    parseFailed,
	"status":    parseStatus,
	"list":      parseList,
	"call":      parseCall,
	"invoke":    parseInvoke,
	"await":     parseAwait,
	"cancel":    parseCancel,
	"got":       parseGot,
	"none":      parseNone,
	"seen":      parseSeen,
	"unseen":    parseUnseen,
	"asked":     parseAsked,
	"answer":    parseAnswer,
	"always":    parseAlways,
	"declares":  parseDeclares,
	"framing":   parseFraming,
	"notify":    parseNotify,
	"forget":    parseForget,
	"swap":      parseSwap,
	"limit":     parseLimit,
	"close":     parseClose,
	"end":       parseEnd,
}

// arrow stands before what an answer must match.
const arrow = "->"

func parseSteps(s *section) ([]*step, error) {
	var steps []*step
	for _, line := range s.lines() {
		one, err := parseStep(line)
		if err != nil {
			return nil, line.fault(err)
		}
		steps = append(steps, one)
	}
	return withOpening(steps), nil
}

// preparing are the verbs that may come before construct, and need no child.
var preparing = map[string]bool{"framing": true, "serve": true, "declares": true, "always": true, "limit": true}

// withOpening puts construct and ready before steps that begin with neither.
func withOpening(steps []*step) []*step {
	at := 0
	for at < len(steps) && preparing[steps[at].verb] {
		at++
	}
	if at < len(steps) && steps[at].verb == "construct" {
		return steps
	}
	opening := make([]*step, 0, len(steps)+2)
	opening = append(opening, steps[:at]...)
	for _, text := range []string{"construct", "ready"} {
		one, err := parseStep(textLine{text: text})
		if err != nil {
			panic(err) // the words are ours
		}
		opening = append(opening, one)
	}
	return append(opening, steps[at:]...)
}

func parseStep(line textLine) (*step, error) {
	s := &step{textLine: line, times: 1}
	w := words(line.text)
	var err error
	for s.verb == "" {
		word, isJSON, err := w.take()
		switch {
		case err != nil:
			return nil, err
		case isJSON || word == "":
			return nil, errors.New("a step begins with a verb")
		case word == "eventually":
			s.eventually = true
		case word == "times", word == "parallel":
			s.parallel = word == "parallel"
			if s.times = w.number(0); s.times == 0 {
				return nil, fmt.Errorf("%s wants a number", word)
			}
		case word == "begin":
			if s.begin, err = w.name(); err != nil {
				return nil, err
			}
		default:
			s.verb = word
		}
	}
	parse := actions[s.verb]
	if parse == nil {
		return nil, fmt.Errorf("%q is no verb of a host", s.verb)
	}
	if s.doing, err = parse(&w); err != nil {
		return nil, err
	}
	if w.word(arrow) {
		if s.expect, err = w.value(); err != nil || s.expect == "" {
			return nil, fmt.Errorf("%s wants a matcher in JSON (%v)", arrow, err)
		}
	}
	if s.ask == nil && (s.expect != "" || s.begin != "") {
		return nil, fmt.Errorf("%s has no answer", s.verb)
	}
	return s, w.end()
}

// do plays the step until it holds or ctx ends.
func (s *step) do(ctx context.Context, r *player) error {
	for {
		err := s.once(ctx, r)
		if err == nil || !s.eventually || ctx.Err() != nil {
			return err
		}
		// Only the child knows when it has taken a change over, and it tells
		// nobody: ask again.
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

func (s *step) once(ctx context.Context, r *player) error {
	if !s.parallel {
		for range s.times {
			if err := s.judged(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make(chan error, s.times)
	for range s.times {
		go func() { errs <- s.judged(ctx, r) }()
	}
	var first error
	for range s.times {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (s *step) judged(ctx context.Context, r *player) error {
	switch {
	case s.ask == nil:
		return s.act(ctx, r)
	case s.begin != "":
		return r.begin(s.begin, s.ask)
	}
	return r.ask(ctx, s.ask, s.expect)
}
