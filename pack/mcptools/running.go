package mcptools

import (
	"context"
	"slices"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
)

// A running is one call of a server that is in flight.
type running struct {
	server *server // whose pack the call came to
	call   *pack.Call
	ctx    context.Context
	clock  *clock
}

// sameRun reports whether two calls belong to one run of one pack (S2-12). A call
// without run is a run of its own.
func (r *running) sameRun(other *running) bool {
	return r == other || r.server.pack == other.server.pack && r.call.Run != "" && r.call.Run == other.call.Run
}

// begin notes that r is in flight on the connection, and end that it is no more.
func (c *connection) begin(r *running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, r)
}

func (c *connection) finish(r *running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = slices.DeleteFunc(c.calls, func(other *running) bool { return other == r })
}

// oneRun returns the calls in flight, oldest first, when all belong to one run of
// one pack, and else none.
func (c *connection) oneRun() []*running {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.calls {
		if !r.sameRun(c.calls[0]) {
			return nil
		}
	}
	return slices.Clone(c.calls)
}

// elicits returns the modes of questions that are declared to servers: those that
// the host takes (S2-15, H-10).
func elicits(host *pack.Host) map[mcpclient.ElicitMode]bool {
	return map[mcpclient.ElicitMode]bool{
		mcpclient.ElicitForm: host.Asks[pack.AskForm],
		mcpclient.ElicitURL:  host.Asks[pack.AskURL],
	}
}

// elicit puts a question of the server that names no call to the host, if there is
// no doubt whose it is: all calls in flight belong to one run. A question must never
// go to another user (S2-12, H-11).
func (c *connection) elicit(ctx context.Context, e *mcpclient.Elicitation) mcpclient.ElicitAnswer {
	calls := c.oneRun()
	if len(calls) == 0 {
		c.say.Logger().Warn("a question of the MCP server was declined: it belongs to no call, or calls of more than one run are in flight")
		return mcpclient.ElicitAnswer{Action: mcpclient.ElicitDecline}
	}
	for _, r := range calls {
		r.clock.pause()
		defer r.clock.resume()
	}
	return calls[0].ask(ctx, e)
}

// question puts a question of the call itself to the host (2026-07-28
// basic/patterns/mrtr).
func (r *running) question(ctx context.Context, e *mcpclient.Elicitation) mcpclient.ElicitAnswer {
	r.clock.pause()
	defer r.clock.resume()
	return r.ask(ctx, e)
}

// ask puts a question to the host, as one of r. It is withdrawn when r has ended.
func (r *running) ask(ctx context.Context, e *mcpclient.Elicitation) mcpclient.ElicitAnswer {
	host := r.server.pack.host
	q := &pack.Question{
		Kind:    pack.AskForm,
		Invoke:  r.call.ID,
		Run:     r.call.Run,
		Server:  r.server.name,
		Message: e.Message,
		Schema:  pack.Raw(e.Schema),
		Problem: e.Problem,
	}
	if e.Mode == mcpclient.ElicitURL {
		q.Kind, q.Schema, q.URL, q.Warnings = pack.AskURL, nil, e.URL, e.Warnings
	}
	if !host.Asks[q.Kind] {
		return mcpclient.ElicitAnswer{Action: mcpclient.ElicitDecline}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	answer, err := host.Ask(ctx, q)
	if err != nil {
		r.server.say.Logger().Debug("a question of the MCP server was not answered", "reason", redact.Cut(err.Error(), 256))
		return mcpclient.ElicitAnswer{Action: mcpclient.ElicitCancel}
	}
	return mcpclient.ElicitAnswer{Action: mcpclient.ElicitAction(answer.Action), Content: answer.Content}
}

// notified passes on what the server says that belongs to no call, to the host of
// each pack that has the server.
func (c *connection) notified(method string, params []byte) {
	c.mu.Lock()
	views := slices.Clone(c.views)
	c.mu.Unlock()
	for _, view := range views {
		if take := view.say.OnNotification(); take != nil {
			take(method, params)
		}
	}
}
