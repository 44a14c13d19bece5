package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
	"github.com/toolhost/toolhost/spec/speccheck"
)

// A host is a child with what it said, asked and logged.
type host struct {
	child *child.Child

	mu       sync.Mutex
	log      strings.Builder                            // guarded by mu
	said     strings.Builder                            // all messages of the child; guarded by mu
	statuses []status                                   // as notified, of any pack; guarded by mu
	asked    []ask                                      // guarded by mu
	answer   func(method string, q ask) (result string) // guarded by mu
}

type status struct {
	Name, Status, Error string
	ToolCount           int
}

// An ask is a question of the child, of any kind.
type ask struct {
	Mode, Message, URL, Problem, Server string
	Tool                                tool
	DefinitionHash                      string
	Arguments, Schema                   json.RawMessage
}

type tool struct {
	Name, Kind, Description, Server, ServerTool string
	NeedsApproval, Untrusted                    bool
}

func startHost(binary string) (*host, error) {
	checker, err := speccheck.New()
	if err != nil {
		return nil, err
	}
	h := &host{}
	h.child, err = child.Start(binary, child.Options{
		Stderr: h,
		Check: func(direction string, message []byte) error {
			if direction == child.ChildToHost {
				h.mu.Lock()
				h.said.Write(message)
				h.mu.Unlock()
			}
			return checker.Trace(direction, message)
		},
		Notify: func(method string, params json.RawMessage) {
			var p struct{ Servers []status }
			if method == "status" && json.Unmarshal(params, &p) == nil {
				h.mu.Lock()
				h.statuses = append(h.statuses, p.Servers...)
				h.mu.Unlock()
			}
		},
		Answer: func(method string, params json.RawMessage) string {
			var q ask
			if json.Unmarshal(params, &q) != nil {
				return ""
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			h.asked = append(h.asked, q)
			if h.answer == nil {
				return ""
			}
			return h.answer(method, q)
		},
	})
	return h, err
}

// Write takes the log of the child.
func (h *host) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(p)
}

// answering has questions answered so from now on, and forgets those of before. A nil
// answer leaves them open.
func (h *host) answering(answer func(method string, q ask) string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked, h.answer = nil, answer
}

// questions returns what was asked since answering.
func (h *host) questions() []ask {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

// construct constructs the pack with one server.
func (h *host) construct(ctx context.Context, id, name, entry string) error {
	reply, err := h.child.Call(ctx, "construct", fmt.Sprintf(
		`{"pack":"tanstack/mcp","id":%q,"protocol":"1","config":{"servers":{%q:%s}},"host":{"name":"local","capabilities":{`+
			`"approve":true,"elicit":{"form":true,"url":true},"open":true,"progress":true,"log":true,"status":true,"changed":true}}}`, id, name, entry))
	return errors.Join(err, failure(reply))
}

// failure returns the error of an answer.
func failure(reply child.Reply) error {
	if reply.Error == nil {
		return nil
	}
	return reply.Error
}

// ready waits until the pack is, and returns its tools and its server's state.
func (h *host) ready(ctx context.Context, id string) ([]tool, status, error) {
	reply, err := h.child.Call(ctx, "ready", fmt.Sprintf(`{"id":%q}`, id))
	if err != nil {
		return nil, status{}, err
	}
	var ready struct {
		Tools   []tool
		Servers []status
	}
	if err := reply.Decode(&ready); err != nil {
		return nil, status{}, err
	}
	if len(ready.Servers) != 1 {
		return nil, status{}, fmt.Errorf("ready tells of %d servers, not of one", len(ready.Servers))
	}
	return ready.Tools, ready.Servers[0], nil
}

// until waits until the server has a status. Between two looks it asks for nothing
// else.
func (h *host) until(ctx context.Context, id, want string) ([]tool, error) {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	for {
		tools, s, err := h.ready(ctx, id)
		if err != nil || s.Status == want {
			return tools, err
		}
		if !pause(ctx) {
			return nil, fmt.Errorf("the server is %q (%s), not %q", s.Status, s.Error, want)
		}
	}
}

// told waits until a status is notified.
func (h *host) told(ctx context.Context, want string) error {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	for !h.was(want) {
		if !pause(ctx) {
			return fmt.Errorf("the status never was %s", want)
		}
	}
	return nil
}

// was reports whether a status was notified.
func (h *host) was(want string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.statuses, func(s status) bool { return s.Status == want })
}

// A pending is an invoke that has been sent.
type pending struct {
	id    string
	reply <-chan child.Reply
	since time.Time
}

// send sends an invoke.
func (h *host) send(name, arguments string) (pending, error) {
	id, reply, err := h.child.Send("invoke", fmt.Sprintf(`{"tool":%q,"arguments":%s,"run":"r"}`, name, arguments))
	return pending{id, reply, time.Now()}, err
}

// An answer is what came of an invoke.
type answer struct {
	Content            string
	Structured, Blocks json.RawMessage
	Untrusted          bool
	err                *child.Error // nil when it succeeded
	took               time.Duration
}

func (a answer) String() string {
	if a.err != nil {
		return fmt.Sprintf("error of kind %s, delivered %q after %v: %s", a.err.Data.Kind, a.err.Data.Delivered, a.took.Round(time.Millisecond), a.err.Message)
	}
	return fmt.Sprintf("%q, structured %s, blocks %s", a.Content, a.Structured, a.Blocks)
}

// wait waits for the answer.
func (h *host) wait(ctx context.Context, p pending) (answer, error) {
	reply, err := h.child.Await(ctx, p.reply)
	a := answer{err: reply.Error, took: time.Since(p.since)}
	if err == nil && reply.Error == nil {
		err = json.Unmarshal(reply.Result, &a)
	}
	return a, err
}

func (h *host) invoke(ctx context.Context, name, arguments string) (answer, error) {
	p, err := h.send(name, arguments)
	if err != nil {
		return answer{}, err
	}
	return h.wait(ctx, p)
}

// endTime is what the protocol gives the child to close a pack, and to end.
const endTime = 5 * time.Second

// closePack closes a pack in time.
func (h *host) closePack(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	reply, err := h.child.Call(ctx, "close", fmt.Sprintf(`{"id":%q}`, id))
	return errors.Join(err, failure(reply))
}

// end ends the child in order, and looks at what it said in its life: nothing that no
// host should see, and not the secret.
func (h *host) end(secret string) error {
	errs := []error{h.child.Stop(endTime)}
	for _, stray := range h.child.Strays() {
		errs = append(errs, fmt.Errorf("a message that no host should see: %.500s", stray))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for where, text := range map[string]string{"its messages": h.said.String(), "its log": h.log.String()} {
		if strings.Contains(text, secret) {
			errs = append(errs, fmt.Errorf("a value of env came out in %s", where))
		}
	}
	return errors.Join(errs...)
}
