package rpc

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/pack"
)

// A call is one request of the host's from the moment it is taken until it is
// answered. Several may want to answer it (the pack, a cancel, the end of the
// process); whoever gets true from inflight.claim does, and nobody else.
//
// Its fields are set by the reader before the call is in flight, and then only
// read, but for those that inflight.mu guards.
type call struct {
	id      []byte // as it was written; nil for a notification, which is never answered
	key     idKey
	row     *method  // nil for a method that there is none of
	session *session // the pack that it is for; nil for none

	ctx    context.Context // ends when the call is answered
	cancel context.CancelCauseFunc

	run     func()        // what to do in its turn, on a goroutine of its own
	timeout time.Duration // from taken on; 0 for none of the host's
	taken   time.Time
	notes   *notes // nil when the host wants none

	answered bool          // guarded by inflight.mu
	waits    *list.Element // in inflight.waiting; guarded by inflight.mu
	overdue  *time.Timer   // ends the wait at the timeout; guarded by inflight.mu
}

// left returns what is left of the call's timeout when its turn comes; 0 means
// that the host gave none.
func (c *call) left() time.Duration {
	if c.timeout == 0 {
		return 0
	}
	return max(c.timeout-time.Since(c.taken), time.Nanosecond)
}

// inflight holds the requests that were taken and are not answered yet, and the
// order in which those wait that have no turn yet (L21, L22). Only the reader
// adds to it.
type inflight struct {
	limits     limit.Table
	maxRunning int
	maxWaiting int

	mu      sync.Mutex
	byID    map[idKey]*call // not yet answered; guarded by mu
	ending  bool            // the process ends; guarded by mu
	running int             // have their turn, answered or not; guarded by mu
	waiting list.List       // of *call; guarded by mu
	idle    chan struct{}   // closed when byID is empty, once someone waits; guarded by mu

	work sync.WaitGroup // the goroutines of calls; added to under mu, unless ending
}

func newInflight(limits limit.Table) *inflight {
	return &inflight{
		limits:     limits,
		maxRunning: limits.Int(limit.CallsTotal),
		maxWaiting: limits.Int(limit.CallsWaiting),
		byID:       map[idKey]*call{},
	}
}

// find returns the request in flight of that id, or nil.
func (f *inflight) find(key idKey) *call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byID[key]
}

// all returns the requests in flight that are for the session, or all for nil.
func (f *inflight) all(of *session) []*call {
	f.mu.Lock()
	defer f.mu.Unlock()
	var calls []*call
	for _, c := range f.byID {
		if of == nil || c.session == of {
			calls = append(calls, c)
		}
	}
	return calls
}

// add puts a request in flight that its caller will answer. Its id must be free.
// It fails when the process ends.
func (f *inflight) add(c *call) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending {
		return errEnding()
	}
	f.byID[c.key] = c
	return nil
}

// aside puts a request in flight and runs work for it on a goroutine of its own
// without a turn, for what must not wait behind calls. It fails when the process
// ends.
func (f *inflight) aside(c *call, work func()) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending {
		return errEnding()
	}
	f.byID[c.key] = c
	f.work.Go(work)
	return nil
}

// start puts a request in flight and gives it its turn, at once or when another
// has ended. expire is called when its timeout passes before. It fails when too
// many wait already, or the process ends.
func (f *inflight) start(c *call, expire func()) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.ending:
		return errEnding()
	case f.running < f.maxRunning:
		f.running++
		f.work.Go(func() { f.turn(c) })
	case f.waiting.Len() < f.maxWaiting:
		c.waits = f.waiting.PushBack(c)
		if c.timeout > 0 {
			c.overdue = time.AfterFunc(c.timeout, expire)
		}
	default:
		return f.overloaded()
	}
	f.byID[c.key] = c
	return nil
}

// turn runs the call and then, on the same goroutine, those that wait.
func (f *inflight) turn(c *call) {
	for c != nil {
		c.run()
		c = f.following()
	}
}

// following ends a turn and returns the call whose turn is next, if one waits.
func (f *inflight) following() *call {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.waiting.Front()
	if first == nil {
		f.running--
		return nil
	}
	c := first.Value.(*call)
	f.unqueue(c)
	return c
}

// claim takes the right to answer the request and frees its id. It returns false
// when another has it. waited reports that the request had no turn yet.
func (f *inflight) claim(c *call) (ok, waited bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.answered {
		return false, false
	}
	c.answered = true
	waited = c.waits != nil
	f.unqueue(c)
	if f.byID[c.key] == c {
		delete(f.byID, c.key)
	}
	if f.idle != nil && len(f.byID) == 0 {
		close(f.idle)
		f.idle = nil
	}
	return true, waited
}

// unqueue takes a call out of those that wait. Its caller holds mu.
func (f *inflight) unqueue(c *call) {
	if c.waits != nil {
		f.waiting.Remove(c.waits)
		c.waits = nil
	}
	if c.overdue != nil {
		c.overdue.Stop()
	}
}

// end makes all that follows fail, and returns a channel that is closed once no
// request is in flight.
func (f *inflight) end() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ending = true
	idle := make(chan struct{})
	if len(f.byID) == 0 {
		close(idle)
	} else {
		f.idle = idle
	}
	return idle
}

// overloaded is the answer to a call for which there is no place left.
func (f *inflight) overloaded() *pack.Error {
	e := pack.Errorf(pack.KindUnavailable, "overloaded: %v; wait for answers before sending more", f.limits.Exceeded(limit.CallsWaiting, "the number of waiting calls"))
	e.Retryable, e.Delivered, e.Limit = true, pack.DeliveredNo, limit.CallsWaiting.String()
	return e
}

// errEnding is the answer to a request that comes too late.
func errEnding() *pack.Error {
	e := pack.Errorf(pack.KindUnavailable, "this child is ending; start another")
	e.Delivered = pack.DeliveredNo
	return e
}
