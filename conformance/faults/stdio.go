package main

import (
	"fmt"
	"strings"
	"time"
)

// This file plays the area "Servers over stdio".

func stdioRows() []row {
	steady := func(p *play) {
		p.ready()
		p.echo("first")
		p.echo("second")
		p.startedOnce()
	}
	rows := rowsBehind(direct, []fault{
		{id: "B205", mode: "stdio-osc-prefix", in: overStdio, must: "what a shell writes ahead of the JSON is skipped", judge: steady},
		{
			id: "B207", mode: "stdio-stderr-flood", in: overStdio, must: "stderr is always read, and little of it is kept or logged",
			judge: func(p *play) {
				steady(p)
				p.light()
				n := strings.Count(p.log.String(), "a line of log output")
				p.want(0 < n && n <= 200*(2+int(time.Since(p.began)/time.Second)), "%d lines of it are in the log", n)
			},
		},
		{
			id: "B209", mode: "stdio-big-line", in: overStdio, must: "a line of 8 MiB is delivered",
			judge: func(p *play) {
				p.ready()
				o := p.call("echo", `{}`)
				p.want(o.err == nil && o.text == strings.Repeat("x", 8<<20), "%v", o)
				p.gives("raw_args", `{"a":1}`, `{"a":1}`)
				p.startedOnce()
			},
		},
		{
			id: "B209", mode: "stdio-big-line", name: "beyond the limit", in: overStdio.flag("-size", fmt.Sprint(17<<20)), must: "an error that names the limit; the server is started anew and works",
			judge: func(p *play) {
				p.ready()
				p.tooLong(p.call("echo", `{}`))
				p.light()
				p.restarted()
				p.gives("raw_args", `{"a":1}`, `{"a":1}`)
			},
		},
		{
			id: "B211", mode: "stdio-split", in: overStdio, must: "a message may come in pieces, cut inside a character too",
			judge: func(p *play) {
				p.ready()
				p.gives("echo", `{}`, "é ß 中文 日本語 😀 café")
				p.startedOnce()
			},
		},
		{
			id: "B213", mode: "stdio-pretty", in: overStdio.times(2).limit("server_time=4s"), must: "the start fails at its deadline with a hint at the framing; the memory does not grow",
			judge: func(p *play) {
				s := p.status("faulty")
				took := time.Since(p.began)
				p.want(s.Status == "error" && took < 5*sec, "the server is %q after %v", s.Status, took)
				p.want(strings.Contains(s.Error, "one message on each line"), "the reason lacks the hint: %s", s.Error)
				p.light()
			},
		},
		{
			id: "B215", mode: "stdio-stubborn", in: overStdio, must: "it is killed after a short grace; close returns",
			judge: func(p *play) {
				steady(p)
				at := time.Now()
				p.closes()
				took := time.Since(at)
				p.want(2*sec < took && took < 4*sec, "close took %v: the end of input and SIGTERM have their time before SIGKILL", took)
			},
		},
		{
			id: "B217", mode: "stdio-die-midcall", in: overStdio, must: "the call fails at once with the exit state and is not sent again; the server is started anew",
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{}`), "transport", "unknown", "exit status 3", "panic: out of memory")
				p.restarted()
				p.want(p.starts() == 2, "the server was started %d times", p.starts())
				p.logged(1, "panic: out of memory", "the server wrote to stderr")
			},
		},
		{
			id: "B219", mode: "stdio-slow-start", in: overStdio.limit("server_time=20s").flag("-delay", "4s"), must: "it has its time; no other server waits for it",
			judge: func(p *play) { p.slowStart() },
		},
		{
			id: "B219", mode: "stdio-slow-start", name: "behind the probe", in: overStdio.limit("server_time=12s").flag("-delay", "5s"), must: "the same start goes on when the handshake follows a probe without an answer",
			judge: func(p *play) { p.slowStart() },
		},
		{
			id: "B219", mode: "stdio-slow-start", name: "for longer than it may", in: overStdio.limit("server_time=2s").flag("-delay", "20s"), must: "the reason says how long it took and how to allow for more",
			judge: func(p *play) {
				s := p.status("faulty")
				took := time.Since(p.began)
				// It is over when its process is, which may need SIGTERM.
				p.want(s.Status == "error" && 1900*msec < took && took < 5*sec, "the server is %q after %v", s.Status, took)
				p.want(strings.Contains(s.Error, "2s") && strings.Contains(s.Error, "timeoutMs"), "the reason is %s", s.Error)
			},
		},
		{
			id: "B221", mode: "stdio-close-stdout", in: overStdio, must: "a server that has closed its stdout is over, and tried again with waits",
			judge: func(p *play) {
				p.fails("has closed its stdout")
				p.want(p.starts() <= 2, "the server was started %d times", p.starts())
			},
		},
		{
			id: "B223", mode: "stdio-no-read", in: overStdio, must: "reading and writing do not wait for each other",
			judge: func(p *play) {
				p.ready()
				arguments := `{"text":"` + strings.Repeat("t", 300_000) + `"}`
				for range 3 {
					p.gives("raw_args", arguments, arguments)
				}
				p.startedOnce()
			},
		},
		{id: "B225", mode: "stdio-early-requests", in: overStdio, must: "a ping before the answer to initialize is answered, and the start goes on", judge: steady},
		{
			id: "B227", mode: "stdio-late-reply", in: overStdio, must: "late answers, and those to nobody, are ignored; the connection stays",
			judge: func(p *play) {
				p.ready()
				c := p.send("faulty", "slow", `{"ms":30000}`, "")
				p.echo("beside")
				p.cancel(c)
				p.echo("at once")
				p.pause(400 * msec) // the late answers come now
				p.echo("after it")
				p.startedOnce()
			},
		},
		{
			id: "B229", mode: "stdio-out-of-order", in: overStdio, must: "answers are matched by id",
			judge: func(p *play) {
				p.ready()
				for range 3 {
					first, second := p.send("faulty", "echo", `{"text":"first"}`, ""), p.send("faulty", "echo", `{"text":"second"}`, "")
					a, b := p.await(first), p.await(second)
					p.want(a.text == "first" && b.text == "second", "%v and %v", a, b)
				}
				p.startedOnce()
			},
		},
	})
	return append(rows, stdioSiblings()...)
}

// slowStart checks a server that takes seconds to its first word.
func (p *play) slowStart() {
	p.statusOf("good", "ready") // not by ready, which waits for all servers at first
	good := p.invoke("good", "echo", `{"text":"beside"}`)
	p.want(good.text == "beside" && time.Since(p.began) < atOnce, "the good server: %v, %v after the start", good, time.Since(p.began))
	p.readyWithin(12 * sec)
	p.echo("first")
	p.echo("second")
	p.startedOnce()
}

// tooLong checks the end of a call whose answer was longer than a line may be.
func (p *play) tooLong(o outcome) {
	p.failed(o, "transport", "unknown", "stdio_line")
	p.want(o.err == nil || o.err.Data.Limit == "stdio_line", "data.limit: %v", o)
}
