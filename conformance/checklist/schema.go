package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// schemaFiles are the specification's own schemas of what a client sends, one for
// each revision: the definitions that a client's messages reach, without their
// descriptions. From github.com/modelcontextprotocol/modelcontextprotocol at
// b0f60ba5409d, schema/<revision>/schema.json, under the licenses given there. One
// thing is other: in the content of ElicitResult a number may have a fraction, as
// schema.ts says, from which the JSON is made.
//
//go:embed schema/*.json
var schemaFiles embed.FS

// clientSchemas are the definitions that a message of a client must match, by its
// kind.
var clientSchemas = map[string][]string{
	kindRequest:      {"JSONRPCRequest", "ClientRequest"},
	kindNotification: {"JSONRPCNotification", "ClientNotification"},
	kindResponse:     {"JSONRPCMessage"},
}

// schemas are the compiled definitions by revision and name.
var schemas = sync.OnceValues(func() (map[[2]string]*jsonschema.Schema, error) {
	all := map[[2]string]*jsonschema.Schema{}
	for _, version := range revisions {
		data, err := schemaFiles.ReadFile("schema/" + version + ".json")
		if err != nil {
			return nil, err
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", version, err)
		}
		definitions := "$defs"
		if _, ok := document.(map[string]any)[definitions]; !ok {
			definitions = "definitions"
		}
		compiler := jsonschema.NewCompiler()
		url := "mem:///" + version + ".json"
		if err := compiler.AddResource(url, document); err != nil {
			return nil, err
		}
		for _, names := range clientSchemas {
			for _, name := range names {
				if all[[2]string{version, name}], err = compiler.Compile(url + "#/" + definitions + "/" + name); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
})

// judgeSchemas holds every message that the client sent against the schema of its
// revision: that of its _meta, of its header, of what it offers, or that of the run.
func judgeSchemas(version string, seen []*request) ([]string, error) {
	compiled, err := schemas()
	if err != nil {
		return nil, err
	}
	var faults []string
	legacy := map[string]bool{} // servers that have been asked for a handshake
	for i, r := range seen {
		if r.http != http.MethodPost && r.http != fakeserver.Line {
			continue
		}
		legacy[r.server] = legacy[r.server] || r.method == "initialize"
		fallback := version
		if legacy[r.server] && version == revisions[modern] {
			fallback = revisions[oldest] // it is the one that has no header
		}
		if err := judgeMessage(compiled, versionOf(r, fallback), r); err != nil {
			faults = append(faults, fmt.Sprintf("schema: request %d, %s: %v: %.300s", i+1, r, err, r.body))
		}
	}
	return faults, nil
}

func judgeMessage(compiled map[[2]string]*jsonschema.Schema, version string, r *request) error {
	names := clientSchemas[r.kind]
	if names == nil {
		return fmt.Errorf("it is no single message")
	}
	if !utf8.Valid(r.body) {
		return fmt.Errorf("it is no UTF-8")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.body))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := compiled[[2]string{version, name}].Validate(value); err != nil {
			return fmt.Errorf("no %s of %s: %w", name, version, err)
		}
	}
	return nil
}

func versionOf(r *request, fallback string) string {
	var m struct {
		Params struct {
			ProtocolVersion string                     `json:"protocolVersion"`
			Meta            map[string]json.RawMessage `json:"_meta"`
		}
	}
	_ = json.Unmarshal(r.body, &m) // the schema says what is wrong with it
	var stated string
	_ = json.Unmarshal(m.Params.Meta["io.modelcontextprotocol/protocolVersion"], &stated)
	for _, version := range []string{stated, r.header.Get("Mcp-Protocol-Version"), m.Params.ProtocolVersion} {
		for _, known := range revisions {
			if version == known {
				return known
			}
		}
	}
	return fallback
}
