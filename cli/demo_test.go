package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/redact"
)

// demo runs the demo over a child in that mode. It returns what the demo
// printed, and what went through the child's pipes, as the child saw it.
func demo(ctx context.Context, t *testing.T, mode string) (printed, written, read string, err error) {
	t.Helper()
	folder := t.TempDir()
	cmd := child(t, mode)
	cmd.Env = append(cmd.Env, childCopy+"="+folder)
	var out, stderr bytes.Buffer
	scrub := redact.NewScrubber()
	a := &app{in: strings.NewReader(""), out: &out, err: newLogSink(&stderr, scrub), scrub: scrub}
	err = a.demo(ctx, cmd)
	a.err.Close()
	copied := func(name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return out.String(), copied("stdin"), copied("stdout"), err
}

// arrows returns the lines of what the demo printed that begin with the arrow,
// without it.
func arrows(printed, arrow string) string {
	var lines strings.Builder
	for line := range strings.Lines(printed) {
		if rest, ok := strings.CutPrefix(line, arrow+" "); ok {
			lines.WriteString(rest)
		}
	}
	return lines.String()
}

func TestDemo(t *testing.T) {
	for _, mode := range []string{"honest", "odd but honest"} {
		began := time.Now()
		printed, written, read, err := demo(t.Context(), t, mode)
		if err != nil {
			t.Fatalf("%s: %v\n%s", mode, err, printed)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the demo took %v", took)
		}
		if got := arrows(printed, "-->"); got != written {
			t.Errorf("%s: the lines of --> are\n%swhat the child read is\n%s", mode, got, written)
		}
		if got := arrows(printed, "<--"); got != read {
			t.Errorf("%s: the lines of <-- are\n%swhat the child wrote is\n%s", mode, got, read)
		}
		if n := strings.Count(read, "\n"); n < 8 {
			t.Errorf("%s: only %d lines were read", mode, n)
		}
	}
}

func TestDemoFailsWithABrokenChild(t *testing.T) {
	for mode, liar := range liars {
		if liar.want == "" {
			continue
		}
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			printed, _, _, err := demo(ctx, t, mode)
			if err == nil || !strings.Contains(err.Error(), liar.want) {
				t.Errorf("the demo says %v, want %s\n%s", err, liar.want, printed)
			}
		})
	}
	t.Run("no such program", func(t *testing.T) {
		scrub := redact.NewScrubber()
		a := &app{out: &bytes.Buffer{}, err: newLogSink(&bytes.Buffer{}, scrub), scrub: scrub}
		defer a.err.Close()
		cmd := child(t, "honest")
		cmd.Path += "-gone"
		if err := a.demo(t.Context(), cmd); err == nil || !strings.Contains(err.Error(), "did not start") {
			t.Errorf("error %v", err)
		}
	})
}

func TestDemoCutsForATerminalWithAMark(t *testing.T) {
	var out bytes.Buffer
	h := &demoHost{out: &out, width: 40}
	line := `{"jsonrpc":"2.0","id":1,"result":{"content":"` + strings.Repeat("é", 200) + `"}}`
	h.show("<--", []byte(line))
	shown := strings.TrimSuffix(out.String(), "\n")
	cut, mark, ok := strings.Cut(shown, "… (+")
	if !ok || !strings.HasSuffix(mark, " bytes)") || !strings.HasPrefix("<-- "+line, cut) {
		t.Errorf("shown: %s", shown)
	}
	if runes := len([]rune(shown)); runes > 3*40 {
		t.Errorf("%d columns on 3 rows of 40", runes)
	}
	out.Reset()
	h.show("<--", []byte(`{"id":1}`+"\x1b[2J"))
	if got := out.String(); strings.Contains(got, "\x1b") || !strings.Contains(got, `{"id":1}`) {
		t.Errorf("shown: %q", got)
	}
}
