package mcp

import (
	"bytes"
	"context"
	"log/slog"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
)

// keep lists a ready server anew whenever its keeper says so, until ctx ends.
func (m *mcp) keep(ctx context.Context, s *server, log *slog.Logger) {
	s.keeper.Run(ctx, func() bridge.Outcome { return m.relist(ctx, s, log) })
}

// relist is one pass. The server stays ready whatever comes of it (S1-17), and
// calls go on meanwhile. What it listed before is kept where listing fails
// (CCH-14), and once where it lists nothing all of a sudden (B115).
func (m *mcp) relist(ctx context.Context, s *server, log *slog.Logger) bridge.Outcome {
	old := s.state.Load()
	next := *old
	listing, err := old.session.ListTools(ctx)
	switch {
	case ctx.Err() != nil:
		return bridge.Doubtful
	case err != nil:
		next.stale = s.say.Reason(err)
		level := slog.LevelDebug
		if next.stale != old.stale {
			level = slog.LevelWarn
		}
		log.Log(ctx, level, "the MCP server's tools could not be listed anew", "reason", next.stale)
		s.state.Store(&next)
		return bridge.Doubtful
	}
	next.stale, next.catalog = "", newCatalog(listing)
	had, has := len(old.catalog.tools), len(next.catalog.tools)
	if has == 0 && had > 0 && !s.keeper.Retry() {
		log.Debug("the MCP server lists no tools any more; it is asked once more")
		return bridge.Doubtful
	}
	if next.catalog.same(old.catalog) {
		next.catalog = old.catalog
		if old.stale != "" {
			s.state.Store(&next)
		}
		return bridge.NothingNew
	}
	s.state.Store(&next)
	log.Info("the MCP server's tools have changed", "tools", has)
	if has != had {
		m.report()
	}
	return bridge.NewTools
}

// same reports whether two catalogs say the same.
func (c *catalog) same(other *catalog) bool {
	return c.note == other.note && bytes.Equal(c.all, other.all)
}

// refresh has those of the servers listed anew whose listings are out of date, and
// waits for the ones that are so in that degree, or worse, for as long as
// bridge.Patience and the call let it. A listing that its server says is out of date
// is worth a wait to anybody who looks; one that may be, to who looks at that server;
// and one that nobody vouches for, to who does not find a tool in it.
//
// The error says that ctx has ended. A call that has no time left for waiting is
// answered from what there is.
func (m *mcp) refresh(ctx context.Context, call *pack.Call, degree mcpclient.Freshness, servers ...*server) error {
	var passes []*bridge.Relisting
	for _, s := range servers {
		st := s.state.Load()
		if st.status != statusReady {
			continue
		}
		if p := s.keeper.Use(st.session.Freshness(), degree); p != nil {
			passes = append(passes, p)
		}
	}
	most := bridge.Patience
	if 0 < call.Timeout && call.Timeout/2 < most {
		most = call.Timeout / 2
	}
	if err := bridge.Await(ctx, passes, most); err != nil {
		return &pack.Error{Kind: pack.KindCancelled, Message: "cancelled", Delivered: pack.DeliveredNo, Err: err}
	}
	return nil
}
