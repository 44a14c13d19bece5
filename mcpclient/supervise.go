package mcpclient

import (
	"context"
	"errors"
	"time"
)

// A Policy is how long to wait between attempts: First, then twice as long each
// time, at most Max. There is no jitter: one process starts few servers, and a
// wait that can be told in advance can be shown and tested.
type Policy struct {
	First, Max time.Duration
}

// Run calls attempt until it returns nil, and then returns nil, or until ctx
// ends, and then returns its cause. After each failure it calls failed with the
// error and the wait that follows. A server that asked for a longer wait
// (WireError.RetryAfter) gets it, up to Max.
func (p Policy) Run(ctx context.Context, attempt func(context.Context) error, failed func(err error, wait time.Duration)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for wait := p.First; ; wait = min(2*wait, p.Max) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		err := attempt(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		next := wait
		if wire, ok := errors.AsType[*WireError](err); ok {
			next = max(next, min(wire.RetryAfter, p.Max))
		}
		failed(err, next)
		timer.Reset(next)
	}
}
