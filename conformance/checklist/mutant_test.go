package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const source = `package p

func f() int {
	if a {
		return 1
	}
	return 2
}
`

// variants returns a case whose variants are these patches of p/f.go.
func patching(patches ...patch) *Case {
	c := &Case{Name: "c"}
	for i, p := range patches {
		p.file = "p/f.go"
		c.variants = append(c.variants, &variant{section: &section{kind: "broken", name: string(rune('a' + i))}, patches: []patch{p}})
	}
	return c
}

func module(t *testing.T) string {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "p"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "p", "f.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestPatchesShareABuild(t *testing.T) {
	root := module(t)
	c := patching(
		patch{old: []string{"if a {"}, new: []string{"\tif a && !BROKEN() {"}},
		patch{old: []string{"return 2"}, new: []string{"\tif BROKEN() {", "\t\treturn 3", "\t}", "\treturn 2"}},
		patch{old: []string{"  if a {", "return 1"}, new: []string{"\tif BROKEN() || a {", "\t\treturn 1"}},
	)
	m, err := Patches(root, []*Case{c})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.builds) != 2 || m.of[c.variants[0]] != 0 || m.of[c.variants[1]] != 0 || m.of[c.variants[2]] != 1 {
		t.Fatalf("%d builds, %v", len(m.builds), m.of)
	}
	dir := t.TempDir()
	overlay, err := m.builds[0].overlay(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, name := range []string{filepath.Join(root, "p", "f.go"), filepath.Join(root, "p", "zz_broken.go")} {
		if !strings.Contains(read(overlay), name) {
			t.Errorf("the overlay has no %s", name)
		}
	}
	want := `package p

func f() int {
	if a && !BROKEN("c broken a") {
		return 1
	}
	if BROKEN("c broken b") {
		return 3
	}
	return 2
}
`
	if got := read(filepath.Join(dir, "p_f.go")); got != want {
		t.Errorf("got %s", got)
	}
	if got := read(filepath.Join(dir, "p_zz_broken.go")); !strings.HasPrefix(got, "package p\n") {
		t.Errorf("got %s", got)
	}
}

func TestPatchesThatDoNotFit(t *testing.T) {
	root := module(t)
	for want, old := range map[string][]string{
		"the old lines are not there":     {"if b {"},
		"the old lines stand there twice": {"}"},
	} {
		_, err := Patches(root, []*Case{patching(patch{old: old, new: []string{"BROKEN()"}})})
		// f.go closes two blocks.
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
