package rpc

import (
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/pack"
)

// A notes sends what a call says before its answer: log messages, and progress
// at most so often, what comes faster being merged into the newest (L24). A nil
// *notes is a call whose host wants neither.
type notes struct {
	session *session
	invoke  []byte        // the call's id
	every   time.Duration // between two progress messages

	mu     sync.Mutex
	slot   slot
	next   time.Time      // no progress goes out before; guarded by mu
	newest *pack.Progress // waits for next; guarded by mu
	timer  *time.Timer    // runs while newest waits; guarded by mu
	ended  bool           // guarded by mu
}

// notesOf returns the notes of a call and gives the pack its way to them.
func notesOf(n *session, c *call, to *pack.Call, wantProgress bool) *notes {
	rate := n.server.limits.Int(limit.ProgressRate)
	wantProgress = wantProgress && n.can.progress && rate > 0
	if !wantProgress && !n.can.log {
		return nil
	}
	s := &notes{session: n, invoke: c.id}
	if wantProgress {
		s.every = time.Second / time.Duration(rate)
		to.Progress = s.progress
	}
	if n.can.log {
		to.Log = s.log
	}
	return s
}

func (s *notes) log(l pack.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.session.send(s.session.logMessage(s.invoke, &l))
	}
}

func (s *notes) progress(now pack.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	wait := time.Until(s.next)
	if wait <= 0 {
		s.send(&now)
		return
	}
	if s.newest == nil {
		s.timer = time.AfterFunc(wait, s.due)
	}
	s.newest = &now
}

func (s *notes) due() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended && s.newest != nil {
		s.send(s.newest)
	}
}

// send queues a progress message. Its caller holds mu.
func (s *notes) send(now *pack.Progress) {
	s.newest = nil
	s.next = time.Now().Add(s.every)
	m := newCall(nil, methodProgress.name)
	m.class, m.slot = classState, &s.slot
	params := object{m: m}
	params.raw("invoke", s.invoke)
	params.raw("progress", now.Progress)
	params.optRaw("total", now.Total)
	params.opt("message", s.session.server.scrub.Text(now.Message))
	params.end()
	s.session.send(m.end())
}

// end is called before the answer is queued; from then on nothing is sent. The
// newest progress still goes out if last is set.
func (s *notes) end(last bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.newest != nil {
		s.timer.Stop()
		if last {
			s.send(s.newest)
		}
	}
}
