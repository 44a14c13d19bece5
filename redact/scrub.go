package redact

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
)

// The bounds of a Scrubber (L42). Above any of them it fails closed.
const (
	maxValues   = 4096
	maxValue    = 16 << 10 // bytes
	maxPatterns = 64 << 20 // bytes of all values in all their forms
)

// A Scrubber removes the live secrets of the process from text. A secret stays
// live until whoever added it forgets it, which only those do whose secrets are
// many and short-lived: an old token may still be echoed. The zero Scrubber knows
// no secret.
//
// A value is found as it is, and in the forms that programs write values in:
// base64 and base64url at any place of a longer text, hexadecimal, URL encoding,
// JSON, JSON in JSON, Go's %q, shell quotes, XML and HTML; a header's value also
// without its scheme word; each line of a value of several; the head and tail of
// a long one. It is not found compressed, encrypted, hashed, reversed, or with
// other characters put in between.
//
// A value of less than 4 bytes, or one like "true" and "localhost" that ordinary
// text is full of, is not looked for; one of less than 8 bytes only where it
// stands as a word of its own.
//
// A Scrubber takes 4,096 values of up to 16 KiB each, and 64 MiB of forms in all.
// Past that it cannot promise anything any more, and gives the length of a text
// in place of the text.
type Scrubber struct {
	mu     sync.Mutex
	known  func() *known // guarded by mu; nil while there is nothing
	closed atomic.Bool   // a bound was exceeded; never goes back

	// current is what Text reads: nil when there is something to look for that
	// is not in a matcher yet, which the next reader then builds.
	current atomic.Pointer[matcher]
}

// known is what a Scrubber knows. It is kept behind a function, as the value of a
// Secret is: fmt follows even a pointer in an unexported field, for a verb that
// does not fit it.
type known struct {
	values   map[string]int  // what was added, and how often
	patterns map[string]bool // what is looked for, and whether as a token only
	size     int             // bytes of patterns
}

// NewScrubber returns a Scrubber that knows no secret yet.
func NewScrubber() *Scrubber { return &Scrubber{} }

// Add makes values secret from now on: every call of Text that begins after Add
// returned removes them. A value that is too short or too plain to be matched in
// text is not matched, as the type says; it is still never printed from a Secret.
//
// Adding costs little; the first Text behind it costs up to some milliseconds.
func (s *Scrubber) Add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range values {
		if s.closed.Load() {
			return
		}
		if !matchable(value) && !matchable(strings.TrimSpace(value)) {
			continue
		}
		if s.known == nil {
			k := &known{values: map[string]int{}, patterns: map[string]bool{}}
			s.known = func() *known { return k }
		}
		k := s.known()
		if k.values[value] > 0 {
			k.values[value]++
			continue
		}
		if len(value) > maxValue || len(k.values) == maxValues || !k.add(value) {
			s.known = nil
			s.closed.Store(true)
		}
		s.current.Store(nil)
	}
}

// Forget takes back one Add of each value. It is for secrets that a server deals
// out without end, such as session ids, which would fill the Scrubber. Once they
// are worth nothing any more, texts may show them.
func (s *Scrubber) Forget(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		return
	}
	k, gone := s.known(), false
	for _, value := range values {
		if k.values[value] > 1 {
			k.values[value]--
		} else if k.values[value] == 1 {
			delete(k.values, value)
			gone = true
		}
	}
	if !gone {
		return
	}
	// Values share patterns, so what is left is worked out anew.
	rest := &known{values: map[string]int{}, patterns: map[string]bool{}}
	for value, n := range k.values {
		rest.add(value)
		rest.values[value] = n
	}
	s.known = func() *known { return rest }
	s.current.Store(nil)
}

// add makes a value known, and reports whether the bound on patterns allows it.
func (k *known) add(value string) bool {
	k.values[value] = 1
	for _, v := range derived(value) {
		if !matchable(v) {
			continue
		}
		for _, form := range forms(v) {
			k.pattern(form, len(v) < unbounded)
		}
		for _, piece := range fragments(v) {
			if !matchable(piece) {
				continue
			}
			for _, form := range textForms(piece) {
				k.pattern(form, false)
			}
		}
	}
	return k.size <= maxPatterns
}

// pattern adds a pattern. One that is matched anywhere is not a token only.
func (k *known) pattern(text string, token bool) {
	was, old := k.patterns[text]
	if !old {
		k.size += len(text)
	}
	k.patterns[text] = token && (was || !old)
}

// matcher returns a matcher of all that is secret now.
func (s *Scrubber) matcher() *matcher {
	if m := s.current.Load(); m != nil {
		return m
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.current.Load()
	if m == nil {
		m = &matcher{}
		if s.known != nil {
			m = newMatcher(s.known().patterns)
		}
		s.current.Store(m)
	}
	return m
}

// Format prints the placeholder for every verb: a Scrubber holds what it hides.
func (s *Scrubber) Format(f fmt.State, verb rune) { io.WriteString(f, Placeholder) }

// Text returns text with every form of every live secret replaced by the
// placeholder, and those that overlap by one. It changes nothing else.
func (s *Scrubber) Text(text string) string {
	m := s.matcher()
	if s.closed.Load() {
		return lengthOnly(len(text))
	}
	spans, _ := m.find(text, 0, true)
	if len(spans) == 0 {
		return text
	}
	var out strings.Builder
	at := 0
	for _, span := range spans {
		out.WriteString(text[at:span.from])
		out.WriteString(Placeholder)
		at = span.to
	}
	out.WriteString(text[at:])
	return out.String()
}

// lengthOnly is what is shown of a text when nothing else can be.
func lengthOnly(size int) string { return fmt.Sprintf("[redacted: %d bytes]", size) }

// Reason makes text that came from elsewhere fit for an error, a status or a
// log: scrubbed, on one line with control and bidi characters escaped, and cut
// to max bytes (0 for no bound). The order matters: a secret that was cut or
// escaped would not be found any more.
func (s *Scrubber) Reason(text string, max int) string {
	return Cut(Escape(s.Text(text)), max)
}

// Writer returns a writer that scrubs a stream, secrets split over two writes
// included. Flush writes what is held back.
func (s *Scrubber) Writer(w io.Writer) *Writer {
	st := &stream{scrub: s, w: w}
	return &Writer{stream: func() *stream { return st }}
}

// Handler returns a slog.Handler that scrubs what h is given: the message and
// the values of attributes, not their keys. What is text is put on one line
// too.
func (s *Scrubber) Handler(h slog.Handler) slog.Handler { return &handler{scrub: s, next: h} }
