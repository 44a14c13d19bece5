package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

// Each row spoils one thing of an answer that is as it must be.
func TestAnswersAreComparedToTheLetter(t *testing.T) {
	want := call{name: "echo", arguments: `{}`, content: "text", structured: `{"a":1.0}`, blocks: `[{"type":"image"}]`}
	for name, spoil := range map[string]func(*answer){
		"":                func(*answer) {},
		"content":         func(a *answer) { a.Content = "text " },
		"no structured":   func(a *answer) { a.Structured = nil },
		"another number":  func(a *answer) { a.Structured = json.RawMessage(`{"a":1}`) },
		"no blocks":       func(a *answer) { a.Blocks = nil },
		"an error":        func(a *answer) { a.err = new(child.Error) },
		"taken for ours":  func(a *answer) { a.Untrusted = false },
		"order of blocks": func(a *answer) { a.Blocks = json.RawMessage(`[{"type": "image"}]`) },
	} {
		a := answer{Content: want.content, Structured: json.RawMessage(want.structured), Blocks: json.RawMessage(want.blocks), Untrusted: true}
		spoil(&a)
		if err := new(trial).is(a, want); (err == nil) != (name == "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestFailuresAreJudged(t *testing.T) {
	for name, spoil := range map[string]func(*answer){
		"":                    func(*answer) {},
		"it succeeded":        func(a *answer) { a.err = nil },
		"of another kind":     func(a *answer) { a.err.Data.Kind = "backend" },
		"delivered":           func(a *answer) { a.err.Data.Delivered = "no" },
		"without its reasons": func(a *answer) { a.err.Message = "gone" },
	} {
		e := &child.Error{Message: "it was killed"}
		e.Data.Kind, e.Data.Delivered = "transport", "unknown"
		a := answer{err: e}
		spoil(&a)
		if err := failed(a, "transport", "unknown", "killed"); (err == nil) != (name == "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestQuestionsAreCompared(t *testing.T) {
	q := question{mode: "form", message: "Go on?", answers: []string{"a", "b"}, problem: "yes"}
	for name, spoil := range map[string]func([]ask) []ask{
		"":                   func(a []ask) []ask { return a },
		"asked once":         func(a []ask) []ask { return a[:1] },
		"another text":       func(a []ask) []ask { a[0].Message = "Go?"; return a },
		"no form":            func(a []ask) []ask { a[1].Schema = nil; return a },
		"another server":     func(a []ask) []ask { a[0].Server = "x"; return a },
		"a problem at first": func(a []ask) []ask { a[0].Problem = "yes"; return a },
		"no problem then":    func(a []ask) []ask { a[1].Problem = ""; return a },
	} {
		one := ask{Mode: "form", Message: "Go on?", Server: "s", Schema: json.RawMessage(`{}`)}
		two := one
		two.Problem = `"yes" must be true or false`
		if err := q.check("s", spoil([]ask{one, two})); (err == nil) != (name == "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestStdinIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stdin")
	if list, err := readStdin(file); err != nil || len(list) != 0 {
		t.Errorf("before the server has started: %v, %v", list, err)
	}
	for _, test := range []struct {
		name, text string
		calls      int
		ok         bool
	}{
		{"two calls and the half of one", `{"id":1,"method":"tools/call","params":{"name":"a"}}` + "\n" + `{"id":2,"method":"tools/call","params":{"name":"b"}}` + "\n" + `{"id":3,"met`, 2, true},
		{"another method", `{"method":"tools/list","params":{}}` + "\n", 0, true},
		{"a message that was cut", `{"id":1,"met` + "\n", 0, false},
	} {
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := readStdin(file)
		if calls := sent(list, "tools/call", ""); len(calls) != test.calls || (err == nil) != test.ok {
			t.Errorf("%s: %d calls, %v", test.name, len(calls), err)
		}
	}
}

func TestARedCellFailsTheRun(t *testing.T) {
	cells := make([]cell, len(steps))
	cells[1].without = true
	var out strings.Builder
	green := table{{variants[0], cells}}
	if err := green.print(&out, false); err != nil || !strings.Contains(out.String(), "\n10 passed, 0 failed\n") {
		t.Errorf("%v\n%s", err, &out)
	}
	cells[2].err = errors.New("the reason")
	out.Reset()
	if err := green.print(&out, true); err == nil || !strings.Contains(out.String(), "\n9 passed, 1 failed\n") || !strings.Contains(out.String(), "the reason") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// What a trial has started is found, and missed when it is gone.
func TestWhatIsLeftIsFound(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("there is no /proc here")
	}
	left := &trial{secret: t.Name(), binary: "/no/toolhost"}
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{left.mark()}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := left.nothingLeft(0); err == nil || !strings.Contains(err.Error(), "sleep 60") {
		t.Errorf("a process that runs is not found: %v", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if err := left.nothingLeft(0); err != nil {
		t.Error(err)
	}
}
