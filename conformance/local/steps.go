package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A step is one column of the table.
type step struct {
	name    string
	without func(*server) bool // the server has nothing for it; nil for never
	try     func(*trial, context.Context) error
}

// steps are performed in this order, those up to close in one child.
var steps = []step{
	{"list", nil, (*trial).list},
	{"call", nil, (*trial).call},
	{"prompt", func(s *server) bool { return s.prompt == nil }, (*trial).prompts},
	{"resource", func(s *server) bool { return s.offers == nil }, (*trial).resources},
	{"elicit", func(s *server) bool { return s.questions == nil }, (*trial).elicit},
	{"approve", nil, (*trial).approve},
	{"cancel", nil, (*trial).cancel},
	{"crash", nil, (*trial).crash},
	{"close", nil, (*trial).close},
	{"kill", nil, (*trial).kill},
	{"share", nil, (*trial).share},
}

// list: ready waits for the server; the tools are those of the server, under names
// that begin with its own; and what came to the server is of the era.
func (t *trial) list(ctx context.Context) error {
	tools, s, err := t.host.ready(ctx, "mcp")
	if err != nil {
		return err
	}
	if s.Status != "connected" || s.ToolCount != len(t.tools) {
		return fmt.Errorf("the server is %q with %d tools: %s", s.Status, s.ToolCount, s.Error)
	}
	errs := []error{t.lists(tools), t.speaks()}
	for _, tool := range tools {
		if tool.Kind == "tool" && (tool.Server != t.title || tool.Description == "" || !tool.Untrusted) {
			errs = append(errs, fmt.Errorf("%s: %+v", tool.Name, tool))
		}
		if tool.ServerTool == t.asked.name && !tool.NeedsApproval || tool.ServerTool == t.calls[0].name && tool.NeedsApproval {
			errs = append(errs, fmt.Errorf("needsApproval of %s is %v, by the rule %s", tool.Name, tool.NeedsApproval, t.rule))
		}
	}
	return errors.Join(errs...)
}

// lists checks the names of the tools.
func (t *trial) lists(tools []tool) error {
	var got, want []string
	for _, tool := range tools {
		if tool.Kind == "tool" {
			got = append(got, tool.Name)
		}
	}
	for _, name := range t.tools {
		want = append(want, t.named("mcp", name))
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the tools are %q,\nnot %q", got, want)
	}
	return nil
}

// speaks checks the revision in which the server was asked for its tools.
func (t *trial) speaks() error {
	list, err := readStdin(t.stdin)
	if err != nil {
		return err
	}
	handshakes, lists := sent(list, "initialize", ""), sent(list, "tools/list", "")
	if len(lists) == 0 {
		return errors.New("the server was not asked for its tools")
	}
	version := lists[0].Params.Meta.Version
	switch t.era {
	case legacy:
		if len(handshakes) != 1 || handshakes[0].Params.ProtocolVersion != "2025-11-25" || version != "" {
			return fmt.Errorf("%d handshakes, and _meta of 2026-07-28 is %q", len(handshakes), version)
		}
	case modern:
		if len(handshakes) != 0 || version != "2026-07-28" {
			return fmt.Errorf("%d handshakes, and the revision is %q", len(handshakes), version)
		}
	}
	return nil
}

// call: each answer is as the server gives it, to the letter.
func (t *trial) call(ctx context.Context) error {
	var errs []error
	for _, c := range t.calls {
		got, err := t.invoke(ctx, c)
		errs = append(errs, err, t.is(got, c))
	}
	return errors.Join(errs...)
}

func (t *trial) prompts(ctx context.Context) error {
	got, err := t.host.invoke(ctx, "mcp/prompt/"+t.title+"_"+t.prompt.name, t.prompt.arguments)
	if err != nil {
		return err
	}
	missing, err := t.host.invoke(ctx, "mcp/prompt/"+t.title+"_"+t.prompt.name, `{}`)
	return errors.Join(err, t.same(got, *t.prompt), failed(missing, "message", "", "needs the argument"))
}

// same is is, but for the order of members, which differs between SDKs.
func (t *trial) same(got answer, want call) error {
	got.Structured, want.structured = canonical(got.Structured), string(canonical([]byte(want.structured)))
	return t.is(got, want)
}

// canonical returns JSON with the members of objects in one order.
func canonical(text []byte) []byte {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return text
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was JSON
	}
	return text
}

// resources: the list holds the resource, and it can be read.
func (t *trial) resources(ctx context.Context) error {
	listed, err := t.host.invoke(ctx, "mcp/resource/list", fmt.Sprintf(`{"server":%q}`, t.title))
	if err != nil {
		return err
	}
	var page struct{ Resources []struct{ URI string } }
	if listed.err != nil || json.Unmarshal(listed.Structured, &page) != nil ||
		!slices.ContainsFunc(page.Resources, func(r struct{ URI string }) bool { return r.URI == t.offers.uri }) {
		return fmt.Errorf("the list of resources lacks %s: %v", t.offers.uri, listed)
	}
	read, err := t.host.invoke(ctx, "mcp/resource/read", fmt.Sprintf(`{"server":%q,"uri":%q}`, t.title, t.offers.uri))
	if err != nil {
		return err
	}
	var blocks []struct {
		Type     string
		Resource struct{ URI, Text string }
	}
	if read.err != nil || json.Unmarshal(read.Blocks, &blocks) != nil || len(blocks) != 1 || blocks[0].Type != "resource" ||
		blocks[0].Resource.URI != t.offers.uri || blocks[0].Resource.Text != t.offers.text || read.Content != t.offers.text {
		return fmt.Errorf("%s is read as %v, not as %q", t.offers.uri, read, t.offers.text)
	}
	return nil
}

// elicit: each question of the server comes to the host, and its answer to the server.
func (t *trial) elicit(ctx context.Context) error {
	var errs []error
	for _, q := range t.questions {
		left := q.answers
		t.host.answering(func(method string, _ ask) string {
			if method != "elicit" || len(left) == 0 {
				return ""
			}
			next := left[0]
			left = left[1:]
			return next
		})
		got, err := t.invoke(ctx, q.call)
		if err := errors.Join(err, t.is(got, q.call), q.check(t.title, t.host.questions())); err != nil {
			errs = append(errs, fmt.Errorf("answered with %s: %w", strings.Join(q.answers, ", then "), err))
		}
	}
	return errors.Join(errs...)
}

// check checks what the host was asked.
func (q question) check(server string, asked []ask) error {
	if len(asked) != len(q.answers) {
		return fmt.Errorf("the host was asked %d times, not %d: %+v", len(asked), len(q.answers), asked)
	}
	for i, a := range asked {
		if a.Mode != q.mode || a.Message != q.message || a.URL != q.url || a.Server != server || (a.Schema != nil) != (q.mode == "form") {
			return fmt.Errorf("the question is %+v", a)
		}
		if problem := i > 0; problem != (a.Problem != "") || problem && !strings.Contains(a.Problem, q.problem) {
			return fmt.Errorf("asked for the time %d, the problem is %q", i+1, a.Problem)
		}
	}
	return nil
}

// approve: what the host refuses never comes to the server, what it approves runs.
func (t *trial) approve(ctx context.Context) error {
	name := t.named("mcp", t.asked.name)
	yes := func(result string) func(string, ask) string {
		return func(method string, _ ask) string {
			if method != "approve" {
				return ""
			}
			return result
		}
	}
	list, err := readStdin(t.stdin)
	if err != nil {
		return err
	}
	before := len(sent(list, "tools/call", t.asked.name))

	t.host.answering(yes(`{"approved":false,"reason":"not today"}`))
	refused, err := t.invoke(ctx, t.asked)
	if err != nil {
		return err
	}
	questions := t.host.questions()
	if list, err = readStdin(t.stdin); err != nil {
		return err
	}
	errs := []error{failed(refused, "refused", "no", "not today")}
	if after := len(sent(list, "tools/call", t.asked.name)); after != before || t.ran != nil && t.ran() {
		errs = append(errs, errors.New("a call that was refused came to the server"))
	}
	if len(questions) != 1 || questions[0].Tool.Name != name || string(questions[0].Arguments) != t.asked.arguments ||
		!strings.HasPrefix(questions[0].DefinitionHash, "sha256:") {
		errs = append(errs, fmt.Errorf("the host was asked %+v", questions))
	}

	t.host.answering(yes(`{"approved":true}`))
	approved, err := t.invoke(ctx, t.asked)
	errs = append(errs, err, t.is(approved, t.asked))
	if len(t.host.questions()) != 1 {
		errs = append(errs, fmt.Errorf("the host was asked %d times", len(t.host.questions())))
	}
	if t.ran != nil && !t.ran() {
		errs = append(errs, errors.New("a call that was approved has had no effect"))
	}
	return errors.Join(errs...)
}

// cancel: the host has its answer at once, the server is told by the id of the
// request, and goes on with the next call.
func (t *trial) cancel(ctx context.Context) error {
	defer t.finish()
	p, request, err := t.startSlow(ctx, t.host)
	if err != nil {
		return err
	}
	at := time.Now()
	reply, err := t.host.child.Call(ctx, "cancel", `{"id":`+p.id+`,"reason":"enough"}`)
	if err != nil || string(reply.Result) != `{"cancelled":true}` {
		return fmt.Errorf("cancel gave %s %v %w", reply.Result, reply.Error, err)
	}
	got, err := t.host.wait(ctx, p)
	if err != nil {
		return err
	}
	errs := []error{failed(got, "cancelled", "unknown")}
	if took := time.Since(at); took > time.Second {
		errs = append(errs, fmt.Errorf("the cancel took %v", took))
	}
	told, err := t.await(ctx, "notifications/cancelled", `"requestId":`+string(request.ID))
	if err == nil && len(told) != 1 {
		err = fmt.Errorf("the server was told %d times", len(told))
	}
	t.finish()
	again, callErr := t.invoke(ctx, t.calls[0])
	return errors.Join(append(errs, err, callErr, t.is(again, t.calls[0]))...)
}
