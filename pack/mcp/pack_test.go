package mcp

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolhost/toolhost/pack"
)

func TestS1_01_InfoAndInstall(t *testing.T) {
	registry := pack.NewRegistry()
	if err := Install(registry, nil, nil); err != nil {
		t.Fatal(err)
	}
	info := registry.Available()[0]
	if info.Name != "runvil/mcp" || info.ID != "mcp" || info.Description != "Tools from every configured MCP server" || info.Prelude != "" {
		t.Errorf("got %+v", info)
	}
	if err := Install(registry, nil, nil); !errors.Is(err, pack.ErrDuplicatePack) {
		t.Errorf("a second Install: %v, want ErrDuplicatePack", err)
	}
}

func TestS1_01_InstallTakesItsMemberOfTheConfig(t *testing.T) {
	for _, row := range []struct {
		name, config string
		want         []string
	}{
		{"its member", `{"other":1,"mcp":{"docs":{"command":"x"}}}`, []string{"docs"}},
		{"no such member", `{"other":{"docs":{"command":"x"}}}`, nil},
		{"null", `{"mcp":null}`, nil},
		{"no config at all", ``, nil},
		{"no object", `[{"mcp":{}}]`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				registry := pack.NewRegistry()
				if err := Install(registry, pack.Raw(row.config), nil); err != nil {
					t.Fatal(err)
				}
				p, err := registry.Construct("runvil/mcp", "", nil, w.host)
				if err != nil {
					t.Fatal(err)
				}
				w.pack = p
				if got := namespaces(w); !slices.Equal(got, row.want) {
					t.Errorf("got the servers %q, want %q", got, row.want)
				}
			})
		})
	}
}

// namespaces returns the names that get_dynamic_tools lists, in its order.
func namespaces(w *world) []string {
	var names []string
	for _, n := range w.list(`{}`)["namespaces"].([]any) {
		names = append(names, n.(map[string]any)["namespace"].(string))
	}
	return names
}

// A whole file is one entry called mcpServers that has no url: it is refused with
// a hint, and never leaves the pack unavailable.
func TestS1_01_WholeFileGetsAHint(t *testing.T) {
	for _, config := range []string{
		`{"mcpServers":{"docs":{"url":"https://mcp.test"}}}`,
		`{"mcpServers":{}}`,
		`{"$schema":"x","inputs":[],"mcpServers":{"docs":{"url":"https://mcp.test"}}}`,
	} {
		bubble(t, func(t *testing.T, w *world) {
			w.construct(config)
			if got := w.status("mcpServers"); got.Status != "error" || !strings.Contains(got.Error, "whole mcp.json file: pass the object under mcpServers") {
				t.Errorf("%s: %+v", config, got)
			}
		})
	}
	bubble(t, func(t *testing.T, w *world) {
		w.serve("mcpServers", tool("a"))
		w.construct(`{"mcpServers":{"url":"https://mcp.test"}}`)
		if got := w.status("mcpServers"); got.Status != "ready" {
			t.Errorf("a server called mcpServers: %+v", got)
		}
	})
	bubble(t, func(t *testing.T, w *world) {
		w.serve("docs", tool("a"))
		w.construct(`{"mcpServers":{"git":{"url":"https://mcp.test"}},"docs":{"url":"https://mcp.test"}}`)
		if got := w.status("docs"); got.Status != "ready" {
			t.Errorf("the entry beside it: %+v", got)
		}
	})
}

func TestS1_02_Config(t *testing.T) {
	const sentence = "the MCP configuration must be a JSON object of servers by name, as the " +
		"`mcpServers` object of an mcp.json file is"
	for _, config := range []string{`[]`, `"docs"`, `true`, `false`, `0`, `[{"docs":{"url":"https://mcp.test"}}]`} {
		bubble(t, func(t *testing.T, w *world) {
			_, err := w.try(config)
			if e := wantError(t, err, pack.KindUnavailable); e.Message != sentence {
				t.Errorf("%s: %q", config, e.Message)
			}
		})
	}
	for _, config := range []string{`null`, `{}`, ` {} `} {
		bubble(t, func(t *testing.T, w *world) {
			w.construct(config)
			result, err := w.invoke("get_dynamic_tools", `{}`)
			if err != nil || text(t, result.Content) != `{"namespaces":[]}` {
				t.Errorf("%s: %v, %v", config, result, err)
			}
		})
	}
}

func TestL11_ConfigTooDeep(t *testing.T) {
	w := newWorld(t)
	_, err := w.try(`{"docs":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`)
	wantError(t, err, pack.KindUnavailable, "the MCP configuration", "nested too deep")
}

func TestS1_13_ConfigThenRuntime(t *testing.T) {
	for _, row := range []struct{ name, config, want string }{
		{"no servers", `null`, noRuntime},
		{"a server", `{"docs":{"url":"https://mcp.test"}}`, noRuntime},
		{"a refused server", `{"docs":{"command":"x"}}`, noRuntime},
		{"the config is judged first", `[]`, noObject},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			w.host.Runtime = nil
			_, err := w.try(row.config)
			if e := wantError(t, err, pack.KindUnavailable); e.Message != row.want {
				t.Errorf("got %q, want %q", e.Message, row.want)
			}
		})
	}
	if noRuntime != "MCP needs runvil/tokio-runtime, and this host provides none" {
		t.Errorf("the sentence is %q", noRuntime)
	}
}

func TestS1_13_ConstructDoesNoIO(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.runtime.held = true
		docs, git := w.serve("docs", tool("a")), w.serve("git")
		w.construct(`{"docs":{"url":"https://mcp.test"},"git":{"url":"https://mcp.test"},"files":{"command":"x"}}`)
		for _, f := range []*fakeServer{docs, git} {
			if attempts, _, _ := f.counts(); attempts != 0 || len(f.requests) != 0 {
				t.Errorf("before the tasks ran: %d transports, requests %v", attempts, f.requests)
			}
		}
		if n := len(w.runtime.tasks); n != 2 {
			t.Errorf("%d tasks, want one for each parsed entry", n)
		}
		w.list(`{}`)
		w.list(`{"namespace":"docs"}`)
		w.refusal(pack.KindMessage, "call_dynamic_tool", `{"namespace":"docs","toolName":"a"}`)
		if len(docs.requests) != 0 {
			t.Errorf("questions did I/O: %v", docs.requests)
		}
		w.runtime.release()
		synctest.Wait()
		if got := w.status("docs"); got.Status != "ready" {
			t.Errorf("after the tasks ran: %+v", got)
		}
	})
}

func TestS1_03_TwoToolsUnderTheID(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("docs", tool("a"), tool("b"))
		p := w.dial()
		var names []string
		for _, tool := range p.Tools() {
			names = append(names, tool.Name)
			if tool.Kind != pack.KindTool || !tool.Untrusted || tool.Description == "" {
				t.Errorf("%+v", tool)
			}
			var schema struct {
				Type       string
				Properties map[string]struct{ Type, Description string }
				Required   []string
			}
			if err := json.Unmarshal(tool.InputSchema, &schema); err != nil || schema.Type != "object" {
				t.Errorf("%s: %v in %s", tool.Name, err, tool.InputSchema)
			}
			want := map[string][]string{
				"get_dynamic_tools": {"namespace", "toolName"},
				"call_dynamic_tool": {"arguments", "namespace", "toolName"},
			}[tool.Name]
			if got := slices.Sorted(maps.Keys(schema.Properties)); !slices.Equal(got, want) {
				t.Errorf("%s takes %q, want %q", tool.Name, got, want)
			}
		}
		if want := []string{"get_dynamic_tools", "call_dynamic_tool"}; !slices.Equal(names, want) {
			t.Errorf("got %q, want %q", names, want)
		}
		p.Tools()[0].Name = "changed"
		if p.Tools()[0].Name != "get_dynamic_tools" {
			t.Error("a caller can change the tools of others")
		}
	})
	// Another id changes nothing but how the pack speaks of itself.
	bubble(t, func(t *testing.T, w *world) {
		registry := pack.NewRegistry()
		Install(registry, nil, nil)
		w.pack, _ = registry.Construct("runvil/mcp", "work", nil, w.host)
		if _, err := registry.Invoke(t.Context(), "work/get_dynamic_tools", &pack.Call{}); err != nil {
			t.Error(err)
		}
		_, err := registry.Invoke(t.Context(), "work/get_tools", &pack.Call{})
		wantError(t, err, pack.KindMessage, `"work/get_tools"`, `"work/get_dynamic_tools"`, `"work/call_dynamic_tool"`)
	})
}

// TestS1_27_OnlyInstallAndOptionsAreExported reads the package's own files: its
// top-level names and the fields of the one exported type.
func TestS1_27_OnlyInstallAndOptionsAreExported(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var exported []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					exported = append(exported, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						exported = append(exported, s.Name.Name)
					case *ast.ValueSpec:
						for _, id := range s.Names {
							exported = append(exported, id.Name)
						}
					}
				}
			}
		}
	}
	exported = slices.DeleteFunc(exported, func(name string) bool { return !ast.IsExported(name) })
	slices.Sort(exported)
	if want := []string{"Install", "Options"}; !slices.Equal(exported, want) {
		t.Errorf("exported: %q, want %q", exported, want)
	}
}
