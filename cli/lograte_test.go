package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/redact"
)

// logged runs log over a sink and returns how often each message was written for
// each server, and how many lines were said to be dropped of each.
func logged(t *testing.T, log func(*slog.Logger)) (lines, dropped map[string]int) {
	t.Helper()
	lines, dropped = map[string]int{}, map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		var stderr bytes.Buffer
		sink := newLogSink(&stderr, redact.NewScrubber())
		log(sink.logger(redact.NewScrubber(), logFormats[1], slog.LevelError))
		sink.Close()
		for line := range strings.Lines(stderr.String()) {
			var record struct {
				Msg, Server string
				Count       int
			}
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if strings.HasPrefix(record.Msg, "log lines were dropped") {
				dropped[record.Server] += record.Count
			} else {
				lines[record.Server]++
			}
		}
	})
	return lines, dropped
}

func TestL27_LogRate(t *testing.T) {
	flood := func(log *slog.Logger, n int) {
		for range n {
			log.Error("x")
		}
	}
	for _, test := range []struct {
		situation      string
		log            func(*slog.Logger)
		lines, dropped map[string]int
	}{
		{"at the limit", func(log *slog.Logger) { flood(log, maxLogLines) },
			map[string]int{"": maxLogLines}, nil},
		{"one over it", func(log *slog.Logger) { flood(log, maxLogLines+1) },
			map[string]int{"": maxLogLines}, map[string]int{"": 1}},
		{"a hundred times", func(log *slog.Logger) { flood(log, 100*maxLogLines) },
			map[string]int{"": maxLogLines}, map[string]int{"": 99 * maxLogLines}},
		{"one server floods, the others are heard", func(log *slog.Logger) {
			flood(log.With("server", "loud"), 100*maxServerLines)
			flood(log.With("server", "calm"), maxServerLines)
			flood(log, 1)
		}, map[string]int{"loud": maxServerLines, "calm": maxServerLines, "": 1}, map[string]int{"loud": 99 * maxServerLines}},
		{"many servers together keep to the whole", func(log *slog.Logger) {
			for _, name := range strings.Split("abcdefgh", "") {
				flood(log.With("server", name), maxServerLines)
			}
		}, map[string]int{"a": 200, "b": 200, "c": 200, "d": 200, "e": 200}, map[string]int{"f": 200, "g": 200, "h": 200}},
		{"a new second", func(log *slog.Logger) {
			flood(log.With("server", "loud"), maxServerLines+5)
			time.Sleep(time.Second) // in fake time
			flood(log.With("server", "loud"), maxServerLines+7)
		}, map[string]int{"loud": 2 * maxServerLines}, map[string]int{"loud": 12}},
		{"what a group holds names no server", func(log *slog.Logger) {
			flood(log.WithGroup("g").With("server", "a"), maxServerLines+1)
		}, map[string]int{"": maxServerLines + 1}, nil},
	} {
		t.Run(test.situation, func(t *testing.T) {
			lines, dropped := logged(t, test.log)
			same(t, "lines", lines, test.lines)
			same(t, "dropped", dropped, test.dropped)
		})
	}
}

func same(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s of %q: %d, want %d", what, name, got[name], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestRateHandlerIsAHandler(t *testing.T) {
	var out *bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		out = &bytes.Buffer{}
		next := slog.NewJSONHandler(out, nil)
		return &rateHandler{next: next, root: next, rate: &logRate{}}
	}, func(t *testing.T) map[string]any {
		record := map[string]any{}
		if err := json.NewDecoder(out).Decode(&record); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		return record
	})
}
