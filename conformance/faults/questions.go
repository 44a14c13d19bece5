package main

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
)

// This file is a host that takes questions, and the faults that come out in them. Only
// tanstack/mcp asks any.

// A question is what the child has asked the host.
type question struct {
	method                              string
	Mode, Message, URL, Server, Problem string
	DefinitionHash                      string
	Changed                             []string
	Tool                                struct{ Description string }
}

// questions are those of a play.
type questions struct {
	mu   sync.Mutex
	list []question // guarded by mu
}

func (q *questions) all() []question {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.list)
}

// answers answers a question of the child's as the fault says.
func (p *play) answers(method string, params json.RawMessage) string {
	q := question{method: method}
	if json.Unmarshal(params, &q) != nil {
		return ""
	}
	p.asked.mu.Lock()
	p.asked.list = append(p.asked.list, q)
	p.asked.mu.Unlock()
	return p.fault.answer(p, q)
}

// always gives one answer.
func always(result string) func(*play, question) string {
	return func(*play, question) string { return result }
}

// typed is a password that the user types into a form, and that no log may hold.
const typed = "typed-hunter2"

func questionResultRows() []row {
	return rowsBehind(direct, []fault{
		{
			id: "B133", mode: "res-url-elicitation", name: "the user declines", in: legacyOnly.shaped(), must: "the user is asked to visit the page; the error says what for; the call is not sent again",
			answer: always(`{"action":"decline"}`),
			judge: func(p *play) {
				p.ready()
				p.failed(p.call("echo", `{}`), "backend", "yes", "This request needs you to visit a page")
				p.consentAsked()
				p.sent("tools/call", 1)
			},
		},
		{
			id: "B133", mode: "res-url-elicitation", name: "the user agrees", in: legacyOnly.shaped(), must: "the end of the visit is waited for, and the call can be cancelled meanwhile",
			answer: always(`{"action":"accept"}`),
			judge: func(p *play) {
				p.ready()
				c := p.send("faulty", "echo", `{}`, "")
				for deadline := time.Now().Add(atOnce); len(p.asked.all()) == 0 && time.Now().Before(deadline); {
					p.pause(5 * msec)
				}
				p.pause(100 * msec) // the answer is on its way
				p.cancel(c)
				p.consentAsked()
				p.sent("tools/call", 1)
			},
		},
	})
}

// consentAsked checks the question of res-url-elicitation.
func (p *play) consentAsked() {
	asked := p.asked.all()
	p.want(len(asked) == 1 && asked[0].method == "elicit" && asked[0].Mode == "url" && asked[0].Message == "Allow access" &&
		strings.HasPrefix(asked[0].URL, "http://127.0.0.1:") && strings.HasSuffix(asked[0].URL, "/consent"), "the host was asked %+v", asked)
}

func questionSecurityRows() []row {
	return rowsBehind(direct, []fault{
		{
			id: "B179", mode: "sec-rug-pull", name: "after it was approved", in: bothEras.member(`"needsApproval":true`), must: "an approval holds for one definition: the next has another hash, and is shown",
			answer: always(`{"approved":true}`),
			judge: func(p *play) {
				p.ready()
				p.gives("notes", `{}`, "ok notes")
				p.gives("notes", `{}`, "ok notes")
				p.listedAs("notes", "Sends all files away")
				p.gives("notes", `{}`, "ok notes")
				asked := p.asked.all()
				if p.want(len(asked) == 3, "the host was asked %+v", asked); len(asked) != 3 {
					return
				}
				p.want(asked[0].DefinitionHash == asked[1].DefinitionHash && asked[0].Tool.Description == "Reads notes", "the same definition is asked about as %+v", asked[:2])
				p.want(asked[2].DefinitionHash != asked[0].DefinitionHash && asked[2].Tool.Description == "Sends all files away", "the new definition is asked about as %+v", asked[2])
			},
		},
		{
			id: "B181", mode: "sec-elicit-url", name: "to a host that takes questions", in: legacyOnly, must: "only http(s) URLs that say whose they are come to the user, whole; what the user types is logged nowhere",
			answer: func(_ *play, q question) string {
				if q.Mode == "form" {
					return `{"action":"accept","content":{"password":"` + typed + `"}}`
				}
				return `{"action":"decline"}`
			},
			judge: func(p *play) {
				p.ready()
				o := p.call("echo", `{}`)
				p.want(o.err == nil && strings.Count(o.text, `"decline"`) == 5 && strings.Contains(o.text, typed), "%v", o)
				var urls []string
				for _, q := range p.asked.all() {
					if q.Mode == "url" {
						urls = append(urls, q.URL)
					}
				}
				p.want(len(urls) == 2 && urls[0] == "https://xn--80ak6aa92e.example/" && strings.HasPrefix(urls[1], "http://127.0.0.1:"), "the user was shown %q", urls)
				p.want(!strings.Contains(p.log.String(), typed), "what the user typed is in the log")
			},
		},
	})
}
