package bridge

import (
	"context"
	"time"
)

// Patience is how long a use of listings waits for new ones before it takes what there
// is (CCH-14). It is more than the interval between two passes.
const Patience = 3 * time.Second

// Await waits for the passes that uses have asked for, side by side, at most that
// long. Servers that were waited for as long as Patience are not waited for again
// until a pass has come. The error is ctx's.
func Await(ctx context.Context, passes []*Relisting, most time.Duration) error {
	if len(passes) == 0 {
		return nil
	}
	over := time.NewTimer(most)
	defer over.Stop()
	for i, p := range passes {
		select {
		case <-p.done:
		case <-ctx.Done():
			return ctx.Err()
		case <-over.C:
			if most == Patience {
				for _, p := range passes[i:] {
					p.by.tooLong(p)
				}
			}
			return nil
		}
	}
	return nil
}
