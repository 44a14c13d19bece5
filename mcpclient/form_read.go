package mcpclient

import (
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// nesting are the keywords of JSON Schema that hold schemas. A flat form has no use
// for them, except where a kind of field says so.
var nesting = []string{
	"$ref", "$dynamicRef", "$recursiveRef", "$defs", "definitions",
	"allOf", "anyOf", "oneOf", "not", "if", "then", "else",
	"dependencies", "dependentSchemas", "properties", "patternProperties", "propertyNames", "unevaluatedProperties",
	"items", "prefixItems", "additionalItems", "contains", "unevaluatedItems",
}

// readForm reads a requestedSchema, an object. The error says why it is not put to
// the user: it is not of the subset that a person can be shown, or larger than a
// person reads.
func readForm(schema []byte, table limit.Table) (*form, error) {
	if len(schema) > table.Int(limit.ToolDefinition) {
		return nil, table.Exceeded(limit.ToolDefinition, "its form")
	}
	object := rawjson.Members(schema)
	if err := flat("its form", object, "properties"); err != nil {
		return nil, err
	}
	properties, additional := object.Opt("properties"), object.Opt("additionalProperties")
	members := rawjson.Members(properties)
	name, twice := members.Duplicate()
	switch {
	case rawjson.Text(str(object.Get("type"))) != "object":
		return nil, errors.New("its form is not of type object")
	case properties != nil && rawjson.KindOf(properties) != rawjson.Dict:
		return nil, errors.New("in its form, " + notA("properties", properties, rawjson.Dict))
	case additional != nil && rawjson.KindOf(additional) != rawjson.Bool:
		return nil, errors.New("in its form, " + notA("additionalProperties", additional, rawjson.Bool))
	case twice:
		return nil, fmt.Errorf("its form has the field %s twice", shownKey(name))
	case len(members) > table.Int(limit.ElicitFields):
		return nil, table.Exceeded(limit.ElicitFields, "its form")
	}
	f := new(form)
	r := &fieldReader{table: table, what: "its form"}
	r.texts(object.Get("title"))
	r.texts(object.Get("description"))
	if r.long {
		return nil, r.exceeded()
	}
	for _, m := range members {
		field, err := r.read(m)
		if err != nil {
			return nil, err
		}
		f.fields = append(f.fields, field)
	}
	for _, name := range stringsOf(object.Opt("required")) {
		field := f.field(name)
		if field == nil {
			return nil, fmt.Errorf("its form requires %s, which is no field of it", shownKey(name))
		}
		field.required = true
	}
	return f, f.compile(schema, table)
}

// flat returns an error for a schema that holds others, in other keywords than but,
// or a keyword twice: its readers may not have read the same one.
func flat(what string, schema rawjson.Object, but ...string) error {
	if key, twice := schema.Duplicate(); twice {
		return fmt.Errorf("%s has %s twice", what, shownKey(key))
	}
	for _, m := range schema {
		if name := m.Name(); contains(nesting, name) && !contains(but, name) {
			return fmt.Errorf("%s is not flat: it has %s, where MCP allows primitive values only", what, name)
		}
	}
	return nil
}

// A fieldReader reads the fields of a form.
type fieldReader struct {
	table limit.Table
	what  string // the field as a message names it
	long  bool   // a text of it is longer than a person reads
}

// read reads one property.
func (r *fieldReader) read(m rawjson.Member) (field, error) {
	f := field{key: m.Key, name: m.Name(), object: rawjson.Members(m.Value)}
	r.what = "field " + shownKey(f.name)
	if rawjson.KindOf(m.Value) != rawjson.Dict {
		return f, errors.New(notA(r.what, m.Value, rawjson.Dict))
	}
	r.texts(m.Key)
	for _, keyword := range []string{"title", "description", "default"} {
		r.texts(f.object.Get(keyword))
	}
	for _, item := range rawjson.Elements(f.object.Get("enumNames")) {
		r.texts(item)
	}
	var err error
	switch rawjson.Text(str(f.object.Get("type"))) {
	case "string":
		f.kind, err = r.text(f.object)
	case "number":
		f.kind, err = numberField, flat(r.what, f.object)
	case "integer":
		f.kind, err = integerField, flat(r.what, f.object)
	case "boolean":
		f.kind, err = boolField, flat(r.what, f.object)
	case "array":
		f.kind, err = r.choices(f.object)
	default:
		err = fmt.Errorf("%s is of no type that a form can have: string, number, integer, boolean, or array of choices", r.what)
	}
	if err == nil && r.long {
		err = r.exceeded()
	}
	return f, err
}

func (r *fieldReader) exceeded() error {
	return r.table.Exceeded(limit.ElicitText, "a text of "+r.what)
}

// texts notes when a string is too long to be read. What is no string is not shown
// as a text.
func (r *fieldReader) texts(value []byte) {
	if len(value) > r.table.Int(limit.ElicitText) && rawjson.KindOf(value) == rawjson.String {
		r.long = r.long || len(rawjson.Text(value)) > r.table.Int(limit.ElicitText)
	}
}

// text reads a string: any one, or one of a list, where a title may stand beside
// each choice.
func (r *fieldReader) text(object rawjson.Object) (*fieldKind, error) {
	if err := flat(r.what, object, "oneOf", "anyOf"); err != nil {
		return nil, err
	}
	chosen, err := r.chosen(object)
	if err != nil || chosen {
		return choiceField, err
	}
	return textField, nil
}

// choices reads an array, which holds any number of choices.
func (r *fieldReader) choices(object rawjson.Object) (*fieldKind, error) {
	if err := flat(r.what, object, "items"); err != nil {
		return nil, err
	}
	items := rawjson.Members(object.Get("items"))
	if err := flat(r.what, items, "oneOf", "anyOf"); err != nil {
		return nil, err
	}
	chosen, err := r.chosen(items)
	if err == nil && !chosen {
		err = fmt.Errorf("%s is an array of something else than choices", r.what)
	}
	return choicesField, err
}

// chosen reports whether a schema lists the strings that fit it.
func (r *fieldReader) chosen(object rawjson.Object) (bool, error) {
	found := false
	if list := object.Opt("enum"); list != nil {
		found = true
		for _, item := range rawjson.Elements(list) {
			if rawjson.KindOf(item) != rawjson.String {
				return false, fmt.Errorf("%s has a choice that is no text", r.what)
			}
			r.texts(item)
		}
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		list := object.Opt(keyword)
		if list == nil {
			continue
		}
		found = true
		for _, item := range rawjson.Elements(list) {
			choice := rawjson.Members(item)
			if err := flat(r.what, choice); err != nil {
				return false, err
			}
			if rawjson.KindOf(choice.Get("const")) != rawjson.String {
				return false, fmt.Errorf("%s has a choice that is no text", r.what)
			}
			r.texts(choice.Get("const"))
			r.texts(choice.Get("title"))
		}
	}
	return found, nil
}
