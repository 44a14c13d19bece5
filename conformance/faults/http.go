package main

import "strings"

// This file plays the area "HTTP replies, headers and connections".

func httpRows() []row {
	// Any receipt of a notification will do: the handshake, and the cancel after it.
	receipt := func(p *play) {
		p.ready()
		p.sent("notifications/initialized", 1)
		p.echo("first")
		p.cancel(p.startSlow(""))
		p.until(atOnce, "the cancel never came", func(s *seen) bool { return len(s.of("notifications/cancelled")) == 1 })
		p.echo("second")
		p.ran(3)
		p.sent("initialize", 1)
	}
	quietGet := func(p *play) {
		p.works()
		p.pause(2500 * msec)
		gets := len(p.seen().of("GET"))
		p.want(gets <= 3, "%d GETs in 2.5 s", gets)
		p.echo("third")
	}
	// redirected checks a start that a redirect ends.
	redirected := func(parts ...string) func(*play) {
		return func(p *play) {
			p.fails(parts...)
			p.counted("followed", 0)
			p.sent("GET", 0)
		}
	}
	rows := inBoth([]fault{
		{id: "B001", mode: "http-notif-202-empty", in: legacyOnly.shaped(), must: "an empty 202 is the receipt of a notification", judge: receipt},
		{id: "B003", mode: "http-notif-204", in: legacyOnly.shaped(), must: "a 204 is the receipt of a notification", judge: receipt},
		{id: "B005", mode: "http-notif-202-text", in: legacyOnly.shaped(), must: "the media type of a receipt is not looked at", judge: receipt},
		{id: "B007", mode: "http-ct-json-params", in: bothEras, must: "media types are compared without case and parameters", judge: (*play).works},
		{id: "B009", mode: "http-ct-missing", in: bothEras, must: "a body without a type is taken when it is one JSON object", judge: (*play).works},
		{
			id: "B011", mode: "http-429-retry-after", in: bothEras.shaped().times(2),
			must: "the call fails at once with the status and the wait, it is never sent before its time, and works after it",
			judge: func(p *play) {
				p.ready()
				o := p.call("echo", `{"text":"limited"}`)
				p.failed(o, "transport", "unknown", "429", "try again in ")
				p.want(o.err == nil || strings.Contains(o.err.Message, "in 2s") || strings.Contains(o.err.Message, "in 1s"), "the wait is wrong: %v", o)
				p.sent("tools/call", 1)
				p.pause(2100 * msec)
				p.echo("later")
				p.sent("tools/call", 2)
				p.counted("too_early", 0)
				p.ran(1)
			},
		},
		{
			id: "B013", mode: "http-idle-close", in: bothEras,
			must: "calls after a quiet time work on fresh connections, each runs once",
			judge: func(p *play) {
				// The first start may be the one that finds out.
				p.readyWithin(4 * sec)
				for _, text := range []string{"first", "second", "third", "fourth"} {
					p.pause(400 * msec)
					p.echo(text)
				}
				p.ran(4)
			},
		},
		{
			id: "B013", mode: "http-idle-close", name: "without a pause", in: bothEras,
			must: "a call that meets a dropped connection fails as unknown or works, and none runs twice; once that is known, all work",
			judge: func(p *play) {
				p.readyWithin(4 * sec)
				ok := 0
				for _, text := range strings.Fields("a b c d e f g h") {
					o := p.call("echo", `{"text":"`+text+`"}`)
					if o.err == nil {
						ok++
						continue
					}
					p.want(o.err.Data.Delivered == "unknown" || o.err.Data.Delivered == "no", "%v", o)
				}
				p.want(ok >= 7, "only %d of 8 calls worked", ok)
				p.want(p.seen().Exec >= ok, "%d answers of %d runs", ok, p.seen().Exec)
			},
		},
		{
			id: "B015", mode: "http-gzip-json", in: bothEras,
			must: "identity was asked for, so the start fails at once with an error that says so",
			judge: func(p *play) {
				p.fails("compressed", "gzip", "gzip=1")
				for _, r := range p.seen().Requests {
					p.want(r.Verb != "POST" || r.Headers.Get("Accept-Encoding") == "identity", "Accept-Encoding is %q", r.Headers.Get("Accept-Encoding"))
				}
			},
		},
		{id: "B015", mode: "http-gzip-json", name: "gzip=1", in: bothEras.limit("gzip=1"), must: "with the limit gzip=1 it is decoded", judge: (*play).works},
		{
			id: "B017", mode: "http-gzip-bad-length", name: "gzip=1", in: bothEras.limit("gzip=1"),
			must: "an error says that the reply was cut, at once", judge: func(p *play) { p.fails("the answer broke off", "closed before the end") },
		},
		{
			id: "B017", mode: "http-gzip-bad-length", in: bothEras,
			must: "an error at once, whether it is read or not", judge: func(p *play) { p.fails("compressed") },
		},
		{id: "B019", mode: "http-307-slash", in: bothEras, must: "the error names the status and the target path; nothing is sent there", judge: redirected("307", "/mcp/", "put it into the url")},
		{id: "B021", mode: "http-301-post-to-get", in: bothEras, must: "no GET follows; the error names the 301", judge: redirected("301", "/mcp/moved")},
		{id: "B023", mode: "http-get-400", in: bothEras.shaped(), must: "POST is enough; at most a few GETs", judge: quietGet},
		{id: "B025", mode: "http-get-200-json", in: bothEras.shaped(), must: "POST is enough; no loop of GETs", judge: quietGet},
		{
			id: "B027", mode: "http-delete-404", in: legacyOnly.shaped(),
			must: "the close succeeds without a word and opens no new session",
			judge: func(p *play) {
				p.works()
				p.closes()
				p.counted("deletes", 1)
				p.sent("initialize", 1)
				p.logged(0, "level=WARN")
			},
		},
		{
			id: "B029", mode: "http-strict-accept", in: bothEras.shaped(),
			must: "both types are accepted on every POST: requests, notifications, cancels",
			judge: func(p *play) {
				p.ready()
				p.echo("first")
				p.cancel(p.startSlow(""))
				if p.era == legacy {
					p.until(atOnce, "the cancel never came", func(s *seen) bool { return len(s.of("notifications/cancelled")) == 1 })
				}
				p.echo("second")
				p.counted("refused", 0)
			},
		},
		{
			id: "B029", mode: "http-strict-accept", name: "configured", in: bothEras.member(`"type":"http","headers":{"aCCept":"application/json"}`),
			must: "a configured Accept does not replace it: the entry is refused",
			judge: func(p *play) {
				s := p.status("faulty")
				p.want(s.Status == "error" && strings.Contains(s.Error, "aCCept"), "the server is %q: %s", s.Status, s.Error)
				p.want(len(p.seen().Requests) == 0, "%d requests were sent", len(p.seen().Requests))
			},
		},
		{id: "B031", mode: "http-early-hints", in: bothEras, must: "replies 1xx are passed over", judge: (*play).works},
	})
	return append(rows, httpSiblings()...)
}
