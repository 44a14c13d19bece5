package mcpclient

import (
	"bytes"
	"errors"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// headerKeyword marks a parameter that is mirrored into a header (2026-07-28
// server/tools, "x-mcp-header").
const headerKeyword = "x-mcp-header"

// A headerParam is one argument to mirror.
type headerParam struct {
	name string   // the part behind Mcp-Param-
	path []string // the keys that lead to it in the arguments
}

// findHeaderParams returns the annotated parameters of an input schema in
// document order. The error says why the annotations are invalid, which
// excludes the tool.
func findHeaderParams(schema []byte) ([]headerParam, error) {
	// Nearly all schemas have none, and are not walked. An escape may hide one.
	if !bytes.Contains(schema, []byte(headerKeyword)) && !bytes.Contains(schema, []byte(`\u`)) {
		return nil, nil
	}
	f := finder{taken: map[string]bool{}}
	if err := f.schema(schema, nil, true); err != nil {
		return nil, err
	}
	return f.found, nil
}

type finder struct {
	found []headerParam
	taken map[string]bool // the names so far, in lower case
}

// schema walks one schema. path leads to its place in the arguments; reachable
// tells whether only properties keywords were passed on the way.
func (f *finder) schema(raw []byte, path []string, reachable bool) error {
	object := rawjson.Members(raw)
	if object.Get(headerKeyword) != nil {
		if !reachable || len(path) == 0 {
			return errors.New(headerKeyword + " stands where no parameter is reached by properties alone")
		}
		if err := f.annotated(object, path); err != nil {
			return err
		}
	}
	for _, m := range object {
		name := m.Name()
		if name == "properties" {
			for _, property := range rawjson.Members(m.Value) {
				deeper := append(path[:len(path):len(path)], property.Name())
				if err := f.schema(property.Value, deeper, reachable); err != nil {
					return err
				}
			}
			continue
		}
		if err := f.keyword(keywords[name], m.Value); err != nil {
			return err
		}
	}
	return nil
}

// A holds says what the value of a keyword holds.
type holds byte

const (
	holdsData      holds = iota // the zero value, for keywords that are not known
	holdsSchema                 // a schema, or an array of them
	holdsSchemaMap              // an object of schemas
)

// keywords are those of JSON Schema, drafts 4 to 2020-12, behind which schemas
// stand that are not statically reachable.
var keywords = map[string]holds{
	"items": holdsSchema, "prefixItems": holdsSchema, "additionalItems": holdsSchema, "unevaluatedItems": holdsSchema,
	"contains": holdsSchema, "additionalProperties": holdsSchema, "unevaluatedProperties": holdsSchema, "propertyNames": holdsSchema,
	"allOf": holdsSchema, "anyOf": holdsSchema, "oneOf": holdsSchema, "not": holdsSchema,
	"if": holdsSchema, "then": holdsSchema, "else": holdsSchema, "contentSchema": holdsSchema,
	"$defs": holdsSchemaMap, "definitions": holdsSchemaMap, "patternProperties": holdsSchemaMap,
	"dependentSchemas": holdsSchemaMap, "dependencies": holdsSchemaMap,
}

// keyword walks the schemas behind a keyword, where no annotation may stand.
func (f *finder) keyword(what holds, value []byte) error {
	if what == holdsData {
		return nil
	}
	if what == holdsSchema && rawjson.KindOf(value) == rawjson.Dict {
		return f.schema(value, nil, false)
	}
	for _, item := range rawjson.Elements(value) {
		if err := f.schema(item, nil, false); err != nil {
			return err
		}
	}
	if what == holdsSchemaMap {
		for _, m := range rawjson.Members(value) {
			if err := f.schema(m.Value, nil, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// annotated takes the annotation of a parameter that is statically reachable.
func (f *finder) annotated(object rawjson.Object, path []string) error {
	if key, twice := duplicateOf(object, headerKeyword, "type"); twice {
		return errors.New(key + " stands twice beside " + headerKeyword)
	}
	name := rawjson.Text(object.Get(headerKeyword))
	if !isToken(name) {
		return errors.New(headerKeyword + " is no header name")
	}
	switch rawjson.Text(object.Get("type")) {
	case "string", "integer", "boolean":
	default:
		return errors.New(headerKeyword + " stands on a parameter whose type is not string, integer or boolean")
	}
	lower := strings.ToLower(name)
	if f.taken[lower] {
		return errors.New(headerKeyword + " names one header twice")
	}
	f.taken[lower] = true
	f.found = append(f.found, headerParam{name: name, path: path})
	return nil
}

// paramHeaders reads the arguments to mirror. An argument that is absent or null
// is left out. The error is an *ArgumentError.
func paramHeaders(wanted []headerParam, arguments []byte) ([]ParamHeader, error) {
	var headers []ParamHeader
	for _, p := range wanted {
		value, err := p.find(arguments)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		text, err := p.text(value)
		if err != nil {
			return nil, err
		}
		headers = append(headers, ParamHeader{Name: p.name, Value: text})
	}
	return headers, nil
}

// find returns the value at exactly the parameter's path, or nil.
func (p *headerParam) find(arguments []byte) ([]byte, error) {
	value := arguments
	for _, key := range p.path {
		object := rawjson.Members(value)
		if _, twice := duplicateOf(object, key); twice {
			// The header could only mirror one of them.
			return nil, &ArgumentError{"the argument " + p.shown() + " is given twice"}
		}
		if value = object.Opt(key); value == nil {
			return nil, nil
		}
	}
	return value, nil
}

// text returns a value as it is mirrored. A value of another kind than the
// schema wants goes as what it is: the server judges it.
func (p *headerParam) text(value []byte) (string, error) {
	switch rawjson.KindOf(value) {
	case rawjson.String:
		return rawjson.Text(value), nil
	case rawjson.Bool:
		return string(value), nil
	case rawjson.Number:
		text, err := decimal(value)
		if err != nil {
			return "", &ArgumentError{"the argument " + p.shown() + " " + err.Error()}
		}
		return text, nil
	default:
		return "", &ArgumentError{"the argument " + p.shown() + " is " + rawjson.KindOf(value).String() + "; the tool wants a string, an integer or a boolean"}
	}
}

// shown names the argument for a message.
func (p *headerParam) shown() string { return shownKey(strings.Join(p.path, ".")) }
