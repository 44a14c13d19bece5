package mcp

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
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
	log := m.log(s)
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
		reason := m.reason(err)
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
		OnNotification: m.onNotification(s),
		OnToolsChanged: s.keeper.changed,
	})
	if err != nil {
		return nil, because(ctx, err)
	}
	deafen = listen(task, ctx, session)
	s.keeper.listing()
	listing, err := session.ListTools(ctx)
	if err != nil {
		deafen()
		m.endLater(session, log)
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
func (m *mcp) endLater(session *mcpclient.Session, log *slog.Logger) {
	m.ending.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		m.end(ctx, session, log)
	})
}

func (m *mcp) end(ctx context.Context, session *mcpclient.Session, log *slog.Logger) {
	if err := session.Close(ctx); err != nil {
		log.Debug("the MCP server was not told that its session is over", "reason", m.reason(err))
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
				m.end(ctx, session, m.log(s))
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

// log is for what concerns one server.
func (m *mcp) log(s *server) *slog.Logger {
	return m.host.Log.With("server", m.host.Scrub.Reason(s.name, shownName))
}

// reason says in words that are safe to show why a server did not start.
func (m *mcp) reason(err error) string {
	text := "internal error"
	if wire, ok := errors.AsType[*mcpclient.WireError](err); ok {
		text = wire.Reason
	} else if refusal, ok := errors.AsType[*mcpclient.ServerError](err); ok {
		text = refusal.Error()
	} else if over, ok := errors.AsType[*limit.Error](err); ok {
		text = over.Error()
	}
	return m.host.Scrub.Reason(text, shownReason)
}
