package mcpclient

import "time"

// A Freshness says how far the newest listing of a Session can be trusted. A
// higher value is less trust.
//
// ttlMs is a hint for when a listing is used, never an interval for asking
// (2026-07-28 server/utilities/caching), so that the Session sends nothing when a
// listing expires. What its server leaves open is decided thus:
//
//   - A listing without a time to live (absent, 0, or no positive integer) is as
//     fresh as what the server tells: while a stream is open on which it tells of
//     changes, the listing is fresh until it does. Without such a stream it is
//     expired at once where the revision has ttlMs, and kept where it has not.
//   - A positive time to live holds with and without such a stream, and a change
//     that the server tells of ends it.
//   - A listing is one thing: it expires with the first of its pages, and is fetched
//     again from its first page, which is what gives a list that fits together.
//   - cacheScope makes no difference. A listing belongs to its Session and so to
//     one entry of a configuration and its credentials; it is shared with nobody.
type Freshness int

const (
	Fresh   Freshness = iota // the server vouches for it
	Kept                     // nobody vouches for it, and nothing speaks against it
	Expired                  // it may be out of date: to be fetched again when it is next used
	Changed                  // the server says that it is out of date
)

// A freshness is what a Session knows about its newest listing.
type freshness struct {
	now     events    // so far
	seen    events    // those before the newest listing was asked for
	until   time.Time // the end of the listing's time to live; zero for none
	hearing bool      // a stream is open on which the server tells of changes
}

// events counts what may put a listing out of date.
type events struct {
	changes int // the server said that its tools have changed
	doubts  int // something happened that may go with a change we did not hear of
}

// at judges the newest listing.
func (f *freshness) at(now time.Time, rev *Revision) Freshness {
	switch {
	case f.now.changes != f.seen.changes:
		return Changed
	case f.now.doubts != f.seen.doubts:
		return Expired
	case !f.until.IsZero() && !now.Before(f.until):
		return Expired
	case !f.until.IsZero(), f.hearing:
		return Fresh
	case rev.Caching:
		return Expired
	default:
		return Kept
	}
}

// Freshness says how far the listing that ListTools has last returned can be
// trusted.
func (s *Session) Freshness() Freshness {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fresh.at(time.Now(), s.link.Revision)
}

// toolsChanged notes that the server says so, and tells the owner of the session.
func (s *Session) toolsChanged() {
	s.mu.Lock()
	s.fresh.now.changes++
	s.mu.Unlock()
	if s.opts.OnToolsChanged != nil {
		s.opts.OnToolsChanged()
	}
}

// doubtListing notes that the tools may have changed without a word.
func (s *Session) doubtListing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh.now.doubts++
}
