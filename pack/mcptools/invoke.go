package mcptools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
)

// Invoke runs a tool of a server, or one of the pack's own entries.
func (p *mcptools) Invoke(ctx context.Context, call *pack.Call) (*pack.Result, error) {
	result, err := p.invoke(ctx, call)
	if err != nil {
		return nil, bridge.Outward(p.host.Scrub, err)
	}
	return result, nil
}

func (p *mcptools) invoke(ctx context.Context, call *pack.Call) (*pack.Result, error) {
	if own, ok := p.ownEntry(call.Tool); ok {
		return own(ctx, call)
	}
	t, err := p.find(call.Tool)
	if err != nil {
		return nil, err
	}
	if t.prompt != nil {
		return t.server.request(ctx, call, func(ctx context.Context, l *link, opts *mcpclient.CallOptions) (*pack.Result, error) {
			return t.server.getPrompt(ctx, l, t.prompt, call, opts)
		})
	}
	return p.callTool(ctx, call, t)
}

// find returns what a name stands for.
func (p *mcptools) find(name string) (target, error) {
	c := p.catalog.Load()
	if t, ok := c.byName[name]; ok {
		return t, nil
	}
	names, alike := bridge.Nearest(name, c.names)
	hint := "known: " + bridge.QuoteAll(p.host.Scrub, names)
	switch {
	case len(names) == 0:
		hint = "no server is connected that gives a tool; /mcp shows the servers"
	case alike > 0:
		hint = "did you mean " + bridge.QuoteAll(p.host.Scrub, names[:min(alike, 3)]) + "?"
	}
	return target{}, bridge.Message("unknown tool %s; %s", p.quote(p.id+"/"+name), hint)
}

// callTool calls a server's tool, once the host has approved that where it must. The
// definition that was approved is the one that is called: one that has changed
// meanwhile is asked about again (T36).
func (p *mcptools) callTool(ctx context.Context, call *pack.Call, t target) (*pack.Result, error) {
	s := t.server
	ctx, clock, stop := s.deadline(ctx, call)
	defer stop()
	var changed []string
	for askings := 0; s.approval.needed(t.tool); askings++ {
		if s.now().link == nil {
			break // no need to ask for what cannot be done
		}
		if askings == maxAskings {
			return nil, &pack.Error{Kind: pack.KindRefused, Server: s.name, Delivered: pack.DeliveredNo,
				Message: fmt.Sprintf("the definition of tool %s changed each time that it was asked about", s.quoteTool(t.tool))}
		}
		hash := definitionHash(s.identity, t.tool)
		if err := s.approve(ctx, clock, call, t, hash, changed); err != nil {
			return nil, err
		}
		now, err := p.find(call.Tool)
		if err != nil {
			return nil, err
		}
		if now.server == s && definitionHash(s.identity, now.tool) == hash {
			break
		}
		changed = changedMembers(t.tool, now.tool)
		t, s = now, now.server
	}
	return s.requestUnder(ctx, clock, call, func(ctx context.Context, l *link, opts *mcpclient.CallOptions) (*pack.Result, error) {
		result, err := l.session.CallTool(ctx, t.tool.Name, call.Arguments, opts)
		if err != nil {
			return nil, err
		}
		return s.toolResult(result)
	})
}

// deadline is the time that a call may take: the entry's, which the call's own can
// only shorten (L33).
func (s *server) deadline(ctx context.Context, call *pack.Call) (context.Context, *clock, func()) {
	if 0 < call.Timeout && call.Timeout < s.timeout {
		return withClock(ctx, call.Timeout, timeOver{})
	}
	over := &limit.Error{Name: limit.ServerTime, Value: s.timeout.String(), Where: "the call"}
	return withClock(ctx, s.timeout, timeOver{over})
}

// A send makes one request on a link. An error that is a *pack.Error is final; any
// other is the session's.
type send func(ctx context.Context, l *link, opts *mcpclient.CallOptions) (*pack.Result, error)

// request makes a request of the server, within the entry's time.
func (s *server) request(ctx context.Context, call *pack.Call, do send) (*pack.Result, error) {
	ctx, clock, stop := s.deadline(ctx, call)
	defer stop()
	return s.requestUnder(ctx, clock, call, do)
}

func (s *server) requestUnder(ctx context.Context, clock *clock, call *pack.Call, do send) (*pack.Result, error) {
	began := time.Now()
	result, err := s.attempt(ctx, clock, call, do)
	s.say.Audit(call.Tool, began, err)
	return result, err
}

func (s *server) attempt(ctx context.Context, clock *clock, call *pack.Call, do send) (*pack.Result, error) {
	if err := s.calls.Enter(ctx); err != nil {
		return nil, s.say.NotSent(ctx, err)
	}
	defer s.calls.Leave()
	st := s.now()
	if st.link == nil || !st.link.enter() {
		return nil, s.notConnected(s.now())
	}
	defer st.link.leave()
	r := &running{server: s, call: call, ctx: ctx, clock: clock}
	s.conn.begin(r)
	defer s.conn.finish(r)
	opts := s.say.CallOptions(call)
	if opts == nil {
		opts = &mcpclient.CallOptions{}
	}
	if s.pack.host.Ask != nil {
		opts.Elicit = r.question
	}
	result, err := do(forUser(ctx, r), st.link, opts)
	if err == nil {
		return result, nil
	}
	if e, ok := errors.AsType[*pack.Error](err); ok {
		return nil, e
	}
	st.link.met(err)
	return nil, s.say.Failed(ctx, err)
}

// notConnected is the answer to what needs a server that is connected.
func (s *server) notConnected(st *state) error {
	name := s.say.Quoted()
	e := bridge.Message("server %s is %s; try again in a few seconds", name, st.status)
	switch {
	case s.conn == nil:
		e = bridge.Message("server %s is failed: %s; its entry in the configuration must be corrected", name, st.reason)
	case st.needsSignIn:
		e = bridge.Message("server %s waits for the user to sign in: %s", name, st.reason)
	case st.status == statusFailed:
		e = bridge.Message("server %s is failed: %s; it is tried again in the background", name, st.reason)
	}
	e.Server, e.Retryable, e.Delivered = s.name, s.conn != nil && !st.needsSignIn, pack.DeliveredNo
	return e
}

// toolResult turns what a tool answered into the contract's: its text, the typed
// blocks where some are no text, and its JSON where it gives one.
func (s *server) toolResult(answer *mcpclient.CallResult) (*pack.Result, error) {
	if answer.IsError {
		return nil, s.say.Backend(rawjson.Text(answer.ErrorText()))
	}
	result := &pack.Result{Content: answer.Text(), Untrusted: true, Structured: answer.Structured}
	if !onlyText(answer.Content) {
		result.Blocks = answer.Content
	}
	return result, nil
}

// onlyText reports whether blocks say no more than their text.
func onlyText(blocks []byte) bool {
	for _, block := range rawjson.Elements(blocks) {
		if rawjson.Text(rawjson.Members(block).Get("type")) != "text" {
			return false
		}
	}
	return true
}
