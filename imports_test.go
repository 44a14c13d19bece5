package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/toolhost/toolhost"

// allowed is the import rule. "a < b" means that b may import a; what is not
// written is forbidden. Every package of the module stands in it, and every
// name in it is a package. Test files are free to import what they need.
const allowed = `
	NONE < internal/jsonl, internal/limit, internal/rawjson, redact, spec, httpmcp/sse;

	internal/limit, internal/rawjson < oauth, pack, mcpclient, httpmcp/sse, httpmcp, pack/bridge, pack/mcp, pack/mcptools, rpc, cli;

	internal/limit, internal/rawjson < internal/schema;
	internal/schema < mcpclient;

	redact < pack, mcpclient, oauth;

	mcpclient, internal/limit, internal/rawjson < mcpclient/envelope;

	mcpclient, mcpclient/envelope, redact, httpmcp/sse < httpmcp;

	mcpclient, mcpclient/envelope, redact, internal/jsonl, internal/limit, internal/rawjson < stdiomcp;

	pack, mcpclient, redact, httpmcp < pack/bridge;

	pack, pack/bridge, mcpclient < pack/mcp;

	pack, pack/bridge, mcpclient, redact, httpmcp, stdiomcp, oauth < pack/mcptools;

	pack, redact, spec, internal/jsonl < rpc;

	rpc, pack, pack/bridge, pack/mcp, pack/mcptools, redact, spec, conformance/fakeserver < cli;

	cli, stdiomcp < main;

	# What judges the product shares no code with it, so that a shared mistake
	# cannot hide: the commands run the built binary.
	NONE < conformance/fakeserver, conformance/internal/child, conformance/internal/mcpserver, conformance/promises;
	spec < spec/speccheck;
	conformance/internal/child, conformance/fakeserver, spec, spec/speccheck
		< conformance/bench, conformance/faults, conformance/peers, conformance/soak;
	conformance/internal/child, conformance/fakeserver, spec/speccheck < conformance/checklist;
	conformance/internal/child, conformance/fakeserver < conformance/atmostonce;
	conformance/internal/child < conformance/mcp;
	conformance/internal/child, conformance/internal/mcpserver, spec/speccheck < conformance/local;
	conformance/internal/child, conformance/internal/mcpserver < conformance/matrix, conformance/peers;
	conformance/internal/child, spec/speccheck < conformance/mcp/driver;
`

// banned lists what must not be in the closure of a package's imports, on any
// system that we build for.
var banned = []struct{ pkg, dependency, because string }{
	{"pack/mcp", "os/exec", "S1-26: runvil/mcp starts no process"},
	{"rpc", "net/http", "the host protocol knows stdin and stdout only"},
	{"pack", "net/http", "the contract knows no carrier"},
	{"mcpclient", "net/http", "MCP without a carrier"},
	{"mcpclient", "os/exec", "MCP without a carrier"},
}

// owners lists who may import a library directly.
var owners = []struct {
	library string
	pkgs    []string
}{
	{"github.com/sourcegraph/jsonrpc2", []string{"rpc"}},
	{"github.com/hashicorp/go-retryablehttp", []string{"httpmcp"}},
	{"golang.org/x/oauth2", []string{"oauth"}},
	{"github.com/spf13/cobra", []string{"cli"}},
	{"github.com/spf13/pflag", []string{"cli"}},
	{"github.com/santhosh-tekuri/jsonschema/v6", []string{"internal/schema", "spec/speccheck", "conformance/checklist"}},
	{"github.com/r3labs/diff/v3", []string{"mcpclient", "replay", "conformance", "cli"}},
}

// A listed is what `go list -json` says of a package.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// name is the package's path in the table.
func (p *listed) name() string {
	if p.ImportPath == module {
		return "main"
	}
	return strings.TrimPrefix(p.ImportPath, module+"/")
}

// list returns the module's packages as they are built for goos.
func list(t *testing.T, goos string) []*listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports,Deps", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	cmd.Stderr = new(bytes.Buffer)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, cmd.Stderr)
	}
	var pkgs []*listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// parseRule reads a table such as allowed: for each package, the packages that
// it may import.
func parseRule(t *testing.T, table string) map[string]map[string]bool {
	t.Helper()
	var text strings.Builder
	for line := range strings.Lines(table) {
		line, _, _ = strings.Cut(line, "#")
		text.WriteString(line + "\n")
	}
	names := func(s string) []string {
		list := strings.Split(s, ",")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		return list
	}
	rule := map[string]map[string]bool{}
	for row := range strings.SplitSeq(text.String(), ";") {
		if strings.TrimSpace(row) == "" {
			continue
		}
		below, above, ok := strings.Cut(row, "<")
		if !ok {
			t.Fatalf("the row %q has no <", row)
		}
		for _, pkg := range names(above) {
			if rule[pkg] == nil {
				rule[pkg] = map[string]bool{}
			}
			for _, dep := range names(below) {
				if dep != "NONE" {
					rule[pkg][dep] = true
				}
			}
		}
	}
	return rule
}

// broken returns how pkgs break the rule, one sentence each.
func broken(rule map[string]map[string]bool, pkgs []*listed) []string {
	var faults []string
	exist := map[string]bool{}
	for _, p := range pkgs {
		exist[p.name()] = true
		may, known := rule[p.name()]
		if !known {
			faults = append(faults, p.name()+" is not in the table")
		}
		for _, dep := range p.Imports {
			if dep = strings.TrimPrefix(dep, module+"/"); ours(pkgs, dep) && !may[dep] {
				faults = append(faults, p.name()+" may not import "+dep)
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(rule)) {
		for _, name := range append([]string{pkg}, slices.Sorted(maps.Keys(rule[pkg]))...) {
			if !exist[name] {
				faults = append(faults, name+" is in the table and does not exist")
			}
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

func ours(pkgs []*listed, name string) bool {
	return slices.ContainsFunc(pkgs, func(p *listed) bool { return p.name() == name })
}

func TestS1_27_ImportRule(t *testing.T) {
	for _, fault := range broken(parseRule(t, allowed), list(t, "linux")) {
		t.Error(fault)
	}
}

// TestImportRuleNotices proves that the rule above can fail.
func TestImportRuleNotices(t *testing.T) {
	pkgs := []*listed{
		{ImportPath: module + "/low"},
		{ImportPath: module + "/high", Imports: []string{"fmt", module + "/low"}},
		{ImportPath: module + "/stranger"},
	}
	rule := parseRule(t, "NONE < low, high; high < gone; # high < low;")
	want := []string{
		"gone is in the table and does not exist",
		"high may not import low",
		"stranger is not in the table",
	}
	if got := broken(rule, pkgs); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestS1_26_ClosureBans(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		pkgs := list(t, goos)
		uses := func(pkg, dependency string) bool {
			i := slices.IndexFunc(pkgs, func(p *listed) bool { return p.name() == pkg })
			if i < 0 {
				t.Fatalf("%s does not exist", pkg)
			}
			return slices.Contains(pkgs[i].Deps, dependency)
		}
		for _, ban := range banned {
			if uses(ban.pkg, ban.dependency) {
				t.Errorf("on %s %s depends on %s; %s", goos, ban.pkg, ban.dependency, ban.because)
			}
		}
		// The ban would be empty if the list could not see these packages at all.
		for _, dependency := range []string{"os/exec", "net/http"} {
			if !uses("cli", dependency) {
				t.Errorf("on %s cli does not depend on %s", goos, dependency)
			}
		}
	}
}

func TestLibraryOwners(t *testing.T) {
	for _, p := range list(t, "linux") {
		for _, row := range owners {
			if slices.Contains(p.Imports, row.library) && !slices.Contains(row.pkgs, p.name()) {
				t.Errorf("%s imports %s; only %s may", p.name(), row.library, strings.Join(row.pkgs, ", "))
			}
		}
	}
}
