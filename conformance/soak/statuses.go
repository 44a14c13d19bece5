package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/conformance/internal/child"
)

// statuses is the run that looks at the order of states. A host that takes what it
// reads in order, an answer to `ready` or a `status`, must never be set back: a
// server that was shown as ready is not shown as loading afterwards, or the host
// would wait for ever.
type statuses struct {
	binary string
	rounds int // how often a server becomes ready while the host asks without pause

	mu    sync.Mutex
	now   string        // the state in what was read last; guarded by mu
	back  int           // how often the state went back; guarded by mu
	ready chan struct{} // closed, and then nil, when a status says ready; guarded by mu
}

func (s *statuses) run(ctx context.Context) (faults []string, err error) {
	server, err := fakeserver.Start(fakeserver.Options{Era: fakeserver.Modern})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	c, err := child.Start(s.binary, child.Options{Check: s.look})
	if err != nil {
		return nil, err
	}
	defer func() {
		if stopErr := c.Stop(10 * time.Second); stopErr != nil {
			faults = append(faults, stopErr.Error())
		}
	}()
	for range s.rounds {
		if err := s.round(ctx, c, server.URL()); err != nil {
			return nil, err
		}
	}
	if s.back > 0 {
		faults = append(faults, fmt.Sprintf("in %d of %d starts a server that was ready was shown as loading afterwards", s.back, s.rounds))
	}
	return faults, nil
}

// round constructs the pack, asks for its state again and again while its server
// starts, and closes it.
func (s *statuses) round(ctx context.Context, c *child.Child, url string) error {
	s.mu.Lock()
	s.now, s.ready = "", make(chan struct{})
	ready := s.ready
	s.mu.Unlock()
	if _, err := c.Call(ctx, "construct", `{"pack":"runvil/mcp","config":{"fake":{"url":"`+url+`"}},"host":{"capabilities":{"status":true}}}`); err != nil {
		return err
	}
	var answers []<-chan child.Reply
	for range 40 {
		_, answer, err := c.Send("ready", `{"id":"mcp"}`)
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	for _, answer := range answers {
		if _, err := c.Await(ctx, answer); err != nil {
			return err
		}
	}
	select {
	case <-ready:
	case <-ctx.Done():
		return fmt.Errorf("no status said that the server is ready: %w", context.Cause(ctx))
	}
	_, err := c.Call(ctx, "close", `{"id":"mcp"}`)
	return err
}

// look sees every message in the order it was read.
func (s *statuses) look(direction string, message []byte) error {
	type state struct{ Servers []struct{ Status string } }
	var m struct {
		Method         string
		Params, Result state
	}
	if direction != child.ChildToHost || json.Unmarshal(message, &m) != nil {
		return nil
	}
	servers := append(m.Params.Servers, m.Result.Servers...)
	if len(servers) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.now
	s.now = servers[0].Status
	if before == "ready" && s.now == "loading" {
		s.back++
	}
	if m.Method == "status" && s.now == "ready" && s.ready != nil {
		close(s.ready)
		s.ready = nil
	}
	return nil
}

// print writes the figures of the run.
func (s *statuses) print(out io.Writer) {
	fmt.Fprintf(out, "order of states: %d starts, 40 questions during each, %d set back\n", s.rounds, s.back)
}
