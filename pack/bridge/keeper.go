package bridge

import (
	"context"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
)

// A Keeper decides when a ready server is listed anew. Its task makes the passes,
// one at a time; notifications and uses of the listing ask for them.
//
// Passes begin at least the limit relist_interval apart (L25), the first of them
// whenever it is due: the listing of the start is none. A use waits for no
// longer than that, but a server that only says that its tools have changed waits
// twice as long each time that nothing has, so that it cannot keep us busy.
type Keeper struct {
	interval time.Duration // L25
	most     time.Duration // the longest wait between passes that nobody waits for
	wake     chan struct{} // with room for one: what is due has changed

	mu      sync.Mutex
	next    *Relisting // guarded by mu; due; nil when none is
	running *Relisting // guarded by mu; under way; nil when none is
	began   time.Time  // guarded by mu; when the newest pass, or the start's listing, began
	passed  bool       // guarded by mu; there has been a pass
	quiet   int        // guarded by mu; passes in a row that brought nothing new
	retried bool       // guarded by mu; a pass that failed has been followed by another
	vain    bool       // guarded by mu; the newest pass failed, or took too long: uses do not wait
}

// NewKeeper returns the Keeper of one server, with the times of the table.
func NewKeeper(table limit.Table) *Keeper {
	return &Keeper{
		interval: table.Time(limit.RelistInterval),
		most:     table.Time(limit.BackoffMax),
		wake:     make(chan struct{}, 1),
	}
}

// Run makes the passes that are due, one after the other, until ctx ends.
func (k *Keeper) Run(ctx context.Context, pass func() Outcome) {
	for k.begin(ctx) {
		got := Doubtful
		func() {
			defer func() { k.end(got) }() // after a panic too: uses wait for it
			got = pass()
		}()
	}
}

// A Relisting is one pass: one listing anew.
type Relisting struct {
	by     *Keeper
	done   chan struct{} // closed when it has ended
	wanted bool          // guarded by by.mu; somebody waits for what it brings
}

// An Outcome is what became of a pass.
type Outcome int

// The outcomes.
const (
	NothingNew Outcome = iota
	NewTools
	Doubtful // it failed, or what came is not to be believed at once
)

// Listing notes that a listing begins outside of the passes: the start's.
func (k *Keeper) Listing() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.began = time.Now()
}

// Changed has the server listed anew, because it says that its tools have changed.
// A pass under way may have missed that. It does not block.
func (k *Keeper) Changed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.due(false)
}

// due makes a pass due and returns it. The caller holds k.mu.
func (k *Keeper) due(wanted bool) *Relisting {
	if k.next == nil {
		k.next = &Relisting{by: k, done: make(chan struct{})}
	}
	k.next.wanted = k.next.wanted || wanted
	select {
	case k.wake <- struct{}{}:
	default: // it is awake
	}
	return k.next
}

// Use has the server listed anew for a use of its listing, if that is out of date,
// and returns the pass that is worth waiting for, nil for none. fresh is what the
// session says of the listing, degree what is worth a wait. Await waits for it.
func (k *Keeper) Use(fresh, degree mcpclient.Freshness) *Relisting {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.retried { // what the session listed last was not taken
		fresh = max(fresh, mcpclient.Expired)
	}
	if fresh < min(degree, mcpclient.Expired) {
		return nil
	}
	p := k.running
	if p == nil || k.next != nil {
		if k.next == nil && fresh < mcpclient.Changed && time.Since(k.began) < k.interval {
			return nil // it is as new as it may be
		}
		p = k.due(true)
	}
	if k.vain || fresh < degree {
		return nil
	}
	return p
}

// tooLong notes that a use has waited for p as long as it may.
func (k *Keeper) tooLong(p *Relisting) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p == k.next || p == k.running {
		k.vain = true
	}
}

// begin waits for a pass that is due and may begin, and begins it. It reports
// false when ctx has ended.
func (k *Keeper) begin(ctx context.Context) bool {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, due := k.take()
		if due && wait <= 0 {
			return true
		}
		timer.Stop()
		if due {
			timer.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return false
		case <-k.wake:
		case <-timer.C:
		}
	}
}

// take begins the pass that is due when its time has come, and else returns how
// long that will take.
func (k *Keeper) take() (wait time.Duration, due bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.next == nil {
		return 0, false
	}
	apart := k.interval
	switch {
	case !k.passed:
		apart = 0
	case !k.next.wanted:
		apart = min(k.interval<<min(k.quiet, 16), k.most)
	}
	wait = time.Until(k.began.Add(apart))
	if wait <= 0 {
		k.running, k.next, k.began, k.passed = k.next, nil, time.Now(), true
	}
	return wait, true
}

// Retry reports whether the pass under way is the one more that a Doubtful one
// gets.
func (k *Keeper) Retry() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.retried
}

// end ends the pass under way. The first of the Doubtful ones is followed by
// another (B115); after that it takes a use or a word of the server.
func (k *Keeper) end(got Outcome) {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.running.done)
	k.running = nil
	k.vain = got == Doubtful
	again := k.vain && !k.retried
	k.retried = k.vain
	if k.quiet++; got == NewTools {
		k.quiet = 0
	}
	if again {
		k.due(true)
	}
}
