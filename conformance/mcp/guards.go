package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

// A guard is one trial of these tests themselves: that they fail where they must.
type guard struct {
	name   string
	faults []string
}

// guards tries a host that does nothing, and each of the builds with a rule broken.
// host is the sound one.
func (s *suite) guards(ctx context.Context, root, host string, breakages []breakage) ([]guard, error) {
	null, err := s.nothingPasses(ctx)
	if err != nil {
		return nil, err
	}
	all := []guard{null}
	for i, b := range breakages {
		g, err := s.turnsRed(ctx, root, filepath.Join(s.work, fmt.Sprint("broken-", i)), b)
		if err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, nil
}

// vacuous are the scenarios in which no check fails for a client that does nothing.
var vacuous = []string{
	"initialize",
	"http-standard-headers",
	"sep-2640-client-no-prefetch",
	"sep-2640-client-verify-digest",
	"sep-2640-client-verify-size",
	"sep-2640-client-verify-frontmatter",
}

// nothingPasses runs every scenario over a host that does nothing and ends well.
// None may pass, nor be told apart from one that is about skills, by what the checks
// say alone: the driver notices such a host, but it is the list of needs that has
// to. Where the suite sees nothing wrong, only that list is left.
func (s *suite) nothingPasses(ctx context.Context) (guard, error) {
	g := guard{name: "a host that does nothing passes nothing"}
	host, err := buildNothing(ctx, s.work)
	if err != nil {
		return g, err
	}
	var runs []run
	for _, row := range rows() {
		runs = append(runs, run{row, auto})
	}
	outcomes, err := s.each(ctx, runs, host)
	if err != nil {
		return g, err
	}
	for i := range outcomes {
		if fault := nothingFault(&outcomes[i]); fault != "" {
			g.faults = append(g.faults, outcomes[i].run.String()+": "+fault)
		}
	}
	return g, nil
}

// nothingFault returns what is wrong with the outcome for a host that did nothing.
func nothingFault(o *outcome) string {
	if o.broke != nil {
		return o.broke.Error()
	}
	bad, missing := judge(o.need(), o.checks)
	v, _ := o.verdict(nil)
	switch {
	case v != fail:
		return "it is " + string(v)
	case o.driver == nil || o.driver.OK || strings.Contains(o.driver.Reason, "no steps are known"):
		return fmt.Sprintf("the driver did not notice: %+v", o.driver)
	case len(bad) == 0 != slices.Contains(vacuous, o.name):
		return fmt.Sprintf("%d checks failed; the list of vacuous scenarios is wrong", len(bad))
	case len(bad) == 0 && len(missing) == 0 && !o.skills:
		return "nothing is missing among its checks"
	}
	return ""
}

// buildNothing builds a program that does nothing.
func buildNothing(ctx context.Context, work string) (string, error) {
	folder := filepath.Join(work, "nothing")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	for name, text := range map[string]string{
		"go.mod":  "module nothing\n\ngo 1.26.0\n",
		"main.go": "package main\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return child.GoBuild(ctx, folder, filepath.Join(folder, "nothing"))
}

// turnsRed builds toolhost with a rule broken and runs every scenario that it
// passes otherwise, of signing in or the others. Exactly those that are about the rule
// must fail.
func (s *suite) turnsRed(ctx context.Context, root, folder string, b breakage) (guard, error) {
	g := guard{name: "a build in which " + b.rule + " fails " + strings.Join(b.red, ", ")}
	host, err := b.build(ctx, root, folder)
	if err != nil {
		return g, err
	}
	known, err := readKnown(knownFailures)
	if err != nil {
		return g, err
	}
	var runs []run
	for _, row := range rows() {
		if !row.skills && row.signIn() == b.signIn() && reasonFor(known, row.name) == "" {
			runs = append(runs, run{row, auto})
		}
	}
	outcomes, err := s.each(ctx, runs, host)
	if err != nil {
		return g, err
	}
	for i := range outcomes {
		o := &outcomes[i]
		v, why := o.verdict(nil)
		switch red := b.turns(o.row); {
		case o.broke != nil, v == fail && !red:
			g.faults = append(g.faults, fmt.Sprintf("%v fails: %q", o.run, why))
		case v != fail && red:
			g.faults = append(g.faults, fmt.Sprintf("%v is %s", o.run, v))
		}
	}
	return g, nil
}

// turns reports whether the breakage must show in the row.
func (b breakage) turns(r row) bool {
	return slices.Contains(b.red, r.name) || slices.Contains(b.red, r.name+" "+r.era)
}

// signIn reports whether the breakage is one of signing in.
func (b breakage) signIn() bool { return strings.HasPrefix(b.file, "oauth/") }

// build builds toolhost with the rule broken, by an overlay: no source changes, and
// the product has no switch for it.
func (b breakage) build(ctx context.Context, root, folder string) (string, error) {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	source := filepath.Join(root, filepath.FromSlash(b.file))
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	patched, err := b.patch(string(text))
	if err != nil {
		return "", err
	}
	copied := filepath.Join(folder, filepath.Base(source))
	if err := os.WriteFile(copied, []byte(patched), 0o600); err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: copied}})
	if err != nil {
		return "", err
	}
	list := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", err
	}
	return child.Build(ctx, folder, append(slices.Clone(releaseFlags), "-overlay", list)...)
}

// patch returns the source with the rule broken.
func (b breakage) patch(source string) (string, error) {
	if n := strings.Count(source, b.old); n != 1 {
		return "", fmt.Errorf("the breakage in which %s: %s holds the text %q %d times; bring broken.go up to date", b.rule, b.file, b.old, n)
	}
	return strings.Replace(source, b.old, b.new, 1), nil
}
