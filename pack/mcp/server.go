package mcp

import (
	"context"
	"sync/atomic"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
)

// The statuses of a server, as the protocol lists them for this pack.
const (
	statusLoading = "loading"
	statusError   = "error"
	statusReady   = "ready"
)

// A server is one namespace: an entry of the configuration, whether it could be
// read or not.
type server struct {
	name   string // to the letter, as configured
	say    *bridge.Server
	entry  *mcpclient.Entry // nil when the entry was refused; the fields below are then unused
	era    mcpclient.Era    // what is known of the server's era, over all attempts
	calls  *bridge.Gate
	keeper *bridge.Keeper
	done   chan struct{} // closed when the server's task has ended

	// state is replaced as a whole, by the server's one task. It begins as
	// loading or, for a refused entry, as error for ever. Once ready, it stays
	// so, with the same session; only what was listed is replaced.
	state atomic.Pointer[state]
}

// A state is immutable.
type state struct {
	status  string
	reason  string             // with error: scrubbed, on one line, cut
	session *mcpclient.Session // with ready
	catalog *catalog           // with ready: what the server listed
	stale   string             // with ready: why it could not be listed anew; "" when it could
}

// refused returns the server of an entry that was not taken.
func refused(name, reason string, host *pack.Host) *server {
	s := &server{name: name, say: bridge.NewServer(name, host)}
	s.state.Store(&state{status: statusError, reason: reason})
	return s
}

// loading returns the server of an entry that a task will connect to.
func loading(entry *mcpclient.Entry, host *pack.Host) *server {
	s := &server{
		name:   entry.Name,
		entry:  entry,
		say:    bridge.NewServer(entry.Name, host),
		calls:  bridge.NewGate(host.Limits),
		keeper: bridge.NewKeeper(host.Limits),
		done:   make(chan struct{}),
	}
	s.state.Store(&state{status: statusLoading})
	return s
}

// Ready returns at once: a host can show the two tools while servers are still
// starting.
func (m *mcp) Ready(context.Context) ([]pack.ServerStatus, error) { return m.statuses(), nil }

func (m *mcp) statuses() []pack.ServerStatus {
	list := make([]pack.ServerStatus, len(m.servers))
	for i, s := range m.servers {
		st := s.state.Load()
		list[i] = pack.ServerStatus{Name: s.name, Status: st.status, Error: st.reason}
		if st.catalog != nil {
			list[i].ToolCount = len(st.catalog.tools)
		}
	}
	return list
}

// report tells the host that a server's state has changed. The lock keeps an
// older report from coming after a newer one. The pack's own tools never change,
// so the host hears of nothing else.
func (m *mcp) report() {
	if m.host.Status == nil {
		return
	}
	m.reporting.Lock()
	defer m.reporting.Unlock()
	m.host.Status(m.statuses())
}
