package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/mcpclient"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// A source is one Go file of the module that is not a test.
type source struct {
	pkg  string // as in the import rule
	path string // from the root, with slashes
	file *ast.File
	set  *token.FileSet
}

// sources parses every package's files for every system.
func sources(t *testing.T) []*source {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	var all []*source
	set := token.NewFileSet()
	for _, p := range list(t, "linux") {
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			path, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, &source{p.name(), filepath.ToSlash(path), file, set})
		}
	}
	return all
}

// product reports whether the file is part of what users run, rather than of
// what judges it.
func (s *source) product() bool {
	return !strings.HasPrefix(s.pkg, "conformance/") && s.pkg != "spec/speccheck"
}

func (s *source) at(node ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(node.Pos()).Line)
}

// selectors visits each use of a selector such as os.Stdout.
func (s *source) selectors(visit func(of, name string, node *ast.SelectorExpr)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := sel.X.(*ast.Ident); ok {
				visit(of.Name, sel.Sel.Name, sel)
			}
		}
		return true
	})
}

func TestOnePackageDocEach(t *testing.T) {
	docs := map[string][]string{}
	for _, s := range sources(t) {
		if docs[s.pkg] == nil {
			docs[s.pkg] = []string{}
		}
		if s.file.Doc != nil {
			docs[s.pkg] = append(docs[s.pkg], s.path)
		}
	}
	for pkg, files := range docs {
		if len(files) != 1 {
			t.Errorf("%s has %d package docs: %q", pkg, len(files), files)
		}
	}
}

// TestRevisionDates keeps the names of MCP revisions in one table: code asks a
// Revision's facts, never its name. Comments may cite the specification.
func TestRevisionDates(t *testing.T) {
	const table = "mcpclient/revision.go"
	found := 0
	for _, s := range sources(t) {
		if !s.product() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			text, ok := n.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING {
				return true
			}
			for _, revision := range mcpclient.Revisions() {
				switch {
				case !strings.Contains(text.Value, revision.Name):
				case s.path == table:
					found++
				default:
					t.Errorf("%s names the revision %s; ask its row in %s", s.at(n), revision.Name, table)
				}
			}
			return true
		})
	}
	if want := len(mcpclient.Revisions()); found != want {
		t.Errorf("%s holds %d names of %d revisions", table, found, want)
	}
}

// TestStandardFiles keeps stdout to the protocol: only main.go reaches for the
// process's files and arguments, and nothing prints behind its back.
func TestStandardFiles(t *testing.T) {
	global := map[string][]string{
		"os":  {"Stdin", "Stdout", "Stderr", "Args"},
		"fmt": {"Print", "Printf", "Println"},
		"log": {"Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln"},
	}
	found := map[string]bool{}
	for _, s := range sources(t) {
		if !s.product() {
			continue
		}
		s.selectors(func(of, name string, node *ast.SelectorExpr) {
			if !slices.Contains(global[of], name) {
				return
			}
			if s.path != "main.go" {
				t.Errorf("%s uses %s.%s; only main.go may", s.at(node), of, name)
			}
			found[of+"."+name] = true
		})
	}
	if !found["os.Stdout"] {
		t.Error("main.go does not use os.Stdout: the check sees nothing")
	}
}

func TestS1_27_PackExportsOnlyInstallAndItsOptions(t *testing.T) {
	var exported []string
	add := func(name *ast.Ident) {
		if name.IsExported() {
			exported = append(exported, name.Name)
		}
	}
	for _, s := range sources(t) {
		if s.pkg != "pack/mcp" {
			continue
		}
		for _, decl := range s.file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					add(decl.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(spec.Name)
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							add(name)
						}
					}
				}
			}
		}
	}
	slices.Sort(exported)
	if want := []string{"Install", "Options"}; !slices.Equal(exported, want) {
		t.Errorf("pack/mcp exports %q, want %q", exported, want)
	}
}

// TestRevealSites lists every place where a secret leaves its Secret, with the
// purpose it gives. A new line in the golden file is a decision: it should be
// rare and end in a request to the secret's own server.
func TestRevealSites(t *testing.T) {
	const golden = "testdata/reveal.txt"
	var sites []string
	for _, s := range sources(t) {
		if !s.product() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Reveal" || len(call.Args) != 1 {
				return true
			}
			purpose, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: the purpose of Reveal must be a literal", s.at(call))
				return true
			}
			text, err := strconv.Unquote(purpose.Value)
			if err != nil {
				t.Fatal(err)
			}
			sites = append(sites, s.path+": "+text)
			return true
		})
	}
	slices.Sort(sites)
	got := strings.Join(sites, "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("secrets are revealed at\n%swant\n%sIf that is meant, run go test -run RevealSites -update .", got, want)
	}
	if len(sites) > 16 {
		t.Errorf("%d places reveal secrets; find a way with fewer", len(sites))
	}
}
