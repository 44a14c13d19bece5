package schema

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
)

func mustCompile(t testing.TB, schema string) *Schema {
	t.Helper()
	s, err := Compile([]byte(schema), limit.Table{})
	if err != nil {
		t.Fatalf("%.200s: %v", schema, err)
	}
	return s
}

// Where a value does not fit is said by its path, how by words of our own: no
// value is quoted, in no keyword.
func TestMismatchQuotesNoValue(t *testing.T) {
	for _, row := range []struct{ schema, value, path, reason string }{
		{`{"type":"object"}`, `"s3cret"`, "", `is a string, want object`},
		{`{"properties":{"a":{"type":["integer","null"]}}}`, `{"a":1.5}`, "/a", "is a number, want null or integer"},
		{`{"required":["a/b"]}`, `{"x":"s3cret"}`, "/a~1b", "is missing"},
		{`{"items":{"properties":{"n":{"minimum":3}}}}`, `[{"n":4},{"n":2}]`, "/1/n", "is too small"},
		{`{"maximum":3}`, `4`, "", "is too large"},
		{`{"exclusiveMaximum":3}`, `3`, "", "is too large"},
		{`{"multipleOf":3}`, `4`, "", "is no multiple of the number that it must be a multiple of"},
		{`{"const":"other"}`, `"s3cret"`, "", "is not the value that it must be"},
		{`{"enum":["other",1]}`, `"s3cret"`, "", "is none of the values that are allowed"},
		{`{"pattern":"^x"}`, `"s3cret"`, "", "does not match the pattern that it must match"},
		{`{"maxLength":3}`, `"s3cret"`, "", "has more than 3 characters"},
		{`{"minItems":2}`, `["s3cret"]`, "", "has fewer than 2 items"},
		{`{"minProperties":2}`, `{"a":"s3cret"}`, "", "has fewer than 2 members"},
		{`{"uniqueItems":true}`, `["s3cret","s3cret"]`, "", "holds an item twice"},
		{`{"contains":{"const":1}}`, `["s3cret"]`, "", "holds too few items of a kind that it must hold"},
		{`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1,"b":"s3cret"}`, "/b", "is not allowed"},
		{`{"unevaluatedProperties":false}`, `{"b":"s3cret"}`, "/b", "is not allowed"},
		{`{"propertyNames":{"maxLength":1}}`, `{"bb":"s3cret"}`, "/bb", "has a name that is not allowed"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":"s3cret"}`, "/b", "is missing"},
		{`{"anyOf":[{"type":"null"},{"properties":{"a":false}}]}`, `{"a":"s3cret"}`, "", "fits none of the alternatives"},
		{`{"oneOf":[true,true]}`, `"s3cret"`, "", "fits more than one of the alternatives"},
		{`{"not":{}}`, `"s3cret"`, "", "fits what it must not fit"},
		{`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"properties":{"a":{"type":"null"}}}}}`, `{"a":"s3cret"}`, "/a", "is a string, want null"},
		{`false`, `"s3cret"`, "", "is not allowed"},
	} {
		err := mustCompile(t, row.schema).Validate([]byte(row.value))
		mismatch, ok := errors.AsType[*Mismatch](err)
		if !ok || mismatch.Path != row.path || mismatch.Reason != row.reason {
			t.Errorf("%s of %s: got %v, want %q %s", row.schema, row.value, err, row.path, row.reason)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the value is in %q", row.schema, err)
		}
	}
}

// Numbers are compared as they are written: none goes through a float.
func TestNumbersAreExact(t *testing.T) {
	for _, row := range []struct {
		schema, value string
		fits          bool
	}{
		{`{"const":9007199254740993}`, `9007199254740993`, true},
		{`{"const":9007199254740993}`, `9007199254740992`, false},
		{`{"const":9007199254740993}`, `9007199254740993.0`, true},
		{`{"const":1}`, `1.0`, true},
		{`{"const":100}`, `1e2`, true},
		{`{"const":0}`, `-0.0`, true},
		{`{"enum":[0.1]}`, `1.0e-1`, true},
		{`{"maximum":18446744073709551615}`, `18446744073709551615`, true},
		{`{"maximum":18446744073709551615}`, `18446744073709551616`, false},
		{`{"minimum":1e400}`, `1e401`, true},
		{`{"minimum":1e400}`, `1e399`, false},
		{`{"multipleOf":0.01}`, `4.35`, true},
		{`{"multipleOf":0.0001}`, `0.0075`, true},
		{`{"multipleOf":0.0001}`, `0.00751`, false},
		{`{"type":"integer"}`, `1e3`, true},
		{`{"type":"integer"}`, `123456789012345678901234567890`, true},
		{`{"type":"integer"}`, `123456789012345678901234567890.5`, false},
		{`{"uniqueItems":true}`, `[9007199254740992, 9007199254740993]`, true},
		{`{"uniqueItems":true}`, `[1, 10e-1]`, false},
		{`{"maxLength":1e30}`, `"abc"`, true},
		{`{"minItems":1.0}`, `[]`, false},
	} {
		err := mustCompile(t, row.schema).Validate([]byte(row.value))
		if _, mismatch := errors.AsType[*Mismatch](err); mismatch == row.fits || !mismatch && err != nil {
			t.Errorf("%s of %s: %v, want fits: %v", row.schema, row.value, err, row.fits)
		}
	}
}

// A schema that cannot be used says why, and which of the four causes it is.
func TestJSC_02_06_Unusable(t *testing.T) {
	for _, row := range []struct {
		schema string
		cause  Cause
		reason string
	}{
		{`{"$schema":"urn:x"}`, Dialect, `is written in the dialect "urn:x", which is not supported; supported: 2020-12, 2019-09, draft-07, draft-06, draft-04`},
		{`{"$schema":"http://json-schema.org/draft-03/schema#"}`, Dialect, `draft-03`},
		{`{"$schema":"https://evil.test/json-schema.org/draft-07/schema"}`, Dialect, `evil.test`},
		{`{"$defs":{"a":{"$id":"a","$schema":"urn:y"}}}`, Dialect, `"urn:y"`},
		{`{"$ref":"https://example.test/s.json"}`, External, `refers to "https://example.test/s.json", which is outside of it, and nothing is fetched`},
		{`{"$ref":"//example.test/s.json"}`, External, "outside"},
		{`{"$ref":"file:///etc/passwd"}`, External, "outside"},
		{`{"properties":{"a":{"$ref":"other.json"}}}`, External, `"other.json"`},
		{`{"$id":"urn:x:y","properties":{"a":{"$ref":"other.json"}}}`, External, `"other.json"`},
		{`{"$id":"https://example.test/a/b","$ref":"c"}`, External, `"https://example.test/a/c"`},
		{`{"items":{"$dynamicRef":"https://example.test/s#meta"}}`, External, "outside"},
		{`{"$ref":"#/$defs/a"}`, Broken, "not in it"},
		{`{"$ref":"#a"}`, Broken, "not in it"},
		{`{"$ref":"#/type","type":"null"}`, Broken, `"" is a string, want boolean or object`},
		{`{"$ref":"%"}`, Broken, `"/$ref" does not fit`},
		{`{"properties":{"a":5}}`, Broken, `"/properties/a" is a number, want boolean or object`},
		{`{"type":"strin"}`, Broken, `"/type" fits none of the alternatives`},
		{`{"minimum":"1"}`, Broken, `"/minimum" is a string, want number`},
		{`{"minLength":-1}`, Broken, `"/minLength" is too small`},
		{`{"multipleOf":0}`, Broken, `"/multipleOf" is too small`},
		{`{"required":[1]}`, Broken, `"/required/0" is a number, want string`},
		{`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, Broken, `holds the anchor "x" twice`},
		{`{"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}}`, Broken, "two schemas with the identifier"},
		{`[]`, Broken, `"" is an array`},
		{`{"pattern":"(?=a)"}`, Beyond, `has the pattern "(?=a)", which looks around`},
		{`{"pattern":"(a)\\1"}`, Beyond, "refers to a group"},
		{`{"pattern":"("}`, Beyond, "cannot be read"},
		{`{"pattern":"(?i)a"}`, Beyond, "no pattern of ECMA-262"},
		{`{"minimum":1e9999}`, Beyond, "too many digits"},
		{`{"const":1e9999}`, Beyond, "too many digits"},
	} {
		_, err := Compile([]byte(row.schema), limit.Table{})
		unusable, ok := errors.AsType[*Unusable](err)
		if !ok || unusable.Cause != row.cause || !strings.Contains(unusable.Reason, row.reason) {
			t.Errorf("%.100s: got %v, want %d %s", row.schema, err, row.cause, row.reason)
		}
	}
}

// What a reference leads to inside of a schema is found, whatever it is called.
func TestReferencesInside(t *testing.T) {
	for _, schema := range []string{
		`{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"null"}}}`,
		`{"properties":{"a":{"$ref":"#/x-own/0/n%20~1~0"}},"x-own":[{"n /~":{"type":"null"}}]}`,
		`{"$id":"https://example.test/a/b","properties":{"a":{"$ref":"n"}},"$defs":{"n":{"$id":"n","type":"null"}}}`,
		`{"$id":"https://example.test/a/b","properties":{"a":{"$ref":"https://example.test/a/b#n"}},"$defs":{"n":{"$anchor":"n","type":"null"}}}`,
		`{"$id":"urn:x:y","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"null"}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#n"}},"definitions":{"n":{"$id":"#n","type":"null"}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema","properties":{"a":{"$ref":"#n"}},"definitions":{"n":{"id":"#n","type":"null"}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/o","definitions":{"o":{"properties":{"a":{"type":"null"}}}}}`,
	} {
		s := mustCompile(t, schema)
		if err := s.Validate([]byte(`{"a":null}`)); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
		if _, ok := errors.AsType[*Mismatch](s.Validate([]byte(`{"a":1}`))); !ok {
			t.Errorf("%s: what does not fit passes", schema)
		}
	}
}

// A dialect says what a keyword means, and whether it is one.
func TestJSC_02_DialectIsHonoured(t *testing.T) {
	const (
		draft4 = `"$schema":"http://json-schema.org/draft-04/schema#",`
		draft7 = `"$schema":"http://json-schema.org/draft-07/schema",`
		newest = `"$schema":"https://json-schema.org/draft/2020-12/schema",`
	)
	for _, row := range []struct {
		schema, value string
		fits          bool
	}{
		{`{` + draft4 + `"minimum":1,"exclusiveMinimum":true}`, `1`, false},
		{`{` + draft4 + `"const":1}`, `2`, true},
		{`{` + draft7 + `"const":1}`, `2`, false},
		{`{` + draft7 + `"items":[{"type":"null"}]}`, `[1]`, false},
		{`{` + draft7 + `"prefixItems":[{"type":"null"}]}`, `[1]`, true},
		{`{` + newest + `"prefixItems":[{"type":"null"}]}`, `[1]`, false},
		{`{"prefixItems":[{"type":"null"}]}`, `[1]`, false}, // the default
		{`{` + draft7 + `"properties":{"a":{"$ref":"#/definitions/any","type":"null"}},"definitions":{"any":true}}`, `{"a":1}`, true},
		{`{"properties":{"a":{"$ref":"#/$defs/any","type":"null"}},"$defs":{"any":true}}`, `{"a":1}`, false},
		{`{` + draft7 + `"format":"email"}`, `"x"`, true}, // an annotation
	} {
		err := mustCompile(t, row.schema).Validate([]byte(row.value))
		if _, mismatch := errors.AsType[*Mismatch](err); mismatch == row.fits {
			t.Errorf("%s of %s: %v, want fits: %v", row.schema, row.value, err, row.fits)
		}
	}
}

// What a user can read says which dialects there are.
func TestJSC_03_DialectsAreDocumented(t *testing.T) {
	names := make([]string, len(rows))
	for i, d := range rows {
		names[i] = d.name
	}
	last := len(names) - 1
	want := names[0] + ", which is the default, " + strings.Join(names[1:last], ", ") + " and " + names[last]
	for _, file := range []string{"../../README.md", "../../spec/protocol.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), "JSON Schema "+want) {
			t.Errorf("%s does not say: JSON Schema %s", file, want)
		}
	}
}

// A Schema is used from many goroutines at once.
func TestValidateConcurrently(t *testing.T) {
	s := mustCompile(t, `{"items":{"type":"integer","pattern":"^a"},"uniqueItems":true,"unevaluatedItems":false}`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if err := s.Validate([]byte(`[1,2,3]`)); err != nil {
					t.Error(err)
				}
				if s.Validate([]byte(`[1,"a"]`)) == nil {
					t.Error("what does not fit passes")
				}
			}
		})
	}
	all.Wait()
}
