package bridge

import (
	"context"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/limit"
)

// A Gate bounds the calls that one server has in flight (L21) and those that
// wait for their turn (L22), which come in the order in which they began to wait.
type Gate struct {
	slots   chan struct{}
	waiting atomic.Int64
	table   limit.Table
}

// NewGate returns the Gate of one server, with the limits of the table.
func NewGate(table limit.Table) *Gate {
	return &Gate{slots: make(chan struct{}, table.Int(limit.CallsPerServer)), table: table}
}

// Enter returns when the call may be sent, and the caller then calls Leave when it is
// over. The error is ctx's, or a *limit.Error when too many wait already.
func (g *Gate) Enter(ctx context.Context) error {
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

// Leave gives the turn back that Enter has given.
func (g *Gate) Leave() { <-g.slots }
