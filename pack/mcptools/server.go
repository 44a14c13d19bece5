package mcptools

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
)

// mcptools is the constructed pack.
type mcptools struct {
	id         string // that construct received
	host       *pack.Host
	shared     *pool
	duplicates duplicateRule
	servers    []*server          // in document order
	index      map[string]*server // by exact name

	catalog atomic.Pointer[catalog] // what is offered now

	mu     sync.Mutex      // held while the catalog is made and the host told
	warned map[string]bool // what the host has been warned of; guarded by mu
}

// A server is one server of the pack's configuration.
type server struct {
	settings
	pack  *mcptools
	say   *bridge.Server
	calls *bridge.Gate
	conn  *connection // nil when the entry was refused

	listing *mcpclient.Listing // what offers was made from; guarded by pack.mu
	offers  []offer            // guarded by pack.mu
}

func (p *mcptools) newServer(s *settings) *server {
	return &server{
		settings: *s,
		pack:     p,
		say:      bridge.NewServer(s.name, p.host),
		calls:    bridge.NewGate(p.host.Limits),
	}
}

// now returns the state of the server's connection.
func (s *server) now() *state {
	if s.conn == nil {
		return &state{status: statusFailed, reason: s.refusal}
	}
	return s.conn.state.Load()
}

// changed makes the catalog of what the servers list now, and tells the host what
// is new in it. Connections call it when their state has changed.
func (p *mcptools) changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.catalog.Load()
	next := p.newCatalog()
	p.catalog.Store(next)
	for _, c := range next.clashes {
		p.warn(c)
	}
	if p.host.Status != nil && !slices.Equal(next.statuses, old.statuses) {
		p.host.Status(next.statuses)
	}
	if p.host.Changed != nil && !sameTools(next.tools, old.tools) {
		p.host.Changed()
	}
}

// Ready waits, the first time, until each server has been tried, and later until
// those whose listing is out of date have been listed anew, though not for long. A
// server that waits for the user is not waited for.
func (p *mcptools) Ready(ctx context.Context) ([]pack.ServerStatus, error) {
	for _, s := range p.servers {
		if s.conn == nil {
			continue
		}
		select {
		case <-s.conn.settled:
		case <-ctx.Done():
			return nil, pack.AsError(context.Cause(ctx))
		}
	}
	var passes []*bridge.Relisting
	for _, s := range p.servers {
		st := s.now()
		if st.link == nil {
			continue
		}
		if pass := s.conn.keeper.Use(st.link.session.Freshness(), mcpclient.Expired); pass != nil {
			passes = append(passes, pass)
		}
	}
	if bridge.Await(ctx, passes, bridge.Patience) != nil {
		return nil, pack.AsError(context.Cause(ctx))
	}
	return p.catalog.Load().statuses, nil
}

// Tools returns what can be invoked now.
func (p *mcptools) Tools() []pack.Tool { return p.catalog.Load().tools }
