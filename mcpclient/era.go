package mcpclient

import "sync"

// An Era remembers with which revision a server could be opened, so that a new
// attempt or a new session need not find out again. It is a property of the
// server: sessions with the same server may share one, one after the other or
// at once. The zero Era knows nothing.
type Era struct {
	mu   sync.Mutex
	open *Revision // guarded by mu; nil when it is not known
}

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
