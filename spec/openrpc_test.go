package spec

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// metaSchema compiles the schema of an OpenRPC document, and a function that
// compiles the parts of the document that are schemas themselves.
func metaSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile("testdata/openrpc.meta.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	// The file names its versions only once released, and as its own dialect one
	// that is draft-07 in all but name.
	top := value.(map[string]any)
	top["$schema"] = "http://json-schema.org/draft-07/schema#"
	top["properties"].(map[string]any)["openrpc"].(map[string]any)["enum"] = []any{openRPCVersion}
	dialect, err := jsonschema.UnmarshalJSON(strings.NewReader(`{
		"$schema": "http://json-schema.org/draft-07/schema#",
		"allOf": [{"$ref": "http://json-schema.org/draft-07/schema#"}],
		"definitions": {"JSONSchemaObject": {"properties": {"$ref": {"type": "string", "format": "uri-reference"}}}}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(offline{})
	for url, resource := range map[string]any{"https://meta.open-rpc.org/": top, "https://meta.json-schema.tools": dialect, "https://meta.json-schema.tools/": dialect} {
		if err := c.AddResource(url, resource); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := c.Compile("https://meta.open-rpc.org/")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestOpenRPCIsValid(t *testing.T) {
	schema := metaSchema(t)
	text := OpenRPC()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	// The same document with a method spoilt is refused, so the check checks.
	value.(map[string]any)["methods"].([]any)[0].(map[string]any)["params"] = "all"
	if schema.Validate(value) == nil {
		t.Error("the schema takes anything")
	}
}

func TestOpenRPCReferencesResolve(t *testing.T) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(OpenRPC()))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(at any) {
		switch at := at.(type) {
		case map[string]any:
			if ref, ok := at["$ref"].(string); ok && !resolves(value, ref) {
				t.Errorf("%s leads nowhere", ref)
			}
			for _, member := range at {
				walk(member)
			}
		case []any:
			for _, element := range at {
				walk(element)
			}
		}
	}
	walk(value)
}

func resolves(document any, ref string) bool {
	path, ok := strings.CutPrefix(ref, "#/")
	for name := range strings.SplitSeq(path, "/") {
		at, isObject := document.(map[string]any)
		if document, ok = at[name]; !isObject || !ok || document == nil {
			return false
		}
	}
	return true
}

// TestOpenRPCHasEveryMethod holds the document against the method table.
func TestOpenRPCHasEveryMethod(t *testing.T) {
	var document struct {
		Methods []struct {
			Name       string
			Params     []struct{ Name string }
			Result     *struct{ Name string }
			Directions []string `json:"x-directions"`
		}
	}
	if err := json.Unmarshal(OpenRPC(), &document); err != nil {
		t.Fatal(err)
	}
	have := map[string][]string{}
	for _, m := range document.Methods {
		if have[m.Name] != nil {
			t.Errorf("%s is there twice", m.Name)
		}
		have[m.Name] = m.Directions
	}
	for _, m := range Methods() {
		if !slices.Contains(have[m.Name], m.Direction) {
			t.Errorf("%s %s is missing", m.Direction, m.Name)
		}
	}
	construct := document.Methods[0]
	var params []string
	for _, p := range construct.Params {
		params = append(params, p.Name)
	}
	if want := []string{"pack", "id", "config", "host", "protocol"}; construct.Name != "construct" || !slices.Equal(params, want) {
		t.Errorf("the first method is %s with %q, want construct with %q", construct.Name, params, want)
	}
}
