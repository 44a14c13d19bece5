package spec

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rule is the head of a numbered rule in protocol.md.
var rule = regexp.MustCompile(`(?m)^\*\*\[([A-Z])-(\d\d)\]\*\* `)

// rules returns the ids of all rules in their order.
func rules() []string {
	var ids []string
	for _, m := range rule.FindAllStringSubmatch(string(read("protocol.md")), -1) {
		ids = append(ids, m[1]+"-"+m[2])
	}
	return ids
}

func TestRulesAreNumberedInOrder(t *testing.T) {
	next := map[byte]int{}
	for _, id := range rules() {
		next[id[0]]++
		if want := fmt.Sprintf("%c-%02d", id[0], next[id[0]]); id != want {
			t.Errorf("rule %s where %s comes", id, want)
		}
	}
	if len(next) < 8 {
		t.Errorf("only the areas %v have rules", next)
	}
}

// TestReferencesToRulesResolve reads every [F-01] in the text and elsewhere.
func TestReferencesToRulesResolve(t *testing.T) {
	known := rules()
	reference := regexp.MustCompile(`\[([A-Z]-\d\d)\]`)
	files, err := filepath.Glob("schema/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "protocol.md") {
		for _, m := range reference.FindAllStringSubmatch(string(read(filepath.ToSlash(name))), -1) {
			if !slices.Contains(known, m[1]) {
				t.Errorf("%s refers to the rule %s, which there is not", name, m[1])
			}
		}
	}
}

// TestEveryRuleIsProven holds the vectors and coverage.json against the rules:
// each rule has a vector, or a row that names what proves it instead.
func TestEveryRuleIsProven(t *testing.T) {
	known := rules()
	proven := map[string]bool{}
	names, err := filepath.Glob("vectors/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		for line := range strings.Lines(string(read(filepath.ToSlash(name)))) {
			var vector struct {
				Name string
				Must []string
			}
			if err := json.Unmarshal([]byte(line), &vector); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, id := range vector.Must {
				proven[id] = true
				if !slices.Contains(known, id) {
					t.Errorf("%s: %q proves the rule %s, which there is not", name, vector.Name, id)
				}
			}
		}
	}
	var coverage struct {
		Rules map[string]struct {
			Tests []string
			Why   string
		}
	}
	parse("coverage.json", &coverage)
	for id, row := range coverage.Rules {
		if !slices.Contains(known, id) {
			t.Errorf("coverage.json: there is no rule %s", id)
		}
		if proven[id] {
			t.Errorf("coverage.json: %s has a vector; its row is stale", id)
		}
		for _, test := range row.Tests {
			if !testExists(t, test) {
				t.Errorf("coverage.json: %s: there is no test %s", id, test)
			}
		}
		proven[id] = true
	}
	for _, id := range known {
		if !proven[id] {
			t.Errorf("%s is proven nowhere: write a vector, or a row of coverage.json", id)
		}
	}
}

// testExists reports whether a package of the module has that Go test. The
// package main is the module's root.
func testExists(t *testing.T, test string) bool {
	t.Helper()
	folder, name, _ := strings.Cut(test, ".")
	if folder == "main" {
		folder = ""
	}
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}

// TestMethodsAreDescribed looks for each method where its direction is
// described, and for each of its params by name.
func TestMethodsAreDescribed(t *testing.T) {
	text := string(read("protocol.md"))
	section := func(from, to string) string {
		_, text, ok := strings.Cut(text, "\n## "+from)
		text, _, ok2 := strings.Cut(text, "\n## "+to)
		if !ok || !ok2 {
			t.Fatalf("protocol.md has no section %q before %q", from, to)
		}
		return text
	}
	where := map[string]string{
		HostToChild: section("6 Methods of the child", "7 "),
		ChildToHost: section("7 Methods of the host", "8 "),
	}
	for _, m := range Methods() {
		body := where[m.Direction]
		heading, row := "\n### 6.", "\n| `"+m.Name+"` |"
		if m.Direction == HostToChild {
			if !regexp.MustCompile(regexp.QuoteMeta(heading) + `\d+ ` + m.Name + "\n").MatchString(body) {
				t.Errorf("%s has no heading in its section", m.Name)
			}
		} else if !strings.Contains(body, row) {
			t.Errorf("%s has no row in its section", m.Name)
		}
		for _, file := range []string{m.Params, m.Result} {
			if file == "" {
				continue
			}
			for _, member := range memberNames(file) {
				if !strings.Contains(body, "`"+member+"`") && !strings.Contains(body, `"`+member+`"`) {
					t.Errorf("%s: the member %s of %s is not described", m.Name, member, file)
				}
			}
		}
	}
}

// TestErrorsAreDescribed holds the table of kinds in the text against errors.json.
func TestErrorsAreDescribed(t *testing.T) {
	text := string(read("protocol.md"))
	for _, row := range Errors() {
		if row.Kind == "" {
			continue
		}
		if !strings.Contains(text, fmt.Sprintf("\n| %d | `%s` | ", row.Code, row.Kind)) {
			t.Errorf("the table of kinds lacks %d %s", row.Code, row.Kind)
		}
	}
	for _, member := range []string{"kind", "server", "untrusted", "retryable", "delivered", "limit", "path", "id"} {
		if !strings.Contains(text, "\n| `"+member+"` | ") {
			t.Errorf("the member data.%s is not described", member)
		}
	}
}

// TestTableOfContents holds the list at the head of the page against its headings.
func TestTableOfContents(t *testing.T) {
	text := string(read("protocol.md"))
	var listed, headings []string
	for _, m := range regexp.MustCompile(`(?m)^- \[(.+)\]\(#(.+)\)$`).FindAllStringSubmatch(text, -1) {
		listed = append(listed, m[1])
		if want := anchor(m[1]); m[2] != want {
			t.Errorf("%q leads to #%s, want #%s", m[1], m[2], want)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(text, -1) {
		headings = append(headings, m[1])
	}
	if !slices.Equal(listed, headings) {
		t.Errorf("the list has %q, the headings are %q", listed, headings)
	}
	for _, m := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(headings, func(h string) bool { return anchor(h) == m[1] }) {
			t.Errorf("a link leads to #%s, which there is not", m[1])
		}
	}
}

// anchor is the name that GitHub gives a heading.
func anchor(heading string) string {
	dropped := regexp.MustCompile("[^a-z0-9 _-]")
	return strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}
