package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

// namespace is the name of the only server in each configuration.
const namespace = "peer"

// A host is a toolhost child with the pack runvil/mcp over one server.
type host struct {
	child *child.Child

	mu       sync.Mutex
	status   string            // of the server; guarded by mu
	reason   string            // guarded by mu
	changed  chan struct{}     // closed and replaced at each status; guarded by mu
	progress map[string][]told // by the id of an invoke, in order; guarded by mu
}

// told is one progress notification.
type told struct{ Progress, Total float64 }

// startHost starts a child, constructs the pack and waits until its server is ready.
func startHost(ctx context.Context, binary, entry string) (*host, error) {
	h := &host{changed: make(chan struct{}), progress: map[string][]told{}}
	c, err := child.Start(binary, child.Options{Notify: h.notify})
	if err != nil {
		return nil, err
	}
	h.child = c
	if err := h.construct(ctx, entry); err != nil {
		return nil, errors.Join(err, h.stop())
	}
	return h, nil
}

func (h *host) construct(ctx context.Context, entry string) error {
	reply, err := h.child.Call(ctx, "construct", `{"pack":"runvil/mcp","protocol":"1","config":{"`+namespace+`":`+entry+`},`+
		`"host":{"name":"matrix","version":"1","capabilities":{"status":true,"progress":true}}}`)
	if err != nil {
		return err
	}
	if reply.Error != nil {
		return reply.Error
	}
	for {
		h.mu.Lock()
		status, reason, changed := h.status, h.reason, h.changed
		h.mu.Unlock()
		switch status {
		case "ready":
			return nil
		case "error":
			return fmt.Errorf("the server did not start: %s", reason)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the server is %q: %w", status, context.Cause(ctx))
		}
	}
}

// notify runs on the goroutine that reads from the child.
func (h *host) notify(method string, params json.RawMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch method {
	case "status":
		var p struct {
			Servers []struct{ Status, Error string }
		}
		if json.Unmarshal(params, &p) == nil && len(p.Servers) == 1 {
			h.status, h.reason = p.Servers[0].Status, p.Servers[0].Error
			close(h.changed)
			h.changed = make(chan struct{})
		}
	case "progress":
		var p struct {
			Invoke json.RawMessage
			told
		}
		if json.Unmarshal(params, &p) == nil {
			h.progress[string(p.Invoke)] = append(h.progress[string(p.Invoke)], p.told)
		}
	}
}

// progressOf returns what was told of an invoke.
func (h *host) progressOf(id string) []told {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.progress[id])
}

// A running is a call of a tool that was sent.
type running struct {
	id     string
	answer <-chan child.Reply
}

// send calls a tool of the server. arguments is a JSON object.
func (h *host) send(tool, arguments string) (running, error) {
	id, answer, err := h.child.Send("invoke", fmt.Sprintf(
		`{"tool":"mcp/call_dynamic_tool","progress":true,"arguments":{"namespace":%q,"toolName":%q,"arguments":%s}}`, namespace, tool, arguments))
	return running{id, answer}, err
}

// wait returns the text of the answer, or its *child.Error.
func (h *host) wait(ctx context.Context, r running) (string, error) {
	reply, err := h.child.Await(ctx, r.answer)
	if err != nil {
		return "", err
	}
	var result struct{ Content string }
	err = reply.Decode(&result)
	return result.Content, err
}

// call calls a tool of the server and returns the text of the answer.
func (h *host) call(ctx context.Context, tool, arguments string) (string, error) {
	r, err := h.send(tool, arguments)
	if err != nil {
		return "", err
	}
	return h.wait(ctx, r)
}

// cancel asks for the end of a call.
func (h *host) cancel(r running) error {
	return h.child.Write(`{"jsonrpc":"2.0","method":"cancel","params":{"id":` + r.id + `}}`)
}

// A listed is a tool as get_dynamic_tools shows it.
type listed struct {
	Name        string
	InputSchema json.RawMessage
}

// list returns the server's tools.
func (h *host) list(ctx context.Context) ([]listed, error) {
	reply, err := h.child.Call(ctx, "invoke", fmt.Sprintf(`{"tool":"mcp/get_dynamic_tools","arguments":{"namespace":%q}}`, namespace))
	if err != nil {
		return nil, err
	}
	var result struct{ Content string }
	if err := reply.Decode(&result); err != nil {
		return nil, err
	}
	var listing struct{ Tools []listed }
	err = json.Unmarshal([]byte(result.Content), &listing)
	return listing.Tools, err
}

// stop ends the child. What it should not have sent is an error.
func (h *host) stop() error {
	err := h.child.Stop(10 * time.Second)
	if strays := h.child.Strays(); len(strays) > 0 {
		err = errors.Join(err, fmt.Errorf("messages that no host should see: %q", strays))
	}
	return err
}
