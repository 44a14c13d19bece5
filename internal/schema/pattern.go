package schema

import (
	"io"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxPatterns bounds what the patterns of one schema may come to when they are
// compiled, in instructions: a{1000} is short and compiles to a thousand.
const maxPatterns = 1 << 16

// smallMatch is the work, in steps, up to which a match is not interrupted.
const smallMatch = 1 << 16

// A pattern is a compiled regular expression, whose matches are metered.
type pattern struct {
	*regexp.Regexp
	meter *meter
	size  int // in instructions, at most
}

// An engine compiles the patterns of one schema.
type engine struct {
	meter   *meter
	size    int       // of all so far
	refused *Unusable // the last pattern that was
}

// compile implements jsonschema.RegexpEngine.
func (e *engine) compile(text string) (jsonschema.Regexp, error) {
	refuse := func(why string) (jsonschema.Regexp, error) {
		e.refused = &Unusable{Cause: Beyond, Reason: "has the pattern " + shown(text) + ", which " + why}
		return nil, e.refused
	}
	translated, err := translate(text)
	if err != nil {
		return refuse(err.Error())
	}
	tree, err := syntax.Parse(translated, syntax.Perl)
	if err != nil {
		return refuse("cannot be read without backtracking")
	}
	p := &pattern{meter: e.meter, size: instructions(tree)}
	if e.size += p.size; e.size > maxPatterns {
		return refuse("comes to too much, together with the others")
	}
	if p.Regexp, err = regexp.Compile(translated); err != nil {
		return refuse("cannot be read without backtracking")
	}
	return p, nil
}

// instructions estimates from above what an expression compiles to, before it is.
func instructions(re *syntax.Regexp) int {
	n := 2 + len(re.Rune)/2
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min+1, re.Max, 1)
	}
	return min(n, maxPatterns+1)
}

// MatchString takes at most one step for each pair of a byte and an instruction,
// which is much for a large s: then the text is read through the meter, and the
// match ends where the budget does.
func (p *pattern) MatchString(s string) bool {
	if work := p.size * (len(s) + 1) / 4; work <= smallMatch {
		p.meter.step(1 + work/8)
		return p.Regexp.MatchString(s)
	}
	return p.MatchReader(&meteredText{meter: p.meter, s: s, each: 1 + p.size/8})
}

// A meteredText gives a text to a matcher for as long as the budget lasts.
type meteredText struct {
	meter *meter
	s     string
	each  int // steps for one character
}

func (t *meteredText) ReadRune() (rune, int, error) {
	if t.s == "" {
		return 0, 0, io.EOF
	}
	t.meter.step(t.each)
	c, size := utf8.DecodeRuneInString(t.s)
	t.s = t.s[size:]
	return c, size, nil
}
