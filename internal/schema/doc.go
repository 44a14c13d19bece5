// Package schema checks a JSON value against a JSON Schema that nobody vouches for.
// Compile reads a schema once, Validate holds values against it.
//
// The work is that of github.com/santhosh-tekuri/jsonschema, which this package bounds:
// whoever writes the schema and the value may want them to cost much, and the library
// itself cannot be stopped. Bounds on the schema (L17) hold before it is compiled. A
// check that would be too much at first sight is not begun; one that turns out to be
// is ended when its time is over (L18), at a schema or a pattern that it applies.
//
// Dialects: 2020-12, which is the default, 2019-09, draft-07, draft-06 and draft-04.
// Nothing is ever fetched: a reference that leads out of the schema makes it unusable.
// Keywords that only annotate, format and the content keywords among them, are not
// checked, in any dialect. Patterns are those of ECMA-262 as far as a regular
// expression that takes linear time can read them. Numbers are compared exactly.
//
// Two failures stay apart: a *Mismatch, where the value does not fit, and an
// *Unusable, where that was not found out. Both are safe to show once secrets are
// scrubbed: they quote no value, and what they quote of a schema is escaped.
//
// The package starts no goroutine. It is not free: the library compiles its
// metaschemas when the process starts.
package schema
