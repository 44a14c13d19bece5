package mcp

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack/bridge"
)

// endTime bounds how long the end of a session that failed to start may take.
const endTime = 5 * time.Second

// background starts the server's task on the host's runtime. The task's context
// ends with the process or with ctx, the pack's.
func (m *mcp) background(ctx context.Context, s *server) {
	m.host.Runtime.Go(func(process context.Context) {
		defer close(s.done)
		both, cancel := context.WithCancel(process)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		m.connect(both, s)
	})
}

// connect is the server's task: it starts the server, again and again with the
// waits of the table (L35), until it is ready, and then keeps its listing.
func (m *mcp) connect(ctx context.Context, s *server) {
	log := s.say.Logger()
	defer func() {
		// Only a panic of ours, which the runtime contains and logs, gets here
		// with a server that is not ready and a context that has not ended.
		if ctx.Err() == nil && s.state.Load().status != statusReady {
			m.fail(s, "internal error")
		}
	}()
	policy := mcpclient.Policy{
		First: m.host.Limits.Time(limit.BackoffFirst),
		Max:   m.host.Limits.Time(limit.BackoffMax),
	}
	var deafen func()
	attempt := func(ctx context.Context) (err error) {
		deafen, err = m.start(ctx, s, log)
		return err
	}
	err := policy.Run(ctx, attempt, func(err error, wait time.Duration) {
		// What repeats itself is not worth a line a minute for ever.
		level := slog.LevelDebug
		reason := s.say.Reason(err)
		if m.fail(s, reason) {
			level = slog.LevelWarn
		}
		log.Log(ctx, level, "the MCP server did not start", "reason", reason, "next_try_in", wait)
	})
	if err == nil {
		defer deafen()
		m.keep(ctx, s, log)
	}
}

// start is one attempt: it connects, shakes hands, begins to listen and lists every
// page of tools, within the limit start_time in all (L32). When it succeeds, the
// server is ready, and deafen ends the listening.
func (m *mcp) start(task context.Context, s *server, log *slog.Logger) (deafen func(), err error) {
	table := m.host.Limits
	ctx, cancel := context.WithTimeoutCause(task, table.Time(limit.StartTime),
		table.Exceeded(limit.StartTime, "the start of the server"))
	defer cancel()
	name, version := m.host.Name, m.host.Version
	if name == "" {
		name, version = m.opts.ClientName, m.opts.ClientVersion
	}
	session, err := mcpclient.Connect(ctx, m.opts.NewTransport(s.entry, m.host), &mcpclient.Options{
		ClientName:     name,
		ClientVersion:  version,
		Pin:            s.entry.Pin,
		Legacy:         s.entry.Legacy,
		Era:            &s.era,
		Limits:         table,
		Scrub:          m.host.Scrub,
		Log:            log,
		OnNotification: s.say.OnNotification(),
		OnToolsChanged: s.keeper.Changed,
	})
	if err != nil {
		return nil, because(ctx, err)
	}
	deafen = bridge.Listen(task, ctx, session)
	s.keeper.Listing()
	listing, err := session.ListTools(ctx)
	if err != nil {
		deafen()
		m.endLater(s, session)
		return nil, because(ctx, err)
	}
	c := newCatalog(listing)
	s.state.Store(&state{status: statusReady, session: session, catalog: c})
	log.Info("the MCP server is ready", "tools", len(c.tools))
	m.report()
	return deafen, nil
}

// because returns why ctx ended, where that is what err comes from.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// fail makes the server show as error with the reason, and reports whether that
// is news.
func (m *mcp) fail(s *server, reason string) bool {
	if s.state.Load().reason == reason {
		return false
	}
	s.state.Store(&state{status: statusError, reason: reason})
	m.report()
	return true
}

// endLater tells the server that a session is over that never came to be of use.
// The next attempt does not wait for it; Close does.
func (m *mcp) endLater(s *server, session *mcpclient.Session) {
	m.ending.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		s.end(ctx, session)
	})
}

func (s *server) end(ctx context.Context, session *mcpclient.Session) {
	if err := session.Close(ctx); err != nil {
		s.say.Logger().Debug("the MCP server was not told that its session is over", "reason", s.say.Reason(err))
	}
}

// Close stops the tasks and ends the sessions, side by side. What a server does
// not take before ctx ends is left to it. A second Close waits likewise.
func (m *mcp) Close(ctx context.Context) error {
	m.stop()
	var ends sync.WaitGroup
	for _, s := range m.servers {
		if s.entry == nil {
			continue
		}
		ends.Go(func() {
			select {
			case <-s.done: // from here on its state does not change
			case <-ctx.Done():
			}
			if session := s.state.Load().session; session != nil {
				s.end(ctx, session)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ends.Wait()
		m.ending.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return nil
}
