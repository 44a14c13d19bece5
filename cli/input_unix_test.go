//go:build unix

package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/limit"
)

// TestInterruptEndsReading ends a command that reads a stdin to which nothing is
// written: one whose read can be ended, and one whose read cannot.
func TestInterruptEndsReading(t *testing.T) {
	config := configure(t)
	for _, args := range [][]string{
		{"check", "--config", "-"},
		{"call", "--config", config, "docs", "search", "-"},
	} {
		pollable, _ := blocking(t)
		stuck, writer := io.Pipe()
		t.Cleanup(func() { writer.Close() })
		for what, in := range map[string]io.Reader{"a pipe": pollable, "a reader without deadlines": stuck} {
			var stderr strings.Builder
			ctx, interrupt := context.WithCancel(t.Context())
			code := make(chan int)
			go func() { code <- Run(ctx, args, in, io.Discard, &stderr) }()
			interrupt()
			select {
			case got := <-code:
				if got != exitInterrupted || stderr.String() != "toolhost: interrupted\n" {
					t.Errorf("%q, %s: exit code %d: %s", args, what, got, &stderr)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%q, %s: the command goes on reading", args, what)
			}
		}
		if nonblocking(t, pollable) {
			t.Errorf("%q leaves its stdin nonblocking", args)
		}
	}
}

func TestT42_OnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	fifo, regular, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "regular"), filepath.Join(dir, "link")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(regular, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(regular, link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, err string }{
		{fifo, fifo + " is a pipe; only a regular file is read, or stdin, whose name is -"},
		{os.DevNull, "is a device; only a regular file is read"},
		{"/dev/zero", "is a device; only a regular file is read"},
		{dir, "is a folder; only a regular file is read"},
		{filepath.Join(dir, "none\n"), `none\u{a}: no such file or directory`},
		{regular, ""},
		{link, ""},
	} {
		a := &app{}
		text, err := a.readFile(t.Context(), test.name, limit.ConfigFile, limit.Table{})
		if test.err == "" && (err != nil || string(text) != "{}") || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: got %q, %v", test.name, text, err)
		}
	}
	if code, _, stderr := run(t, "", "check", "--config", fifo); code != exitConfig || !strings.Contains(stderr, "is a pipe") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// A command whose output nobody reads on says nothing of it.
func TestBrokenOutputIsQuiet(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	var stderr strings.Builder
	if code := Run(t.Context(), []string{"spec"}, strings.NewReader(""), w, &stderr); code != exitOther || stderr.Len() > 0 {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}
