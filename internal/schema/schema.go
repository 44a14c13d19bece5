package schema

import (
	"bytes"
	"strconv"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolhost/toolhost/internal/limit"
)

// A Schema is a compiled schema. It may be used from any goroutine, and checks one
// value at a time.
type Schema struct {
	table limit.Table
	size  *surveyor // how much there is to the schema

	mu    sync.Mutex // held while a value is checked, since the meter is in the schema
	meter *meter
	fits  *jsonschema.Schema // says whether a value fits
	whole *jsonschema.Schema // says why not, which costs more
}

// A Cause says why a schema cannot be used.
type Cause uint8

// The causes.
const (
	Broken   Cause = iota // it is no valid schema of its dialect
	Dialect               // its dialect is not supported
	External              // it refers to what is outside of it
	Beyond                // it needs more than the bounds allow, or a pattern that we cannot read
)

// An Unusable says why a value was not checked.
type Unusable struct {
	Cause  Cause
	Reason string // follows the name of the schema, as in "refers to ..."; what it quotes is escaped and may be long
}

func (e *Unusable) Error() string { return "the schema " + e.Reason }

// A Mismatch says where a value does not fit, and how.
type Mismatch struct {
	Path   string // a JSON Pointer (RFC 6901) into the value; its tokens are the value's own names, as they are
	Reason string // in our own words: follows the path, as in "is missing"
}

func (e *Mismatch) Error() string { return strconv.QuoteToASCII(e.Path) + " " + e.Reason }

// Where the schema stands, and one that asks only whether it fits: inside of not the
// library looks for no reasons. Neither is an address of anything.
const (
	wholeURL = "schema://document/"
	fitsURL  = "schema://fits/"
	fitsText = `{"not":{"not":{"$ref":"` + wholeURL + `"}}}`
)

// Compile reads a schema, which is valid JSON. The bounds are those of table: L17
// here, L18 in Validate. The error is an *Unusable.
func Compile(raw []byte, table limit.Table) (*Schema, error) {
	size, err := survey(raw, table)
	if err != nil {
		return nil, err
	}
	s := &Schema{table: table, size: size, meter: new(meter)}
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	patterns := &engine{meter: s.meter}
	c.UseRegexpEngine(patterns.compile)
	c.RegisterVocabulary(s.meter.vocabulary())
	c.AssertVocabs()
	for _, name := range formats {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	err, done := s.meter.run(func() (err error) {
		if s.whole, err = add(c, wholeURL, raw); err == nil {
			s.fits, err = add(c, fitsURL, []byte(fitsText))
		}
		return err
	})
	switch {
	case patterns.refused != nil:
		return nil, patterns.refused
	case !done:
		return nil, broken("cannot be compiled")
	case err != nil:
		return nil, unusable(err)
	}
	return s, nil
}

// add compiles one document.
func add(c *jsonschema.Compiler, url string, text []byte) (*jsonschema.Schema, error) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if err := c.AddResource(url, value); err != nil {
		return nil, err
	}
	return c.Compile(url)
}

// Validate reports whether value, which is valid JSON, fits. The error is a
// *Mismatch with the first thing that does not, or an *Unusable when that was not
// found out.
func (s *Schema) Validate(value []byte) error {
	budget := s.table.Time(limit.SchemaTime)
	if len(value) > bytesIn(budget) {
		return s.givenUp()
	}
	m := measured(value)
	if !m.modest || m.values*s.size.size > pairsIn(budget) || m.depth*s.size.schemas > maxLevels {
		return s.givenUp()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meter.begin(time.Now().Add(budget))
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return &Mismatch{Reason: "is no JSON"}
	}
	err, done := s.meter.run(func() error { return s.fits.Validate(decoded) })
	switch {
	case done && err == nil:
		return nil
	case done && m.values <= explained:
		err, done = s.meter.run(func() error { return s.whole.Validate(decoded) })
	case done:
		return &Mismatch{Reason: "does not fit; it is too large to say where"}
	}
	if !done {
		return s.givenUp()
	}
	return mismatch(err)
}

// explained is the size of the largest value whose misfits are listed, in values:
// the library makes a list of all of them.
const explained = 20_000

func (s *Schema) givenUp() *Unusable {
	return &Unusable{Cause: Beyond, Reason: "was given up: " + s.table.Exceeded(limit.SchemaTime, "checking a value").Error()}
}
