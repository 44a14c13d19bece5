package schema

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// A surveyor bounds a schema before any of it is compiled. Every object and boolean
// counts as a schema, wherever it stands, since a reference can make it one.
type surveyor struct {
	table    limit.Table
	schemas  int
	size     int    // in values of any kind
	opaque   bool   // some schema is identified by a URI to which nothing is relative, as urn:x
	relative string // a reference that is relative; "" for none
}

// survey measures a schema, or says why it is not to be compiled.
func survey(raw []byte, table limit.Table) (*surveyor, error) {
	s := &surveyor{table: table}
	if err := s.visit(raw, 0); err != nil {
		return nil, err
	}
	if s.opaque && s.relative != "" {
		// The library would take it for the schema itself.
		return nil, &Unusable{Cause: External, Reason: "refers to " + shown(s.relative) + ", which is outside of it, and nothing is fetched"}
	}
	return s, nil
}

func (s *surveyor) exceeded(name limit.Name, what string) error {
	return &Unusable{Cause: Beyond, Reason: "is too large: " + s.table.Exceeded(name, what).Error()}
}

func (s *surveyor) visit(value []byte, depth int) error {
	s.size++
	kind := rawjson.KindOf(value)
	if kind == rawjson.Dict || kind == rawjson.Bool {
		s.schemas++
	}
	if kind == rawjson.Dict {
		depth++
	}
	switch {
	case depth > s.table.Int(limit.SchemaDepth):
		return s.exceeded(limit.SchemaDepth, "its depth")
	case s.schemas > s.table.Int(limit.SchemaSubschemas):
		return s.exceeded(limit.SchemaSubschemas, "the number of its subschemas")
	case kind == rawjson.Number && !modest(value):
		return &Unusable{Cause: Beyond, Reason: "holds a number with too many digits"}
	case kind == rawjson.Array:
		return s.items(value, depth)
	case kind != rawjson.Dict:
		return nil
	}
	for _, m := range rawjson.Members(value) {
		switch name := m.Name(); name {
		case "$schema":
			if rawjson.KindOf(m.Value) == rawjson.String {
				if err := dialectOf(rawjson.Text(m.Value)); err != nil {
					return err
				}
			}
		case "$id", "id":
			u, err := url.Parse(rawjson.Text(m.Value))
			s.opaque = s.opaque || err == nil && u.Opaque != ""
		case "$ref", "$dynamicRef", "$recursiveRef":
			ref := rawjson.Text(m.Value)
			if u, err := url.Parse(ref); err == nil && !u.IsAbs() && !strings.HasPrefix(ref, "#") {
				s.relative = ref
			}
		case "pattern":
			if rawjson.KindOf(m.Value) == rawjson.String && len(rawjson.Text(m.Value)) > s.table.Int(limit.SchemaPattern) {
				return s.exceeded(limit.SchemaPattern, "a pattern")
			}
		case "patternProperties":
			for _, p := range rawjson.Members(m.Value) {
				if len(p.Name()) > s.table.Int(limit.SchemaPattern) {
					return s.exceeded(limit.SchemaPattern, "a pattern")
				}
			}
		}
		if err := s.visit(m.Value, depth); err != nil {
			return err
		}
	}
	return nil
}

// items visits the items of an array. One object deep counts for the depth, however
// many arrays stand between, of which the text allows json_depth.
func (s *surveyor) items(value []byte, depth int) error {
	for _, item := range rawjson.Elements(value) {
		if err := s.visit(item, depth); err != nil {
			return err
		}
	}
	return nil
}

const (
	mostDigits   = 400  // of a number, which the library compares as a fraction
	mostExponent = 1000 // up or down
)

// modest reports whether a number can be written out without harm.
func modest(number []byte) bool {
	digits, exponent, _ := strings.Cut(strings.ToLower(string(number)), "e")
	if len(digits) > mostDigits {
		return false
	}
	if exponent == "" {
		return true
	}
	n, err := strconv.Atoi(exponent)
	return err == nil && -mostExponent <= n && n <= mostExponent
}

// The library cannot be stopped everywhere, so that what could take much longer than
// its time is not begun.

// bytesIn is how much JSON is decoded in that time, at least.
func bytesIn(budget time.Duration) int { return int(budget/time.Microsecond) * 40 }

// pairsIn is how many pairs of a value and a place of the schema can be looked at in
// that time, about.
func pairsIn(budget time.Duration) int { return int(budget/time.Microsecond) * 200 }

// maxLevels bounds how many schemas may be applied inside of each other: each of them
// once for every level of the value.
const maxLevels = 20_000

// A measure is how much there is to a value.
type measure struct {
	values, depth int
	modest        bool // all its numbers are
}

func measured(value []byte) measure {
	m := measure{modest: true}
	m.visit(value, 1)
	return m
}

func (m *measure) visit(value []byte, depth int) {
	m.values++
	m.depth = max(m.depth, depth)
	switch rawjson.KindOf(value) {
	case rawjson.Number:
		m.modest = m.modest && modest(value)
	case rawjson.Array:
		for _, item := range rawjson.Elements(value) {
			m.visit(item, depth+1)
		}
	case rawjson.Dict:
		for _, member := range rawjson.Members(value) {
			m.visit(member.Value, depth+1)
		}
	}
}
