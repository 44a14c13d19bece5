package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/conformance/internal/child"
)

// The pack's id, and the name of the one server unless a case configures others.
const (
	packID     = "mcp"
	serverName = "s"
)

// serve ARG...: arguments of toolhost serve. It comes first.
func parseServe(w *words) (doing, error) {
	var args []string
	for {
		arg, err := w.name()
		if err != nil {
			return doing{}, err
		}
		if arg == "" {
			break
		}
		args = append(args, arg)
	}
	return doing{act: func(_ context.Context, r *player) error { return r.start(args) }}, nil
}

// construct [CONFIG]: the servers by name; one called s without it.
func parseConstruct(w *words) (doing, error) {
	config, err := w.value()
	return doing{ask: &question{method: "construct", params: func(r *player) string {
		servers := config
		if servers == "" {
			servers = `{"` + serverName + `":` + r.entry() + `}`
		}
		return `{"pack":"` + r.c.Pack + `","id":"` + packID + `","config":` + r.pack().config(r.fill(servers)) + `,"host":` + abilities(r.asks) + `}`
	}}}, err
}

// framing lsp: the messages to the child have a header before them, and their members
// on lines of their own. It comes first.
func parseFraming(w *words) (doing, error) {
	name, err := w.name()
	if err == nil && name != string(child.LSP) {
		err = fmt.Errorf("framing is %s, or there is no such line", child.LSP)
	}
	return doing{act: func(_ context.Context, r *player) error {
		r.framing = child.LSP
		return nil
	}}, err
}

// ready [NAME]: waits until that server, or every one, can be used.
func parseReady(w *words) (doing, error) {
	return parseWait(w, func(p *packKind) string { return p.ready })
}

// failed [NAME] [MATCHER]: waits until the server shows as failed, and its status
// matches.
func parseFailed(w *words) (doing, error) {
	return parseWait(w, func(p *packKind) string { return p.failed })
}

func parseWait(w *words, status func(*packKind) string) (doing, error) {
	name := ""
	if word, isJSON, err := w.peek(); err != nil {
		return doing{}, err
	} else if !isJSON && word != arrow {
		w.take()
		name = word
	}
	matcher, err := w.value()
	return doing{act: func(ctx context.Context, r *player) error {
		return r.waitStatus(ctx, name, status(r.pack()), r.fill(matcher))
	}}, err
}

// status: the answer of ready.
func parseStatus(*words) (doing, error) {
	return doing{ask: &question{method: "ready", params: packParams}}, nil
}

// close: the pack.
func parseClose(*words) (doing, error) {
	return doing{ask: &question{method: "close", params: packParams}}, nil
}

func packParams(*player) string { return `{"id":"` + packID + `"}` }

// list [ARGUMENTS]: the JSON of get_dynamic_tools.
func parseList(w *words) (doing, error) {
	arguments, err := w.value()
	if arguments == "" {
		arguments = "{}"
	}
	return doing{ask: &question{method: "invoke", text: true, params: func(r *player) string {
		return `{"tool":"` + packID + `/get_dynamic_tools","arguments":` + r.fill(arguments) + `}`
	}}}, err
}

// call [@SERVER] TOOL [ARGUMENTS [PARAMS]]: a tool of a server. PARAMS are members
// of invoke, such as {"timeoutMs":100}.
func parseCall(w *words) (doing, error) {
	server := serverName
	tool, err := w.name()
	if err == nil && len(tool) > 1 && tool[0] == '@' {
		server = tool[1:]
		tool, err = w.name()
	}
	if err != nil || tool == "" {
		return doing{}, fmt.Errorf("call wants a tool (%v)", err)
	}
	arguments, err := w.value()
	if err != nil {
		return doing{}, err
	}
	params, err := w.value()
	if err != nil {
		return doing{}, err
	}
	return doing{ask: &question{method: "invoke", params: func(r *player) string {
		text := r.pack().call(server, tool, r.fill(arguments))
		if len(params) > 2 {
			text += "," + params[1:len(params)-1]
		}
		return text + "}"
	}}}, nil
}

// invoke PARAMS: any invoke.
func parseInvoke(w *words) (doing, error) {
	params, err := w.value()
	if params == "" {
		return doing{}, fmt.Errorf("invoke wants its params in JSON (%v)", err)
	}
	return doing{ask: &question{method: "invoke", params: func(r *player) string { return r.fill(params) }}}, nil
}

// await ID: the answer of what "begin ID" sent.
func parseAwait(w *words) (doing, error) {
	id, err := w.name()
	return doing{ask: &question{method: "await", params: func(*player) string { return id }}}, err
}

// cancel ID: of what "begin ID" sent. It is a notification.
func parseCancel(w *words) (doing, error) {
	id, err := w.name()
	return doing{act: func(_ context.Context, r *player) error {
		p := r.pending[id]
		if p == nil {
			return fmt.Errorf("nothing was begun as %q", id)
		}
		return r.child.Write(`{"jsonrpc":"2.0","method":"cancel","params":{"id":` + p.id + `}}`)
	}}, err
}

// got [N] METHOD [MATCHER]: waits for so many such notifications, or questions, to
// the host, 1 without N.
func parseGot(w *words) (doing, error) {
	n := w.number(1)
	method, matcher, err := methodAndMatcher(w)
	return doing{act: func(ctx context.Context, r *player) error {
		return r.notes.wait(ctx, n, method, r.fill(matcher))
	}}, err
}

// none METHOD [MATCHER]: no such notification or question has come so far.
func parseNone(w *words) (doing, error) {
	method, matcher, err := methodAndMatcher(w)
	return doing{act: func(_ context.Context, r *player) error {
		if all := r.notes.find(method, r.fill(matcher)); len(all) > 0 {
			return fmt.Errorf("there was one: %.300s", all[0])
		}
		return nil
	}}, err
}

func methodAndMatcher(w *words) (method, matcher string, err error) {
	if method, err = w.name(); err != nil {
		return "", "", err
	}
	if method == "" {
		return "", "", errors.New("a method must follow")
	}
	matcher, err = w.value()
	return method, matcher, err
}

// seen [N] PATTERN [MATCHER]: waits until the server has seen so many, 1 without N.
func parseSeen(w *words) (doing, error) {
	n := w.number(1)
	p, err := w.pattern()
	if err != nil {
		return doing{}, err
	}
	matcher, err := w.value()
	return doing{act: func(ctx context.Context, r *player) error {
		return r.traffic.wait(ctx, n, p, r.fill(matcher))
	}}, err
}

// unseen PATTERN [MATCHER]: the server has seen no such request so far.
func parseUnseen(w *words) (doing, error) {
	p, err := w.pattern()
	if err != nil {
		return doing{}, err
	}
	matcher, err := w.value()
	return doing{act: func(_ context.Context, r *player) error {
		c := wireCheck{verb: "no", pattern: p, matcher: r.fill(matcher)}
		return c.judge(r.traffic.all(), new(int))
	}}, err
}

// notify METHOD [PARAMS]: the server says it to all who listen, of whom it waits
// for one.
func parseNotify(w *words) (doing, error) {
	method, params, err := methodAndMatcher(w)
	return doing{act: func(ctx context.Context, r *player) error {
		server := r.servers[""]
		if e := r.endpoints[""]; e.current.Load() != nil { // it may have been swapped
			server = e.current.Load()
		}
		if err := server.Wait(ctx, func(l *fakeserver.Ledger) bool { return l.Listeners > 0 }); err != nil {
			return errors.New("nobody listens")
		}
		members := ""
		if len(params) > 2 {
			members = r.fill(params[1 : len(params)-1])
		}
		server.Notify(method, members)
		return nil
	}}, err
}

// forget: the server forgets its sessions, as one that was started again.
func parseForget(*words) (doing, error) {
	return doing{act: func(_ context.Context, r *player) error {
		r.endpoints[""].current.Load().DropSessions()
		return nil
	}}, nil
}

// swap NAME: the server of that section takes the place of the first.
func parseSwap(w *words) (doing, error) {
	name, err := w.name()
	return doing{act: func(_ context.Context, r *player) error {
		server := r.servers[name]
		if server == nil {
			return fmt.Errorf("there is no server %q", name)
		}
		r.endpoints[""].current.Store(server)
		return nil
	}}, err
}

// limit DURATION: how long each of the next steps may take.
func parseLimit(w *words) (doing, error) {
	text, err := w.name()
	if err != nil {
		return doing{}, err
	}
	d, err := time.ParseDuration(text)
	return doing{act: func(_ context.Context, r *player) error {
		r.limit = d
		return nil
	}}, err
}

// end: the host closes the pipe and the child ends.
func parseEnd(*words) (doing, error) {
	return doing{act: func(_ context.Context, r *player) error { return r.stop() }}, nil
}

// flat is an answer as matchers see it: the result, or {"error": ...}.
func flat(result, failure json.RawMessage) []byte {
	if failure == nil {
		return result
	}
	return []byte(`{"error":` + string(failure) + `}`)
}
