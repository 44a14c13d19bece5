package spec

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "rewrite errors.md from errors.json")

// schemaURL is what the $id of each schema begins with.
const schemaURL = "https://github.com/toolhost/toolhost/spec/1/"

// compiler knows every schema of the protocol and nothing else, so a reference
// that leads elsewhere fails.
func compiler(t *testing.T) (*jsonschema.Compiler, []string) {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.UseLoader(offline{})
	names, err := fs.Glob(FS, "schema/*.json")
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, "methods.schema.json", "errors.schema.json", "coverage.schema.json")
	for _, name := range names {
		if err := c.AddResource(schemaURL+name, document(t, name)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return c, names
}

type offline struct{}

func (offline) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not embedded", url) }

func document(t *testing.T, name string) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(read(name)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

func TestSchemasAreValidAndResolve(t *testing.T) {
	c, names := compiler(t)
	for _, name := range names {
		top := document(t, name).(map[string]any)
		if got, want := top["$schema"], "https://json-schema.org/draft/2020-12/schema"; got != want {
			t.Errorf("%s: $schema is %v, want %s", name, got, want)
		}
		if got, want := top["$id"], schemaURL+name; got != want {
			t.Errorf("%s: $id is %v, want %s", name, got, want)
		}
		// Compiling holds the file against the meta-schema and follows every
		// reference that is reached; the walk reaches the rest.
		for _, pointer := range pointers(top, "#") {
			if _, err := c.Compile(schemaURL + name + pointer); err != nil {
				t.Errorf("%s%s: %v", name, pointer, err)
			}
		}
	}
}

// pointers returns "#" and the place of each definition.
func pointers(top map[string]any, at string) []string {
	all := []string{at}
	definitions, _ := top["$defs"].(map[string]any)
	for name := range definitions {
		all = append(all, at+"/$defs/"+name)
	}
	return all
}

// TestSchemasAllowUnknownMembers holds for the wire ([M-04]); the tables of the
// protocol itself are closed.
func TestSchemasAllowUnknownMembers(t *testing.T) {
	names, _ := fs.Glob(FS, "schema/*.json")
	for _, name := range names {
		for _, word := range []string{"additionalProperties", "unevaluatedProperties", "propertyNames"} {
			if bytes.Contains(read(name), []byte(`"`+word+`"`)) {
				t.Errorf("%s: %s closes an object that must stay open", name, word)
			}
		}
	}
}

func TestTablesFollowTheirSchemas(t *testing.T) {
	c, _ := compiler(t)
	for _, name := range []string{"methods", "errors", "coverage"} {
		schema, err := c.Compile(schemaURL + name + ".schema.json")
		if err != nil {
			t.Fatal(err)
		}
		table := document(t, name+".json")
		if err := schema.Validate(table); err != nil {
			t.Errorf("%s.json: %v", name, err)
		}
		if got := table.(map[string]any)["version"]; got != Version() {
			t.Errorf("%s.json is of version %v, want %s", name, got, Version())
		}
	}
}

func TestVersionAndChangelogAgree(t *testing.T) {
	_, text, ok := strings.Cut(string(read("CHANGELOG.md")), "\n## ")
	if newest, _, _ := strings.Cut(text, "\n"); !ok || newest != Version() {
		t.Errorf("the newest version of CHANGELOG.md is %q, VERSION has %q", newest, Version())
	}
	first, _, _ := strings.Cut(string(read("protocol.md")), "\n")
	if want := "# The host protocol, version " + Version(); first != want {
		t.Errorf("protocol.md begins with %q, want %q", first, want)
	}
	construct := document(t, "schema/construct.result.json").(map[string]any)
	protocol := construct["properties"].(map[string]any)["protocol"].(map[string]any)
	if protocol["const"] != Version() {
		t.Errorf("construct answers the protocol %v, want %s", protocol["const"], Version())
	}
}

func TestMethodsHaveTheirSchemas(t *testing.T) {
	used := []string{"schema/common.json", "schema/tool.json", "schema/server-status.json", "schema/error.json", "schema/message.json", "schema/dynamic-tools.json"}
	seen := map[string]bool{}
	for _, m := range Methods() {
		if key := m.Direction + " " + m.Name; seen[key] {
			t.Errorf("%s is there twice", key)
		} else {
			seen[key] = true
		}
		if want := "schema/" + m.Name + ".params.json"; m.Params != want {
			t.Errorf("%s: params are %s, want %s", m.Name, m.Params, want)
		}
		want := ""
		if slices.Contains(m.Kinds, "request") {
			want = "schema/" + m.Name + ".result.json"
		}
		if m.Result != want {
			t.Errorf("%s: the result is %q, want %q", m.Name, m.Result, want)
		}
		if m.Capability != "" && !hasCapability(t, m.Capability) {
			t.Errorf("%s: construct has no capability %q", m.Name, m.Capability)
		}
		if !strings.Contains(string(read("CHANGELOG.md")), "\n## "+m.Since+"\n") {
			t.Errorf("%s: since %s, which CHANGELOG.md does not have", m.Name, m.Since)
		}
		used = append(used, m.Params, m.Result)
	}
	names, _ := fs.Glob(FS, "schema/*.json")
	for _, name := range names {
		if !slices.Contains(used, name) {
			t.Errorf("%s describes nothing", name)
		}
	}
	for _, name := range used {
		if name != "" && !slices.Contains(names, name) {
			t.Errorf("%s is missing", name)
		}
	}
}

func hasCapability(t *testing.T, name string) bool {
	properties := document(t, "schema/construct.params.json").(map[string]any)["properties"].(map[string]any)
	host := properties["host"].(map[string]any)["properties"].(map[string]any)
	_, ok := host["capabilities"].(map[string]any)["properties"].(map[string]any)[name]
	return ok
}

// TestMessageSchemaKnowsEveryMethod guards the one list of methods that the
// schema of a message repeats.
func TestMessageSchemaKnowsEveryMethod(t *testing.T) {
	definitions := document(t, "schema/message.json").(map[string]any)["$defs"].(map[string]any)
	for _, side := range []struct{ direction, definition string }{{HostToChild, "hostCall"}, {ChildToHost, "childCall"}} {
		var want, got []string
		for _, m := range Methods() {
			if m.Direction == side.direction {
				want = append(want, m.Name)
			}
		}
		for _, rule := range definitions[side.definition].(map[string]any)["allOf"].([]any) {
			row := rule.(map[string]any)
			method := row["if"].(map[string]any)["properties"].(map[string]any)["method"].(map[string]any)
			got = append(got, method["const"].(string))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, methods.json %q", side.definition, got, want)
		}
	}
}

func TestErrorsMDEqualsErrorsJSON(t *testing.T) {
	head, _, ok := strings.Cut(string(read("errors.md")), "| code |")
	if !ok {
		t.Fatal("errors.md has no table")
	}
	want := head + errorTable()
	if *update {
		if err := os.WriteFile("errors.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got := string(read("errors.md")); got != want {
		t.Errorf("errors.md is not the table of errors.json; run go test ./spec -update\n%s", want)
	}
}

func errorTable() string {
	var b strings.Builder
	b.WriteString("| code | name | kind | when | data |\n| --- | --- | --- | --- | --- |\n")
	for _, row := range Errors() {
		var data []string
		for _, member := range row.Data.Required {
			data = append(data, "`"+member+"`")
		}
		for _, member := range row.Data.Optional {
			data = append(data, "`"+member+"`?")
		}
		cells := []string{fmt.Sprint(row.Code), row.Name, "`" + row.Kind + "`", row.When, strings.Join(data, ", ")}
		line := "| " + strings.Join(cells, " | ") + " |\n"
		b.WriteString(strings.NewReplacer("`` ", "", "|  |", "| |").Replace(line))
	}
	return b.String()
}

// TestErrorSchemaEqualsErrorsJSON holds the schema of an error, which repeats
// the table for those who validate with it alone, against the table.
func TestErrorSchemaEqualsErrorsJSON(t *testing.T) {
	c, _ := compiler(t)
	schema, err := c.Compile(schemaURL + "schema/error.json")
	if err != nil {
		t.Fatal(err)
	}
	valid := func(code int, data map[string]any) bool {
		e := map[string]any{"code": code, "message": "m"}
		if data != nil {
			e["data"] = data
		}
		return schema.Validate(e) == nil
	}
	sample := map[string]any{"kind": "", "untrusted": true, "path": "params.id", "server": "s", "retryable": true, "delivered": "no", "limit": "host_line", "id": "x"}
	for _, row := range Errors() {
		full := map[string]any{}
		for _, member := range slices.Concat(row.Data.Required, row.Data.Optional) {
			full[member] = sample[member]
		}
		if row.Kind != "" {
			full["kind"] = row.Kind
		}
		if !valid(row.Code, full) {
			t.Errorf("%d: the schema refuses %v", row.Code, full)
		}
		if valid(row.Code, nil) != (len(row.Data.Required) == 0) {
			t.Errorf("%d: the schema is wrong about an error without data", row.Code)
		}
		for _, member := range row.Data.Required {
			without := map[string]any{}
			for name, value := range full {
				if name != member {
					without[name] = value
				}
			}
			if valid(row.Code, without) {
				t.Errorf("%d: the schema does not miss data.%s", row.Code, member)
			}
		}
		if row.Kind != "" {
			full["kind"] = "another"
			if valid(row.Code, full) {
				t.Errorf("%d: the schema takes any kind", row.Code)
			}
		}
	}
}
