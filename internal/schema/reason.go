package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// unusable turns what the library says of a schema into our words: its own may
// quote more than can be shown.
func unusable(err error) *Unusable {
	if outside, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return &Unusable{Cause: External, Reason: "refers to " + shown(strings.TrimPrefix(outside.URL, wholeURL)) + ", which is outside of it, and nothing is fetched"}
	}
	if missing, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		return broken("refers to %s, which is not in it", shown(strings.TrimPrefix(missing.URL, wholeURL)))
	}
	if missing, ok := errors.AsType[*jsonschema.AnchorNotFoundError](err); ok {
		return broken("refers to %s, which is not in it", shown(strings.TrimPrefix(missing.Reference, wholeURL)))
	}
	if wrong, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if at, ok := errors.AsType[*jsonschema.ValidationError](wrong.Err); ok {
			return broken("is no valid one: %s", mismatch(at))
		}
	}
	if twice, ok := errors.AsType[*jsonschema.DuplicateAnchorError](err); ok {
		return broken("holds the anchor %s twice", shown(twice.Anchor))
	}
	if twice, ok := errors.AsType[*jsonschema.DuplicateIDError](err); ok {
		return broken("holds two schemas with the identifier %s", shown(strings.TrimPrefix(twice.ID, wholeURL)))
	}
	return broken("is no valid one")
}

func broken(format string, args ...any) *Unusable {
	return &Unusable{Cause: Broken, Reason: fmt.Sprintf(format, args...)}
}

// shown quotes for a reason what a schema says. It does not cut it: whoever shows
// it has to look for secrets first.
func shown(s string) string { return strconv.QuoteToASCII(s) }

// mismatch says what is the matter first, by path, of all that the library found. A
// choice that fits nowhere is one misfit, whatever its alternatives say.
func mismatch(err error) error {
	found, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return &Mismatch{Reason: "does not fit"}
	}
	if cyclic(found) {
		return &Unusable{Cause: Beyond, Reason: "refers to itself without end"}
	}
	var first *Mismatch
	var visit func(e *jsonschema.ValidationError)
	visit = func(e *jsonschema.ValidationError) {
		switch e.ErrorKind.(type) {
		case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
			for _, cause := range e.Causes {
				visit(cause)
			}
			return
		}
		path, reason := explain(e)
		if m := (&Mismatch{Path: pointer(path), Reason: reason}); first == nil || m.Path < first.Path || m.Path == first.Path && m.Reason < first.Reason {
			first = m
		}
	}
	visit(found)
	if first == nil {
		return &Mismatch{Reason: "does not fit"}
	}
	return first
}

// cyclic reports whether a schema did not fit because it is inside of itself.
func cyclic(e *jsonschema.ValidationError) bool {
	if _, ok := e.ErrorKind.(*kind.RefCycle); ok {
		return true
	}
	return slices.ContainsFunc(e.Causes, cyclic)
}

// explain says where a value does not fit and how, without quoting it.
func explain(e *jsonschema.ValidationError) (path []string, reason string) {
	path = e.InstanceLocation
	below := func(names []string) []string {
		least := names[0]
		for _, name := range names {
			least = min(least, name)
		}
		return append(path[:len(path):len(path)], least)
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return path, "is " + article(k.Got) + ", want " + strings.Join(k.Want, " or ")
	case *kind.Required:
		return below(k.Missing), "is missing"
	case *kind.Dependency:
		return below(k.Missing), "is missing"
	case *kind.DependentRequired:
		return below(k.Missing), "is missing"
	case *kind.AdditionalProperties:
		return below(k.Properties), "is not allowed"
	case *kind.FalseSchema:
		return path, "is not allowed"
	case *kind.AdditionalItems:
		return path, "has too many items"
	case *kind.PropertyNames:
		return below([]string{k.Property}), "has a name that is not allowed"
	case *kind.Const:
		return path, "is not the value that it must be"
	case *kind.Enum:
		return path, "is none of the values that are allowed"
	case *kind.Minimum, *kind.ExclusiveMinimum:
		return path, "is too small"
	case *kind.Maximum, *kind.ExclusiveMaximum:
		return path, "is too large"
	case *kind.MultipleOf:
		return path, "is no multiple of the number that it must be a multiple of"
	case *kind.MinLength:
		return path, fmt.Sprintf("has fewer than %d characters", k.Want)
	case *kind.MaxLength:
		return path, fmt.Sprintf("has more than %d characters", k.Want)
	case *kind.Pattern:
		return path, "does not match the pattern that it must match"
	case *kind.MinItems:
		return path, fmt.Sprintf("has fewer than %d items", k.Want)
	case *kind.MaxItems:
		return path, fmt.Sprintf("has more than %d items", k.Want)
	case *kind.MinProperties:
		return path, fmt.Sprintf("has fewer than %d members", k.Want)
	case *kind.MaxProperties:
		return path, fmt.Sprintf("has more than %d members", k.Want)
	case *kind.UniqueItems:
		return path, "holds an item twice"
	case *kind.Contains, *kind.MinContains:
		return path, "holds too few items of a kind that it must hold"
	case *kind.MaxContains:
		return path, "holds too many items of a kind"
	case *kind.AnyOf:
		return path, "fits none of the alternatives"
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return path, "fits more than one of the alternatives"
		}
		return path, "fits none of the alternatives"
	case *kind.Not:
		return path, "fits what it must not fit"
	}
	return path, "does not fit"
}

func article(kind string) string {
	switch kind {
	case "null":
		return kind
	case "array", "object", "integer":
		return "an " + kind
	}
	return "a " + kind
}

// pointer writes a path as a JSON Pointer.
func pointer(path []string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteByte('/')
		b.WriteString(pointerEscaper.Replace(token))
	}
	return b.String()
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")
