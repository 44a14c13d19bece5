package mcp

import (
	"context"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/limit"
)

// A gate bounds the calls that one server has in flight (L21) and those that
// wait for their turn (L22), which come in the order in which they began to wait.
type gate struct {
	slots   chan struct{}
	waiting atomic.Int64
	table   limit.Table
}

func newGate(table limit.Table) *gate {
	return &gate{slots: make(chan struct{}, table.Int(limit.CallsPerServer)), table: table}
}

// enter returns when the call may be sent, and the caller then leaves when it is
// over. The error is ctx's, or a *limit.Error when too many wait already.
func (g *gate) enter(ctx context.Context) error {
	select {
	case g.slots <- struct{}{}:
		return nil
	default:
	}
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > int64(g.table.Int(limit.CallsWaiting)) {
		return g.table.Exceeded(limit.CallsWaiting, "the queue of calls")
	}
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) leave() { <-g.slots }
