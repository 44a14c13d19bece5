package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// A logCheck is one line of a log section: what the child must have logged.
type logCheck struct {
	textLine
	verb    string // some, no, count
	count   int
	matcher string
}

func parseLog(s *section) ([]logCheck, error) {
	var checks []logCheck
	for _, line := range s.lines() {
		c := logCheck{textLine: line}
		w := words(line.text)
		var err error
		if c.verb, _, err = w.take(); err != nil {
			return nil, line.fault(err)
		}
		switch c.verb {
		case "some", "no":
		case "count":
			if c.count = w.number(-1); c.count < 0 {
				return nil, line.fault(errors.New("count wants a number"))
			}
		default:
			return nil, line.fault(fmt.Errorf("%q is no word that begins a line of log", c.verb))
		}
		if c.matcher, err = w.value(); err != nil || c.matcher == "" {
			return nil, line.fault(fmt.Errorf("%s wants a matcher in JSON (%v)", c.verb, err))
		}
		if err := w.end(); err != nil {
			return nil, line.fault(err)
		}
		checks = append(checks, c)
	}
	return checks, nil
}

// judgeLog holds what the child logged, one JSON object on a line, against the
// checks.
func judgeLog(checks []logCheck, log []byte, fill func(string) string) []string {
	var faults []string
	for _, c := range checks {
		n := 0
		for line := range bytes.Lines(log) {
			if match(fill(c.matcher), bytes.TrimSpace(line)) == nil {
				n++
			}
		}
		switch {
		case c.verb == "some" && n == 0, c.verb == "no" && n > 0, c.verb == "count" && n != c.count:
			faults = append(faults, fmt.Sprintf("log: line %d: %s: there are %d", c.line, c.text, n))
		}
	}
	return faults
}

// judgeNever finds what must stand in nothing that the child has said.
func judgeNever(lines []textLine, said string, fill func(string) string) []string {
	var faults []string
	for _, line := range lines {
		if text := fill(line.text); strings.Contains(said, text) {
			faults = append(faults, fmt.Sprintf("never: line %d: %s: the child has said it", line.line, line.text))
		}
	}
	return faults
}

// A buffer keeps what is written to it, from any goroutine.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.text.Bytes())
}
