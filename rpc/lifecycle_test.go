package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/pack"
)

// bubble runs a test in fake time, under both framings.
func bubble(t *testing.T, test func(t *testing.T, framing string)) {
	eachFraming(t, func(t *testing.T, framing string) {
		synctest.Test(t, func(t *testing.T) { test(t, framing) })
	})
}

// after is a tool that answers after that time, or when it is cancelled.
func after(d time.Duration) tool {
	return func(ctx context.Context, _ *testPack, _ *pack.Call) (*pack.Result, error) {
		select {
		case <-time.After(d):
			return text("done"), nil
		case <-ctx.Done():
			return nil, pack.AsError(context.Cause(ctx))
		}
	}
}

// stubborn is a tool that answers after that time, whatever happens.
func stubborn(d time.Duration) tool {
	return func(context.Context, *testPack, *pack.Call) (*pack.Result, error) {
		time.Sleep(d)
		return text("done"), nil
	}
}

// took fails the test unless that much fake time has passed since start.
func took(t *testing.T, start time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(start); got != want {
		t.Errorf("it took %v, want %v", got, want)
	}
}

func TestEndOfFile(t *testing.T) {
	t.Run("calls may finish for a second", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{tools: map[string]tool{"short": after(900 * time.Millisecond), "long": after(time.Hour)}}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct("")
			h.send(
				`{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/long"}}`,
				`{"jsonrpc":"2.0","id":2,"method":"invoke","params":{"tool":"p/short"}}`)
			start := time.Now()
			h.in.Close()
			h.want(`{"id":2,"result":{"content":"done"}}`)
			took(t, start, 900*time.Millisecond)
			h.want(`{"id":1,"error":{"code":-32800,"data":{"kind":"cancelled","delivered":"unknown"}}}`)
			took(t, start, time.Second)
			h.wait()
			took(t, start, time.Second)
			p.reached("close", 1)
		})
	})

	t.Run("nothing in flight is no reason to wait", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			h := newHost(t, hostConfig{framing: framing})
			h.construct("")
			start := time.Now()
			h.finish()
			took(t, start, 0)
		})
	})

	t.Run("B231 a call, a pack and a task that never end are left behind in time", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			release := make(chan struct{})
			p := &testPack{
				tools: map[string]tool{"stuck": func(context.Context, *testPack, *pack.Call) (*pack.Result, error) {
					<-release
					return text("too late"), nil
				}},
				close: func(context.Context) error { <-release; return nil },
				fresh: func(p *testPack) { p.host.Runtime.Go(func(context.Context) { <-release }) },
			}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct("")
			h.send(`{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/stuck"}}`)
			start := time.Now()
			h.finish(`{"id":1,"error":{"code":-32800}}`)
			took(t, start, 4*time.Second)
			close(release)
		})
	})

	t.Run("packs close side by side", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := &testPack{close: func(context.Context) error { time.Sleep(2 * time.Second); return nil }}
			h := newHost(t, hostConfig{pack: p})
			for i := range 5 {
				h.play(fmt.Sprintf(`
					--> {"jsonrpc":"2.0","id":%d,"method":"construct","params":{"pack":"test/pack","id":"p%d"}}
					<-- {"id":%d,"result":"$any"}`, i, i, i))
			}
			start := time.Now()
			h.finish()
			took(t, start, 2*time.Second)
		})
	})

	t.Run("a pack that obeys its deadline is given it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := &testPack{close: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
			h := newHost(t, hostConfig{pack: p})
			h.construct("")
			start := time.Now()
			h.finish()
			took(t, start, 3500*time.Millisecond)
			if !strings.Contains(h.log.String(), "did not close in order") {
				t.Errorf("the log does not say so:\n%s", h.log.String())
			}
		})
	})

	t.Run("B245 a burst of requests and then the end", func(t *testing.T) {
		eachFraming(t, func(t *testing.T, framing string) {
			h := newHost(t, hostConfig{framing: framing, unchecked: true})
			h.construct("")
			var burst strings.Builder
			for i := range 1000 {
				burst.WriteString(framed(framing, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"invoke","params":{"tool":"p/echo"}}`, i)))
			}
			h.in.Write([]byte(burst.String()))
			h.in.Close()
			l := newLedger()
			for range 1000 {
				l.answer(t, h.next())
			}
			h.wait()
			l.check(t, 1000, 1000, 0)
		})
	})

	t.Run("before anything was sent", func(t *testing.T) {
		eachFraming(t, func(t *testing.T, framing string) {
			newHost(t, hostConfig{framing: framing}).finish()
		})
	})

	t.Run("a host that does not read does not keep the child", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			h := newHost(t, hostConfig{framing: framing, deaf: true, unchecked: true})
			h.send(`{"jsonrpc":"2.0","id":1,"method":"construct","params":{"pack":"test/pack"}}`)
			start := time.Now()
			h.in.Close()
			if err := <-h.ended; err != nil {
				t.Error(err)
			}
			took(t, start, 4500*time.Millisecond)
			h.out.Close()
			h.pack.reached("close", 1)
		})
	})

	t.Run("a broken stdout counts as end-of-file", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{tools: map[string]tool{"long": after(time.Hour)}}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct("")
			h.send(`{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/long"}}`)
			h.out.Close()
			start := time.Now()
			h.send(`{"jsonrpc":"2.0","id":2,"method":"cancel","params":{"id":9}}`)
			if err := <-h.ended; err != nil {
				t.Error(err)
			}
			took(t, start, time.Second)
			p.reached("close", 1)
		})
	})
}

func TestSignal(t *testing.T) {
	bubble(t, func(t *testing.T, framing string) {
		p := &testPack{tools: map[string]tool{"long": after(time.Hour), "short": after(500 * time.Millisecond)}}
		h := newHost(t, hostConfig{framing: framing, pack: p})
		h.construct(`{"approve":true}`)
		h.send(
			`{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/long"}}`,
			`{"jsonrpc":"2.0","id":2,"method":"invoke","params":{"tool":"p/long"}}`,
			`{"jsonrpc":"2.0","id":3,"method":"invoke","params":{"tool":"p/short"}}`)
		synctest.Wait()
		start := time.Now()
		h.signal()
		synctest.Wait()
		h.play(`
			No new request is taken, and each is told so; a cancel still counts.
			--> {"jsonrpc":"2.0","id":4,"method":"invoke","params":{"tool":"p/echo"}}
			--> {"jsonrpc":"2.0","id":5,"method":"construct","params":{"pack":"test/pack","id":"q"}}
			--> {"jsonrpc":"2.0","id":6,"method":"ready","params":{"id":"p"}}
			--> {"jsonrpc":"2.0","id":7,"method":"close","params":{"id":"p"}}
			--> {"jsonrpc":"2.0","id":8,"method":"cancel","params":{"id":2}}
			<-- {"id":4,"error":{"code":-32004,"message":{"$contains":"ending"},"data":{"delivered":"no"}}}
			<-- {"id":5,"error":{"code":-32004}}
			<-- {"id":6,"error":{"code":-32004}}
			<-- {"id":7,"error":{"code":-32004}}
			<-- {"id":8,"result":{"cancelled":true}}
			<-- {"id":2,"error":{"code":-32800}}
		`)
		took(t, start, 0)
		h.wait(`{"id":3,"result":{"content":"done"}}`, `{"id":1,"error":{"code":-32800}}`)
		took(t, start, time.Second)
		p.reached("close", 1)
	})
}

func TestCancel(t *testing.T) {
	t.Run("L-10 nobody waits for a server that does not listen", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{tools: map[string]tool{"stubborn": stubborn(time.Hour)}}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct("")
			start := time.Now()
			h.play(`
				--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/stubborn"}}
				--> {"jsonrpc":"2.0","id":2,"method":"cancel","params":{"id":1,"reason":"enough"}}
				<-- {"id":1,"error":{"code":-32800,"message":"cancelled","data":{"kind":"cancelled","delivered":"unknown"}}}
				<-- {"id":2,"result":{"cancelled":true}}
				The id is free, and the late result goes nowhere.
				--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/echo"}}
				<-- {"id":1,"result":"$any"}
				--> {"jsonrpc":"2.0","id":2,"method":"cancel","params":{"id":1}}
				<-- {"id":2,"result":{"cancelled":false}}
			`)
			took(t, start, 0)
			time.Sleep(2 * time.Hour)
			h.finish()
		})
	})

	t.Run("the pack's context ends", func(t *testing.T) {
		eachFraming(t, func(t *testing.T, framing string) {
			h := newHost(t, hostConfig{framing: framing})
			h.construct("")
			h.play(`
				--> {"jsonrpc":"2.0","id":"a","method":"invoke","params":{"tool":"p/wait"}}
				--> {"jsonrpc":"2.0","method":"cancel","params":{"id":"a"}}
				--> {"jsonrpc":"2.0","method":"cancel","params":{"id":"a"}}
				<-- {"id":"a","error":{"code":-32800}}`)
			h.finish() // returns only when the call has, which waits for its context
		})
	})

	t.Run("ready can be cancelled, close and cancel cannot", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{
				ready: func(ctx context.Context) ([]pack.ServerStatus, error) { <-ctx.Done(); return nil, context.Cause(ctx) },
				close: func(context.Context) error { time.Sleep(time.Second); return nil },
			}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct("")
			h.play(`
				--> {"jsonrpc":"2.0","id":1,"method":"ready","params":{"id":"p"}}
				--> {"jsonrpc":"2.0","id":2,"method":"cancel","params":{"id":1}}
				<-- {"id":1,"error":{"code":-32800,"data":{"delivered":"$absent"}}}
				<-- {"id":2,"result":{"cancelled":true}}
				--> {"jsonrpc":"2.0","id":3,"method":"close","params":{"id":"p"}}
				--> {"jsonrpc":"2.0","id":4,"method":"cancel","params":{"id":3}}
				<-- {"id":4,"result":{"cancelled":false}}
				<-- {"id":3,"result":{}}
			`)
			h.finish()
		})
	})

	t.Run("$/cancelRequest is cancel in LSP framing only", func(t *testing.T) {
		lsp := newHost(t, hostConfig{framing: "lsp"})
		lsp.construct("")
		lsp.play(`
			--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/wait"}}
			--> {"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"off"}}
			--> {"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}
			<-- {"id":1,"error":{"code":-32800}}`)
		lsp.finish()

		lines := newHost(t, hostConfig{})
		lines.construct("")
		lines.play(`
			--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/wait"}}
			--> {"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}
			--> {"jsonrpc":"2.0","id":2,"method":"$/cancelRequest","params":{"id":1}}
			<-- {"id":2,"error":{"code":-32601}}
			--> {"jsonrpc":"2.0","id":2,"method":"cancel","params":{"id":1}}
			<-- {"id":1,"error":{"code":-32800}}
			<-- {"id":2,"result":{"cancelled":true}}`)
		lines.finish()
	})
}

func TestClose(t *testing.T) {
	t.Run("calls are answered before it, and the id is free after it", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{close: func(context.Context) error { time.Sleep(time.Second); return nil }}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct(`{"status":true,"changed":true,"log":true}`)
			h.play(`
				--> {"jsonrpc":"2.0","id":"q","method":"construct","params":{"pack":"test/pack","id":"q"}}
				<-- {"id":"q","result":"$any"}
				--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/wait"}}
				--> {"jsonrpc":"2.0","id":2,"method":"invoke","params":{"tool":"q/wait"}}
				--> {"jsonrpc":"2.0","id":3,"method":"close","params":{"id":"p"}}
				--> {"jsonrpc":"2.0","id":4,"method":"invoke","params":{"tool":"p/echo"}}
				--> {"jsonrpc":"2.0","id":5,"method":"ready","params":{"id":"p"}}
				--> {"jsonrpc":"2.0","id":6,"method":"close","params":{"id":"p"}}
				--> {"jsonrpc":"2.0","id":7,"method":"construct","params":{"pack":"test/pack"}}
				<-- {"id":1,"error":{"code":-32800,"message":"cancelled: its pack was closed"}}
				<-- {"id":4,"error":{"code":-32004,"message":"the pack \"p\" is being closed"}}
				<-- {"id":5,"error":{"code":-32004}}
				<-- {"id":6,"error":{"code":-32004}}
				<-- {"id":7,"error":{"code":-32004}}`)
			start := time.Now()
			h.want(`{"id":3,"result":{"$raw":"{}"}}`)
			took(t, start, time.Second)
			h.play(`
				--> {"jsonrpc":"2.0","id":8,"method":"close","params":{"id":"p"}}
				<-- {"id":8,"error":{"code":-32004,"message":{"$contains":"constructed: \"q\""}}}
				--> {"jsonrpc":"2.0","id":9,"method":"construct","params":{"pack":"test/pack"}}
				<-- {"id":9,"result":"$any"}
				--> {"jsonrpc":"2.0","id":10,"method":"cancel","params":{"id":2}}
				<-- {"id":2,"error":{"code":-32800}}
				<-- {"id":10,"result":{"cancelled":true}}`)
			h.finish()
		})
	})

	t.Run("a pack that cannot end keeps a host 4.5 s", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{close: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct("")
			start := time.Now()
			h.play(`
				--> {"jsonrpc":"2.0","id":1,"method":"close","params":{"id":"p"}}
				<-- {"id":1,"result":{}}`)
			took(t, start, 4500*time.Millisecond)
			h.finish()
		})
	})

	t.Run("end-of-file while it is at work", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{close: func(context.Context) error { time.Sleep(2 * time.Second); return nil }}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct("")
			start := time.Now()
			h.send(`{"jsonrpc":"2.0","id":1,"method":"close","params":{"id":"p"}}`)
			h.finish(`{"id":1,"result":{}}`)
			took(t, start, 2*time.Second)
		})
	})

	t.Run("end-of-file while it does not end", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			release := make(chan struct{})
			p := &testPack{close: func(context.Context) error { <-release; return nil }}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct("")
			start := time.Now()
			h.send(`{"jsonrpc":"2.0","id":1,"method":"close","params":{"id":"p"}}`)
			h.finish(`{"id":1,"error":{"code":-32603,"message":"the pack did not close in time"}}`)
			took(t, start, 4*time.Second)
			close(release)
		})
	})
}

// TestInputDeadline proves that a signal ends the reader too where the input can
// be told to stop.
func TestInputDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, framing string) {
		near, far := net.Pipe()
		h := newHost(t, hostConfig{framing: framing, in: far})
		h.in = near
		h.construct("")
		h.signal()
		h.wait()
		synctest.Wait()
		if _, err := far.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the input was not told to stop: %v", err)
		}
		near.Close()
		far.Close()
	})
}

// TestBackground proves what a pack's own work can rely on.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		p := &testPack{fresh: func(p *testPack) {
			p.host.Runtime.Go(func(ctx context.Context) { <-ctx.Done(); ended = true })
		}}
		h := newHost(t, hostConfig{pack: p})
		h.construct("")
		synctest.Wait()
		if ended {
			t.Error("the task's context has ended before the process does")
		}
		h.finish()
		if !ended {
			t.Error("Serve did not wait for the task")
		}
		p.built().host.Runtime.Go(func(context.Context) { t.Error("a task was started after the end") })
		synctest.Wait()
	})
}

// TestLateQuestion proves that nobody waits for a host that has gone.
func TestLateQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, hostConfig{})
		h.construct(everyKind)
		h.finish()
		a, err := h.pack.built().host.Ask(t.Context(), &pack.Question{Kind: pack.AskForm})
		if a != nil || pack.AsError(err).Kind != pack.KindCancelled {
			t.Errorf("got %v and %v", a, err)
		}
	})
}

// TestPanics proves T75 where exchanges cannot: in work that no call waits for.
func TestPanics(t *testing.T) {
	eachFraming(t, func(t *testing.T, framing string) {
		var once sync.Once
		done := make(chan struct{})
		p := &testPack{
			close: func(context.Context) error { panic(canary) },
			ready: func(context.Context) ([]pack.ServerStatus, error) { panic([]string{canary}) },
			fresh: func(p *testPack) {
				p.host.Runtime.Go(func(context.Context) {
					defer once.Do(func() { close(done) })
					panic(fmt.Errorf("task: %s", canary))
				})
			},
		}
		h := newHost(t, hostConfig{framing: framing, pack: p})
		h.construct("")
		<-done
		h.play(`
			--> {"jsonrpc":"2.0","id":1,"method":"ready","params":{"id":"p"}}
			<-- {"id":1,"error":{"code":-32603}}
			--> {"jsonrpc":"2.0","id":2,"method":"close","params":{"id":"p"}}
			<-- {"id":2,"error":{"code":-32603}}`)
		h.play(`
			--> {"jsonrpc":"2.0","id":3,"method":"construct","params":{"pack":"test/pack"}}
			<-- {"id":3,"result":"$any"}`)
		h.finish() // its close panics too
		log := h.log.String()
		if n := strings.Count(log, "panic contained"); n != 5 {
			t.Errorf("%d panics in the log, want 5:\n%s", n, log)
		}
		for _, part := range []string{"type=*errors.errorString", "type=[]string", "rpc.TestPanics", "rpc.(*Background).Go"} {
			if !strings.Contains(log, part) {
				t.Errorf("the log lacks %q:\n%s", part, log)
			}
		}
	})
}

// TestPanickingTools proves that nothing is kept of a pack whose tools cannot be
// told.
func TestPanickingTools(t *testing.T) {
	bubble(t, func(t *testing.T, framing string) {
		first := true
		p := &testPack{list: func() {
			if first {
				first = false
				panic(canary)
			}
		}}
		h := newHost(t, hostConfig{framing: framing, pack: p})
		h.play(`
			--> {"jsonrpc":"2.0","id":1,"method":"construct","params":{"pack":"test/pack"}}
			<-- {"id":1,"error":{"code":-32603,"message":{"$contains":"internal error in construct"}}}`)
		p.reached("close", 1)
		synctest.Wait()
		h.play(`
			--> {"jsonrpc":"2.0","id":2,"method":"construct","params":{"pack":"test/pack"}}
			<-- {"id":2,"result":"$any"}`)
		h.finish()
	})
}
