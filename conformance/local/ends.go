package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// This file is the steps in which something ends.

// crash: the server is killed while it works on a call. The call fails at once and is
// not sent again; the server is started anew and is as before.
func (t *trial) crash(ctx context.Context) error {
	defer t.finish()
	tools, _, err := t.host.ready(ctx, "mcp")
	if err != nil {
		return err
	}
	before, err := t.oneServer()
	if err != nil {
		return err
	}
	p, request, err := t.startSlow(ctx, t.host)
	if err != nil {
		return err
	}
	if t.host.was("reconnecting") {
		return errors.New("the server was lost before")
	}
	at := time.Now()
	if err := kill(before.PID); err != nil {
		return err
	}
	got, err := t.host.wait(ctx, p)
	if err != nil {
		return err
	}
	errs := []error{failed(got, "transport", "unknown", "killed")}
	if took := time.Since(at); took > time.Second {
		errs = append(errs, fmt.Errorf("the call failed only %v after the crash", took))
	}
	t.finish()

	if err := t.host.told(ctx, "reconnecting"); err != nil {
		return errors.Join(append(errs, err)...)
	}
	again, err := t.host.until(ctx, "mcp", "connected")
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	// What grew in the first life of the server has gone with it.
	if len(again) > len(tools) {
		errs = append(errs, fmt.Errorf("there are %d tools, and %d were there before", len(again), len(tools)))
	}
	errs = append(errs, t.lists(again))
	after, err := t.oneServer()
	if err == nil && after.PID == before.PID {
		err = errors.New("the server is the same process")
	}
	called, callErr := t.invoke(ctx, t.calls[0])
	errs = append(errs, err, callErr, t.is(called, t.calls[0]))
	list, err := readStdin(t.stdin)
	if n := len(sent(list, "tools/call", request.mark)); err == nil && n != 1 {
		err = fmt.Errorf("the call that was under way was sent %d times", n)
	}
	return errors.Join(append(errs, err)...)
}

// close: neither the end of the pack nor that of the child leaves a process behind.
func (t *trial) close(ctx context.Context) error {
	if _, err := t.oneServer(); err != nil {
		return err
	}
	return errors.Join(t.host.closePack(ctx, "mcp"), t.nothingLeft(0), t.host.end(t.secret))
}

// killTime is how long after the death of the child something may be left.
const killTime = 2 * time.Second

// kill: the child is killed while the server works on a call.
func (t *trial) kill(ctx context.Context) error {
	defer t.finish()
	h, err := startHost(t.binary)
	if err != nil {
		return err
	}
	defer kill(h.child.PID())
	if err := h.construct(ctx, "mcp", t.title, t.entry()); err != nil {
		return err
	}
	if _, err := h.until(ctx, "mcp", "connected"); err != nil {
		return err
	}
	if _, _, err := t.startSlow(ctx, h); err != nil {
		return err
	}
	if _, err := t.oneServer(); err != nil {
		return err
	}
	if err := kill(h.child.PID()); err != nil {
		return err
	}
	return t.nothingLeft(killTime)
}

// share: two packs with the same entry have one process, which ends with the second.
func (t *trial) share(ctx context.Context) error {
	h, err := startHost(t.binary)
	if err != nil {
		return err
	}
	defer kill(h.child.PID())
	packs := []string{"a", "b"}
	for _, id := range packs {
		if err := h.construct(ctx, id, t.title, t.entry()); err != nil {
			return err
		}
	}
	works := func(id string) error {
		c := t.calls[0]
		got, err := h.invoke(ctx, t.named(id, c.name), c.arguments)
		if err := errors.Join(err, t.is(got, c)); err != nil {
			return fmt.Errorf("pack %s: %w", id, err)
		}
		return nil
	}
	for _, id := range packs {
		if _, err := h.until(ctx, id, "connected"); err != nil {
			return err
		}
		if err := works(id); err != nil {
			return err
		}
	}
	one, err := t.oneServer()
	if err != nil {
		return err
	}
	if err := errors.Join(h.closePack(ctx, "a"), works("b")); err != nil {
		return err
	}
	if still, err := t.oneServer(); err != nil || still.PID != one.PID {
		return fmt.Errorf("after one pack has closed it is not the same process: %v, %v, %w", one, still, err)
	}
	return errors.Join(h.closePack(ctx, "b"), t.nothingLeft(0), h.end(t.secret))
}
