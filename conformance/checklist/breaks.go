package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// A wireBreak changes one kind of request between the client and the server, so
// that the server sees a client that breaks a rule.
type wireBreak struct {
	textLine
	verb    string
	pattern pattern
	name    string // of a header, or a JSON pointer
	value   string // of the header or at the pointer; for before and after the body
	method  string // of before and after: the HTTP method
}

// A sending is a request on its way to the server.
type sending struct {
	method string
	header http.Header
	body   []byte

	aside    bool // not the client's own: its reply goes nowhere
	withheld bool // answered 202 and kept from the server
}

// breakVerbs are the words that begin a break on the wire, and what each does.
var breakVerbs = map[string]func(b *wireBreak, s *sending, out []*sending) ([]*sending, error){
	"strip": func(b *wireBreak, s *sending, out []*sending) ([]*sending, error) {
		s.header.Del(b.name)
		return append(out, s), nil
	},
	"set": func(b *wireBreak, s *sending, out []*sending) ([]*sending, error) {
		s.header.Set(b.name, b.value)
		return append(out, s), nil
	},
	"edit": func(b *wireBreak, s *sending, out []*sending) (_ []*sending, err error) {
		s.body, err = put(s.body, b.name, json.RawMessage(b.value))
		return append(out, s), err
	},
	"delete": func(b *wireBreak, s *sending, out []*sending) (_ []*sending, err error) {
		s.body, err = put(s.body, b.name, nil)
		return append(out, s), err
	},
	"text": func(b *wireBreak, s *sending, out []*sending) ([]*sending, error) {
		s.body = []byte(b.value)
		return append(out, s), nil
	},
	"batch": func(b *wireBreak, s *sending, out []*sending) ([]*sending, error) {
		s.body = append(append([]byte("["), s.body...), ']')
		return append(out, s), nil
	},
	"drop": func(b *wireBreak, s *sending, out []*sending) ([]*sending, error) {
		s.withheld = true
		return append(out, s), nil
	},
	"twice": func(b *wireBreak, s *sending, out []*sending) ([]*sending, error) {
		return append(out, s.copy(), s), nil
	},
	"before": func(b *wireBreak, s *sending, out []*sending) ([]*sending, error) {
		return append(out, b.stranger(s), s), nil
	},
	"after": func(b *wireBreak, s *sending, out []*sending) ([]*sending, error) {
		return append(out, s, b.stranger(s)), nil
	},
}

func parseWireBreak(line textLine) (wireBreak, error) {
	b := wireBreak{textLine: line}
	w := words(line.text)
	var err error
	if b.verb, _, err = w.take(); err != nil {
		return b, err
	}
	if b.pattern, err = w.pattern(); err != nil {
		return b, err
	}
	switch b.verb {
	case "strip", "delete":
		b.name, err = w.name()
	case "set":
		if b.name, err = w.name(); err == nil {
			b.value, err = w.name()
		}
	case "edit":
		if b.name, err = w.name(); err == nil {
			b.value, _, err = w.take()
		}
	case "text":
		b.value, err = w.name()
	case "before", "after":
		if b.method, err = w.name(); err == nil {
			b.value, err = w.value()
		}
	}
	if err != nil {
		return b, err
	}
	return b, w.end()
}

func (s *sending) copy() *sending {
	return &sending{method: s.method, header: s.header.Clone(), body: bytes.Clone(s.body), aside: true}
}

// stranger is a request that the client never sent, with the headers of one that
// it did.
func (b *wireBreak) stranger(s *sending) *sending {
	c := s.copy()
	c.method, c.body = b.method, []byte(b.value)
	if b.method == http.MethodGet {
		c.header.Set("Accept", "text/event-stream")
	}
	return c
}

// put returns a JSON text with the value at a pointer set, or taken out when value
// is nil. Objects on the way are made.
func put(text []byte, pointer string, value json.RawMessage) ([]byte, error) {
	name, rest, more := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	members := map[string]json.RawMessage{}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &members); err != nil {
			return nil, fmt.Errorf("%s: no object: %w", pointer, err)
		}
	}
	switch {
	case more:
		inner, err := put(members[name], rest, value)
		if err != nil {
			return nil, err
		}
		members[name] = inner
	case value == nil:
		delete(members, name)
	default:
		members[name] = value
	}
	return json.Marshal(members)
}

// A breaker applies the breaks of one run to what the client sends.
type breaker struct {
	breaks []wireBreak

	mu   sync.Mutex
	nth  []int   // requests so far that fit each break; guarded by mu
	used []bool  // whether each break has been applied; guarded by mu
	errs []error // of breaks that could not be applied; guarded by mu
}

func newBreaker(breaks []wireBreak) *breaker {
	return &breaker{breaks: breaks, nth: make([]int, len(breaks)), used: make([]bool, len(breaks))}
}

// apply returns what goes to the server instead of a request of the client. The
// client's own is among it and gets the reply.
func (b *breaker) apply(server string, own *sending) []*sending {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := newRequest(server, own.method, own.header, own.body)
	out := []*sending{own}
	for i := range b.breaks {
		wb := &b.breaks[i]
		p := wb.pattern
		if !p.fits(r) {
			continue
		}
		b.nth[i]++
		if p.nth != 0 && p.nth != b.nth[i] {
			continue
		}
		b.used[i] = true
		var next []*sending
		for _, s := range out {
			var err error
			if s != own {
				next = append(next, s)
			} else if next, err = breakVerbs[wb.verb](wb, s, next); err != nil {
				b.errs = append(b.errs, wb.fault(err))
			}
		}
		out = next
	}
	return out
}

// faults are what keeps the breaks from being what the case says: then a failure
// of the run proves nothing.
func (b *breaker) faults() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	errs := b.errs
	for i, used := range b.used {
		if !used {
			errs = append(errs, b.breaks[i].fault(fmt.Errorf("%s: nothing that it breaks was sent", b.breaks[i].text)))
		}
	}
	return errs
}
