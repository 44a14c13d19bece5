package rpc

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/spec/speccheck"
)

// packVectors are the files about what a pack makes of its configuration, which run
// against the built binary.
var packVectors = []string{"runvil-mcp", "tanstack-mcp"}

// ownVectors are the files whose exchanges are about the wire.
var ownVectors = []string{"framing", "grease", "ids", "lifecycle", "lsp", "messages", "tools"}

// TestVectors drives the server with the protocol's own exchanges.
func TestVectors(t *testing.T) {
	vectors, err := speccheck.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	run := map[string]int{}
	for _, v := range vectors {
		file := strings.TrimSuffix(strings.TrimPrefix(v.File, "vectors/"), ".jsonl")
		if slices.Contains(packVectors, file) {
			continue
		}
		run[file]++
		t.Run(file+"/"+v.Name, func(t *testing.T) {
			t.Parallel()
			out := bytes.Buffer{}
			if err := Serve(t.Context(), bytes.NewReader(v.In), &out, vectorRegistry(), nil); err != nil {
				t.Fatal(err)
			}
			messages, err := speccheck.Split(v.Framing, out.Bytes())
			if err == nil {
				err = v.Compare(messages)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	for _, file := range ownVectors {
		if run[file] == 0 {
			t.Errorf("there are no vectors in %s", file)
		}
		delete(run, file)
	}
	if len(run) > 0 {
		t.Errorf("files of vectors that this test does not know: %v", run)
	}
}

// vectorRegistry holds a pack that looks like runvil/mcp without any server, for
// which the vectors are written.
func vectorRegistry() *pack.Registry {
	registry := pack.NewRegistry()
	err := registry.Insert(pack.Info{
		Name:        "runvil/mcp",
		ID:          "mcp",
		Description: "Tools from every configured MCP server",
		New: func(_ string, config pack.Raw, _ *pack.Host) (pack.Pack, error) {
			if string(config) != "null" && config[0] != '{' {
				return nil, pack.Errorf(pack.KindUnavailable, "the configuration is no object")
			}
			return noServers{}, nil
		},
	}, nil)
	if err != nil {
		panic(err)
	}
	return registry
}

type noServers struct{}

func (noServers) Tools() []pack.Tool {
	return []pack.Tool{
		{
			Name: "get_dynamic_tools", Kind: pack.KindTool, Description: "List the tools.", Untrusted: true,
			InputSchema: pack.Raw(`{"type":"object","properties":{"namespace":{"type":"string"},"toolName":{"type":"string"}}}`),
		},
		{
			Name: "call_dynamic_tool", Kind: pack.KindTool, Description: "Call a tool.", Untrusted: true,
			InputSchema: pack.Raw(`{"type":"object","properties":{"namespace":{"type":"string"},"toolName":{"type":"string"},"arguments":{"type":"object"}},"required":["namespace","toolName"]}`),
		},
	}
}

func (noServers) Ready(context.Context) ([]pack.ServerStatus, error) { return nil, nil }

func (noServers) Close(context.Context) error { return nil }

func (noServers) Invoke(_ context.Context, call *pack.Call) (*pack.Result, error) {
	if call.Tool != "get_dynamic_tools" {
		return nil, &pack.Error{Kind: pack.KindMessage, Message: "there is no such tool", Untrusted: true, Err: errors.ErrUnsupported}
	}
	return &pack.Result{Content: pack.Raw(`"{\"namespaces\":[]}"`), Untrusted: true}, nil
}
