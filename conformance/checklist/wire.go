package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// A wireCheck is one line of a wire section: what the server must have seen, in
// all, when the client has gone.
type wireCheck struct {
	textLine
	verb    string
	count   int
	pattern pattern
	matcher string         // JSON; "" for none
	pointer string         // of unique and keys
	names   *regexp.Regexp // of keys
}

// wireVerbs are the words that begin a line of a wire section.
var wireVerbs = map[string]string{
	"next":   "a request after the last one found",
	"then":   "the very next request after the last one found",
	"all":    "every such request, of which there is at least one",
	"no":     "no such request",
	"count":  "exactly so many such requests",
	"unique": "such requests differ in what stands at the pointer",
	"keys":   "the names of all members of what stands at the pointer match",
}

func parseWire(s *section) ([]wireCheck, error) {
	var checks []wireCheck
	for _, line := range s.lines() {
		c := wireCheck{textLine: line}
		w := words(line.text)
		var err error
		if c.verb, _, err = w.take(); err != nil {
			return nil, line.fault(err)
		}
		if wireVerbs[c.verb] == "" {
			return nil, line.fault(fmt.Errorf("%q is no word that begins a line of wire", c.verb))
		}
		if c.verb == "count" {
			if c.count = w.number(-1); c.count < 0 {
				return nil, line.fault(fmt.Errorf("count wants a number"))
			}
		}
		if c.pattern, err = w.pattern(); err != nil {
			return nil, line.fault(err)
		}
		if err := c.parseRest(&w); err != nil {
			return nil, line.fault(err)
		}
		if err := w.end(); err != nil {
			return nil, line.fault(err)
		}
		checks = append(checks, c)
	}
	return checks, nil
}

// parseRest reads what follows the pattern.
func (c *wireCheck) parseRest(w *words) (err error) {
	if c.verb != "unique" && c.verb != "keys" {
		c.matcher, err = w.value()
		return err
	}
	if c.pointer, _, err = w.take(); err != nil || !strings.HasPrefix(c.pointer, "/") {
		return fmt.Errorf("%s wants a JSON pointer, such as /body/id", c.verb)
	}
	if c.verb == "unique" {
		return nil
	}
	names, err := w.name()
	if err != nil || names == "" {
		return fmt.Errorf("keys wants a regular expression (%v)", err)
	}
	c.names, err = regexp.Compile("^(?:" + names + ")$")
	return err
}

func (l textLine) fault(err error) error { return fmt.Errorf("line %d: %w", l.line, err) }

// judgeWire holds what the server saw against the checks, and returns what is
// wrong.
func judgeWire(checks []wireCheck, seen []*request) []string {
	var faults []string
	at := -1 // the last request that next or then found
	for i := range checks {
		c := &checks[i]
		if err := c.judge(seen, &at); err != nil {
			faults = append(faults, fmt.Sprintf("wire: line %d: %s: %v", c.line, c.text, err))
		}
	}
	return faults
}

func (c *wireCheck) judge(seen []*request, at *int) error {
	fit := c.pattern.among(seen)
	matching, why := c.matching(seen, fit)
	switch c.verb {
	case "next":
		for _, i := range matching {
			if i > *at {
				*at = i
				return nil
			}
		}
		if why != nil {
			return why
		}
		return fmt.Errorf("none after %s", place(seen, *at))
	case "then":
		if *at+1 >= len(seen) {
			return fmt.Errorf("nothing after %s", place(seen, *at))
		}
		*at++
		for _, i := range matching {
			if i == *at {
				return nil
			}
		}
		return fmt.Errorf("after %s came %s: %v", place(seen, *at-1), seen[*at], match(c.matcher, seen[*at].json()))
	case "all":
		if len(fit) == 0 {
			return fmt.Errorf("there is none")
		}
		return why
	case "no":
		if len(matching) > 0 {
			return fmt.Errorf("there is one: %s %.300s", seen[matching[0]], seen[matching[0]].json())
		}
	case "count":
		if len(matching) != c.count {
			return fmt.Errorf("there are %d", len(matching))
		}
	case "unique":
		return c.unique(seen, fit)
	case "keys":
		return c.keys(seen, fit)
	}
	return nil
}

// matching returns the requests of fit that the matcher matches, and why the
// first of the others does not.
func (c *wireCheck) matching(seen []*request, fit []int) (matching []int, why error) {
	for _, i := range fit {
		if err := match(c.matcher, seen[i].json()); err == nil {
			matching = append(matching, i)
		} else if why == nil {
			why = fmt.Errorf("request %d, %s: %w", i+1, seen[i], err)
		}
	}
	return matching, why
}

func (c *wireCheck) unique(seen []*request, fit []int) error {
	if len(fit) < 2 {
		return fmt.Errorf("want two at least, there are %d", len(fit))
	}
	first := map[string]int{}
	for _, i := range fit {
		value, err := at(seen[i].json(), c.pointer)
		if err != nil {
			return fmt.Errorf("request %d, %s: %w", i+1, seen[i], err)
		}
		if j, twice := first[string(value)]; twice {
			return fmt.Errorf("requests %d and %d both have %s", j+1, i+1, value)
		}
		first[string(value)] = i
	}
	return nil
}

// keys checks the names of members; where there is no such object, there are none.
func (c *wireCheck) keys(seen []*request, fit []int) error {
	n := 0
	for _, i := range fit {
		value, err := at(seen[i].json(), c.pointer)
		var members map[string]json.RawMessage
		if err != nil || json.Unmarshal(value, &members) != nil {
			continue
		}
		n++
		for name := range members {
			if !c.names.MatchString(name) {
				return fmt.Errorf("request %d, %s: %q does not match", i+1, seen[i], name)
			}
		}
	}
	if n == 0 {
		return fmt.Errorf("no such object was seen")
	}
	return nil
}

func place(seen []*request, at int) string {
	if at < 0 {
		return "the beginning"
	}
	return fmt.Sprintf("request %d, %s", at+1, seen[at])
}

// at returns the value at a JSON pointer (RFC 6901), as compact JSON.
func at(text []byte, pointer string) (json.RawMessage, error) {
	value := json.RawMessage(text)
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		var members map[string]json.RawMessage
		if err := json.Unmarshal(value, &members); err != nil {
			return nil, fmt.Errorf("%s: no object at %q", pointer, name)
		}
		var ok bool
		if value, ok = members[name]; !ok {
			return nil, fmt.Errorf("%s: nothing at %q", pointer, name)
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}
