package main

import (
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
