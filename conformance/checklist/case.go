package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Case is one file: what it proves, and how.
type Case struct {
	Name     string   // folder and file, without the extension: lifecycle/LIF-04-version-refused
	Proves   string   // a sentence
	Rows     []string // the rules
	Eras     string   // the letters of the revisions that it is run with
	Pack     string   // the pack that plays it
	sections []section
	variants []*variant // how the rules are broken
}

// A variant is one way in which the rules of a case are broken: one broken section.
type variant struct {
	section *section
	wire    []wireBreak
	server  string // lines that take the place of others
	patches []patch
	fails   []string // each a text that a fault of the run must hold
}

// name is the variant's in the names of tests and for the patched client.
func (v *variant) name() string {
	if v.section.name == "" {
		return "broken"
	}
	return "broken " + v.section.name
}

// sectionKinds are the kinds of sections, and whether several may hold for an era.
var sectionKinds = map[string]bool{
	"server": true, // one for each name
	"host":   false,
	"wire":   true,
	"log":    true,
	"never":  true,
	"broken": true,
}

// ReadCases reads the cases below a folder that have only in their names, in the
// order of these.
func ReadCases(folder, only string) ([]*Case, error) {
	var cases []*Case
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".txtar" {
			return err
		}
		name, err := filepath.Rel(folder, strings.TrimSuffix(path, ".txtar"))
		if err != nil || !strings.Contains(filepath.ToSlash(name), only) {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		c, err := ParseCase(filepath.ToSlash(name), string(data))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		cases = append(cases, c)
		return nil
	})
	return cases, err
}

// ParseCase reads one file.
func ParseCase(name, text string) (*Case, error) {
	head, sections, err := split(text)
	if err != nil {
		return nil, err
	}
	c := &Case{Name: name, sections: sections}
	if err := c.parseHead(head); err != nil {
		return nil, err
	}
	for i := range sections {
		s := &sections[i]
		if _, ok := sectionKinds[s.kind]; !ok {
			return nil, fmt.Errorf("line %d: no section is called %q", s.line-1, s.kind)
		}
		if strange := minus(s.eras, c.Eras); strange != "" {
			return nil, fmt.Errorf("line %d: the case is not run in era %s", s.line-1, strange)
		}
		if s.kind == "broken" {
			v, err := parseVariant(s)
			if err != nil {
				return nil, err
			}
			c.variants = append(c.variants, v)
		}
	}
	for era := range strings.SplitSeq(c.Eras, "") {
		if err := c.check(era); err != nil {
			return nil, fmt.Errorf("era %s: %w", era, err)
		}
	}
	return c, nil
}

// parseHead reads the sentence, the rows, the eras and the pack.
func (c *Case) parseHead(head string) error {
	var proves []string
	c.Pack = dynamicPack
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		if rows, ok := strings.CutPrefix(line, "rows:"); ok {
			c.Rows = strings.Fields(rows)
		} else if eras, ok := strings.CutPrefix(line, "eras:"); ok {
			c.Eras = strings.ReplaceAll(strings.TrimSpace(eras), " ", "")
		} else if name, ok := strings.CutPrefix(line, "pack:"); ok {
			c.Pack = strings.TrimSpace(name)
		} else if line != "" {
			proves = append(proves, line)
		}
	}
	c.Proves = strings.Join(proves, " ")
	switch {
	case !strings.HasSuffix(c.Proves, "."):
		return errors.New("it must open with a sentence that says what it proves")
	case len(c.Rows) == 0:
		return errors.New(`a line "rows: VER-01 VER-02" must name the rules`)
	case c.Eras == "" || sortedEras(c.Eras) != c.Eras || minus(c.Eras, "ABCD") != "":
		return errors.New(`a line "eras: ABCD" must name the revisions, in order`)
	case packs[c.Pack] == nil:
		return fmt.Errorf("%q is no pack that plays cases", c.Pack)
	}
	return nil
}

// check parses what holds for an era, so that a slip is found before anything runs.
func (c *Case) check(era string) error {
	if n := len(c.of("host", era)); n > 1 {
		return fmt.Errorf("there are %d host sections", n)
	}
	if _, err := c.script(era); err != nil {
		return err
	}
	names := map[string]bool{}
	for _, s := range c.of("server", era) {
		if names[s.name] {
			return fmt.Errorf("two servers are called %q", s.name)
		}
		names[s.name] = true
		lines, err := parseServer(fill(s.text, dummyValues))
		if err != nil {
			return err
		}
		if _, err := serverOptions(revisions[era], lines, nil); err != nil {
			return err
		}
	}
	for _, s := range c.of("wire", era) {
		if _, err := parseWire(s); err != nil {
			return err
		}
	}
	for _, s := range c.of("log", era) {
		if _, err := parseLog(s); err != nil {
			return err
		}
	}
	if len(c.broken(era)) == 0 {
		return errors.New("no broken section says how the rule is broken and what must fail then")
	}
	return nil
}

// dummyValues stand for values that are known only in a run.
var dummyValues = map[string]string{"URL": "http://127.0.0.1:1/mcp", "VERSION": "2025-11-25", "LONG": "long"}

// fill puts values in the place of $NAME.
func fill(text string, values map[string]string) string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	// The longest first, so that $URL does not take the beginning of $URL_b.
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	for _, name := range names {
		text = strings.ReplaceAll(text, "$"+name, values[name])
	}
	return text
}

// of returns the sections of a kind that hold for an era.
func (c *Case) of(kind, era string) []*section {
	var all []*section
	for i := range c.sections {
		if s := &c.sections[i]; s.kind == kind && s.in(era) {
			all = append(all, s)
		}
	}
	return all
}

// local reports whether a server of the case is a local one.
func (c *Case) local() bool {
	for i := range c.sections {
		if s := &c.sections[i]; s.kind == "server" {
			lines, err := parseServer(fill(s.text, dummyValues))
			if err == nil && slices.ContainsFunc(lines, func(l serverLine) bool { return l.Stdio != nil }) {
				return true
			}
		}
	}
	return false
}

// script returns the steps of the host in an era.
func (c *Case) script(era string) ([]*step, error) {
	hosts := c.of("host", era)
	if len(hosts) == 0 {
		return nil, errors.New("there is no host section")
	}
	return parseSteps(hosts[0])
}

// broken returns the variants that are run in an era.
func (c *Case) broken(era string) []*variant {
	var all []*variant
	for _, v := range c.variants {
		if v.section.in(era) {
			all = append(all, v)
		}
	}
	return all
}
