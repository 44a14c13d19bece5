package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

// This file is what a host does with the faulty server, and what it expects.

// atOnce is far below every deadline of the child.
const atOnce = 2 * time.Second

// An outcome is what came of a call.
type outcome struct {
	text string       // of a call that succeeded
	err  *child.Error // nil for one that did
	took time.Duration
}

func (o outcome) String() string {
	if o.err != nil {
		return fmt.Sprintf("error %d, kind %s, delivered %q, limit %q after %v: %.300q",
			o.err.Code, o.err.Data.Kind, o.err.Data.Delivered, o.err.Data.Limit, o.took.Round(time.Millisecond), o.err.Message)
	}
	return fmt.Sprintf("%.300q after %v", o.text, o.took.Round(time.Millisecond))
}

// A pending is a call that has been sent.
type pending struct {
	id    string
	reply <-chan child.Reply
	since time.Time
}

// send sends a call of a tool. members are further members of the invoke.
func (p *play) send(namespace, tool, arguments, members string) pending {
	if namespace != "good" {
		p.calls++
	}
	id, reply, err := p.child.Send("invoke", `{`+p.pack.invoke(p, namespace, tool, arguments)+members+`}`)
	p.fail(err)
	return pending{id, reply, time.Now()}
}

// await waits for the answer. All that comes out of a server is untrusted (S1-24);
// that a call was cancelled is our own word.
func (p *play) await(c pending) outcome {
	reply, err := p.child.Await(p.ctx, c.reply)
	p.fail(err)
	o := outcome{err: reply.Error, took: time.Since(c.since)}
	if reply.Error != nil {
		p.want(reply.Error.Data.Untrusted || reply.Error.Data.Kind == "cancelled", "an error is not marked untrusted: %v", o)
		return o
	}
	var result struct {
		Content   string
		Untrusted bool
	}
	if err := json.Unmarshal(reply.Result, &result); p.ctx.Err() == nil {
		p.fail(err)
	}
	p.want(result.Untrusted || p.ctx.Err() != nil, "an answer is not marked untrusted")
	o.text = result.Content
	return o
}

func (p *play) invoke(namespace, tool, arguments string) outcome {
	return p.await(p.send(namespace, tool, arguments, ""))
}

// call calls a tool of the faulty server.
func (p *play) call(tool, arguments string) outcome { return p.invoke("faulty", tool, arguments) }

// status waits until the server is no longer loading.
func (p *play) status(name string) serverStatus {
	for p.ctx.Err() == nil {
		reply, err := p.child.Call(p.ctx, "ready", `{"id":"mcp"}`)
		var ready struct{ Servers []serverStatus }
		if p.fail(err) || p.fail(reply.Decode(&ready)) {
			break
		}
		for _, s := range ready.Servers {
			if s.Status = p.pack.statuses[s.Status]; s.Name == name && s.Status != "loading" {
				return s
			}
		}
		p.pause(5 * time.Millisecond)
	}
	p.want(false, "the server %q never left loading", name)
	return serverStatus{Name: name, Status: "loading"}
}

// ready checks that the faulty server becomes ready, at the first attempt and at
// once.
func (p *play) ready() {
	s := p.status("faulty")
	p.want(s.Status == "ready", "the server is %q, not ready: %s", s.Status, s.Error)
	took := time.Since(p.began)
	p.want(took < atOnce, "the server was ready only after %v", took)
}

// readyWithin checks that the server becomes ready in the end, whatever failed
// before.
func (p *play) readyWithin(limit time.Duration) {
	for {
		s := p.status("faulty")
		if s.Status == "ready" || p.ctx.Err() != nil {
			return
		}
		if time.Since(p.began) > limit {
			p.want(false, "the server is %q after %v, not ready: %s", s.Status, limit, s.Error)
			return
		}
		p.pause(10 * time.Millisecond)
	}
}

// fails checks that the start of the server fails at once with a reason that
// holds the parts, and that a call then says so too.
func (p *play) fails(parts ...string) {
	s := p.status("faulty")
	took := time.Since(p.began)
	p.want(s.Status == "error", "the server is %q, not in error", s.Status)
	p.want(took < atOnce, "the server was in error only after %v", took)
	for _, part := range parts {
		p.want(strings.Contains(s.Error, part), "the reason lacks %q: %s", part, s.Error)
	}
	p.want(!strings.ContainsFunc(s.Error, func(r rune) bool { return r < ' ' }), "the reason holds a control character: %q", s.Error)
	o := p.call("echo", `{}`)
	p.want(o.err != nil && o.err.Data.Kind == "message", "a call to it: %v", o)
}

// echo checks that a call works at once and gives the text back.
func (p *play) echo(text string) {
	o := p.call("echo", `{"text":`+quote(text)+`}`)
	p.want(o.err == nil && o.text == text, "echo of %q: %v", text, o)
	p.want(o.took < atOnce, "echo of %q took %v", text, o.took)
}

// gives checks that a call works at once with that text.
func (p *play) gives(tool, arguments, text string) {
	o := p.call(tool, arguments)
	p.want(o.err == nil && o.text == text, "%s gave %v, not %q", tool, o, text)
	p.want(o.took < atOnce, "%s took %v", tool, o.took)
}

// failed checks that a call failed at once, with an error of that kind that says
// so of the delivery and holds the parts.
func (p *play) failed(o outcome, kind, delivered string, parts ...string) {
	if o.err == nil {
		p.want(false, "a call that must fail: %v", o)
		return
	}
	p.want(o.err.Data.Kind == kind && o.err.Data.Delivered == delivered, "not kind %s, delivered %q: %v", kind, delivered, o)
	p.want(o.took < atOnce, "it failed only after %v", o.took)
	for _, part := range parts {
		p.want(strings.Contains(o.err.Message, part), "the error lacks %q: %v", part, o)
	}
}

// works checks a healthy server: two calls, each of which runs once.
func (p *play) works() {
	p.ready()
	p.twoCalls()
}

func (p *play) twoCalls() {
	p.echo("first")
	p.echo("second")
	p.ran(2)
}

// ran checks how many times tools have run.
func (p *play) ran(n int) {
	s := p.seen()
	p.want(s.Exec == n, "tools ran %d times, not %d", s.Exec, n)
}

// sent checks how many requests of a method the server has seen.
func (p *play) sent(method string, n int) {
	s := p.seen()
	p.want(len(s.of(method)) == n, "%s came %d times, not %d", method, len(s.of(method)), n)
}

// counted checks one of the mode's counters.
func (p *play) counted(name string, n int) {
	s := p.seen()
	p.want(s.Counters[name] == n, "the server counts %s as %d, not %d", name, s.Counters[name], n)
}

// lists checks the names of the tools of the faulty server.
func (p *play) lists(names ...string) {
	var got []string
	for _, tool := range p.list("faulty") {
		got = append(got, tool.Name)
	}
	p.want(fmt.Sprintf("%q", got) == fmt.Sprintf("%q", names), "the tools are %q, not %q", got, names)
}

// startSlow calls the tool slow and returns when the server has the call.
func (p *play) startSlow(members string) pending {
	before := p.seen()
	c := p.send("faulty", "slow", `{"ms":30000}`, members)
	p.until(atOnce, "the call never came to the server", func(s *seen) bool { return len(s.of("tools/call")) > len(before.of("tools/call")) })
	return c
}

// cancel cancels a call: the answer to cancel and the end of the call come at
// once.
func (p *play) cancel(c pending) {
	at := time.Now()
	reply, err := p.child.Call(p.ctx, "cancel", `{"id":`+c.id+`}`)
	p.fail(err)
	p.want(string(reply.Result) == `{"cancelled":true}`, "cancel answered %s %v", reply.Result, reply.Error)
	o := p.await(c)
	p.want(o.err != nil && o.err.Code == -32800, "the cancelled call ended with %v", o)
	p.want(time.Since(at) < time.Second, "the cancel took %v", time.Since(at))
}

// logged checks how many records of the log hold all of the parts. A record comes
// soon after what it tells of.
func (p *play) logged(n int, parts ...string) {
	count := func() (found int) {
		for line := range strings.Lines(p.log.String()) {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				found++
			}
		}
		return found
	}
	for deadline := time.Now().Add(time.Second); count() < n && time.Now().Before(deadline); {
		p.pause(10 * time.Millisecond)
	}
	p.want(count() == n, "%d records with %q, not %d:\n%s", count(), parts, n, p.log.String())
}
