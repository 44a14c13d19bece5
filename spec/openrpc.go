package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// openRPCVersion is the version of the OpenRPC Specification that OpenRPC
// follows (https://spec.open-rpc.org).
const openRPCVersion = "1.3.2"

// OpenRPC returns the methods of both directions as an OpenRPC document, made
// from the method table and the schemas. OpenRPC knows one direction and unique
// names, so `x-directions` says who may send a method.
func OpenRPC() []byte {
	b := &openRPCBuilder{schemas: map[string]any{}}
	var methods []*openRPCMethod
	for _, m := range Methods() {
		at := slices.IndexFunc(methods, func(have *openRPCMethod) bool { return have.Name == m.Name })
		if at < 0 {
			methods = append(methods, b.method(m))
			continue
		}
		have := methods[at]
		have.Directions = append(have.Directions, m.Direction)
		have.Description += " From the child: " + m.Description
	}
	text, err := json.MarshalIndent(openRPCDocument{
		OpenRPC: openRPCVersion,
		Info: openRPCInfo{
			Title:       "toolhost host protocol",
			Description: "JSON-RPC 2.0 over stdin and stdout, between a host and the child it started. The text is protocol.md.",
			Version:     Version(),
		},
		Methods:    methods,
		Components: openRPCComponents{openRPCErrors(), b.schemas},
	}, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("spec: OpenRPC: %v", err))
	}
	return append(text, '\n')
}

type openRPCDocument struct {
	OpenRPC    string            `json:"openrpc"`
	Info       openRPCInfo       `json:"info"`
	Methods    []*openRPCMethod  `json:"methods"`
	Components openRPCComponents `json:"components"`
}

type openRPCInfo struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Version     string `json:"version"`
}

type openRPCComponents struct {
	Errors  map[string]openRPCError `json:"errors"`
	Schemas map[string]any          `json:"schemas"`
}

type openRPCError struct {
	Code    int               `json:"code"`
	Message string            `json:"message"`
	Data    map[string]string `json:"data,omitempty"`
}

type openRPCMethod struct {
	Name           string         `json:"name"`
	Description    string         `json:"description"`
	ParamStructure string         `json:"paramStructure"`
	Params         []openRPCValue `json:"params"`
	Result         *openRPCValue  `json:"result,omitempty"` // nil for a notification
	Errors         []openRPCRef   `json:"errors,omitempty"`
	Directions     []string       `json:"x-directions"`
	Kinds          []string       `json:"x-kinds"`
	Capability     string         `json:"x-capability,omitempty"`
	Since          string         `json:"x-since"`
}

// An openRPCValue is a Content Descriptor.
type openRPCValue struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Schema      any    `json:"schema"`
}

type openRPCRef struct {
	Ref string `json:"$ref"`
}

// An openRPCBuilder collects the schemas that the methods use.
type openRPCBuilder struct {
	schemas map[string]any // by the name under components/schemas
}

func (b *openRPCBuilder) method(m Method) *openRPCMethod {
	out := &openRPCMethod{
		Name: m.Name, Description: m.Description, ParamStructure: "by-name",
		Directions: []string{m.Direction}, Kinds: m.Kinds, Capability: m.Capability, Since: m.Since,
	}
	document := b.load(m.Params)
	for _, name := range memberNames(m.Params) {
		schema := document["properties"].(map[string]any)[name].(map[string]any)
		description, _ := schema["description"].(string)
		delete(schema, "description")
		out.Params = append(out.Params, openRPCValue{name, description, required(document, name), schema})
	}
	if m.Result != "" {
		out.Result = &openRPCValue{Name: m.Name + "Result", Schema: b.load(m.Result)}
	}
	for _, row := range Errors() {
		if row.Kind == "" || slices.Contains(m.Errors, row.Kind) {
			out.Errors = append(out.Errors, openRPCRef{"#/components/errors/" + row.Name})
		}
	}
	return out
}

// load returns a schema file as it stands in an OpenRPC document: without its
// own identity, and with its references turned to components/schemas, where
// what they name is put.
func (b *openRPCBuilder) load(file string) map[string]any {
	document := decode(file)
	delete(document, "$schema")
	delete(document, "$id")
	b.resolve(document)
	return document
}

func (b *openRPCBuilder) resolve(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			b.resolve(member)
		}
		ref, ok := value["$ref"].(string)
		if !ok {
			return
		}
		// A reference names a file, as "tool.json", or one of the shared types,
		// as "common.json#/$defs/requestId".
		file, pointer, _ := strings.Cut(ref, "#/$defs/")
		name := pointer
		if name == "" {
			name = strings.TrimSuffix(file, ".json")
		}
		value["$ref"] = "#/components/schemas/" + name
		if _, done := b.schemas[name]; done {
			return
		}
		b.schemas[name] = nil // so that a schema may name itself
		if pointer == "" {
			b.schemas[name] = b.load(path.Join("schema", file))
			return
		}
		shared := decode(path.Join("schema", file))["$defs"].(map[string]any)[pointer]
		b.resolve(shared)
		b.schemas[name] = shared
	case []any:
		for _, element := range value {
			b.resolve(element)
		}
	}
}

func openRPCErrors() map[string]openRPCError {
	errors := map[string]openRPCError{}
	for _, row := range Errors() {
		e := openRPCError{Code: row.Code, Message: row.When}
		if row.Kind != "" {
			e.Data = map[string]string{"kind": row.Kind}
		}
		errors[row.Name] = e
	}
	return errors
}

func required(document map[string]any, name string) bool {
	list, _ := document["required"].([]any)
	return slices.Contains(list, any(name))
}

// memberNames returns the names of a schema's properties in the order in which
// the file has them, which is the order for people.
func memberNames(file string) []string {
	var document struct{ Properties json.RawMessage }
	parse(file, &document)
	decoder := json.NewDecoder(bytes.NewReader(document.Properties))
	var names []string
	for depth := 0; ; {
		token, err := decoder.Token()
		if err != nil {
			return names
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
		case string:
			if depth == 1 { // each property's schema is an object, so this is a name
				names = append(names, token)
			}
		}
	}
}

// decode returns a JSON file with its numbers as they are written.
func decode(file string) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(read(file)))
	decoder.UseNumber()
	var document map[string]any
	if err := decoder.Decode(&document); err != nil {
		panic(fmt.Sprintf("spec: %s: %v", file, err))
	}
	return document
}
