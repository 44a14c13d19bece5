package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/redact"
)

// A gate is a stderr that nobody reads until it is opened.
type gate struct {
	open chan struct{}
	got  bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.got.Write(p)
}

func TestB249_UnreadStderrNeverBlocksAndIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stderr := &gate{open: make(chan struct{})}
		sink := newLogSink(stderr, redact.NewScrubber())
		log := sink.logger(redact.NewScrubber(), logFormats[0], slog.LevelWarn)
		const records = 3 * maxLogRecords
		for i := range records {
			if i%maxLogLines == 0 {
				time.Sleep(time.Second) // in fake time: so many a second are taken
			}
			log.Error("something happened", "n", i)
		}
		start := time.Now()
		sink.Close()
		if waited := time.Since(start); waited != logFlushTime {
			t.Errorf("Close waited %v, want %v", waited, logFlushTime)
		}

		// What was kept is the oldest, and the rest is counted.
		close(stderr.open)
		<-sink.done
		text := stderr.got.String()
		kept := strings.Count(text, "something happened")
		if want := fmt.Sprintf("count=%d", records-kept); kept < maxLogRecords || !strings.Contains(text, want) {
			t.Errorf("%d of %d records came through, and no line says %s", kept, records, want)
		}
		if !strings.Contains(text, "n=0\n") || strings.Contains(text, fmt.Sprintf("n=%d\n", records-1)) {
			t.Error("the records kept are not the oldest")
		}
	})
}

func TestLogBoundInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stderr := &gate{open: make(chan struct{})}
		sink := newLogSink(stderr, redact.NewScrubber())
		long := bytes.Repeat([]byte("x"), maxLogBytes/4)
		for range 100 {
			sink.Write(long)
		}
		if kept := len(sink.queue); kept > 4 {
			t.Errorf("%d records of %d bytes wait, over the bound of %d", kept, len(long), maxLogBytes)
		}
		close(stderr.open)
		sink.Close()
	})
}

func TestLogIsScrubbed(t *testing.T) {
	for _, format := range logFormats {
		var stderr bytes.Buffer
		scrub := redact.NewScrubber()
		const secret = "canary-5f0c1e9a77b24d63"
		scrub.Add(secret)
		sink := newLogSink(&stderr, scrub)
		log := sink.logger(scrub, format, slog.LevelWarn)
		log.Error("refused", "reason", "the server said "+secret, "err", fmt.Errorf("header %q", secret))
		fmt.Fprintf(sink, "toolhost: %s\n", secret)
		sink.Close()
		if strings.Contains(stderr.String(), secret) || strings.Count(stderr.String(), redact.Placeholder) < 3 {
			t.Errorf("%s: %s", format.name, stderr.String())
		}
	}
}

func TestLogFormats(t *testing.T) {
	for _, test := range []struct {
		format, level string
		want          []string // messages
	}{
		{"text", "warn", []string{"w", "e"}},
		{"json", "debug", []string{"d", "i", "w", "e"}},
		{"json", "error", []string{"e"}},
	} {
		var stderr bytes.Buffer
		sink := newLogSink(&stderr, redact.NewScrubber())
		s := newSettings(slog.LevelWarn)
		if err := (formatFlag{s}).Set(test.format); err != nil {
			t.Fatal(err)
		}
		if err := (levelFlag{s}).Set(test.level); err != nil {
			t.Fatal(err)
		}
		log := sink.logger(redact.NewScrubber(), s.format, s.level)
		log.Debug("d")
		log.Info("i")
		log.Warn("w")
		log.Error("e")
		sink.Close()
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		if len(lines) != len(test.want) {
			t.Errorf("%s at %s: %q", test.format, test.level, lines)
			continue
		}
		for i, line := range lines {
			if test.format == "json" {
				var record struct{ Msg string }
				if err := json.Unmarshal([]byte(line), &record); err != nil || record.Msg != test.want[i] {
					t.Errorf("%s: %v", line, err)
				}
			} else if !strings.Contains(line, "msg="+test.want[i]) {
				t.Errorf("%s: want msg=%s", line, test.want[i])
			}
		}
	}
}
