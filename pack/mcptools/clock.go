package mcptools

import (
	"context"
	"sync"
	"time"
)

// A clock is the deadline of a call that stands still while a question of the call
// is open (H-08): a user who thinks must not cost the server its time.
type clock struct {
	end context.CancelCauseFunc
	why error // the cause of the context when the time is over

	mu    sync.Mutex
	left  time.Duration // guarded by mu; when the clock last went, or stood still
	since time.Time     // guarded by mu; since when it goes
	stops int           // guarded by mu; how many questions are open
	timer *time.Timer   // guarded by mu; goes off when the time is over
}

// timeOver is the cause of a context whose clock has run out. It is a
// context.DeadlineExceeded, and the error of the limit where that set the time.
type timeOver struct{ limit error }

func (e timeOver) Error() string        { return context.DeadlineExceeded.Error() }
func (e timeOver) Is(target error) bool { return target == context.DeadlineExceeded }
func (e timeOver) Unwrap() error        { return e.limit }

// withClock returns a context that ends, with why as its cause, when d has passed
// on the clock. stop releases it.
func withClock(parent context.Context, d time.Duration, why error) (ctx context.Context, c *clock, stop func()) {
	c = &clock{why: why, left: d, since: time.Now()}
	ctx, c.end = context.WithCancelCause(parent)
	c.timer = time.AfterFunc(d, c.over)
	return ctx, c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timer.Stop()
		c.end(nil)
	}
}

func (c *clock) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stops == 0 { // else it went off while it was being stopped
		c.end(c.why)
	}
}

// pause lets the clock stand still until resume is called, once for each pause.
func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stops++; c.stops == 1 {
		c.timer.Stop()
		c.left -= time.Since(c.since)
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stops--; c.stops == 0 {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}
