package main

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// A setup is one way of talking, of which every byte is cut.
type setup struct {
	era    fakeserver.Era
	answer fakeserver.Answer
	kept   bool // on connections that have carried a request before
	way    way
	step   int // cut at every step-th byte
	first  int // beginning with this one
}

func (s setup) form() string {
	era, answer := "legacy", "json"
	if s.era == fakeserver.Modern {
		era = "modern"
	}
	if s.answer == fakeserver.SSE {
		answer = "sse"
	}
	return era + " " + answer
}

func (s setup) String() string {
	connection := "fresh"
	if s.kept {
		connection = "kept"
	}
	return fmt.Sprintf("%s, %s, %s", s.form(), connection, s.way)
}

// cutJobs are the jobs that cut connections.
func cutJobs(step int) []*job {
	var jobs []*job
	for _, era := range []fakeserver.Era{fakeserver.Legacy, fakeserver.Modern} {
		for _, answer := range []fakeserver.Answer{fakeserver.JSON, fakeserver.SSE} {
			for _, kept := range []bool{false, true} {
				for _, w := range []way{closing, reset, stalling, holding, giveUp} {
					s := setup{era, answer, kept, w, step, len(jobs) % step}
					if w == holding || w == giveUp {
						s.step *= 7 // each of these waits
					}
					name := fmt.Sprintf("c%02d", len(jobs))
					jobs = append(jobs, &job{name: s.String(), run: func(ctx context.Context, toolhost string) ([]trial, error) {
						return s.run(ctx, toolhost, name)
					}})
				}
			}
		}
	}
	return jobs
}

// run makes calls that are cut, behind one that is measured.
func (s setup) run(ctx context.Context, toolhost, name string) ([]trial, error) {
	w, err := newWorld(ctx, toolhost, name, fakeserver.Options{Era: s.era, Answer: s.answer})
	if err != nil {
		return nil, err
	}
	err = s.cuts(w)
	trials, endErr := w.end()
	if err == nil {
		err = endErr
	}
	return trials, err
}

func (s setup) cuts(w *world) error {
	pack, err := w.construct()
	if err != nil {
		return err
	}
	for n, entry := range entries {
		whole := &cut{side: reply, at: uncut, way: s.way}
		if err := s.one(w, &pack, entry, whole); err != nil {
			return err
		}
		for _, part := range []struct {
			side side
			size int
		}{{accept, 0}, {request, whole.requested}, {reply, whole.replied}} {
			if part.side == accept && (s.kept || s.way != closing && s.way != reset) {
				continue
			}
			for _, at := range s.offsets(part.size, n) {
				if err := s.one(w, &pack, entry, &cut{side: part.side, at: at, way: s.way}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// offsets are where messages of that size are cut for the n-th entry: at both ends,
// and at every step-th byte between. Of a sample, each entry takes its part.
func (s setup) offsets(size, n int) []int {
	list := []int{0}
	step, first := s.step, s.first
	if step > 1 {
		step, first = step*len(entries), first+n*step
	}
	for at := 1 + first; at < size; at += step {
		list = append(list, at)
	}
	if size > 0 {
		list = append(list, size)
	}
	return list
}

// uncut is an offset that no message has.
const uncut = 1 << 30

// holdTime is the deadline of calls that are held, in milliseconds.
const holdTime = 60

// one makes one call that is cut. A call on a kept connection has a pack of its
// own: after a loss on a kept connection the client opens fresh ones for a while.
func (s setup) one(w *world, pack *string, entry string, c *cut) error {
	if s.kept {
		if err := w.closePack(*pack); err != nil {
			return err
		}
		var err error
		if *pack, err = w.construct(); err != nil {
			return err
		}
	} else if err := w.proxy.dropIdle(w.ctx); err != nil {
		return err
	}
	t := trial{
		cause: fmt.Sprintf("%s: %s of the %s", s.form(), c.way, c.side),
		where: fmt.Sprintf("%s at byte %d, %s", s, c.at, entry),
		nonce: w.nonce(), may: 1,
	}
	c.nonce = t.nonce
	w.proxy.arm(c)
	timeout := 0
	if c.way == holding {
		timeout = holdTime
	}
	var interrupted <-chan struct{}
	if c.way == giveUp && c.at != uncut {
		interrupted = c.struck
	}
	done, err := w.call(t, *pack, entry, timeout, interrupted)
	if c.at == uncut {
		time.Sleep(stallTime) // the end of a stream comes behind its answer
	}
	w.proxy.disarm()
	if err != nil {
		return err
	}
	done.kept = c.kept
	return nil
}
