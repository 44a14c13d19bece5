package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
)

// A suiteGroup is one schema of the suite with the values that it is held against.
type suiteGroup struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
}

type suiteFile struct {
	File   string       `json:"file"`
	Groups []suiteGroup `json:"groups"`
}

// readSuite returns the files of the suite for one dialect.
func readSuite(t testing.TB, name string) []suiteFile {
	t.Helper()
	data, err := os.ReadFile("testdata/suite/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var files []suiteFile
	for line := range bytes.Lines(data) {
		var f suiteFile
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// declared returns the schema with the dialect that it is written in.
func declared(schema json.RawMessage, uri string) []byte {
	if rest, ok := bytes.CutPrefix(schema, []byte("{")); ok && uri != "" && !bytes.Contains(schema, []byte(`"$schema"`)) {
		comma := ","
		if bytes.Equal(rest, []byte("}")) {
			comma = ""
		}
		return []byte(`{"$schema":"` + uri + `"` + comma + string(rest))
	}
	return schema
}

// suite says for each file what the tests of the suite must come to. The groups
// that are left out are those that need a document from elsewhere, or a dialect of their
// own: nothing is fetched.
var suite = []struct {
	file, uri          string
	tests              int
	external, dialects int // groups that are left out
}{
	{"draft4", "http://json-schema.org/draft-04/schema#", 700, 8, 0},
	{"draft6", "http://json-schema.org/draft-06/schema#", 922, 11, 0},
	{"draft7", "http://json-schema.org/draft-07/schema#", 1010, 12, 0},
	{"draft2019-09", "https://json-schema.org/draft/2019-09/schema", 1342, 17, 2},
	{"draft2020-12", "", 1371, 21, 2}, // the default
}

// The dialects are read as their own test suite says.
func TestJSC_01_02_Suite(t *testing.T) {
	for _, want := range suite {
		passed, left := 0, map[Cause]int{}
		for _, file := range readSuite(t, want.file) {
			for _, group := range file.Groups {
				at := want.file + "/" + file.File + ": " + group.Description
				s, err := Compile(declared(group.Schema, want.uri), limit.Table{})
				if unusable, ok := errors.AsType[*Unusable](err); ok {
					left[unusable.Cause]++
					if unusable.Cause != External && unusable.Cause != Dialect {
						t.Errorf("%s: %v", at, err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				for _, test := range group.Tests {
					err := s.Validate(test.Data)
					if _, ok := errors.AsType[*Mismatch](err); ok == test.Valid || !ok && err != nil {
						t.Errorf("%s: %s: valid is %v, got %v", at, test.Description, test.Valid, err)
						continue
					}
					passed++
				}
			}
		}
		if passed != want.tests || left[External] != want.external || left[Dialect] != want.dialects {
			t.Errorf("%s: %d tests passed, groups left out: %v; want %+v", want.file, passed, left, want)
		}
	}
}
