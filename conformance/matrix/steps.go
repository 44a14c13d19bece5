package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
	"github.com/toolhost/toolhost/conformance/internal/mcpserver"
)

// A step is one column of the matrix.
type step struct {
	name string
	try  func(*trial, context.Context) error

	// without says why the step means nothing for a variant, "" where it does. It
	// is performed there all the same where that can be done.
	without func(variant) string
}

// steps are the columns, in the order in which they are tried.
var steps = []step{
	{"list", (*trial).list, always},
	{"call", (*trial).call, always},
	{"cancel", (*trial).cancel, always},
	{"progress", (*trial).progress, func(v variant) string {
		if !v.streams {
			return "an answer of one JSON object has no room for progress"
		}
		return ""
	}},
	{"list_changed", (*trial).listChanged, func(v variant) string {
		if v.sdk.tools.grow == "" {
			return "the tools of this server never change"
		}
		return ""
	}},
	{"restart", (*trial).restart, always},
}

func always(variant) string { return "" }

// list compares the listing with the one that the server gives without toolhost.
func (t *trial) list(ctx context.Context) error {
	client, err := mcpserver.Open(ctx, t.server.URL, t.revision())
	if err != nil {
		return err
	}
	want, err := client.List(ctx)
	if err != nil {
		return err
	}
	if err := client.Close(ctx); err != nil {
		return err
	}
	tools, err := t.host.list(ctx)
	if err != nil {
		return err
	}
	var got []mcpserver.Tool
	for _, tool := range tools {
		got = append(got, mcpserver.Tool{Name: tool.Name, Schema: string(tool.InputSchema)})
	}
	if len(got) == 0 || !slices.Equal(got, want) {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}

// echo calls the tool echo and looks at the answer.
func (t *trial) echo(ctx context.Context, text string) error {
	got, err := t.host.call(ctx, t.sdk.tools.echo, mark(t.sdk.tools.echoInput, text))
	if err != nil {
		return err
	}
	if want := mark(t.sdk.tools.echoAnswer, text); got != want {
		return fmt.Errorf("echo answered %q, not %q", got, want)
	}
	return nil
}

// call calls a tool, which runs once, in the revision of the row.
func (t *trial) call(ctx context.Context) error {
	text := t.next()
	if err := t.echo(ctx, text); err != nil {
		return err
	}
	l, err := t.ledger(ctx, "")
	if err != nil {
		return err
	}
	if l.Revision != t.revision() {
		return fmt.Errorf("%q was spoken, not %s", l.Revision, t.revision())
	}
	return ran(l, text, "echo "+text)
}

// ran checks what the ledger holds of one call.
func ran(l ledger, text string, want ...string) error {
	if got := l.with(text); !slices.Equal(got, want) {
		return fmt.Errorf("the ledger holds %q of the call, not %q", got, want)
	}
	return nil
}

// startSlow starts a call that takes a minute, and returns when it runs.
func (t *trial) startSlow(ctx context.Context, text string) (running, error) {
	r, err := t.host.send(t.sdk.tools.slow, mark(t.sdk.tools.slowInput, text, 60_000))
	if err != nil {
		return r, err
	}
	begun := t.sdk.tools.slow + " " + text
	l, err := t.ledger(ctx, begun)
	if err != nil {
		return r, err
	}
	return r, ran(l, text, begun)
}

// cancel cancels a call that runs. The server hears of it, and the host gets its
// answer at once.
func (t *trial) cancel(ctx context.Context) error {
	text := t.next()
	r, err := t.startSlow(ctx, text)
	if err != nil {
		return err
	}
	if err := t.host.cancel(r); err != nil {
		return err
	}
	answer, err := t.host.wait(ctx, r)
	var failure *child.Error
	if !errors.As(err, &failure) || failure.Data.Kind != "cancelled" {
		return fmt.Errorf("the cancelled call was answered with %q, %v", answer, err)
	}
	l, err := t.ledger(ctx, "cancelled "+text)
	if err != nil {
		return err
	}
	return ran(l, text, t.sdk.tools.slow+" "+text, "cancelled "+text)
}

// progress makes a call that tells of its progress, the newest of which comes before
// the answer. toolhost merges what comes faster than the limit progress_rate, so not
// every step has to be told of.
func (t *trial) progress(ctx context.Context) error {
	r, err := t.host.send(t.sdk.tools.slow, mark(t.sdk.tools.slowInput, t.next(), 600))
	if err != nil {
		return err
	}
	if _, err := t.host.wait(ctx, r); err != nil {
		return err
	}
	got, total := t.host.progressOf(r.id), float64(t.sdk.tools.steps)
	if !t.streams {
		if len(got) > 0 {
			return fmt.Errorf("there was progress, %v, and no room for it", got)
		}
		return nil
	}
	rises := slices.IsSortedFunc(got, func(a, b told) int { return cmp.Compare(a.Progress, b.Progress) })
	if len(got) < 2 || !rises || got[len(got)-1] != (told{total, total}) {
		return fmt.Errorf("the progress was %v, not several steps up to %v of %[2]v", got, total)
	}
	return nil
}

// showPatience bounds the wait until the listing is up to date: a new tool has to
// show within a few seconds, also while toolhost lists at most every two.
const showPatience = 5 * time.Second

// listChanged lets the server add a tool, which has to show and work by itself.
func (t *trial) listChanged(ctx context.Context) error {
	if t.sdk.tools.grow == "" {
		return nil
	}
	if _, err := t.host.call(ctx, t.sdk.tools.grow, `{}`); err != nil {
		return err
	}
	if err := t.shows(ctx, true, showPatience); err != nil {
		return err
	}
	if got, err := t.host.call(ctx, "grown", `{}`); err != nil || got != "grown" {
		return fmt.Errorf("the new tool answered %q, %v", got, err)
	}
	t.grew = true
	return nil
}

// shows waits until the listing has the tool that grow adds, or no longer has it.
func (t *trial) shows(ctx context.Context, want bool, patience time.Duration) error {
	enough := time.After(patience)
	again := time.NewTicker(50 * time.Millisecond) // no message says that the names have changed
	defer again.Stop()
	for {
		tools, err := t.host.list(ctx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(tools, func(tool listed) bool { return tool.Name == "grown" }) == want {
			return nil
		}
		select {
		case <-again.C:
		case <-enough:
			return fmt.Errorf("the listing has the tool grown: %t, after %v", !want, patience)
		}
	}
}

// restart kills the server and starts it anew on its port, first between calls, then
// during one. The next call works each time. No call runs twice, also not the one
// whose fate is unknown. The listing becomes that of the new server, and goes on to
// follow it.
func (t *trial) restart(ctx context.Context) error {
	if err := t.echo(ctx, t.next()); err != nil {
		return err
	}
	if err := t.crash(ctx); err != nil {
		return err
	}
	if err := t.firstCall(ctx); err != nil {
		return fmt.Errorf("after a restart: %w", err)
	}

	r, err := t.startSlow(ctx, t.next())
	if err != nil {
		return err
	}
	if err := t.crash(ctx); err != nil {
		return err
	}
	answer, err := t.host.wait(ctx, r)
	var failure *child.Error
	if !errors.As(err, &failure) || failure.Data.Kind != "transport" || failure.Data.Delivered != "unknown" {
		return fmt.Errorf("the call during which the server was killed was answered with %q, %v", answer, err)
	}
	if err := t.firstCall(ctx); err != nil {
		return fmt.Errorf("after a restart during a call: %w", err)
	}

	if !t.grew { // it was not told of new tools before either
		return nil
	}
	if err := t.shows(ctx, false, 2*showPatience); err != nil { // a broken stream is not opened again at once
		return fmt.Errorf("after a restart: %w", err)
	}
	if err := t.listChanged(ctx); err != nil {
		return fmt.Errorf("after a restart: %w", err)
	}
	return nil
}

// firstCall makes the first call after a restart, which has to be all that the new
// server runs.
func (t *trial) firstCall(ctx context.Context) error {
	text := t.next()
	if err := t.echo(ctx, text); err != nil {
		second := "works"
		if err := t.echo(ctx, t.next()); err != nil {
			second = err.Error()
		}
		return fmt.Errorf("the first call: %w; the second: %s", err, second)
	}
	l, err := t.ledger(ctx, "")
	if err != nil {
		return err
	}
	if want := []string{t.sdk.tools.echo + " " + text}; !slices.Equal(l.Lines, want) {
		return fmt.Errorf("the server ran %q, not %q", l.Lines, want)
	}
	return nil
}

// crash kills the server and starts it anew on its port.
func (t *trial) crash(ctx context.Context) error {
	if err := t.server.Kill(); err != nil {
		return err
	}
	t.server = nil // until there is another
	return t.start(ctx)
}
