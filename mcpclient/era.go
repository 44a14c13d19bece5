package mcpclient

import (
	"sync"
	"sync/atomic"
)

// An Era remembers with which revision a server could be opened, so that a new
// attempt or a new session need not find out again. It is a property of the
// server: sessions with the same server may share one, one after the other or
// at once. The zero Era knows nothing.
//
// It also numbers the requests to the server, over all its sessions: a list that is
// asked for again in a new attempt is a new request (2026-07-28 changelog).
type Era struct {
	ids atomic.Int64 // the last one given out

	mu   sync.Mutex
	open *Revision // guarded by mu; nil when it is not known
}

// nextID returns the id of the next request.
func (e *Era) nextID() int64 { return e.ids.Add(1) }

func (e *Era) get() *Revision {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open
}

func (e *Era) set(r *Revision) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = r
}
