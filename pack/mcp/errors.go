package mcp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
)

// How much is shown of what servers write, in bytes.
const (
	shownReason = 512       // of a reason, as of an error body (L06)
	shownName   = 128       // of a name of a server or tool
	shownText   = 64 * 1024 // of the text of a call that failed
)

// shownNames is how many names one message lists.
const shownNames = 20

// message returns an error that a model can read and act on.
func message(format string, args ...any) *pack.Error {
	return &pack.Error{Kind: pack.KindMessage, Message: fmt.Sprintf(format, args...)}
}

// quote shows a name in a message: quoted, on one line, scrubbed, cut. Cutting
// comes last, for half a secret is not found.
func (m *mcp) quote(name string) string {
	return strconv.Quote(redact.Cut(m.host.Scrub.Text(name), shownName))
}

// quoteAll shows the first of many names.
func (m *mcp) quoteAll(names []string) string {
	var b strings.Builder
	for i, name := range names[:min(len(names), shownNames)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(m.quote(name))
	}
	if more := len(names) - shownNames; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

func (m *mcp) unknownNamespace(name string) error {
	if len(m.servers) == 0 {
		return message("unknown namespace %s; no MCP server is configured", m.quote(name))
	}
	names := make([]string, len(m.servers))
	for i, s := range m.servers {
		names[i] = s.name
	}
	names, _ = nearest(name, names)
	return message("unknown namespace %s; known: %s", m.quote(name), m.quoteAll(names))
}

func (m *mcp) unknownTool(s *server, c *catalog, name string) error {
	names, alike := nearest(name, c.tools)
	hint := "it has none;"
	switch {
	case alike > 0:
		hint = "did you mean " + m.quoteAll(names[:min(alike, 3)]) + "?"
	case len(names) > 0:
		hint = "it has " + m.quoteAll(names) + ";"
	}
	e := message("unknown tool %s in namespace %s; %s call %s with that namespace to see its tools",
		m.quote(name), m.quote(s.name), hint, getTool)
	e.Server = s.name
	return e
}

// notReady is the answer to what needs a server that is ready.
func (m *mcp) notReady(s *server, st *state) error {
	e := message("the server of namespace %s is loading; try again in a few seconds", m.quote(s.name))
	switch {
	case s.entry == nil:
		e = message("the server of namespace %s is in error: %s; its entry in the configuration must be corrected", m.quote(s.name), st.reason)
	case st.status == statusError:
		e = message("the server of namespace %s is in error: %s; it is tried again in the background", m.quote(s.name), st.reason)
	}
	e.Server, e.Retryable = s.name, s.entry != nil
	return e
}

// notSent says why a call did not get its turn.
func (m *mcp) notSent(ctx context.Context, s *server, err error) error {
	e := m.ended(ctx, s)
	if e == nil {
		e = pack.AsError(err) // too many wait
		e.Message = "server " + m.quote(s.name) + " is overloaded: " + e.Message
		e.Kind, e.Server, e.Retryable = pack.KindUnavailable, s.name, true
	}
	e.Delivered = pack.DeliveredNo
	return e
}

// failed says why a call of the server's tool has no result.
func (m *mcp) failed(ctx context.Context, s *server, err error) error {
	if refusal, ok := errors.AsType[*mcpclient.ServerError](err); ok {
		return m.backend(s, refusal.Message)
	}
	e := m.ended(ctx, s)
	if e == nil {
		e = describe(err)
		e.Message = "server " + m.quote(s.name) + ": " + e.Message
		e.Server, e.Err = s.name, err
	}
	return e
}

// describe turns the other errors of a session into those of the contract.
func describe(err error) *pack.Error {
	if wire, ok := errors.AsType[*mcpclient.WireError](err); ok {
		e := &pack.Error{Kind: pack.KindTransport, Message: wire.Reason, Delivered: pack.Delivered(wire.Delivered)}
		e.Retryable = e.Delivered == pack.DeliveredNo && !wire.Final
		return e
	}
	if over, ok := errors.AsType[*limit.Error](err); ok {
		// What is too long may be the answer or what came before it.
		return &pack.Error{Kind: pack.KindTransport, Message: over.Error(), Limit: over.Name.String(), Delivered: pack.DeliveredUnknown}
	}
	if wants, ok := errors.AsType[*mcpclient.InputError](err); ok {
		return &pack.Error{Kind: pack.KindBackend, Message: wants.Error(), Delivered: pack.DeliveredYes}
	}
	if wrong, ok := errors.AsType[*mcpclient.ArgumentError](err); ok {
		return &pack.Error{Kind: pack.KindMessage, Message: wrong.Error(), Delivered: pack.DeliveredNo}
	}
	return &pack.Error{Kind: pack.KindInternal, Message: "internal error", Delivered: pack.DeliveredUnknown}
}

// ended returns the error of a call whose context has ended, or nil.
func (m *mcp) ended(ctx context.Context, s *server) *pack.Error {
	if ctx.Err() == nil {
		return nil
	}
	e := &pack.Error{Kind: pack.KindCancelled, Message: "cancelled", Server: s.name, Delivered: pack.DeliveredUnknown, Err: ctx.Err()}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return e
	}
	e.Kind = pack.KindTransport
	e.Message = "server " + m.quote(s.name) + ": no answer before the deadline of the call"
	if over, ok := errors.AsType[*limit.Error](context.Cause(ctx)); ok {
		e.Message += " (" + over.Error() + ")"
		e.Limit = over.Name.String()
	}
	return e
}

// backend is the error that a server says its tool has met. The text is the
// server's, line breaks and all: a model reads it, as it would read a result.
func (m *mcp) backend(s *server, text string) error {
	text = redact.Cut(m.host.Scrub.Text(text), shownText)
	if text == "" {
		text = "the tool failed and gave no reason"
	}
	return &pack.Error{Kind: pack.KindBackend, Message: text, Server: s.name, Delivered: pack.DeliveredYes}
}
