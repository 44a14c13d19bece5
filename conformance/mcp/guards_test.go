package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

// TestBreakagesApply keeps broken.go up to date with the product. Whether each turns
// red what it should, the command itself tries.
func TestBreakagesApply(t *testing.T) {
	root, err := child.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	red := map[string]bool{}
	for _, b := range slices.Concat(broken, brokenSignIn) {
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(b.file)))
		if err != nil {
			t.Errorf("%s: %v", b.rule, err)
			continue
		}
		patched, err := b.patch(string(source))
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), b.file, patched, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %v", b.rule, err)
		}
		turned := 0
		for _, r := range rows() {
			if b.turns(r) && b.signIn() != r.signIn() {
				t.Errorf("%s: %v is not tried with it", b.rule, r)
			}
			if b.turns(r) {
				red[r.name] = true
				turned++
			}
		}
		if turned < len(b.red) {
			t.Errorf("%s turns red what does not exist: %q", b.rule, b.red)
		}
	}
	list, err := readKnown(knownFailures)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios {
		if passes := reasonFor(list, s.name) == "" && !s.skills; passes != red[s.name] {
			t.Errorf("%s: it passes %v, and a breakage turns it red %v", s.name, passes, red[s.name])
		}
	}
}

func TestPatchThatDoesNotApply(t *testing.T) {
	b := breakage{rule: "x", file: "f.go", old: "a", new: "b"}
	for _, source := range []string{"", "aa"} {
		if _, err := b.patch(source); err == nil {
			t.Errorf("%q was patched", source)
		}
	}
	if got, err := b.patch("xax"); got != "xbx" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNothingFault(t *testing.T) {
	core, vacant := rowOf(t, "tools_call", rev2511), rowOf(t, "initialize", rev2511)
	skills := rowOf(t, "sep-2640-client-verify-size", rev2607)
	bad := []check{{ID: "tool-add-numbers", Status: "FAILURE"}}
	noticed := &driverVerdict{Reason: "construct: broken pipe"}
	for name, test := range map[string]struct {
		o    outcome
		want string
	}{
		"a check failed":              {outcome{run: run{core, auto}, checks: bad, driver: noticed}, ""},
		"only the needs are left":     {outcome{run: run{vacant, auto}, driver: noticed}, ""},
		"skills":                      {outcome{run: run{skills, auto}, checks: good(skills), driver: noticed}, ""},
		"the driver is fooled":        {outcome{run: run{core, auto}, checks: bad, driver: &driverVerdict{OK: true}}, "did not notice"},
		"the driver has no steps":     {outcome{run: run{core, auto}, checks: bad, driver: &driverVerdict{Reason: "no steps are known for x"}}, "did not notice"},
		"it passes":                   {outcome{run: run{vacant, auto}, checks: good(vacant), driver: &driverVerdict{OK: true}}, "it is PASS"},
		"the needs are fooled":        {outcome{run: run{vacant, auto}, checks: good(vacant), driver: noticed}, "nothing is missing"},
		"a vacuous one has a check":   {outcome{run: run{vacant, auto}, checks: bad, driver: noticed}, "list of vacuous scenarios"},
		"one is vacuous and not told": {outcome{run: run{core, auto}, driver: noticed}, "list of vacuous scenarios"},
		"the suite broke":             {outcome{run: run{core, auto}, broke: errors.New("no report")}, "no report"},
	} {
		if got := nothingFault(&test.o); got == "" != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A listed is what `go list -json` says of a package.
type listed struct {
	ImportPath, Dir     string
	Standard            bool
	GoFiles, EmbedFiles []string
}

// closure returns the package and all that it depends on.
func closure(t *testing.T, pkg string) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Standard,GoFiles,EmbedFiles", pkg)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// TestDriverReachesNoNetwork: what the suite sees was sent by the product, since the
// driver holds nothing that could send but the browser that its user goes to a sign-in
// with. How often that is used, the plays compare.
func TestDriverReachesNoNetwork(t *testing.T) {
	const driver = "github.com/toolhost/toolhost/conformance/mcp/driver"
	reaches := func(path string) bool { return path == "net" || path == "net/http" }
	var browser []string
	for _, p := range closure(t, driver) {
		if p.Standard {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, imported := range file.Imports {
				if path, err := strconv.Unquote(imported.Path.Value); err != nil || reaches(path) {
					browser = append(browser, strings.TrimPrefix(p.ImportPath, driver)+name)
				}
			}
		}
	}
	if browser = slices.Compact(browser); !slices.Equal(browser, []string{"browser.go"}) {
		t.Errorf("%q hold code for the network, want the browser alone", browser)
	}
}

// fixtures are names of the suite's tools, servers and variables.
var fixtures = []string{
	"MCP_CONFORMANCE", "add_numbers", "test_reconnection", "test_client_elicitation", "test_mrtr",
	"test_headers", "my-hyphenated-tool", "test_custom_headers", "invalid_empty_header", "valid_tool",
	"json_schema_2020_12", "json_schema_echo", "test-tool", "conformance-test.local", "conformance-mock",
}

// TestProductKnowsNothingOfTheSuite: the product does not behave well only for the
// names that it is tried with.
func TestProductKnowsNothingOfTheSuite(t *testing.T) {
	names := slices.Clone(fixtures)
	for _, s := range scenarios {
		if s.name != "initialize" { // a method of MCP
			names = append(names, s.name)
		}
	}
	files, seen := 0, false
	for _, p := range closure(t, "github.com/toolhost/toolhost") {
		if p.Standard || !strings.HasPrefix(p.ImportPath, "github.com/toolhost/toolhost") {
			continue
		}
		for _, file := range slices.Concat(p.GoFiles, p.EmbedFiles) {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			files++
			seen = seen || bytes.Contains(text, []byte("tools/call"))
			for _, name := range names {
				if bytes.Contains(text, []byte(name)) {
					t.Errorf("%s/%s holds %q, which is a name of the suite", p.ImportPath, file, name)
				}
			}
		}
	}
	if files < 50 || !seen {
		t.Errorf("%d files were looked at, and tools/call was seen %v", files, seen)
	}
}

func TestLockFile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("npm", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var wanted struct{ Dependencies, OptionalDependencies map[string]string }
	if err := json.Unmarshal(text, &wanted); err != nil {
		t.Fatal(err)
	}
	if len(wanted.Dependencies) != 1 || wanted.Dependencies[suitePackage] != suiteVersion {
		t.Errorf("dependencies: %v", wanted.Dependencies)
	}
	if got, want := slices.Sorted(maps.Keys(wanted.OptionalDependencies)), slices.Sorted(maps.Values(nodePackages)); !slices.Equal(got, want) {
		t.Errorf("packages with Node.js: %q, want %q", got, want)
	}
	for _, file := range []string{"package.json", "package-lock.json", ".npmrc"} {
		text, err := os.ReadFile(filepath.Join("npm", file))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(`"resolved"`)) || bytes.Contains(text, []byte("registry.")) || bytes.Contains(text, []byte("registry=http")) {
			t.Errorf("%s names a registry", file)
		}
	}
}
