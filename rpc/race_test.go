package rpc

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/spec/speccheck"
)

// TestRandomCancel is R16, T74 and B241: 10,000 invokes, each cancelled or not
// at a random moment, with every call answered once and the pack's own count
// agreeing with the host's.
func TestRandomCancel(t *testing.T) {
	eachFraming(t, func(t *testing.T, framing string) {
		before := runtime.NumGoroutine()
		const n = 10_000
		var finished, cancelled atomic.Int64
		p := &testPack{tools: map[string]tool{"race": func(ctx context.Context, _ *testPack, call *pack.Call) (*pack.Result, error) {
			if call.Progress != nil {
				call.Progress(pack.Progress{Progress: pack.Raw("1")})
			}
			var after <-chan time.Time
			if call.Run != "stuck" {
				after = time.After(time.Duration(rand.IntN(2000)) * time.Microsecond)
			}
			select {
			case <-after:
				finished.Add(1)
				return text("done"), nil
			case <-ctx.Done():
				cancelled.Add(1)
				return nil, pack.AsError(context.Cause(ctx))
			}
		}}}
		h := newHost(t, hostConfig{framing: framing, pack: p, unchecked: true, limits: []string{"calls_total=64", "calls_waiting=65536"}})
		h.construct(`{"progress":true}`)

		var sender sync.WaitGroup
		free := make(chan struct{}, 200) // calls that the host has open at most
		sender.Go(func() {
			var stuck []int
			for i := range n {
				free <- struct{}{}
				run := "free"
				if rand.IntN(5) < 2 {
					run = "stuck"
					stuck = append(stuck, i)
				}
				h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"invoke","params":{"tool":"p/race","run":"%s","progress":%v}}`, i, run, i%7 == 0))
				// Any of the last calls, finished, cancelled or neither; and so often
				// one that would never end that they do not pile up.
				for range rand.IntN(3) {
					h.send(cancelOf(max(0, i-rand.IntN(100))))
				}
				if len(stuck) > rand.IntN(60) {
					h.send(cancelOf(stuck[0]))
					stuck = stuck[1:]
				}
			}
			for _, i := range stuck {
				h.send(cancelOf(i))
			}
		})
		l := newLedger()
		for len(l.results) < n {
			m := h.next()
			if m == nil {
				t.Fatal("the child has ended")
			}
			if strings.Contains(string(m), `"method":"progress"`) {
				continue
			}
			l.answer(t, m)
			<-free
		}
		sender.Wait()
		h.finish()
		l.check(t, n, 3000, 3000)
		if l.errors[0]+l.errors[-32800] != n {
			t.Errorf("answers of other kinds: %v", l.errors)
		}
		// A result that came too late went nowhere, and a call that was cancelled
		// while it waited never reached the pack.
		if f, c := finished.Load(), cancelled.Load(); f < int64(l.errors[0]) || f+c > n {
			t.Errorf("the pack finished %d and was cancelled %d times; the host got %v", f, c, l.errors)
		}
		settled(t, before)
	})
}

func cancelOf(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"cancel","params":{"id":%d}}`, id)
}

// settled waits until no more goroutines run than before.
func settled(t *testing.T, before int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		runtime.Gosched()
	}
}

// TestMixedLoad sends all kinds of requests in a random order and ends the
// process by a signal in the middle of it. The bubble fails the test when a
// goroutine is left.
func TestMixedLoad(t *testing.T) {
	kinds := []string{
		`{"jsonrpc":"2.0","id":%d,"method":"construct","params":{"pack":"test/pack","id":"%s","host":{"capabilities":{"elicit":{"form":true},"log":true}}}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"invoke","params":{"tool":"%s/echo","arguments":{"a":1}}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"invoke","params":{"tool":"%s/form"}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"invoke","params":{"tool":"%s/wait"}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"ready","params":{"id":"%s"}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"close","params":{"id":"%s"}}`,
		`{"jsonrpc":"2.0","id":%d,"method":"%s"}`,
	}
	for round := range 20 {
		bubble(t, func(t *testing.T, framing string) {
			h := newHost(t, hostConfig{framing: framing, pack: &testPack{tools: askTools}, unchecked: true})
			sent := make(chan int, 1)
			go func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(len(framing))))
				end := 250 + r.IntN(250)
				n := 0
				for ; n < 500; n++ {
					line := fmt.Sprintf(kinds[r.IntN(len(kinds))], n, fmt.Sprintf("p%d", r.IntN(3)))
					if _, err := io.WriteString(h.in, framed(framing, line)); err != nil {
						break
					}
					if n == end {
						h.signal()
					}
				}
				h.in.Close()
				sent <- n
			}()
			l := newLedger()
			for m := h.next(); m != nil; m = h.next() {
				if !strings.Contains(string(m), `"method":`) {
					l.answer(t, m)
				}
			}
			if err := <-h.ended; err != nil {
				t.Error(err)
			}
			for id, times := range l.results {
				if times != 1 {
					t.Errorf("the request %d was answered %d times", id, times)
				}
			}
			// What comes when all is written is not answered any more: a request or
			// two that the reader still took.
			if n, have := <-sent, len(l.results); have < n-2 || have > n {
				t.Errorf("%d of %d requests were answered", have, n)
			}
		})
	}
}

// TestBareStream proves that Serve needs nothing of its streams but Read and
// Write, and that the input may be anything.
func TestBareStream(t *testing.T) {
	for _, framing := range framings {
		in := framed(framing, `{"jsonrpc":"2.0","id":1,"method":"construct","params":{"pack":"test/pack"}}`) +
			framed(framing, `{"jsonrpc":"2.0","id":2,"method":"invoke","params":{"tool":"p/echo"}}`)
		for _, message := range serveBytes(t, []byte(in)) {
			if err := speccheck.Match([]byte(`{"result":"$any"}`), message); err != nil {
				t.Error(err)
			}
		}
	}
}
