package rpc

import (
	"context"
	"log/slog"
	"sync"
)

// A Background is a pack.Runtime: it runs the packs' own work until End. Serve
// has one of its own; programs that use packs without a wire make theirs.
type Background struct {
	ctx    context.Context
	cancel context.CancelFunc
	log    *slog.Logger

	mu    sync.Mutex
	ended bool // guarded by mu
	tasks sync.WaitGroup
}

// NewBackground returns a Background that logs to log what it has to contain.
func NewBackground(log *slog.Logger) *Background {
	b := &Background{log: log}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// Go implements pack.Runtime. After End nothing new is started.
func (b *Background) Go(task func(context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.tasks.Go(func() {
		contain(b.log, "a background task", func() { task(b.ctx) })
	})
}

// End ends the tasks and waits for them.
func (b *Background) End() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.cancel()
	b.tasks.Wait()
}
