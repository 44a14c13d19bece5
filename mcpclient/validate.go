package mcpclient

import (
	"bytes"
	"errors"
	"sync"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/schema"
)

// A tool that declares an output schema promises structured content that fits it:
// servers MUST provide it, clients SHOULD check it (2025-06-18 and later,
// server/tools, "Output Schema"). What is promised and not given is a malformed
// answer, as content that is no array would be. The call then ends as an error of
// the wire, delivered "yes", since the tool has run. A result that is an error of
// the tool promises nothing.
//
// A schema that cannot be used is one of two things:
//
//   - One that refers to what is outside of it, which is not fetched, or is written
//     in a dialect that is not supported. Results of such a tool must not pass as if
//     they had been checked: an unresolved external $ref is to be rejected rather
//     than treated as permissive, and an unsupported dialect calls for an error that
//     says so (2026-07-28 basic/index, "JSON Schema Usage"). It is refused before
//     anything is sent, delivered "no", since no result of it could be accepted and
//     its effects would be for nothing. It stays listed.
//   - Any other: beyond the limits L17, with a pattern that takes more than linear
//     time, or no valid schema. This is a fault of the definition or a bound of
//     ours, and no reason to lose a result: it passes unchecked, and the log says so
//     once for each definition. So does a result whose check exceeds L18.

// An output is the output schema of a tool, as one or more listings define it. It
// is compiled when the tool is first called.
type output struct {
	raw []byte

	once   sync.Once
	schema *schema.Schema   // set by once; nil where unusable is not
	broken *schema.Unusable // set by once
	warned sync.Once
}

// newOutput returns the output schema of a tool in that revision, or nil. What is
// no object counts as absent, as with other optional members.
func newOutput(rev *Revision, tool *Tool) *output {
	if !rev.StructuredOutput || rawjson.KindOf(tool.OutputSchema) != rawjson.Dict {
		return nil
	}
	return &output{raw: bytes.Clone(tool.OutputSchema)}
}

// keepOutputs makes those of a new listing the ones that are used. A definition
// that has not changed is not compiled again. s.mu is held.
func (s *Session) keepOutputs(outputs map[string]*output) {
	for name, o := range outputs {
		if old := s.outputs[name]; old != nil && bytes.Equal(old.raw, o.raw) {
			outputs[name] = old
		}
	}
	s.outputs = outputs
}

// outputOf returns the output schema of a tool by the newest listing, compiled, or
// nil for none. The error says that no result of the tool could be accepted.
func (s *Session) outputOf(tool string) (*output, error) {
	s.mu.Lock()
	o := s.outputs[tool]
	s.mu.Unlock()
	if o == nil {
		return nil, nil
	}
	o.once.Do(func() {
		var err error
		if o.schema, err = schema.Compile(o.raw, s.opts.Limits); err != nil {
			o.broken, _ = errors.AsType[*schema.Unusable](err)
		}
	})
	switch {
	case o.broken == nil:
	case o.broken.Cause == schema.External, o.broken.Cause == schema.Dialect:
		return nil, &WireError{
			Op:        methodCall,
			Reason:    "tool " + s.shownName(tool) + " was not called: its outputSchema " + s.opts.Scrub.Reason(o.broken.Reason, shownReason),
			Delivered: "no",
			Final:     true,
		}
	default:
		s.unchecked(o, tool, o.broken)
	}
	return o, nil
}

// checkOutput holds a complete result against the output schema of its tool, nil
// for none. The error is a *WireError, which quotes nothing of the result but
// the names of its members.
func (s *Session) checkOutput(tool string, o *output, result rawjson.Object) error {
	if o == nil || o.schema == nil {
		return nil
	}
	// Null is a value here, and not the same as no structured content.
	value := result.Get("structuredContent")
	if value == nil {
		return malformed(methodCall, "tool "+s.shownName(tool)+" has an outputSchema, and the result has no structuredContent")
	}
	err := o.schema.Validate(value)
	if err == nil {
		return nil
	}
	mismatch, ok := errors.AsType[*schema.Mismatch](err)
	if !ok {
		unusable, _ := errors.AsType[*schema.Unusable](err)
		s.unchecked(o, tool, unusable)
		return nil
	}
	at := "structuredContent"
	if mismatch.Path != "" {
		at += " at " + `"` + s.opts.Scrub.Reason(mismatch.Path, shownPath) + `"`
	}
	return malformed(methodCall, "the result of tool "+s.shownName(tool)+" does not fit its outputSchema: "+at+" "+mismatch.Reason)
}

// unchecked says once that results of a tool are not checked, or not all of them.
func (s *Session) unchecked(o *output, tool string, why *schema.Unusable) {
	o.warned.Do(func() {
		s.opts.Log.Warn("results of a tool are not checked against its output schema",
			"tool", s.opts.Scrub.Reason(tool, shownPath), "reason", s.opts.Scrub.Reason("the schema "+why.Reason, shownReason))
	})
}

// shownPath is how much is shown of where in a result something is, in bytes.
const shownPath = 256

// shownName is shownKey for a name that may hold a secret. Cutting comes last, for
// half a secret is not found.
func (s *Session) shownName(name string) string { return shownKey(s.opts.Scrub.Text(name)) }
