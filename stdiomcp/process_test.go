package stdiomcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

// words decodes a list that the test server sent.
func words(t *testing.T, result string) []string {
	t.Helper()
	var list []string
	if err := json.Unmarshal([]byte(result), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// both runs a test with and without a guard.
func both(t *testing.T, test func(t *testing.T, opts *Options)) {
	t.Run("direct", func(t *testing.T) { test(t, &Options{}) })
	if canGuard {
		t.Run("guarded", func(t *testing.T) { test(t, &Options{Guard: guardCommand(t)}) })
	}
}

func TestT63_ArgumentsAreNotReadByAShell(t *testing.T) {
	hostile := []string{"; touch /tmp/x", "`id`", "$(id)", "$HOME", "a\nb", `"quoted" 'single'`, "", " ", "*", `\`, "--", "é 中文", "a=b", "&&", "|", ">x", "\x01\x7f"}
	both(t, func(t *testing.T, opts *Options) {
		tr := open(t, server(t, hostile...), opts)
		if got := words(t, tell(t, tr, modern, 1, "args", "{}")); !slices.Equal(got[2:], hostile) {
			t.Errorf("got %q", got)
		}
	})
}

// TestT77_GuardHidesArguments: everyone can read the arguments of a process; those of
// the server are there once, and not in its guard's too.
func TestT77_GuardHidesArguments(t *testing.T) {
	if !canGuard {
		t.Skip("there is no guard on this system")
	}
	tr := open(t, server(t, "canary-argument"), &Options{Guard: guardCommand(t)})
	tell(t, tr, modern, 1, "echo", "{}")
	guard := tr.life.conn.child.(interface{ pid() int }).pid()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", guard))
	if err != nil || !strings.Contains(string(line), roleGuard) || strings.Contains(string(line), "canary") {
		t.Errorf("%v: %q", err, line)
	}
}

func TestT64_Environment(t *testing.T) {
	for name, value := range map[string]string{
		"CANARY_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "x", "LD_PRELOAD_X": "x", "LD_LIBRARY_PATH": "/x", "DYLD_INSERT_LIBRARIES": "x",
		"NODE_OPTIONS": "x", "PYTHONPATH": "x", "LCX": "x", "HOMEX": "x",
		"HOME": "/home/test", "LC_ALL": "C", "LANG": "C.UTF-8", "TZ": "UTC", "LC_TIME": "() { :; }; x", "USER": "ours",
	} {
		t.Setenv(name, value)
	}
	both(t, func(t *testing.T, opts *Options) {
		p := server(t)
		p.Env = append(p.Env,
			mcpclient.Variable{Name: "USER", Value: redact.NewSecret("theirs")},
			mcpclient.Variable{Name: "LD_LIBRARY_PATH", Value: redact.NewSecret("/entry")},
			mcpclient.Variable{Name: "EMPTY", Value: redact.NewSecret("")},
			mcpclient.Variable{Name: "LINES", Value: redact.NewSecret("a\nb=c")})
		tr := open(t, p, opts)
		env := words(t, tell(t, tr, modern, 1, "env", "{}"))
		for _, want := range []string{"HOME=/home/test", "LC_ALL=C", "LANG=C.UTF-8", "TZ=UTC", "PATH=" + os.Getenv("PATH"), "USER=theirs", "LD_LIBRARY_PATH=/entry", "EMPTY=", "LINES=a\nb=c"} {
			if !slices.Contains(env, want) {
				t.Errorf("%q is missing", want)
			}
		}
		allowed := append(slices.Clone(inherited[onWindows]), "USER", "LD_LIBRARY_PATH", "EMPTY", "LINES", marker, "GORACE", "LC_ALL", "LC_CTYPE")
		for _, v := range env {
			if name, value, _ := strings.Cut(v, "="); !slices.Contains(allowed, name) || strings.HasPrefix(value, "()") {
				t.Errorf("the server has %s", v)
			}
		}
	})
}

func TestDirectory(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	both(t, func(t *testing.T, opts *Options) {
		p := server(t)
		p.Dir = redact.NewSecret(dir)
		tr := open(t, p, opts)
		if got := tell(t, tr, modern, 1, "dir", "{}"); got != fmt.Sprintf("%q", dir) {
			t.Errorf("got %s", got)
		}
	})
}

func TestB203_WhatCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("my server", "#!/bin/sh\n", 0o644)
	garbage := file("garbage", "\x00\x01", 0o755)
	orphan := file("script", "#!/no/such/interpreter\n", 0o755)
	for _, test := range []struct {
		name, command, dir, want string
	}{
		{"not in PATH", "no-such-program-9z", "", "was not found; install it"},
		{"no such file", "/opt/my tools/server", "", "was not found"},
		{"not executable", plain, "", "is not executable; make it so"},
		{"a directory", dir, "", "cannot be used"},
		{"no program", garbage, "", "is no program of this system"},
		{"no interpreter", orphan, "", "the program that its first line names does not exist"},
		{"no such cwd", "true", filepath.Join(dir, "none"), "the directory in cwd does not exist"},
		{"cwd is a file", "true", plain, "cwd is not a directory"},
		{"relative to cwd", "./none", dir, "was not found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			both(t, func(t *testing.T, opts *Options) {
				tr := open(t, &mcpclient.Process{Command: redact.NewSecret(test.command), Shown: "${env:C}\x1b", Dir: redact.NewSecret(test.dir)}, opts)
				_, err := tr.RoundTrip(t.Context(), request(modern, 1, "x", "{}"), new(recorder))
				w := wire(t, err)
				if !strings.HasPrefix(w.Reason, `the command "${env:C}\u{1b}" `+test.want) && !strings.Contains(w.Reason, test.want) ||
					strings.Contains(w.Reason, dir) || w.Delivered != "no" || w.Final || w.Op != "start" {
					t.Errorf("%+v", w)
				}
				if err := ended(t, tr); err != error(w) {
					t.Errorf("Err: %v", err)
				}
				if err := tr.Notify(t.Context(), &mcpclient.Notification{Link: &mcpclient.Link{Revision: modern}}); err != error(w) {
					t.Errorf("the next message: %v", err)
				}
			})
		})
	}
	t.Run("no guard", func(t *testing.T) {
		if !canGuard {
			t.Skip("there is no guard on this system")
		}
		for _, guard := range []string{"/no/such/guard", "/bin/true"} {
			tr := open(t, server(t), &Options{Guard: []string{guard}})
			_, err := tr.RoundTrip(t.Context(), request(modern, 1, "x", "{}"), new(recorder))
			if w := wire(t, err); !strings.Contains(w.Reason, "its guard") {
				t.Errorf("%s: %s", guard, w.Reason)
			}
		}
	})
}

// TestT63_Lookup: a program is found in the server's PATH, and never relative to where
// toolhost was started.
func TestT63_Lookup(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"bin", "here"} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := func(path string) {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+hello+"cat >/dev/null\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program("in-the-current-directory")
	program("here/relative")
	program("bin/tool")
	if err := os.WriteFile("bin/unusable", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	list := func(dirs ...string) string {
		return strings.Join(append(dirs, "/bin", "/usr/bin"), string(filepath.ListSeparator))
	}
	for _, test := range []struct{ name, command, path, want string }{
		{"the entry's PATH", "tool", list(filepath.Join(dir, "bin")), ""},
		{"the first that is usable", "tool", list("", ".", filepath.Join(dir, "none"), filepath.Join(dir, "bin")), ""},
		{"an empty element", "in-the-current-directory", list(""), "not absolute"},
		{"a dot", "in-the-current-directory", list("."), "not absolute"},
		{"a relative directory", "relative", list("here"), "not absolute"},
		{"no permission", "unusable", list(filepath.Join(dir, "bin")), "not executable"},
		{"no PATH", "tool", "", "was not found"},
		{"a path is relative to cwd", "bin/tool", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &mcpclient.Process{Command: redact.NewSecret(test.command), Shown: test.command,
				Env: append(variables(t), mcpclient.Variable{Name: "PATH", Value: redact.NewSecret(test.path)})}
			tr := open(t, p, nil)
			_, err := tr.RoundTrip(t.Context(), request(modern, 1, "hello", "{}"), new(recorder))
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestB217_DiesInACall(t *testing.T) {
	for _, test := range []struct{ name, method, params, want string }{
		{"exit", "exit", "3", "exit status 3; its last words on stderr: panic: out of memory"},
		{"killed", "die", "{}", "killed by SIGKILL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			both(t, func(t *testing.T, opts *Options) {
				tr := open(t, server(t), opts)
				tell(t, tr, modern, 1, "echo", "{}")
				hanging := make(chan error, 1)
				go func() {
					_, err := tr.RoundTrip(context.Background(), request(modern, 2, "hang", "{}"), new(recorder))
					hanging <- err
				}()
				_, err := tr.RoundTrip(t.Context(), request(modern, 3, test.method, test.params), new(recorder))
				for _, err := range []error{err, <-hanging} {
					if w := wire(t, err); !strings.Contains(w.Reason, test.want) || w.Delivered == "yes" {
						t.Errorf("%+v", w)
					}
				}
				if w := wire(t, err); w.Delivered != "unknown" {
					t.Errorf("delivered: %s", w.Delivered)
				}
				if w := wire(t, ended(t, tr)); !strings.Contains(w.Reason, test.want) {
					t.Errorf("Err: %+v", w)
				}
				// What comes now was not sent, and does not start it again (S2-10: that
				// is for the owner).
				_, err = tr.RoundTrip(t.Context(), request(modern, 4, "echo", "{}"), new(recorder))
				if w := wire(t, err); w.Delivered != "no" || !strings.Contains(w.Reason, test.want) {
					t.Errorf("the next call: %+v", w)
				}
			})
		})
	}
}

// TestT71_KilledInCalls: whoever waits hears of it, at once.
func TestT71_KilledInCalls(t *testing.T) {
	leakFree(t)
	for range 5 {
		tr := New(server(t), nil)
		tell(t, tr, modern, 1, "echo", "{}")
		var calls sync.WaitGroup
		for id := int64(2); id < 50; id++ {
			calls.Go(func() {
				_, err := tr.RoundTrip(t.Context(), request(modern, id, "hang", "{}"), new(recorder))
				wire(t, err)
			})
		}
		began := time.Now()
		_, err := tr.RoundTrip(t.Context(), request(modern, 50, "die", "{}"), new(recorder))
		wire(t, err)
		calls.Wait()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %v until all had heard", took)
		}
		shut(t, tr)
	}
}

func TestB221_ClosedStdout(t *testing.T) {
	both(t, func(t *testing.T, opts *Options) {
		opts.Limits = limits(t, "stop_wait=100ms")
		tr := open(t, server(t, "ignores-eof"), opts)
		_, err := tr.RoundTrip(t.Context(), request(modern, 1, "close-stdout", "{}"), new(recorder))
		if w := wire(t, err); !strings.Contains(w.Reason, "closed its stdout") || w.Delivered != "unknown" {
			t.Errorf("%+v", w)
		}
		ended(t, tr)
		<-tr.life.conn.over // the process is ended without anyone's asking
	})
}

func TestClosedStdin(t *testing.T) {
	tr := open(t, server(t), &Options{Limits: limits(t, "stop_wait=100ms")})
	tell(t, tr, modern, 1, "close-stdin", "{}")
	// More than a pipe holds: it cannot have been written before stdin was closed.
	_, err := tr.RoundTrip(t.Context(), request(modern, 2, "echo", `"`+strings.Repeat("x", 1<<20)+`"`), new(recorder))
	if w := wire(t, err); !strings.Contains(w.Reason, "closed its stdin") {
		t.Errorf("%+v", w)
	}
}

// TestLastWords: an answer is not lost when the process ends behind it.
func TestLastWords(t *testing.T) {
	both(t, func(t *testing.T, opts *Options) {
		for range 20 {
			tr := open(t, server(t), opts)
			if got := tell(t, tr, modern, 1, "last-words", "1"); got != "1" {
				t.Errorf("got %s", got)
			}
		}
	})
}

func TestT67_Stderr(t *testing.T) {
	mib := 200
	if raceEnabled {
		mib = 20
	}
	t.Run("a flood before the first answer", func(t *testing.T) {
		var log logbook
		tr := open(t, server(t, fmt.Sprintf("stderr-first=%d", mib)), &Options{Log: log.logger()})
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tell(t, tr, modern, 1, "echo", "{}")
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2<<20 {
			t.Errorf("the heap has grown by %d bytes", grown)
		}
		shut(t, tr)
		if n := strings.Count(log.String(), "the server wrote to stderr"); n < 200 || n > 200*100 {
			t.Errorf("%d lines were logged", n)
		}
		if !strings.Contains(log.String(), "were dropped") || strings.Contains(log.String(), "level=WARN") || strings.Contains(log.String(), "level=ERROR") {
			t.Errorf("log ends: %s", log.String()[max(0, len(log.String())-500):])
		}
	})
	t.Run("STD-05 B207 a flood in a call", func(t *testing.T) {
		tr := open(t, server(t), nil)
		tell(t, tr, modern, 1, "stderr", "10")
	})
}

// TestS1_25_StderrShowsNoSecret: the values of the entry's environment are in no log
// and no reason, whatever the server does with them.
func TestS1_25_StderrShowsNoSecret(t *testing.T) {
	const canary = "canary-5f1c9a7e-33aa"
	var log logbook
	p := server(t)
	p.Env = append(p.Env, mcpclient.Variable{Name: "TOKEN", Value: redact.NewSecret(canary)})
	tr := open(t, p, &Options{Log: log.logger()})
	// In a line that is cut in the middle of it, too.
	for id, text := range []string{canary, "token=" + canary + "\x1b[0m", strings.Repeat("x", 8<<10-10) + canary} {
		tell(t, tr, modern, int64(id+1), "say", fmt.Sprintf("%q", text[:0]+strings.ReplaceAll(text, "\x1b", "")))
	}
	tell(t, tr, modern, 10, "raw", `{"lines":["my token is `+canary+`\n{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}\n"]}`)
	_, err := tr.RoundTrip(t.Context(), request(modern, 11, "exit", "1"), new(recorder))
	shut(t, tr)
	for _, text := range []string{log.String(), err.Error(), tr.Err().Error(), fmt.Sprintf("%v %+v %#v", tr, tr, struct{ t *Transport }{tr})} {
		for _, secret := range []string{canary, canary[:12]} {
			if strings.Contains(text, secret) {
				t.Errorf("shows the secret: %s", text)
			}
		}
	}
	if n := strings.Count(log.String()+err.Error(), redact.Placeholder); n < 3 {
		t.Errorf("the secret was there %d times; the check sees nothing", n)
	}
}

func TestL26_StderrLines(t *testing.T) {
	var log logbook
	s := newStderrTail(limits(t, "stderr_line=256", "stderr_tail=1KiB", "stderr_rate=3"), redact.NewScrubber(), log.logger())
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "line %d\r\n\n", i)
	}
	text.WriteString(strings.Repeat("y", 300) + "\nno end")
	s.drain(strings.NewReader(text.String()))
	if n := strings.Count(log.String(), "wrote to stderr"); n != 3 || !strings.Contains(log.String(), "dropped\" lines=99") {
		t.Errorf("%d lines were logged: %s", n, &log)
	}
	if got := s.last(); !strings.HasSuffix(got, "line 99 / "+strings.Repeat("y", 256)+cutMark+" / no end") || len(got) > 2*shownStderr || strings.Contains(got, "line 1 ") {
		t.Errorf("last: %s", got)
	}
	if len(s.kept) > 2<<10+256 {
		t.Errorf("%d bytes are kept", len(s.kept))
	}
}

func TestNonBlockingPipesStayOurs(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("needs python3")
	}
	both(t, func(t *testing.T, opts *Options) {
		p := shell(t, `exec python3 -c '
import os, sys
sys.stdin.readline()
print("""{"jsonrpc":"2.0","id":1,"result":%s}""" % str([os.get_blocking(fd) for fd in range(3)]).lower(), flush=True)
sys.stdin.read()'`)
		tr := open(t, p, opts)
		if got := tell(t, tr, modern, 1, "hello", "{}"); got != "[true, true, true]" {
			t.Errorf("blocking: %s", got)
		}
	})
}

func TestNeverStarted(t *testing.T) {
	tr := open(t, server(t), nil)
	select {
	case <-tr.Done():
		t.Fatal("Done is closed")
	default:
	}
	shut(t, tr)
	if err := ended(t, tr); err != nil {
		t.Errorf("Err: %v", err)
	}
	if tr.life != nil {
		t.Error("a process was started")
	}
	_, err := tr.RoundTrip(t.Context(), request(modern, 1, "echo", "{}"), new(recorder))
	if w := wire(t, err); w.Delivered != "no" {
		t.Errorf("%+v", w)
	}
}

func TestCloseEndsCalls(t *testing.T) {
	both(t, func(t *testing.T, opts *Options) {
		tr := open(t, server(t), opts)
		tell(t, tr, modern, 1, "echo", "{}")
		failed := make(chan error, 2)
		r := new(recorder)
		go func() {
			_, err := tr.RoundTrip(context.Background(), request(modern, 2, "hang", "{}"), new(recorder))
			failed <- err
		}()
		go func() {
			failed <- tr.Listen(context.Background(), &mcpclient.Link{Revision: legacy}, nil, r)
		}()
		r.wait(t, "opened", 1)
		var closing sync.WaitGroup
		for range 3 {
			closing.Go(func() { shut(t, tr) })
		}
		closing.Wait()
		for range 2 {
			wire(t, <-failed)
		}
	})
}

func TestStartIsGivenUp(t *testing.T) {
	tr := open(t, server(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tr.RoundTrip(ctx, request(modern, 1, "echo", "{}"), new(recorder)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := tell(t, tr, modern, 2, "echo", "1"); got != "1" {
		t.Errorf("got %s", got)
	}
}
