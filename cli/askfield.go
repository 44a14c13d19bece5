package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// A formField is one field of a server's form, as a person is asked for it. Whether
// an answer keeps to all that the form wants is judged behind the pack, which has the
// form put again where it does not.
type formField struct {
	key         []byte // as the form writes it
	name        string
	title       string
	description string
	kind        string // string, number, integer, boolean, or array of choices
	format      string // of a string; "" for any text
	required    bool
	proposal    []byte   // what an empty line stands for; nil for none
	choices     []choice // of a string, or of the members of an array; nil for any text
}

// A choice is one of the texts that fit a field, and what it is called.
type choice struct{ value, title string }

// formFields reads the fields of a form, in the subset of JSON Schema that MCP has
// for it (2026-07-28 client/elicitation, "Requested Schema"); the pack passes on no
// other.
func formFields(schema []byte) []formField {
	form := rawjson.Members(schema)
	required := texts(form.Get("required"))
	var fields []formField
	for _, m := range rawjson.Members(form.Get("properties")) {
		object := rawjson.Members(m.Value)
		f := formField{
			key:         m.Key,
			name:        m.Name(),
			title:       rawjson.Text(object.Get("title")),
			description: rawjson.Text(object.Get("description")),
			kind:        rawjson.Text(object.Get("type")),
			format:      rawjson.Text(object.Get("format")),
			required:    slices.Contains(required, m.Name()),
			proposal:    object.Opt("default"),
			choices:     choices(object),
		}
		if f.kind == "array" {
			f.choices = choices(rawjson.Members(object.Get("items")))
		}
		fields = append(fields, f)
	}
	return fields
}

// choices returns the texts that a schema lists: as enum, maybe with enumNames, or
// as the const and title of oneOf or anyOf.
func choices(schema rawjson.Object) []choice {
	var list []choice
	names := texts(schema.Get("enumNames"))
	for i, value := range texts(schema.Get("enum")) {
		c := choice{value: value}
		if i < len(names) {
			c.title = names[i]
		}
		list = append(list, c)
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		for _, item := range rawjson.Elements(schema.Get(keyword)) {
			one := rawjson.Members(item)
			list = append(list, choice{rawjson.Text(one.Get("const")), rawjson.Text(one.Get("title"))})
		}
	}
	return list
}

// texts returns the strings of an array.
func texts(array []byte) []string {
	var list []string
	for _, item := range rawjson.Elements(array) {
		list = append(list, rawjson.Text(item))
	}
	return list
}

// label names the field: "Colour: of the car".
func (f *formField) label() string {
	label := shownName(cmp.Or(f.title, f.name))
	if f.description != "" {
		label += ": " + shownText(f.description)
	}
	return label
}

// What is to be typed, by type, and for a text by format.
var wanted = map[string]string{
	"boolean":   "yes or no",
	"number":    "a number",
	"integer":   "a whole number",
	"array":     "any of them, as 1,2",
	"email":     "an e-mail address",
	"uri":       "a URI, as https://host/path",
	"date":      "a date, as 2006-01-31",
	"date-time": "a date and time, as 2006-01-31T15:04:05Z",
}

// prompt says what is to be typed, and what an empty line stands for.
func (f *formField) prompt() string {
	what := cmp.Or(wanted[f.kind], wanted[f.format], "a text")
	if f.kind == "string" && f.choices != nil {
		what = "one of them"
	}
	switch {
	case f.proposal != nil:
		return what + " [" + f.shown(f.proposal) + "]"
	case !f.required:
		return what + " (may be left out)"
	}
	return what
}

// shown is a value as a person reads it.
func (f *formField) shown(value []byte) string {
	switch rawjson.KindOf(value) {
	case rawjson.String:
		return shownText(f.called(rawjson.Text(value)))
	case rawjson.Bool:
		return map[string]string{"true": "yes", "false": "no"}[string(value)]
	case rawjson.Array:
		var names []string
		for _, text := range texts(value) {
			names = append(names, f.called(text))
		}
		return shownText(strings.Join(names, ", "))
	}
	return shownText(string(value))
}

// called returns the title of a choice, and any other text as it is.
func (f *formField) called(value string) string {
	for _, c := range f.choices {
		if c.value == value {
			return cmp.Or(c.title, c.value)
		}
	}
	return value
}

// value returns the JSON that a typed line stands for, nil for a field that is left
// out, or what is wrong with it.
func (f *formField) value(text string) (value []byte, wrong string) {
	trimmed := strings.TrimSpace(text)
	switch {
	case text == "" && f.proposal != nil:
		return f.proposal, ""
	case text == "" && f.required:
		return nil, "this has to be given"
	case text == "":
		return nil, ""
	}
	switch f.kind {
	case "boolean":
		switch strings.ToLower(trimmed) {
		case "y", "yes", "true":
			return []byte("true"), ""
		case "n", "no", "false":
			return []byte("false"), ""
		}
		return nil, "answer yes or no"
	case "number", "integer":
		number := []byte(trimmed)
		if rawjson.Check(number, rawjson.Bounds{}) != nil || rawjson.KindOf(number) != rawjson.Number {
			return nil, "answer with a number, as 12 or -0.5"
		}
		return number, ""
	case "array":
		value = []byte{'['}
		for i, part := range strings.Split(text, ",") {
			chosen, wrong := f.choice(strings.TrimSpace(part))
			if wrong != "" {
				return nil, wrong
			}
			if i > 0 {
				value = append(value, ',')
			}
			value = rawjson.AppendString(value, chosen)
		}
		return append(value, ']'), ""
	}
	if f.choices != nil {
		chosen, wrong := f.choice(trimmed)
		return rawjson.Quote(chosen), wrong
	}
	return rawjson.Quote(text), ""
}

// choice returns the choice that is typed: its value, else its title, else its place
// in the list.
func (f *formField) choice(text string) (value, wrong string) {
	for _, c := range f.choices {
		if c.value == text {
			return c.value, ""
		}
	}
	for _, c := range f.choices {
		if strings.EqualFold(cmp.Or(c.title, c.value), text) {
			return c.value, ""
		}
	}
	if n, err := strconv.Atoi(text); err == nil && 1 <= n && n <= len(f.choices) {
		return f.choices[n-1].value, ""
	}
	return "", fmt.Sprintf("%s is none of them; answer with a number from 1 to %d, or with its text", shownName(text), len(f.choices))
}
