package schema

import (
	"errors"
	"strings"
)

// A dialect is one dialect of JSON Schema that is supported.
type dialect struct {
	name string
	uri  string // of its metaschema, without scheme and fragment
}

// rows are the dialects, newest first; the first is the default (MCP basic/index,
// "JSON Schema Usage").
var rows = []*dialect{
	{"2020-12", "json-schema.org/draft/2020-12/schema"},
	{"2019-09", "json-schema.org/draft/2019-09/schema"},
	{"draft-07", "json-schema.org/draft-07/schema"},
	{"draft-06", "json-schema.org/draft-06/schema"},
	{"draft-04", "json-schema.org/draft-04/schema"},
}

// dialectOf refuses what $schema names unless it is a dialect that is supported. Both
// schemes are in use, and so are both ways to end it.
func dialectOf(uri string) error {
	name, ok := strings.CutPrefix(uri, "https://")
	if !ok {
		name, ok = strings.CutPrefix(uri, "http://")
	}
	name = strings.TrimSuffix(name, "#")
	known := make([]string, len(rows))
	for i, d := range rows {
		if ok && name == d.uri {
			return nil
		}
		known[i] = d.name
	}
	return &Unusable{
		Cause:  Dialect,
		Reason: "is written in the dialect " + shown(uri) + ", which is not supported; supported: " + strings.Join(known, ", "),
	}
}

// nothing is what loads what a schema refers to outside of itself: nothing
// (2026-07-28 basic/index, "JSON Schema Usage").
type nothing struct{}

var errOutside = errors.New("nothing is fetched")

func (nothing) Load(string) (any, error) { return nil, errOutside }

// formats are what the library would check in some dialects. A format is an
// annotation here, in all of them.
var formats = []string{
	"date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4", "ipv6", "iri",
	"iri-reference", "json-pointer", "period", "regex", "relative-json-pointer", "semver", "time", "uri",
	"uri-reference", "uri-template", "uuid",
}
