package mcp

import (
	"context"
	"sync"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
)

// A keeper decides when a ready server is listed anew. Its task makes the passes,
// one at a time; notifications and uses of the listing ask for them.
//
// Passes begin at least the limit relist_interval apart (L25), the first of them
// whenever it is due: the listing of the start is none. A use waits for no
// longer than that, but a server that only says that its tools have changed waits
// twice as long each time that nothing has, so that it cannot keep us busy.
type keeper struct {
	interval time.Duration // L25
	most     time.Duration // the longest wait between passes that nobody waits for
	wake     chan struct{} // with room for one: what is due has changed

	mu      sync.Mutex
	next    *relisting // guarded by mu; due; nil when none is
	running *relisting // guarded by mu; under way; nil when none is
	began   time.Time  // guarded by mu; when the newest pass, or the start's listing, began
	passed  bool       // guarded by mu; there has been a pass
	quiet   int        // guarded by mu; passes in a row that brought nothing new
	retried bool       // guarded by mu; a pass that failed has been followed by another
	vain    bool       // guarded by mu; the newest pass failed, or took too long: uses do not wait
}

// A relisting is one pass: one listing anew.
type relisting struct {
	done   chan struct{} // closed when it has ended
	wanted bool          // guarded by keeper.mu; somebody waits for what it brings
}

// An outcome is what became of a pass.
type outcome int

const (
	nothingNew outcome = iota
	newTools
	doubtful // it failed, or what came is not to be believed at once
)

// listing notes that a listing begins outside of the passes: the start's.
func (k *keeper) listing() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.began = time.Now()
}

// changed has the server listed anew, because it says that its tools have changed.
// A pass under way may have missed that. It does not block.
func (k *keeper) changed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.due(false)
}

// due makes a pass due and returns it. The caller holds k.mu.
func (k *keeper) due(wanted bool) *relisting {
	if k.next == nil {
		k.next = &relisting{done: make(chan struct{})}
	}
	k.next.wanted = k.next.wanted || wanted
	select {
	case k.wake <- struct{}{}:
	default: // it is awake
	}
	return k.next
}

// use has the server listed anew for a use of its listing, if that is out of date,
// and returns the pass that is worth waiting for, nil for none. fresh is what the
// session says of the listing, degree what is worth a wait: see refresh.
func (k *keeper) use(fresh, degree mcpclient.Freshness) *relisting {
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
func (k *keeper) tooLong(p *relisting) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p == k.next || p == k.running {
		k.vain = true
	}
}

// begin waits for a pass that is due and may begin, and begins it. It reports
// false when ctx has ended.
func (k *keeper) begin(ctx context.Context) bool {
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
func (k *keeper) take() (wait time.Duration, due bool) {
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

// retry reports whether the pass under way is the one more that a doubtful one
// gets.
func (k *keeper) retry() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.retried
}

// end ends the pass under way. The first of the doubtful ones is followed by
// another (B115); after that it takes a use or a word of the server.
func (k *keeper) end(got outcome) {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.running.done)
	k.running = nil
	k.vain = got == doubtful
	again := k.vain && !k.retried
	k.retried = k.vain
	if k.quiet++; got == newTools {
		k.quiet = 0
	}
	if again {
		k.due(true)
	}
}
