package oauth

import (
	"context"
	"maps"
	"sync"
)

// A Key is what a Store keeps a Record under. Server is the MCP server's canonical
// URL; Issuer and Client are those that the configuration asks for, "" for whichever
// are found, so that entries with credentials of their own share nothing.
type Key struct{ Server, Issuer, Client string }

// A Record is what is kept for a Key. What is in it belongs to an issuer each: a
// registration by the map's key, a grant by its own Issuer, Client and Resource.
type Record struct {
	Registrations map[string]Registration // by issuer
	Grant         *Grant                  // nil when the user is not signed in
}

// clone returns a copy that shares nothing that is written to.
func (r *Record) clone() *Record {
	if r == nil {
		return &Record{}
	}
	copied := &Record{Registrations: maps.Clone(r.Registrations)}
	if r.Grant != nil {
		grant := *r.Grant
		copied.Grant = &grant
	}
	return copied
}

// A Store keeps Records. All methods may be called from any goroutine. Errors are
// safe to show.
type Store interface {
	// Load returns a copy of what is kept, nil for nothing.
	Load(ctx context.Context, key Key) (*Record, error)

	// Update replaces what is kept by what change makes of it. change gets a copy,
	// an empty one for nothing; what it returns is kept, nil meaning nothing. No
	// other Update of the key, of another process either where the Store outlives
	// this one, runs meanwhile. An error of change is returned as it is, and
	// leaves all as it was.
	Update(ctx context.Context, key Key, change func(*Record) (*Record, error)) error
}

// NewMemoryStore returns a Store that ends with the process.
func NewMemoryStore() Store { return &memoryStore{slots: map[Key]*slot{}} }

type memoryStore struct {
	mu    sync.Mutex
	slots map[Key]*slot // guarded by mu
}

// A slot is what is kept under one key.
type slot struct {
	turn   chan struct{} // holds one while an Update runs
	mu     sync.Mutex
	record *Record // guarded by mu; never written to once it is here
}

func (m *memoryStore) slot(key Key) *slot {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.slots[key]
	if s == nil {
		s = &slot{turn: make(chan struct{}, 1)}
		m.slots[key] = s
	}
	return s
}

func (s *slot) get() *Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

func (m *memoryStore) Load(_ context.Context, key Key) (*Record, error) {
	if record := m.slot(key).get(); record != nil {
		return record.clone(), nil
	}
	return nil, nil
}

func (m *memoryStore) Update(ctx context.Context, key Key, change func(*Record) (*Record, error)) error {
	s := m.slot(key)
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	next, err := change(s.get().clone())
	if err != nil {
		return err
	}
	if next != nil {
		next = next.clone()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = next
	return nil
}
