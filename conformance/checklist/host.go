package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
	"github.com/toolhost/toolhost/spec/speccheck"
)

// pending is a request to the child whose answer nobody has taken yet.
type pending struct {
	id    string
	reply <-chan child.Reply
	ask   *question
}

// host plays the steps. It stops at the first that fails: what follows it would
// say nothing.
func (r *player) host(steps []*step) []string {
	for _, s := range steps {
		if r.child == nil && !preparing[s.verb] {
			if err := r.start(nil); err != nil {
				return []string{err.Error()}
			}
		}
		ctx, cancel := context.WithTimeoutCause(context.Background(), r.limit, fmt.Errorf("no answer within %v", r.limit))
		began := time.Now()
		err := s.do(ctx, r)
		cancel()
		r.slowest = max(r.slowest, time.Since(began))
		if err != nil {
			return []string{fmt.Sprintf("host: line %d: %s: %v", s.line, s.text, err)}
		}
	}
	return nil
}

// hostProtocol is the compiled schemas of the host protocol.
var hostProtocol = sync.OnceValues(speccheck.New)

// start starts the child.
func (r *player) start(args []string) error {
	compiled, err := hostProtocol()
	if err != nil {
		return err
	}
	checker := compiled.Another()
	var answer func(method string, params json.RawMessage) string // nil: a question is a stray
	if r.asks != "" {
		answer = func(method string, params json.RawMessage) string {
			r.notes.take(method, params)
			return r.questions.take(method, params)
		}
	}
	r.child, err = child.Start(r.binary, child.Options{
		Framing: r.framing,
		Args:    append([]string{"--log-level", "debug", "--log-format", "json"}, args...),
		Env:     r.env,
		Stderr:  &r.log,
		Notify:  r.notes.take,
		Answer:  answer,
		Check: func(direction string, message []byte) error {
			if direction == child.ChildToHost {
				r.said.Write(message)
				r.said.Write([]byte("\n"))
			}
			return checker.Trace(direction, message)
		},
	})
	return err
}

// stop ends the child, once.
func (r *player) stop() error {
	if r.ended {
		return nil
	}
	r.ended = true
	return r.child.Stop(endTime)
}

// begin sends a request whose answer await takes.
func (r *player) begin(name string, q *question) error {
	id, reply, err := r.send(q)
	if err != nil {
		return err
	}
	r.pending[name] = &pending{id, reply, q}
	return nil
}

// ask sends a request, or takes up one that was begun, and holds its answer
// against the matcher.
func (r *player) ask(ctx context.Context, q *question, matcher string) error {
	p := &pending{ask: q}
	var err error
	if q.method == "await" {
		name := q.params(r)
		if p = r.pending[name]; p == nil {
			return fmt.Errorf("nothing was begun as %q", name)
		}
		delete(r.pending, name)
	} else if p.id, p.reply, err = r.send(q); err != nil {
		return err
	}
	reply, err := r.child.Await(ctx, p.reply)
	if err != nil {
		return err
	}
	answer := flat(reply.Result, reply.Failure)
	switch {
	case matcher == "" && reply.Error != nil:
		return reply.Error
	case p.ask.text && reply.Error == nil:
		var result struct{ Content string }
		if err := json.Unmarshal(reply.Result, &result); err != nil {
			return err
		}
		answer = []byte(result.Content)
	}
	return match(r.fill(matcher), answer)
}

// send sends a request, spread over several lines where the framing has room for it.
func (r *player) send(q *question) (id string, reply <-chan child.Reply, err error) {
	params := q.params(r)
	if r.framing == child.LSP {
		var spread bytes.Buffer
		if err := json.Indent(&spread, []byte(params), "\r\n", "\t"); err != nil {
			return "", nil, err
		}
		params = spread.String()
	}
	return r.child.Send(q.method, params)
}

// waitStatus waits until a server, or every one when name is "", has the status,
// and its row matches. It does not wait for one that has come to the other end.
func (r *player) waitStatus(ctx context.Context, name, status, matcher string) error {
	for {
		next := r.notes.next()
		reply, err := r.child.Call(ctx, "ready", packParams(r))
		if err != nil {
			return err
		}
		var answer struct{ Servers []json.RawMessage }
		if err := reply.Decode(&answer); err != nil {
			return err
		}
		loading, err := r.pack().fitting(answer.Servers, name, status, matcher)
		if err == nil || !loading {
			return err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return err
		}
	}
}

// fitting says what is wrong with the rows of status, and whether a server is
// still loading.
func (p *packKind) fitting(rows []json.RawMessage, name, status, matcher string) (loading bool, err error) {
	found := false
	for _, row := range rows {
		var server struct{ Name, Status string }
		if err := json.Unmarshal(row, &server); err != nil {
			return false, err
		}
		if name != "" && name != server.Name {
			continue
		}
		found = true
		switch {
		case server.Status != status:
			loading = loading || p.loading[server.Status]
			err = fmt.Errorf("want status %s: %.500s", status, row)
		case err == nil:
			err = match(matcher, row)
		}
	}
	if !found {
		return false, fmt.Errorf("there is no server %q", name)
	}
	return loading, err
}
