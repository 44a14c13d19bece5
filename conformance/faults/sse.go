package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// This file plays the area "SSE framing".

func sseRows() []row {
	framed := func(id, mode, must string) fault {
		return fault{id: id, mode: mode, in: bothEras, must: must, judge: func(p *play) {
			p.works()
			p.logged(0, "level=WARN")
		}}
	}
	const lost = "a stream that ends before the answer fails the call at once; it is not sent again"
	rows := inBoth([]fault{
		framed("B033", "sse-crlf", "lines end with CR LF"),
		framed("B035", "sse-cr", "lines end with a lone CR, the last one at once"),
		framed("B037", "sse-multiline-data", "data lines are joined by LF"),
		framed("B039", "sse-priming", "an event with empty data is no message, and no reason to warn"),
		framed("B041", "sse-odd-fields", "the space is optional, unknown fields are ignored, the order is free"),
		framed("B043", "sse-bom", "one leading byte order mark is skipped"),
		framed("B045", "sse-unterminated", "a whole answer in an event without a blank line is taken at once"),
		framed("B053", "sse-everywhere", "every answer may come as a stream"),
		{
			id: "B047", mode: "sse-close-no-id", in: bothEras, must: lost,
			judge: func(p *play) {
				p.ready()
				for n := range 2 {
					p.failed(p.call("echo", `{"text":"lost"}`), "transport", "unknown", "the stream ended before the answer")
					p.ran(n + 1)
					p.sent("tools/call", n+1)
				}
			},
		},
		{
			id: "B049", mode: "sse-get-drop", in: bothEras.shaped(),
			must: "a GET stream that is opened again carries the last id, and not too often",
			judge: func(p *play) {
				p.works()
				p.pause(3 * sec)
				s := p.seen()
				gets := len(s.of("GET"))
				p.want(gets <= 7, "%d GETs in 3 s", gets)
				p.want(gets <= 1 || s.Counters["gets_with_id"] == gets-1, "%d GETs, %d with the last id", gets, s.Counters["gets_with_id"])
				p.echo("third")
			},
		},
		{
			id: "B051", mode: "sse-never-close", in: bothEras,
			must: "the call ends on the answer, its connection is closed, connections do not grow",
			judge: func(p *play) {
				p.ready()
				for n := range 20 {
					p.echo(fmt.Sprint("call ", n))
				}
				p.ran(20)
				p.until(atOnce, "connections stay open", func(s *seen) bool { return s.Conns <= 1 })
			},
		},
		{
			id: "B055", mode: "sse-foreign-id-first", in: bothEras, must: "only the own answer counts, what follows it is harmless",
			judge: func(p *play) { p.works(); p.never("FOREIGN") },
		},
		{
			id: "B057", mode: "sse-two-replies", in: bothEras, must: "the first answer wins, the second does nothing",
			judge: func(p *play) { p.works(); p.never("SECOND") },
		},
	})
	return append(rows, sseSiblings()...)
}

// never checks that a text has not come to the host.
func (p *play) never(text string) {
	p.want(!strings.Contains(p.said.String(), text), "%q came to the host", text)
}

func sseSiblings() []row {
	var faults []fault
	event := "data: " + callResult + "\n\n"
	half, rest := callResult[:40], callResult[40:]
	const foreign = `{"jsonrpc":"2.0","id":424242,"result":{"content":[{"type":"text","text":"FOREIGN"}],"resultType":"complete"}}`
	for _, r := range []struct {
		id, name string
		reply    fakeserver.Reply
	}{
		{"B033", "mixed line ends", held("id: 1\revent: message\ndata: " + callResult + "\r\n\r")},
		{"B033", "CR LF in two writes", held("data: "+callResult+"\r", "\n\r", "\n")},
		{"B035", "CR, the stream stays open", held("data: "+callResult+"\r\r", ":\r")},
		{"B035", "CR at the end of the stream", stream("data: " + callResult + "\r\r")},
		{"B037", "an empty data line in between", held("data: {\"jsonrpc\":\"2.0\",\ndata\ndata:\ndata:" + callResult[len(`{"jsonrpc":"2.0",`):] + "\n\n")},
		{"B037", "bytes one by one", held(bytewise("event: message\ndata: " + callResult + "\n\n")...)},
		{"B039", "many empty events", held(strings.Repeat("id: 3\nretry: 10\ndata:\n\n\n\n\n", 500) + event)},
		{"B039", "blank data", held("data:   \n\ndata: \t\n\n" + event)},
		{"B041", "a field without a colon", held("data\nretry\nid\nevent\n\n" + event)},
		{"B041", "odd values of retry and id", held("retry: soon\nretry: -5\nretry: 99999999999999999999\nid: a\x00b\nid: \x7f\nevent: message\n" + event)},
		{"B041", "other events", held("event: ping\ndata: {\"jsonrpc\":\"2.0\",\"id\":%ID%,\"result\":{\"content\":[]}}\n\nevent: endpoint\ndata: /messages\n\n" + event)},
		{"B041", "fields in upper case are unknown", held("DATA: nonsense\nEvent: ping\n" + event)},
		{"B041", "two spaces, of which one is content", held("data:  " + callResult + "\n\n")},
		{"B041", "an event type that is empty", held("event:\n" + event)},
		{"B041", "comments before the answer", held(":\n\n: ping\n\n:" + strings.Repeat("x", 5000) + "\n\n" + event)},
		{"B041", "the event type of the event before", held("event: ping\ndata: {}\n\n" + event)},
		{"B043", "a mark, and a comment behind it", held("\xEF\xBB\xBF: hello\n\n" + event)},
		{"B043", "a mark in two writes", held("\xEF", "\xBB\xBF"+event)},
		{"B043", "a mark before a later line makes it unknown", held(": hi\n\n\xEF\xBB\xBFdata: nonsense\n" + event)},
		{"B045", "not even a line end", stream("data: " + callResult)},
		{"B045", "the end in the second data line", stream("data: " + `{"jsonrpc":"2.0",` + "\ndata: " + callResult[len(`{"jsonrpc":"2.0",`):])},
		{"B053", "a body that says it is JSON in the event", held("content-type: application/json\n" + event)},
		{"B055", "foreign answers of every kind", held("data: " + foreign + "\n\ndata: " + strings.Replace(foreign, "424242", `"x"`, 1) + "\n\ndata: " + strings.Replace(foreign, "424242", "-1", 1) + "\n\n" + event)},
		{"B055", "requests and notifications before the answer", held(`data: {"jsonrpc":"2.0","method":"notifications/unknown"}` + "\n\n" + `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"none","progress":1}}` + "\n\n" + event)},
		{"B057", "the second one is an error", stream(event + `data: {"jsonrpc":"2.0","id":%ID%,"error":{"code":1,"message":"SECOND"}}` + "\n\n")},
		{"B057", "broken JSON after it", held(event + "data: {oops\n\n")},
		{"B051", "endless comments after it", held(slices.Insert(bytewise(strings.Repeat(":\n", 2000)), 0, event)...)},
	} {
		faults = append(faults, fault{id: r.id, name: r.name, in: bothEras, must: "the answer is taken at once, and the next call works",
			server: scripted(onCall(1, r.reply)),
			judge: func(p *play) {
				p.ready()
				p.gives("echo", `{"text":"x"}`, "the answer")
				p.echo("second")
				p.sent("tools/call", 2)
				p.never("FOREIGN")
				p.never("SECOND")
				p.logged(0, "level=WARN")
			}})
	}
	for _, r := range []struct {
		id, name, delivered, part string
		reply                     fakeserver.Reply
	}{
		{"B045", "half an answer", "unknown", "the stream ended", stream("data: " + half)},
		{"B045", "half an answer and a blank line", "unknown", "not valid JSON", stream("data: " + half + "\n\n")},
		{"B045", "the answer in two events", "unknown", "not valid JSON", stream("data: " + half + "\n\ndata: " + rest + "\n\n")},
		{"B045", "a notification without a blank line", "unknown", "the stream ended", stream(`data: {"jsonrpc":"2.0","method":"notifications/message"}`)},
		{"B047", "nothing", "unknown", "the stream ended", fakeserver.Reply{Header: map[string]string{"Content-Type": "text/event-stream"}}},
		{"B047", "an event of another type", "unknown", "the stream ended", stream("event: result\ndata: " + callResult + "\n\n")},
		{"B047", "a foreign answer", "unknown", "the stream ended", stream("data: " + foreign + "\n\n")},
		{"B047", "a reset", "unknown", "broke off", fakeserver.Reply{Chunks: []fakeserver.Chunk{{Text: ": hi\n\n"}}, Drop: true}},
		{"B043", "two marks", "unknown", "the stream ended", stream("\xEF\xBB\xBF\xEF\xBB\xBF" + event)},
		{"B041", "a space before the field", "unknown", "the stream ended", stream(" data: " + callResult + "\n\n")},
		{"B041", "no JSON", "unknown", "not valid JSON", held("data: hello\n\n" + event)},
		{"B041", "an event over the limit", "unknown", "sse_event", held("data: "+strings.Repeat("x", 1<<20)+"\n", strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 20))},
	} {
		faults = append(faults, fault{id: r.id, name: r.name, in: bothEras, must: lostAtOnce,
			server: scripted(onCall(1, r.reply)),
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{"text":"x"}`), "transport", r.delivered, r.part)
				p.sent("tools/call", 1)
				p.echo("second")
				p.never("FOREIGN")
			}})
	}
	return sorted(rowsBehind(dynamic, faults))
}

const lostAtOnce = "the call fails at once, is not sent again, and the next one works"
