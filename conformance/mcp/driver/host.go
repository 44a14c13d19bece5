package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
	"github.com/toolhost/toolhost/spec/speccheck"
)

const (
	server = "conformance" // the one entry of the configuration
	pack   = "mcp"         // the id of the pack over it

	listLimit = 20 * time.Second // for the server to start
	stopLimit = 3 * time.Second  // for the host to end by itself
)

// A host is a toolhost process with one pack over the suite's server.
type host struct {
	c       *child.Child
	changed chan struct{} // holds one when a status came since it was looked at

	// answer is the user, of the plays that have one: it fills in a form.
	answer func() (content string)
	asked  chan struct{} // holds one when a question came since it was looked at

	browser browser // of the user, for the plays that sign in
}

// startHost starts the binary, with variables added to its environment. Its stderr is
// ours, which the suite keeps.
func startHost(bin string, env []string) (*host, error) {
	checker, err := speccheck.New()
	if err != nil {
		return nil, err
	}
	h := &host{changed: make(chan struct{}, 1), asked: make(chan struct{}, 1)}
	h.c, err = child.Start(bin, child.Options{
		Env:    env,
		Stderr: os.Stderr,
		Check:  checker.Trace,
		Notify: func(string, json.RawMessage) {
			select {
			case h.changed <- struct{}{}:
			default:
			}
		},
		Answer: func(method string, params json.RawMessage) string {
			switch method {
			case "approve":
				return `{"approved":true}`
			case "open":
				return h.open(params)
			}
			if method != "elicit" || h.answer == nil {
				return `{"action":"decline"}`
			}
			select {
			case h.asked <- struct{}{}:
			default:
			}
			return `{"action":"accept","content":` + h.answer() + `}`
		},
	})
	return h, err
}

// An entry is the suite's server as the configuration has it.
type entry struct {
	URL             string `json:"url"`
	ProtocolVersion string `json:"protocolVersion,omitempty"`

	OAuth *signInConfig `json:"oauth,omitempty"`
}

// construct makes the pack over an mcpServers object with one entry. version is
// the revision to speak, "" to leave that to toolhost.
func (h *host) construct(ctx context.Context, url, version string) error {
	var params struct {
		Pack   string           `json:"pack"`
		ID     string           `json:"id"`
		Config map[string]entry `json:"config"`
		Host   struct {
			Name         string `json:"name"`
			Capabilities struct {
				Status bool `json:"status"`
			} `json:"capabilities"`
		} `json:"host"`
		Protocol string `json:"protocol"`
	}
	params.Pack, params.ID, params.Protocol = "runvil/mcp", pack, "1"
	params.Config = map[string]entry{server: {URL: url, ProtocolVersion: version}}
	params.Host.Name = "driver"
	params.Host.Capabilities.Status = true
	if err := h.ask(ctx, "construct", params, nil); err != nil {
		return err
	}
	return h.ask(ctx, "ready", map[string]string{"id": pack}, nil)
}

// constructDirect makes the pack that gives the server's tools by name, with a user
// who takes forms, and returns the tools.
func (h *host) constructDirect(ctx context.Context, url, version string) ([]tool, error) {
	params, err := json.Marshal(map[string]any{
		"pack": "tanstack/mcp", "id": pack, "protocol": "1",
		"config": map[string]any{"servers": map[string]any{server: entry{URL: url, ProtocolVersion: version}}},
		"host":   map[string]any{"name": "driver", "capabilities": map[string]any{"elicit": map[string]bool{"form": true}, "status": true}},
	})
	if err != nil {
		return nil, err
	}
	if err := h.ask(ctx, "construct", json.RawMessage(params), nil); err != nil {
		return nil, err
	}
	var ready struct {
		Tools   []struct{ Kind, ServerTool string }
		Servers []struct{ Status, Error string }
	}
	if err := h.ask(ctx, "ready", map[string]string{"id": pack}, &ready); err != nil {
		return nil, err
	}
	if len(ready.Servers) != 1 || ready.Servers[0].Status != "connected" {
		return nil, fmt.Errorf("the server could not be used: %+v", ready.Servers)
	}
	var tools []tool
	for _, t := range ready.Tools {
		if t.Kind == "tool" {
			tools = append(tools, tool{Name: t.ServerTool})
		}
	}
	return tools, nil
}

// callDirect calls a tool of the server by its name in that pack.
func (h *host) callDirect(ctx context.Context, name string) error {
	text, err := h.invoke(ctx, server+"_"+name, json.RawMessage(`{}`))
	if err == nil && text == "" {
		err = errors.New("the result is empty")
	}
	if err != nil {
		return fmt.Errorf("call %s: %w", name, err)
	}
	return nil
}

// A tool is one that the server lists, as the host shows it.
type tool struct {
	Name        string
	InputSchema json.RawMessage
}

// list returns the server's tools once it has started. A server that could not be
// used is an error.
func (h *host) list(ctx context.Context) ([]tool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listLimit, errors.New("the server is still loading"))
	defer cancel()
	for {
		content, err := h.invoke(ctx, "get_dynamic_tools", map[string]string{"namespace": server})
		if err != nil {
			return nil, err
		}
		var listing struct {
			Status, Reason string
			Tools          []tool
		}
		if err := json.Unmarshal([]byte(content), &listing); err != nil {
			return nil, fmt.Errorf("the listing: %w: %s", err, content)
		}
		switch listing.Status {
		case "ready":
			return listing.Tools, nil
		case "loading":
		default:
			return nil, fmt.Errorf("the server is in the status %q: %s", listing.Status, listing.Reason)
		}
		select {
		case <-h.changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// call calls a tool of the server and returns its text, which must not be empty.
// arguments is any JSON object.
func (h *host) call(ctx context.Context, name string, arguments json.RawMessage) (string, error) {
	text, err := h.invoke(ctx, "call_dynamic_tool", map[string]any{
		"namespace": server, "toolName": name, "arguments": arguments,
	})
	if err == nil && text == "" {
		err = errors.New("the result is empty")
	}
	if err != nil {
		return "", fmt.Errorf("call %s: %w", name, err)
	}
	return text, nil
}

// invoke calls a tool of the pack and returns the content of its answer.
func (h *host) invoke(ctx context.Context, name string, arguments any) (string, error) {
	var result struct{ Content string }
	err := h.ask(ctx, "invoke", map[string]any{"tool": pack + "/" + name, "arguments": arguments}, &result)
	return result.Content, err
}

// ask sends a request and decodes its result into v, unless v is nil. When ctx ends
// first the request is cancelled.
func (h *host) ask(ctx context.Context, method string, params, v any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	if v == nil {
		v = new(json.RawMessage)
	}
	id, answer, err := h.c.Send(method, string(text))
	var reply child.Reply
	if err == nil {
		reply, err = h.c.Await(ctx, answer)
	}
	if err == nil {
		err = reply.Decode(v)
	} else if ctx.Err() != nil {
		err = errors.Join(err, h.c.Write(`{"jsonrpc":"2.0","method":"cancel","params":{"id":`+id+`}}`))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// stop closes the host's stdin and waits for its end. A host that had to be killed,
// or that wrote what no host should see, is an error.
func (h *host) stop() error {
	err := h.c.Stop(stopLimit)
	for _, stray := range h.c.Strays() {
		err = errors.Join(err, errors.New("a message that should not have come: "+stray))
	}
	return err
}
