package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

// This file plays the area "Calls, cancel, timeouts, progress".

func callRows() []row {
	rows := inBoth([]fault{
		{
			id: "B139", mode: "cancel-late-reply", in: bothEras, must: "an answer to a cancelled call is ignored; the next call works on the same session",
			judge: func(p *play) {
				p.ready()
				p.cancel(p.startSlow(""))
				if p.era == legacy {
					p.until(atOnce, "the cancel never came", func(s *seen) bool { return s.Counters["cancelled"] == 1 })
				}
				p.echo("at once")
				p.pause(500 * msec) // the late answer comes now
				p.echo("after it")
				s := p.seen()
				p.want(len(s.of("initialize")) <= 1, "%d handshakes", len(s.of("initialize")))
				p.ran(3)
			},
		},
		{
			id: "B141", mode: "cancel-post-hang", in: legacyOnly.shaped().times(2), must: "the caller does not wait for the receipt of the cancel, which is sent once",
			judge: func(p *play) {
				p.ready()
				p.cancel(p.startSlow(""))
				p.echo("at once")
				p.until(atOnce, "the cancel never came", func(s *seen) bool { return s.Counters["cancelled"] == 1 })
				p.cancel(p.startSlow(""))
				p.until(atOnce, "the second cancel never came", func(s *seen) bool { return s.Counters["cancelled"] == 2 })
				p.pause(sec)
				p.counted("cancelled", 2)
				p.echo("second")
			},
		},
		{
			id: "B143", mode: "cancel-from-server", in: legacyOnly, must: "the call ends with the server's reason, and the server is not told what it said itself",
			judge: func(p *play) {
				p.ready()
				for range 2 {
					p.failed(p.call("echo", `{}`), "transport", "yes", "cancelled", "server gave up")
				}
				p.sent("notifications/cancelled", 0)
			},
		},
		{
			id: "B143", mode: "cancel-from-server", name: "which has no such message", in: modernOnly.limit("call_time=1s"), must: "the call runs to its deadline",
			judge: func(p *play) {
				p.ready()
				p.overdue(p.call("echo", `{}`))
			},
		},
		{
			id: "B145", mode: "call-hang", in: bothEras.shaped().limit("call_time=1s"),
			must:  "an error at the deadline, the connection is closed, the server is told, other calls are fine",
			judge: hanging,
		},
		{
			id: "B147", mode: "call-trickle", in: bothEras.limit("call_time=1s"),
			must:  "an error at the deadline, whatever trickles in",
			judge: hanging,
		},
		{
			id: "B149", mode: "call-parallel", in: bothEras.shaped(), must: "a slow call holds up no other",
			judge: func(p *play) {
				p.ready()
				slow := p.send("faulty", "slow", `{"ms":3000}`, "")
				var calls []pending
				for n := range 20 {
					calls = append(calls, p.send("faulty", "echo", fmt.Sprintf(`{"text":"beside %d"}`, n), ""))
				}
				for n, c := range calls {
					o := p.await(c)
					p.want(o.err == nil && o.text == fmt.Sprint("beside ", n) && o.took < time.Second, "call %d: %v", n, o)
				}
				o := p.await(slow)
				p.want(o.err == nil && o.text == "slow done" && o.took < 4*sec, "the slow call: %v", o)
				p.ran(21)
			},
		},
		{
			id: "B151", mode: "call-many-conns", in: bothEras, must: "500 calls, 8 at a time, use about as many connections; all are closed at the end",
			judge: func(p *play) {
				p.ready()
				free := make(chan struct{}, 8)
				done := make(chan outcome, 500)
				for n := range 500 {
					free <- struct{}{}
					c := p.send("faulty", "echo", fmt.Sprintf(`{"text":"call %d"}`, n), "")
					go func() {
						reply, err := p.child.Await(p.ctx, c.reply)
						<-free
						o := outcome{err: reply.Error}
						if err != nil || !strings.Contains(string(reply.Result), fmt.Sprintf(`"call %d"`, n)) {
							o.text = "wrong"
						}
						done <- o
					}()
				}
				bad := 0
				for range 500 {
					if o := <-done; o.err != nil || o.text != "" {
						bad++
					}
				}
				s := p.seen()
				p.want(bad == 0 && s.Exec == 500, "%d of 500 calls failed, %d ran", bad, s.Exec)
				p.want(s.MaxConns <= 24, "%d connections for 8 calls at a time", s.MaxConns)
				use, err := child.UsageOf(p.child.PID())
				p.fail(err)
				p.want(use.Files < 60, "%d descriptors are open", use.Files)
			},
		},
		{
			id: "B153", mode: "call-wrong-session-reply", in: legacyOnly, must: "a stream that is resumed gives the own answer only",
			judge: func(p *play) {
				p.works()
				p.never("FOREIGN")
				p.want(len(p.seen().of("GET")) >= 2, "the stream was not resumed")
			},
		},
		{
			id: "B153", mode: "call-wrong-session-reply", name: "which cannot be resumed", in: modernOnly, must: "a transport error at once; the call is not sent again",
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{"text":"x"}`), "transport", "unknown", "the stream ended before the answer")
				p.ran(1)
				p.sent("tools/call", 1)
				p.never("FOREIGN")
			},
		},
	})
	return append(rows, callSiblings()...)
}

// overdue checks that a call ended at its deadline of one second.
func (p *play) overdue(o outcome) {
	if o.err == nil {
		p.want(false, "a call that must time out: %v", o)
		return
	}
	p.want(o.err.Data.Kind == "transport" && o.err.Data.Delivered == "unknown" && o.err.Data.Limit == p.pack.callLimit, "%v", o)
	p.want(strings.Contains(o.err.Message, "deadline") && strings.Contains(o.err.Message, p.pack.callLimit), "%v", o)
	p.want(900*msec < o.took && o.took < 2*sec, "the deadline of 1 s ended it after %v", o.took)
}

// hanging checks a tool that never ends beside one that works.
func hanging(p *play) {
	p.ready()
	p.echo("before")
	slow := p.startSlow("")
	p.echo("beside")
	p.overdue(p.await(slow))
	if p.era == legacy && p.until(atOnce, "the server was not told", func(s *seen) bool { return len(s.of("notifications/cancelled")) == 1 }) {
		s := p.seen()
		var id string
		for _, r := range s.of("tools/call") {
			if strings.Contains(r.Body, `"slow"`) {
				id = r.ID
			}
		}
		cancel := s.of("notifications/cancelled")[0].Body
		p.want(strings.Contains(cancel, `"requestId":`+id), "the cancel of request %s is %s", id, cancel)
	}
	p.until(atOnce, "its connection stays open", func(s *seen) bool { return s.Conns <= 2 })
	p.echo("after")
	p.ran(4)
}
