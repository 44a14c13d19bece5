package schema

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// addSuite adds the schemas of the suite with their values, and the bombs.
func addSuite(f *testing.F) {
	for _, want := range suite {
		for _, file := range readSuite(f, want.file) {
			for _, group := range file.Groups {
				for _, test := range group.Tests[:min(2, len(group.Tests))] {
					f.Add(declared(group.Schema, want.uri), []byte(test.Data))
				}
			}
		}
	}
	for _, bomb := range bombs {
		if len(bomb.value) < 1000 && len(bomb.schema) < 10_000 {
			f.Add([]byte(bomb.schema), []byte(bomb.value))
		}
	}
}

// FuzzValidate proves that any schema and any value end in one of three ways, and
// that a refusal quotes nothing that is not escaped.
func FuzzValidate(f *testing.F) {
	addSuite(f)
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		if rawjson.Check(schema, rawjson.Bounds{}) != nil || rawjson.Check(value, rawjson.Bounds{}) != nil {
			return
		}
		s, err := Compile(schema, limit.Table{})
		if err == nil {
			err = s.Validate(value)
		}
		switch e := err.(type) {
		case nil:
		case *Mismatch:
			if e.Path != "" && e.Path[0] != '/' {
				t.Errorf("the path is %q", e.Path)
			}
		case *Unusable:
			if strings.ContainsFunc(e.Reason, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("the reason is %q", e.Reason)
			}
		default:
			t.Errorf("the error is %T", err)
		}
	})
}
