package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

// atOnce is how many cases are played side by side: they mostly wait. Those with
// local servers start many processes, which takes the machine's time.
const (
	atOnce      = 16
	atOnceLocal = 6
)

// A suite is the cases that are to be played, and the binaries for it.
type suite struct {
	root     string // of the module
	sections []Section
	cases    []*Case
	binary   string
	mutants  *Mutants
}

// An outcome is what came of one case in one era.
type outcome struct {
	c      *Case
	era    string
	faults []string // what is wrong; each is a text of many lines
	played *Played  // the run without a broken rule; nil when it could not be played
}

// load reads the rows and the cases whose name has only in it, and checks that each
// stands where it belongs.
func load(root, only string) (*suite, error) {
	s := &suite{root: root}
	folder := filepath.Join(root, "conformance", "cases")
	var err error
	if s.sections, err = ReadRows(s.rowsFile()); err != nil {
		return nil, err
	}
	if s.cases, err = ReadCases(folder, only); err != nil {
		return nil, err
	}
	if err := placed(s.sections, s.cases); err != nil {
		return nil, err
	}
	if len(s.cases) == 0 {
		return nil, fmt.Errorf("no case has %q in its name", only)
	}
	return s, nil
}

func (s *suite) rowsFile() string {
	return filepath.Join(s.root, "conformance", "cases", "rows.json")
}

// placed checks that each case is in the folder of its section, is named for one of
// its rows, and speaks of rows and eras that there are.
func placed(sections []Section, cases []*Case) error {
	rows, folders := rowsByID(sections)
	var errs []error
	for _, c := range cases {
		folder, file, _ := strings.Cut(c.Name, "/")
		id := file[:min(len(file), len("BAS-01"))]
		if !slices.Contains(c.Rows, id) || folders[id] != folder {
			errs = append(errs, fmt.Errorf("%s: its name must be <folder of the section>/<one of its rows>-<slug>", c.Name))
		}
		for _, id := range c.Rows {
			row, ok := rows[id]
			if !ok || both(row.Eras, c.Eras) == "" {
				errs = append(errs, fmt.Errorf("%s: there is no row %s in era %s", c.Name, id, c.Eras))
			}
		}
	}
	return errors.Join(errs...)
}

// build builds the product into a folder, and the binaries with the patches of the
// cases in them.
func (s *suite) build(ctx context.Context, dir string) (err error) {
	if s.mutants, err = Patches(s.root, s.cases); err != nil {
		return err
	}
	if s.binary, err = child.Build(ctx, dir); err != nil {
		return err
	}
	return s.mutants.Build(ctx, s.root, dir)
}

// play plays every case in every era of its, some side by side, and hands on what
// comes of each as it comes.
func (s *suite) play(take func(*outcome)) {
	var mu sync.Mutex
	var players sync.WaitGroup
	slots := map[bool]chan struct{}{false: make(chan struct{}, atOnce), true: make(chan struct{}, atOnceLocal)}
	for _, c := range s.cases {
		for era := range strings.SplitSeq(c.Eras, "") {
			slot := slots[c.local()]
			players.Go(func() {
				slot <- struct{}{}
				defer func() { <-slot }()
				o := s.one(c, era)
				mu.Lock()
				defer mu.Unlock()
				take(o)
			})
		}
	}
	players.Wait()
}

// one plays a case in one era, and again in each way that its rules are broken.
func (s *suite) one(c *Case, era string) *outcome {
	o := &outcome{c: c, era: era}
	var err error
	if o.played, err = Play(c, era, s.binary); err != nil {
		o.faults = append(o.faults, err.Error())
	} else if len(o.played.Faults) > 0 {
		o.faults = append(o.faults, o.played.String())
	}
	slowest := time.Duration(0)
	if o.played != nil {
		slowest = o.played.Slowest
	}
	for _, v := range c.broken(era) {
		binary, env := s.binary, []string(nil)
		if len(v.patches) > 0 {
			binary, env = s.mutants.For(v)
		}
		played, err := PlayBroken(c, era, v, binary, env, slowest)
		at := fmt.Sprintf("%s, line %d: ", v.name(), v.section.line)
		switch {
		case err != nil:
			o.faults = append(o.faults, at+err.Error())
		case len(v.misses(played.Faults)) > 0:
			o.faults = append(o.faults, fmt.Sprintf("%sthe rule is broken, and no fault says %q:\n%s", at, v.misses(played.Faults), played))
		}
	}
	return o
}

// A coverage is which rows were run, in which eras, by row id.
type coverage map[string]string

func (c coverage) add(o *outcome) {
	for _, id := range o.c.Rows {
		c[id] += o.era
	}
}
