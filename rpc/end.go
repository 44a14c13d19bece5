package rpc

import (
	"context"
	"sync"
	"time"

	"github.com/toolhost/toolhost/pack"
)

// The times of an orderly end, from its beginning. A host is promised 5 s in all.
const (
	endCalls = 1 * time.Second         // calls may finish
	endPacks = 3500 * time.Millisecond // packs are told to be closed by then
	endWork  = 4 * time.Second         // what still runs is left behind
	endAll   = 4500 * time.Millisecond // output may be written
)

// end ends everything in order: calls, packs, background work, output, reader.
// Whatever does not end in its time is left behind.
func (s *server) end() {
	all, cancel := context.WithTimeout(context.Background(), endAll)
	defer cancel()
	work, cancel := context.WithTimeout(all, endWork)
	defer cancel()
	packs, cancel := context.WithTimeout(all, endPacks)
	defer cancel()

	select {
	case <-s.calls.end():
	case <-time.After(endCalls):
	}
	for _, c := range s.calls.all(nil) {
		if c.row.cancel {
			s.cut(c, "cancelled: this child is ending")
		}
	}

	done := make(chan struct{})
	go func() {
		defer close(done)
		s.closeAll(packs)
		s.runtime.End()
		s.calls.work.Wait()
	}()
	select {
	case <-done:
	case <-work.Done():
		s.log.Warn("not all packs ended in time")
	}
	s.questions.end()
	// What is still open is a close that takes too long.
	for _, c := range s.calls.all(nil) {
		s.fail(c, pack.Errorf(pack.KindInternal, "the pack did not close in time"))
	}

	if err := s.out.finish(all); err != nil {
		s.log.Warn("the last answers were not written", "reason", err)
	}
	s.conn.Close()
	s.stopReading(all)
}

// closeAll closes the packs that are left, side by side.
func (s *server) closeAll(ctx context.Context) {
	s.constructing.Lock() // a construct that had begun counts
	s.mu.Lock()
	var left []*session
	for _, n := range s.sessions {
		left = append(left, n)
	}
	s.mu.Unlock()
	s.constructing.Unlock()

	var wg sync.WaitGroup
	for _, n := range left {
		wg.Go(func() { s.closePack(ctx, n) })
	}
	wg.Wait()
}

// stopReading ends the reader goroutine, where the input has a way to.
func (s *server) stopReading(ctx context.Context) {
	in, ok := s.in.(interface{ SetReadDeadline(time.Time) error })
	if ok && in.SetReadDeadline(time.Unix(1, 0)) == nil {
		select {
		case <-s.stream.done:
		case <-ctx.Done():
		}
	}
}
