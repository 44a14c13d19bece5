package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// An area is the rows of one heading of faults.md.
type area struct {
	name string
	rows []row
}

// A row is one fault, played in one way.
type row struct {
	id   string // in faults.md
	mode string // of faultserver; sibling for what fakeserver plays
	name string // what is particular about this row; "" for a mode with one
	must string // the right behaviour, in the words of faults.md or of our protocol
	try  func(t *trial)
}

// sibling is the mode of rows that the bank does not have: the same kind of fault
// with another status, another spelling, in another place.
const sibling = "sibling"

func (r row) String() string {
	return strings.TrimSpace(r.id + " " + r.mode + " " + r.name)
}

// matches reports whether the glob chooses the row.
func (r row) matches(area, glob string) (bool, error) {
	for _, name := range []string{r.id, r.mode, area, r.String()} {
		// A slash in a name is a letter like others.
		ok, err := path.Match(strings.ReplaceAll(glob, "/", "|"), strings.ReplaceAll(name, "/", "|"))
		if ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// tools are what every trial uses.
type tools struct {
	toolhost, faultserver string             // the binaries
	work                  string             // a folder; each trial has its own in it
	good                  *fakeserver.Server // a healthy server that no fault may harm
}

// A trial is one row being tried.
type trial struct {
	tools
	ctx    context.Context
	row    row
	faults []string
	took   time.Duration
}

// want notes a fault unless ok holds.
func (t *trial) want(ok bool, format string, args ...any) {
	if !ok {
		t.faults = append(t.faults, fmt.Sprintf(format, args...))
	}
}

// none notes a fault unless the list is empty.
func (t *trial) none(what string, list []string) { t.want(len(list) == 0, "%s: %.2000q", what, list) }

// fail notes a fault and tells whether there was one: what the trial needed could
// not be done.
func (t *trial) fail(err error) bool {
	t.want(err == nil, "%v", err)
	return err != nil
}

// rowLimit bounds the trial of one row.
const rowLimit = time.Minute

// try tries one row, the n-th of the run.
func try(ctx context.Context, with tools, r row, n int) *trial {
	began := time.Now()
	t := &trial{tools: with, row: r}
	t.work = filepath.Join(with.work, fmt.Sprint(n))
	var cancel context.CancelFunc
	t.ctx, cancel = context.WithTimeout(ctx, rowLimit)
	defer cancel()
	if !t.fail(os.Mkdir(t.work, 0o700)) {
		r.try(t)
	}
	t.took = time.Since(began)
	return t
}
