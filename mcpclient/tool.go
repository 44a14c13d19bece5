package mcpclient

import (
	"errors"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

// A Tool is one tool as its server defines it. Byte slices are pieces of the
// page it was listed on, byte for byte.
type Tool struct {
	Name         string // as the server lists it; never empty
	Title        string // "" for none
	Description  string // "" for none
	InputSchema  []byte // an object
	OutputSchema []byte // nil for none
	Annotations  []byte // nil for none; the server's own claims, not to be trusted
	Raw          []byte // the whole definition
}

// Describe returns what a model is told about the tool: its description, else
// its title, else its name.
func (t *Tool) Describe() string {
	switch {
	case t.Description != "":
		return t.Description
	case t.Title != "":
		return t.Title
	default:
		return t.Name
	}
}

// maxToolName bounds a tool's name, in bytes. MCP recommends at most 128
// characters; longer names are in use, and this only keeps out what is no name.
const maxToolName = 1024

// parseTool reads one definition. Optional members that are null or of another
// kind count as absent. When it returns an error, the Tool has only the name, if
// that could be read.
func parseTool(raw []byte, table limit.Table) (Tool, error) {
	if rawjson.KindOf(raw) != rawjson.Dict {
		return Tool{}, errors.New(notA("its definition", raw, rawjson.Dict))
	}
	object := rawjson.Members(raw)
	name, err := listedName(object)
	t := Tool{Name: name}
	switch {
	case err != nil:
		return t, err
	case len(raw) > table.Int(limit.ToolDefinition):
		return t, table.Exceeded(limit.ToolDefinition, "its definition")
	}
	if key, twice := duplicateOf(object, "name", "title", "description", "inputSchema", "outputSchema", "annotations"); twice {
		return t, errors.New(key + " stands twice in its definition")
	}
	schema := object.Opt("inputSchema")
	if rawjson.KindOf(schema) != rawjson.Dict {
		return t, errors.New(notA("its inputSchema", schema, rawjson.Dict))
	}
	t.Title = rawjson.Text(object.Get("title"))
	t.Description = rawjson.Text(object.Get("description"))
	t.InputSchema = schema
	t.OutputSchema = object.Opt("outputSchema")
	t.Annotations = object.Opt("annotations")
	t.Raw = raw
	return t, nil
}

// listedName reads the name of a tool or prompt. The error says why it cannot be
// used; the name is "" then, or what could be read of it.
func listedName(definition rawjson.Object) (string, error) {
	value := definition.Opt("name")
	if rawjson.KindOf(value) != rawjson.String {
		return "", errors.New(notA("its name", value, rawjson.String))
	}
	name := rawjson.Text(value)
	switch {
	case name == "":
		return name, errors.New("its name is empty")
	case len(name) > maxToolName:
		return name, errors.New("its name is too long")
	case !plainName(name):
		return name, errors.New("its name holds characters that cannot be seen")
	}
	return name, nil
}

// plainName reports whether a name shows what it is: no control or bidi
// character, and nothing that could not be decoded, since such a name cannot be
// sent back as it came. Any other name passes as it is listed: names are compared
// exactly, and it is for the packs to decide what a model can call.
func plainName(name string) bool {
	for _, r := range name {
		if r == utf8.RuneError {
			return false
		}
	}
	return redact.Escape(name) == name
}
