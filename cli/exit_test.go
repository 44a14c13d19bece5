package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/pack"
)

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{errors.New("no space left on device"), exitOther},
		{&usageError{errors.New("x")}, exitUsage},
		{&configError{errors.New("x")}, exitConfig},
		{errNotReady, exitNotReady},
		{interrupted(), exitInterrupted},
		{fmt.Errorf("the demo went wrong: %w", context.Canceled), exitInterrupted},
		{pack.Errorf(pack.KindMessage, "x"), 3},
		{pack.Errorf(pack.KindBackend, "x"), 4},
		{pack.Errorf(pack.KindTransport, "x"), 5},
		{pack.Errorf(pack.KindUnavailable, "x"), 6},
		{pack.Errorf(pack.KindRefused, "x"), 7},
		{pack.Errorf(pack.KindCancelled, "x"), 8},
		{pack.Errorf(pack.KindInternal, "x"), exitOther},
		// The kind says more than what it wraps.
		{&pack.Error{Kind: pack.KindTransport, Err: context.Canceled}, 5},
	} {
		if got := exitCode(test.err); got != test.code {
			t.Errorf("%v: exit code %d, want %d", test.err, got, test.code)
		}
	}
}

// TestExitTopic holds the text against the table: each code once, in order, no
// line wider than a terminal.
func TestExitTopic(t *testing.T) {
	code, text, stderr := run(t, "", "help", "exit-codes")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	last := -1
	for _, row := range exitRows {
		begin, _, _ := strings.Cut(row.means, " ")
		if row.code <= last || strings.Count(text, fmt.Sprintf("\n%d  %s", row.code, begin)) != 1 {
			t.Errorf("code %d is not once in\n%s", row.code, text)
		}
		last = row.code
	}
	for line := range strings.Lines(text) {
		if len(line) > 80 {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
}

// TestOneCauseOneCode gives the same fault to each command that can meet it.
func TestOneCauseOneCode(t *testing.T) {
	broken := configure(t, `"a": {`)
	refused := configure(t, `"a": {"command": "npx", "args": 1}`)
	for _, test := range []struct {
		cause  string
		config string
		code   int
	}{
		{"no such file", broken + ".gone", exitConfig},
		{"no JSON", broken, exitConfig},
		{"no object", "-", exitConfig},
		{"a server that is not connected", refused, exitNotReady},
		{"no --config", "", exitUsage},
	} {
		for _, args := range [][]string{{"check"}, {"tools", "--config", test.config, "a"}, {"tools", "a", "t"}, {"call", "a", "t"}} {
			args = append(args, "--config", test.config)
			if code, _, stderr := run(t, "[1]", args...); code != test.code {
				t.Errorf("%s: %q: exit code %d, want %d: %s", test.cause, args, code, test.code, stderr)
			}
		}
	}
}
