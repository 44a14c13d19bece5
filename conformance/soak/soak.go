package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/conformance/internal/child"
	"github.com/toolhost/toolhost/spec/speccheck"
)

// inFlight is how many invokes run side by side.
const inFlight = 64

// soak is one run: one child, one server, n invokes.
type soak struct {
	binary  string
	framing child.Framing
	era     fakeserver.Era
	n       int
	seed    uint64

	child  *child.Child
	server *fakeserver.Server
	stderr tail

	invokes        []invoke // by number; each is written by the one worker that sent it
	took           time.Duration
	before, after  child.Usage
	ledger         *fakeserver.Ledger
	overtaken      int // cancels that came to the server ahead of their request
	cancelRequests atomic.Int64
}

// A plan is what is done to one invoke.
type plan int

const (
	leave  plan = iota // a quick call, not cancelled: it must give a result
	cancel             // a call without end, cancelled: it must answer so
	either             // a short call, cancelled at about its end: one of the two
)

// An invoke is one call and what became of it.
type invoke struct {
	plan   plan
	answer string // "result", "cancelled", or what else came
}

func (s *soak) name() string {
	era := map[fakeserver.Era]string{fakeserver.Legacy: "legacy", fakeserver.Modern: "modern"}[s.era]
	return fmt.Sprintf("%s framing, %s era", s.framing, era)
}

func (s *soak) run(ctx context.Context) (faults []string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", s.name(), err)
		}
	}()
	s.server, err = fakeserver.Start(fakeserver.Options{Era: s.era})
	if err != nil {
		return nil, err
	}
	defer s.server.Close()
	checker, err := speccheck.New()
	if err != nil {
		return nil, err
	}
	s.child, err = child.Start(s.binary, child.Options{Framing: s.framing, Stderr: &s.stderr, Check: checker.Trace})
	if err != nil {
		return nil, err
	}
	defer func() {
		if stopErr := s.child.Stop(10 * time.Second); stopErr != nil {
			faults = append(faults, stopErr.Error())
		}
		if strings.Contains(s.stderr.String(), "DATA RACE") {
			faults = append(faults, "the race detector spoke: "+s.stderr.String())
		}
	}()

	// One round first: what a process opens once and keeps is open after it.
	if err := s.round(ctx, inFlight); err != nil {
		return nil, err
	}
	if s.before, err = child.UsageOf(s.child.PID()); err != nil {
		return nil, err
	}
	first := len(s.server.Ledger().Runs)
	begin := time.Now()
	if err := s.round(ctx, s.n); err != nil {
		return nil, err
	}
	s.took = time.Since(begin)

	if err := s.server.Wait(ctx, func(l *fakeserver.Ledger) bool { return l.Open == 0 }); err != nil {
		return nil, fmt.Errorf("the server still has requests open: %w", err)
	}
	s.ledger = s.server.Ledger()
	s.ledger.Runs = s.ledger.Runs[first:]
	faults = s.judge()
	if fault := s.filesBack(ctx); fault != "" {
		faults = append(faults, fault)
	}
	return faults, nil
}

// round constructs the pack, makes n invokes and closes the pack.
func (s *soak) round(ctx context.Context, n int) error {
	if err := s.construct(ctx); err != nil {
		return err
	}
	s.invokes = make([]invoke, n)
	var next atomic.Int64
	var workers sync.WaitGroup
	problems := make([]error, inFlight)
	for w := range inFlight {
		random := rand.New(rand.NewPCG(s.seed, uint64(w)))
		workers.Go(func() {
			for problems[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				problems[w] = s.invoke(ctx, i, random)
			}
		})
	}
	workers.Wait()
	if err := errors.Join(problems...); err != nil {
		return err
	}
	reply, err := s.child.Call(ctx, "close", `{"id":"mcp"}`)
	if err == nil && reply.Error != nil {
		err = reply.Error
	}
	return err
}

// construct constructs the pack over the server and waits until it is ready.
func (s *soak) construct(ctx context.Context) error {
	reply, err := s.child.Call(ctx, "construct", `{"protocol":"1","pack":"runvil/mcp","config":{"fake":{"url":"`+s.server.URL()+`"}}}`)
	if err == nil && reply.Error != nil {
		err = reply.Error
	}
	for err == nil {
		var ready struct {
			Servers []struct{ Status, Error string }
		}
		if reply, err = s.child.Call(ctx, "ready", `{"id":"mcp"}`); err != nil {
			break
		}
		if err = reply.Decode(&ready); err == nil && ready.Servers[0].Status == "ready" {
			return nil
		}
		if err == nil && ready.Servers[0].Status == "error" {
			err = errors.New(ready.Servers[0].Error)
		}
		if err == nil {
			err = pause(ctx, 5*time.Millisecond)
		}
	}
	return fmt.Errorf("construct: %w", err)
}

// invoke makes the call number i and does to it what chance says.
func (s *soak) invoke(ctx context.Context, i int, random *rand.Rand) error {
	in := &s.invokes[i]
	ms := 0
	switch x := random.Float64(); {
	case x < 0.45:
		in.plan = leave
	case x < 0.9:
		in.plan, ms = cancel, 3_600_000
	default:
		in.plan, ms = either, random.IntN(3)
	}
	arguments := fmt.Sprintf(`{"namespace":"fake","toolName":"slow","arguments":{"ms":%d,"nonce":"%d"}}`, ms, i)
	id, answer, err := s.child.Send("invoke", `{"tool":"mcp/call_dynamic_tool","arguments":`+arguments+`}`)
	if err != nil {
		return err
	}
	if in.plan != leave {
		// A third of the cancels follow at once, the others within 10 ms.
		if wait := time.Duration((random.Float64()*15 - 5) * float64(time.Millisecond)); wait > 0 {
			if err := pause(ctx, wait); err != nil {
				return err
			}
		}
		if err := s.cancel(ctx, id, random.IntN(2) == 0); err != nil {
			return err
		}
	}
	reply, err := s.child.Await(ctx, answer)
	switch {
	case err != nil:
		return fmt.Errorf("invoke %d: %w", i, err)
	case reply.Error == nil:
		in.answer = "result"
	case reply.Error.Code == -32800:
		in.answer = "cancelled"
	default:
		in.answer = reply.Error.Error()
	}
	return nil
}

// cancel cancels an invoke, by a notification or by a request, which must be
// answered too.
func (s *soak) cancel(ctx context.Context, id string, asRequest bool) error {
	if !asRequest {
		return s.child.Write(`{"jsonrpc":"2.0","method":"cancel","params":{"id":` + id + `}}`)
	}
	s.cancelRequests.Add(1)
	reply, err := s.child.Call(ctx, "cancel", `{"id":`+id+`}`)
	if err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	var answer struct{ Cancelled *bool }
	if err := reply.Decode(&answer); err != nil {
		return fmt.Errorf("cancel: %w", err)
	}
	if answer.Cancelled == nil {
		return fmt.Errorf("cancel: no member cancelled in %s", reply.Result)
	}
	return nil
}

// filesBack waits until the child holds no more file descriptors than before.
func (s *soak) filesBack(ctx context.Context) (fault string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		usage, err := child.UsageOf(s.child.PID())
		if err != nil {
			return err.Error()
		}
		s.after = usage
		if usage.Files <= s.before.Files {
			return ""
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			return fmt.Sprintf("%d file descriptors before, %d after", s.before.Files, usage.Files)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// print writes the figures of the run.
func (s *soak) print(out io.Writer) {
	count := s.count()
	fmt.Fprintf(out, "%s: %v, %.0f invokes/s\n", s.name(), s.took.Round(time.Millisecond), float64(s.n)/s.took.Seconds())
	fmt.Fprintf(out, "  host:   %d answers, %d results, %d cancelled; %d cancels as requests, each answered\n",
		count["result"]+count["cancelled"]+count["other"], count["result"], count["cancelled"], s.cancelRequests.Load())
	fmt.Fprintf(out, "  server: %d runs, %d answered, %d cancelled; %d cancels came ahead of their request; %d calls were cancelled before they were sent\n",
		len(s.ledger.Runs), s.ledger.Outcomes("slow", fakeserver.Answered), s.ledger.Outcomes("slow", fakeserver.Cancelled), s.overtaken, s.n-len(s.ledger.Runs))
	fmt.Fprintf(out, "  child:  %d file descriptors before, %d after; %d threads before, %d after; RSS %.1f MB before, %.1f MB after\n",
		s.before.Files, s.after.Files, s.before.Threads, s.after.Threads, float64(s.before.RSS)/1e6, float64(s.after.RSS)/1e6)
}

// tail keeps the last part of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte // guarded by mu
}

func (t *tail) Write(p []byte) (int, error) {
	const keep = 64 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text) - keep; n > 0 {
		t.text = append(t.text[:0], t.text[n:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// decodeNonce returns the number of the invoke that a run belongs to.
func decodeNonce(run fakeserver.Run) (int, error) {
	var i int
	err := json.Unmarshal([]byte(run.Nonce), &i)
	return i, err
}
