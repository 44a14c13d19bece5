package rpc

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
)

// A questionRow says how one kind of question travels.
type questionRow struct {
	kind   pack.QuestionKind
	method *method
	mode   string // the member of the method's capability that declares it; "" for the capability itself
	params func(*object, *session, *pack.Question) error
	answer func(params) *pack.Answer
}

var questionRows = []*questionRow{
	{pack.AskApproval, methodApprove, "", approveParams, approveAnswer},
	{pack.AskForm, methodElicit, "form", formParams, elicitAnswer},
	{pack.AskURL, methodElicit, "url", pageParams, elicitAnswer},
	{pack.AskOpen, methodOpen, "", openParams, openAnswer},
}

func questionOf(kind pack.QuestionKind) *questionRow {
	for _, row := range questionRows {
		if row.kind == kind {
			return row
		}
	}
	return nil
}

// declared reports whether the host's capabilities hold the kind.
func (row *questionRow) declared(capabilities params) bool {
	if row.mode == "" {
		return capabilities.flag(row.method.capability)
	}
	return capabilities.inner(row.method.capability).flag(row.mode)
}

// message returns the request that asks q.
func (row *questionRow) message(n *session, id int64, q *pack.Question) (*message, error) {
	m := newCall(strconv.AppendInt(nil, id, 10), row.method.name)
	o := object{m: m}
	o.text("id", n.id)
	o.optRaw("invoke", q.Invoke)
	if err := row.params(&o, n, q); err != nil {
		return nil, err
	}
	o.end()
	return m.end(), nil
}

func approveParams(o *object, n *session, q *pack.Question) error {
	if q.Tool == nil {
		return fmt.Errorf("a question for approval of no tool")
	}
	appendTool(o.name("tool"), n.id, q.Tool)
	o.text("definitionHash", q.DefinitionHash)
	o.raw("arguments", q.Arguments)
	o.opt("run", q.Run)
	o.optList("changed", q.Changed)
	return nil
}

func approveAnswer(p params) *pack.Answer {
	if p.must("approved") {
		return &pack.Answer{Action: pack.Accept}
	}
	return &pack.Answer{Action: pack.Decline, Reason: p.optText("reason")}
}

func formParams(o *object, n *session, q *pack.Question) error {
	elicitParams(o, n, q, "form")
	o.raw("schema", q.Schema)
	o.opt("problem", n.server.scrub.Text(q.Problem))
	return nil
}

func pageParams(o *object, n *session, q *pack.Question) error {
	u, err := url.Parse(q.URL)
	if err != nil {
		return fmt.Errorf("a question about a page that is no URL")
	}
	elicitParams(o, n, q, "url")
	o.text("url", q.URL)
	o.text("host", u.Host)
	o.optList("warnings", q.Warnings)
	return nil
}

func elicitParams(o *object, n *session, q *pack.Question, mode string) {
	o.text("server", q.Server)
	o.opt("run", q.Run)
	o.text("mode", mode)
	o.text("message", n.server.scrub.Text(q.Message))
}

func elicitAnswer(p params) *pack.Answer {
	action := pack.Action(p.text("action"))
	content := p.dict("content")
	switch action {
	case pack.Accept:
		return &pack.Answer{Action: action, Content: content}
	case pack.Decline, pack.Cancel:
	default:
		p.fail(invalid(p.path+".action", "want accept, decline or cancel"))
	}
	return &pack.Answer{Action: action}
}

func openParams(o *object, n *session, q *pack.Question) error {
	u, err := url.Parse(q.URL)
	if err != nil {
		return fmt.Errorf("a question to open what is no URL")
	}
	o.text("server", q.Server)
	o.text("url", q.URL)
	o.text("host", u.Host)
	o.text("purpose", q.Purpose)
	return nil
}

func openAnswer(p params) *pack.Answer {
	answer := &pack.Answer{Action: pack.Decline, Callback: redact.NewSecret(p.optText("callback"))}
	if p.must("opened") {
		answer.Action = pack.Accept
	}
	return answer
}

// must returns a boolean that must be there.
func (p params) must(name string) bool {
	value, _ := p.member(name, rawjson.Bool, true)
	return string(value) == "true"
}
