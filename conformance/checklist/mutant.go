package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

// A patch breaks a rule in the client: some lines of a file give way to others.
// The new ones ask BROKEN(), which is true only in a run of this variant, so that
// one patched build serves many variants.
type patch struct {
	file     string // from the root of the module
	line     int    // in the case
	old, new []string
	key      string // what BROKEN() of this patch answers to; set by Patches
}

// brokenCall is what the new lines ask.
const brokenCall = "BROKEN()"

// brokenEnv is the variable that tells a patched build which variant it plays.
const brokenEnv = "TOOLHOST_BROKEN"

func (p *patch) add(raw string) {
	if raw[0] == '-' {
		p.old = append(p.old, raw[1:])
	} else {
		p.new = append(p.new, raw[1:])
	}
}

func (p *patch) check() error {
	switch {
	case len(p.old) == 0:
		return fmt.Errorf("client %s: no line begins with -", p.file)
	case !strings.Contains(strings.Join(p.new, "\n"), brokenCall):
		return fmt.Errorf("client %s: the new lines must ask %s, for the build is shared", p.file, brokenCall)
	}
	return nil
}

// A site is where a patch belongs in its file, as lines from first to before end.
type site struct {
	*patch
	first, end int
}

// find finds the patch's old lines among those of its file, whatever their
// indentation. They must be there once.
func (p *patch) find(lines []string) (site, error) {
	found := site{patch: p, first: -1}
	for i := 0; i+len(p.old) <= len(lines); i++ {
		same := true
		for j, want := range p.old {
			same = same && strings.TrimSpace(lines[i+j]) == strings.TrimSpace(want)
		}
		if !same {
			continue
		}
		if found.first >= 0 {
			return found, fmt.Errorf("%s: the old lines stand there twice: %s", p.file, strings.TrimSpace(p.old[0]))
		}
		found.first, found.end = i, i+len(p.old)
	}
	if found.first < 0 {
		return found, fmt.Errorf("%s: the old lines are not there: %s", p.file, strings.TrimSpace(p.old[0]))
	}
	return found, nil
}

// A mutant is one patched binary: all that it holds is off until brokenEnv names it.
type mutant struct {
	files map[string][]site // by file
}

// takes reports whether the patches touch nothing that the mutant touches already.
func (b *mutant) takes(sites []site) bool {
	for _, s := range sites {
		for _, other := range b.files[s.file] {
			if s.first < other.end && other.first < s.end {
				return false
			}
		}
	}
	return true
}

// Mutants are the patched binaries of many cases.
type Mutants struct {
	builds []*mutant
	of     map[*variant]int
	paths  []string
}

// Patches lays the patches of all variants onto as few builds as there can be
// without two that touch the same lines.
func Patches(root string, cases []*Case) (*Mutants, error) {
	m := &Mutants{of: map[*variant]int{}}
	sources := map[string][]string{}
	var errs []error
	for _, c := range cases {
		for _, v := range c.variants {
			if len(v.patches) == 0 {
				continue
			}
			sites, err := v.sites(root, c, sources)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: line %d: %w", c.Name, v.section.line, err))
				continue
			}
			m.place(v, sites)
		}
	}
	return m, errors.Join(errs...)
}

// sites finds where the variant's patches belong.
func (v *variant) sites(root string, c *Case, sources map[string][]string) ([]site, error) {
	var sites []site
	for i := range v.patches {
		p := &v.patches[i]
		p.key = c.Name + " " + v.name()
		if sources[p.file] == nil {
			data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.file)))
			if err != nil {
				return nil, err
			}
			sources[p.file] = strings.Split(string(data), "\n")
		}
		s, err := p.find(sources[p.file])
		if err != nil {
			return nil, err
		}
		sites = append(sites, s)
	}
	return sites, nil
}

// place puts the variant into the first build that takes it.
func (m *Mutants) place(v *variant, sites []site) {
	i := 0
	for i < len(m.builds) && !m.builds[i].takes(sites) {
		i++
	}
	if i == len(m.builds) {
		m.builds = append(m.builds, &mutant{files: map[string][]site{}})
	}
	for _, s := range sites {
		m.builds[i].files[s.file] = append(m.builds[i].files[s.file], s)
	}
	m.of[v] = i
}

// Build builds the binaries into a folder.
func (m *Mutants) Build(ctx context.Context, root, dir string) error {
	for i, b := range m.builds {
		overlay, err := b.overlay(root, filepath.Join(dir, "patched-"+strconv.Itoa(i)))
		if err != nil {
			return err
		}
		path, err := child.GoBuild(ctx, root, filepath.Join(dir, "broken-"+strconv.Itoa(i)), "-overlay", overlay)
		if err != nil {
			return fmt.Errorf("the client with the patches of cases in it: %w", err)
		}
		m.paths = append(m.paths, path)
	}
	return nil
}

// For returns the binary in which the variant is broken, and its environment.
func (m *Mutants) For(v *variant) (path string, env []string) {
	return m.paths[m.of[v]], []string{brokenEnv + "=" + v.patches[0].key}
}

// packageClause finds the name of a file's package.
var packageClause = regexp.MustCompile(`(?m)^package (\w+)$`)

// overlay writes the patched files into a folder, and the file that go build
// -overlay reads. Its path is returned.
func (b *mutant) overlay(root, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	replace := map[string]string{}
	write := func(file, text string) error {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(root, filepath.FromSlash(file))] = to
		return os.WriteFile(to, []byte(text), 0o644)
	}
	for file, sites := range b.files {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return "", err
		}
		if err := write(file, patched(strings.Split(string(data), "\n"), sites)); err != nil {
			return "", err
		}
		clause := packageClause.FindSubmatch(data)
		if clause == nil {
			return "", fmt.Errorf("%s: no package clause", file)
		}
		folder := file[:strings.LastIndex(file, "/")+1]
		if err := write(folder+"zz_broken.go", fmt.Sprintf(switchFile, clause[1], brokenEnv)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o644)
}

// switchFile is added to each package that is patched.
const switchFile = `package %s

import "os"

var brokenVariant = os.Getenv(%q)

func BROKEN(variant string) bool { return variant == brokenVariant }
`

// patched returns a file's text with the new lines in place of the old ones.
func patched(lines []string, sites []site) string {
	var out []string
	for i := 0; i < len(lines); i++ {
		replaced := false
		for _, s := range sites {
			if s.first != i {
				continue
			}
			call := strings.Replace(brokenCall, "()", "("+strconv.Quote(s.key)+")", 1)
			out = append(out, strings.ReplaceAll(strings.Join(s.new, "\n"), brokenCall, call))
			i, replaced = s.end-1, true
			break
		}
		if !replaced {
			out = append(out, lines[i])
		}
	}
	return strings.Join(out, "\n")
}
