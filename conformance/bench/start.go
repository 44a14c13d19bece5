package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/conformance/internal/child"
)

// constructOver returns the params of construct over servers called server0 and so
// on, for a host that takes status notifications.
func constructOver(urls ...string) string {
	entries := make([]string, len(urls))
	for i, url := range urls {
		entries[i] = `"server` + strconv.Itoa(i) + `":{"url":"` + url + `"}`
	}
	return `{"protocol":"1","pack":"runvil/mcp","config":{` + strings.Join(entries, ",") + `},"host":{"name":"bench","version":"1","capabilities":{"status":true}}}`
}

// whenReady returns a Notify that calls done once, when that many servers are
// ready.
func whenReady(servers int, done func()) func(string, json.RawMessage) {
	called := false
	return func(method string, params json.RawMessage) {
		var status struct{ Servers []struct{ Status string } }
		if called || method != "status" || json.Unmarshal(params, &status) != nil {
			return
		}
		ready := 0
		for _, server := range status.Servers {
			if server.Status == "ready" {
				ready++
			}
		}
		if ready == servers {
			called = true
			done()
		}
	}
}

// start times the way from spawn to the first answer and to the first result of a
// tool.
func (b *bench) start(ctx context.Context) error {
	const runs = 21
	type times struct{ answer, result time.Duration }
	all := make([]times, runs)
	for i := range all {
		ready := make(chan struct{})
		begin := time.Now()
		c, err := child.Start(b.toolhost, child.Options{Notify: whenReady(1, func() { close(ready) })})
		if err != nil {
			return err
		}
		if _, err := c.Call(ctx, "construct", constructOver(b.url)); err != nil {
			return err
		}
		all[i].answer = time.Since(begin)
		select {
		case <-ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		reply, err := c.Call(ctx, "invoke", `{"tool":"mcp/call_dynamic_tool","arguments":{"namespace":"server0","toolName":"blob","arguments":{"size":100}}}`)
		if err == nil && reply.Error != nil {
			err = reply.Error
		}
		if err != nil {
			return err
		}
		all[i].result = time.Since(begin)
		if err := c.Stop(5 * time.Second); err != nil {
			return err
		}
	}
	milli := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	fmt.Fprintf(b.out, "spawn to the first answer (construct): %.1f ms; to the first result of a tool: %.1f ms (medians of %d)\n",
		median(all, func(t times) float64 { return milli(t.answer) }),
		median(all, func(t times) float64 { return milli(t.result) }), runs)
	return nil
}

// memory shows the resident size with 1 and with 100 servers, all ready.
func (b *bench) memory(ctx context.Context) error {
	for _, n := range []int{1, 100} {
		urls := make([]string, n)
		for i := range urls {
			s, err := fakeserver.Start(fakeserver.Options{})
			if err != nil {
				return err
			}
			defer s.Close()
			urls[i] = s.URL()
		}
		ready := make(chan struct{})
		begin := time.Now()
		c, err := child.Start(b.toolhost, child.Options{Notify: whenReady(n, func() { close(ready) })})
		if err != nil {
			return err
		}
		if _, err := c.Call(ctx, "construct", constructOver(urls...)); err != nil {
			return err
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		took := time.Since(begin)
		usage, err := child.UsageOf(c.PID())
		if err != nil {
			return err
		}
		fmt.Fprintf(b.out, "memory with %d servers ready: %.1f MB resident, %d file descriptors, %d threads (%v after spawn)\n",
			n, float64(usage.RSS)/1e6, usage.Files, usage.Threads, took.Round(time.Millisecond))
		if err := c.Stop(10 * time.Second); err != nil {
			return err
		}
	}
	return nil
}

// median returns the median of a value over rows.
func median[T any](rows []T, value func(T) float64) float64 {
	values := make([]float64, len(rows))
	for i, row := range rows {
		values[i] = value(row)
	}
	slices.Sort(values)
	if n := len(values); n%2 == 0 {
		return (values[n/2-1] + values[n/2]) / 2
	}
	return values[len(values)/2]
}
