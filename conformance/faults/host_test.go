package main

import (
	"slices"
	"strings"
	"testing"
)

// Each row spoils one figure of a good report, which sound must find.
func TestSoundFindsABadReport(t *testing.T) {
	rows := []struct {
		name  string
		spoil func(*report)
		want  string
	}{
		{"nothing", func(*report) {}, ""},
		{"a lost answer", func(r *report) { r.Missing = []string{"5"} }, "without an answer"},
		{"an answer to nothing", func(r *report) { r.Unknown = []string{"null"} }, "never asked"},
		{"a second answer", func(r *report) { r.Duplicates = 1 }, "1 second answers"},
		{"noise on stdout", func(r *report) { r.BadLines, r.FirstBad = 1, "starting" }, "starting"},
		{"killed by the host", func(r *report) { r.Exited = false }, "exited false"},
		{"a bad exit code", func(r *report) { r.ExitCode = 2 }, "code 2"},
		{"a signal", func(r *report) { r.Signal = "broken pipe" }, "broken pipe"},
		{"a slow end", func(r *report) { r.ExitMs = 6000 }, "6000 ms"},
		{"an orphan", func(r *report) { r.Orphans = []string{"99 server"} }, "99 server"},
		{"a lot of memory", func(r *report) { r.MaxRSSKB = 1 << 20 }, "grew"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := report{Exited: true}
			row.spoil(&r)
			var trial trial
			trial.sound(r)
			got := strings.Join(trial.faults, "\n")
			if !strings.Contains(got, row.want) || row.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// Both areas have all their rows.
func TestEveryFaultOfTheAreasHasARow(t *testing.T) {
	var ids []string
	for _, r := range slices.Concat(hostRows(), configRows()) {
		if r.must == "" || r.mode == "" {
			t.Errorf("%v says too little", r)
		}
		ids = append(ids, r.id)
	}
	for _, id := range strings.Fields("B189 B191 B193 B195 B197 B199 B201 B203 B231 B233 B235 B237 B239 B241 B243 B245 B247 B249") {
		if !slices.Contains(ids, id) {
			t.Errorf("no row for %s", id)
		}
	}
}
