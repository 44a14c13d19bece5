package oauth

import (
	"context"
	"errors"
	"os"
	"time"
)

// errLocked says that somebody else holds a lock.
var errLocked = errors.New("locked")

// lockPoll is how often a lock that is held is tried again. Systems have no wait for
// it that ends with a context.
const lockPoll = 20 * time.Millisecond

// lockFile takes a lock that other processes, and other calls in this one, respect.
// The file of a lock stays: to remove it could let two hold the same lock. The system
// frees the lock of a process that ends.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|noFollow, 0o600)
	if err != nil {
		return nil, plain(err)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-timer.C:
		}
		switch err := tryLock(f); {
		case err == nil:
			return func() { f.Close() }, nil
		case !errors.Is(err, errLocked):
			f.Close()
			return nil, plain(err)
		}
		timer.Reset(lockPoll)
	}
}
