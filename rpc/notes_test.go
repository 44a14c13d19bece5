package rpc

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
)

func TestProgress(t *testing.T) { // L24, H-03
	// counting reports n steps of progress, one every pause.
	counting := func(n int, pause time.Duration) tool {
		return func(ctx context.Context, _ *testPack, call *pack.Call) (*pack.Result, error) {
			for i := range n {
				if i > 0 {
					time.Sleep(pause)
				}
				call.Progress(pack.Progress{Progress: fmt.Append(nil, i, ".0"), Total: pack.Raw("1E2")})
			}
			return text("done"), ctx.Err()
		}
	}
	progress := func(h *testHost) (steps []string) {
		for {
			m := rawjson.Members(h.next())
			if rawjson.Text(m.Get("method")) != "progress" {
				return steps
			}
			steps = append(steps, string(rawjson.Members(m.Get("params")).Get("progress")))
		}
	}

	t.Run("as the server spelt it", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{tools: map[string]tool{"step": func(_ context.Context, _ *testPack, call *pack.Call) (*pack.Result, error) {
				call.Progress(pack.Progress{Progress: pack.Raw("9007199254740993.10"), Message: "half\nway"})
				return text("done"), nil
			}}}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct(`{"progress":true}`)
			h.send(`{"jsonrpc":"2.0","id":"\u0041","method":"invoke","params":{"tool":"p/step","progress":true}}`)
			h.want(`{"id":"$absent","method":"progress","params":{"invoke":{"$raw":"\"\\u0041\""},"progress":{"$raw":"9007199254740993.10"},"total":"$absent","message":"half\nway"}}`)
			h.want(`{"id":"A","result":"$any"}`)
			h.finish()
		})
	})

	t.Run("L24 the first at once, then twenty a second, the last before the answer", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{tools: map[string]tool{"count": counting(1001, time.Millisecond)}}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct(`{"progress":true}`)
			h.send(`{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/count","progress":true}}`)
			start := time.Now()
			steps := progress(h)
			took(t, start, time.Second)
			if len(steps) < 20 || len(steps) > 22 || steps[0] != "0.0" || steps[len(steps)-1] != "1000.0" {
				t.Errorf("got %d steps: %v", len(steps), steps)
			}
			h.finish()
		})
	})

	t.Run("L24 slow progress comes as it is", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{tools: map[string]tool{"count": counting(10, time.Second)}}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct(`{"progress":true}`)
			h.send(`{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/count","progress":true}}`)
			if steps := progress(h); len(steps) != 10 {
				t.Errorf("got %d steps: %v", len(steps), steps)
			}
			h.finish()
		})
	})

	t.Run("L24 an override, and none at all", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := &testPack{tools: map[string]tool{"count": counting(1001, time.Millisecond)}}
			h := newHost(t, hostConfig{pack: p, limits: []string{"progress_rate=2"}})
			h.construct(`{"progress":true}`)
			h.send(`{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/count","progress":true}}`)
			if steps := progress(h); len(steps) < 3 || len(steps) > 4 {
				t.Errorf("got %d steps: %v", len(steps), steps)
			}
			h.finish()
			h = newHost(t, hostConfig{limits: []string{"progress_rate=0"}})
			h.construct(`{"progress":true}`)
			h.send(`{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/call","progress":true}}`)
			h.want(`{"id":1,"result":{"content":",0s,false,false"}}`)
			h.finish()
		})
	})

	t.Run("never after the answer", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{tools: map[string]tool{"count": counting(1000, 30*time.Millisecond)}}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct(`{"progress":true,"log":true}`)
			h.send(`{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/count","progress":true}}`)
			h.want(`{"method":"progress"}`)
			time.Sleep(40 * time.Millisecond) // the second waits for its turn
			synctest.Wait()
			h.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":1}}`)
			h.want(`{"id":1,"error":{"code":-32800}}`)
			time.Sleep(time.Hour)
			h.finish()
		})
	})
}

func TestNotifications(t *testing.T) {
	// speak says everything that a pack can say.
	speak := func(p *testPack, word string) {
		if p.host.Status != nil {
			p.host.Status([]pack.ServerStatus{{Name: word, Status: "connecting", Error: word}})
		}
		if p.host.Changed != nil {
			p.host.Changed()
		}
		if p.host.Message != nil {
			p.host.Message(pack.Message{Level: "warning", Server: "one", Message: word, Data: pack.Raw("{ \"d\":\n1 }")})
		}
	}
	speaker := map[string]tool{"speak": func(_ context.Context, p *testPack, call *pack.Call) (*pack.Result, error) {
		speak(p, "now")
		if call.Log != nil {
			call.Log(pack.Message{Level: "error", Message: "of the call"})
		}
		return text("done"), nil
	}}
	const invoke = `{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/speak","progress":true}}`

	t.Run("all that was declared", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			h := newHost(t, hostConfig{framing: framing, pack: &testPack{tools: speaker}})
			h.construct(`{"status":true,"changed":true,"log":true}`)
			h.send(invoke)
			h.want(
				`{"id":"$absent","method":"status","params":{"id":"p","servers":[{"name":"now","status":"connecting","toolCount":0,"error":"now"}]}}`,
				`{"method":"changed","params":{"id":"p","tools":[{"name":"p/echo"},{"name":"p/command/mcp"}]}}`,
				`{"method":"log","params":{"id":"p","invoke":"$absent","level":"warning","server":"one","message":"now","data":{"$raw":"{ \"d\":1 }"}}}`,
				`{"method":"log","params":{"id":"p","invoke":1,"level":"error","server":"$absent","message":"of the call","data":"$absent"}}`,
				`{"id":1,"result":"$any"}`)
			h.finish()
		})
	})

	t.Run("H-01 nothing that was not", func(t *testing.T) {
		for _, capabilities := range []string{"", "{}", `{"status":false,"changed":null,"log":false,"Status":true,"telepathy":true}`} {
			bubble(t, func(t *testing.T, framing string) {
				h := newHost(t, hostConfig{framing: framing, pack: &testPack{tools: speaker}})
				h.construct(capabilities)
				h.send(invoke)
				h.want(`{"id":1,"result":"$any"}`)
				h.finish()
				if p := h.pack.built().host; p.Status != nil || p.Changed != nil || p.Message != nil || p.Ask != nil {
					t.Error("the pack is given what its host did not declare")
				}
			})
		}
	})

	t.Run("each pack has the capabilities of its own construct", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			h := newHost(t, hostConfig{framing: framing, pack: &testPack{}})
			h.construct(`{"status":true}`)
			first := h.pack.built().host
			h.play(`
				--> {"jsonrpc":"2.0","id":1,"method":"construct","params":{"pack":"test/pack","id":"q","host":{"capabilities":{"log":true}}}}
				<-- {"id":1,"result":"$any"}`)
			if first.Status == nil || first.Message != nil || h.pack.built().host.Status != nil || h.pack.built().host.Message == nil {
				t.Error("the capabilities are mixed up")
			}
			h.finish()
		})
	})

	t.Run("what a pack says while it is built comes after the answer", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{fresh: func(p *testPack) {
				for i := range 100 {
					speak(p, fmt.Sprint("early ", i))
				}
			}}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct(`{"status":true,"changed":true,"log":true}`)
			synctest.Wait()
			h.in.Close()
			count := map[string]int{}
			status := ""
			for m := h.next(); m != nil; m = h.next() {
				method := rawjson.Text(rawjson.Members(m).Get("method"))
				if count[method]++; method == "status" {
					status = string(m)
				}
			}
			h.wait()
			if count["status"] != 1 || count["changed"] != 1 || count["log"] != maxEarly || !strings.Contains(status, `"early 99"`) {
				t.Errorf("got %v and %s", count, status)
			}
		})
	})

	t.Run("nothing comes of a pack that could not be built, or is closed", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{}
			h := newHost(t, hostConfig{framing: framing, pack: p})
			h.construct(`{"status":true,"changed":true,"log":true}`)
			h.play(`
				--> {"jsonrpc":"2.0","id":1,"method":"close","params":{"id":"p"}}
				<-- {"id":1,"result":{}}`)
			speak(p.built(), "late")
			h.finish()
			speak(p.built(), "later")
		})
	})

	t.Run("changed reads the tools where its caller's locks do not matter", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			locked := func() { mu.Lock(); defer mu.Unlock() }
			h := newHost(t, hostConfig{pack: &testPack{list: locked, tools: map[string]tool{"touch": func(_ context.Context, p *testPack, _ *pack.Call) (*pack.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				p.host.Changed()
				p.host.Changed()
				return text("done"), nil
			}}}})
			h.construct(`{"changed":true}`)
			h.send(`{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/touch"}}`)
			h.want(`{"method":"changed"}`, `{"id":1,"result":"$any"}`)
			h.finish()
		})
	})

	t.Run("an answer of ready is never older than what was told before it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := &testPack{}
			p.ready = func(context.Context) ([]pack.ServerStatus, error) {
				old := []pack.ServerStatus{{Name: "one", Status: "loading"}}
				host := p.built().host
				host.Status([]pack.ServerStatus{{Name: "one", Status: "ready", ToolCount: 3}})
				host.Changed()
				synctest.Wait() // both are on their way before the older state is
				return old, nil
			}
			h := newHost(t, hostConfig{pack: p})
			h.construct(`{"status":true,"changed":true}`)
			h.send(`{"jsonrpc":"2.0","id":1,"method":"ready","params":{"id":"p"}}`)
			newer := `{"method":"status","params":{"servers":[{"name":"one","status":"ready","toolCount":3}]}}`
			h.want(newer, `{"method":"changed"}`,
				`{"id":1,"result":{"servers":[{"name":"one","status":"ready","toolCount":3}]}}`,
				`{"method":"changed"}`) // its tools may be older, so they are told again
			h.finish()
		})
	})

	t.Run("an answer of ready is never older than that of another", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			asked, release := 0, make(chan struct{})
			p := &testPack{}
			p.ready = func(context.Context) ([]pack.ServerStatus, error) {
				if asked++; asked == 1 {
					<-release
					return []pack.ServerStatus{{Name: "one", Status: "loading"}}, nil
				}
				return []pack.ServerStatus{{Name: "one", Status: "ready", ToolCount: 3}}, nil
			}
			h := newHost(t, hostConfig{pack: p})
			h.construct("")
			h.send(`{"jsonrpc":"2.0","id":1,"method":"ready","params":{"id":"p"}}`)
			synctest.Wait()
			h.send(`{"jsonrpc":"2.0","id":2,"method":"ready","params":{"id":"p"}}`)
			h.want(`{"id":2,"result":{"servers":[{"name":"one","status":"ready"}]}}`)
			close(release)
			h.want(`{"id":1,"result":{"servers":[{"name":"one","status":"ready"}]}}`)
			h.finish()
		})
	})

	t.Run("what is told after an answer of ready comes behind it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tell := func(p *testPack, status string) {
				p.built().host.Status([]pack.ServerStatus{{Name: "one", Status: status}})
			}
			p := &testPack{}
			p.ready = func(context.Context) ([]pack.ServerStatus, error) {
				return []pack.ServerStatus{{Name: "one", Status: "loading"}}, nil
			}
			h := newHost(t, hostConfig{pack: p, deaf: true})
			h.send(`{"jsonrpc":"2.0","id":0,"method":"construct","params":{"pack":"test/pack","host":{"capabilities":{"status":true}}}}`)
			synctest.Wait() // its answer is being written, and what follows waits
			tell(p, "connecting")
			h.send(`{"jsonrpc":"2.0","id":1,"method":"ready","params":{"id":"p"}}`)
			synctest.Wait()
			tell(p, "ready")
			h.listen()
			h.want(`{"id":0}`, `{"method":"status","params":{"servers":[{"status":"connecting"}]}}`,
				`{"id":1,"result":{"servers":[{"status":"loading"}]}}`,
				`{"method":"status","params":{"servers":[{"status":"ready"}]}}`)
			h.finish()
		})
	})

	t.Run("the host is told to the pack", func(t *testing.T) {
		h := newHost(t, hostConfig{})
		h.construct("")
		if p := h.pack.built().host; p.Name != "tester" || p.Version != "9" || p.Runtime == nil || p.Log == nil || p.Scrub == nil {
			t.Errorf("got %+v", p)
		}
		h.finish()
	})
}

// TestScrubbing proves that the last gate before the host lets no secret out.
func TestScrubbing(t *testing.T) {
	if !strings.Contains(scrubber.Text("a "+canary+" b"), "[redacted]") {
		t.Fatal("the scrubber does not know the canary")
	}
	p := &testPack{
		ready: func(context.Context) ([]pack.ServerStatus, error) {
			return []pack.ServerStatus{{Name: "one", Status: "error", Error: "401 " + canary}}, nil
		},
		tools: map[string]tool{"leak": func(_ context.Context, p *testPack, call *pack.Call) (*pack.Result, error) {
			p.host.Message(pack.Message{Level: "info", Message: canary})
			p.host.Status([]pack.ServerStatus{{Name: "one", Status: "error", Error: canary}})
			call.Log(pack.Message{Level: "info", Message: canary})
			call.Progress(pack.Progress{Progress: pack.Raw("1"), Message: canary})
			return nil, pack.Errorf(pack.KindTransport, "server: %s", canary)
		}},
	}
	h := newHost(t, hostConfig{pack: p, scrub: scrubber})
	h.construct(`{"status":true,"log":true,"progress":true}`)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"ready","params":{"id":"p"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"invoke","params":{"tool":"p/leak","progress":true}}`)
	h.in.Close()
	n := 0
	for m := h.next(); m != nil; m = h.next() {
		n++
		if strings.Contains(string(m), canary) {
			t.Errorf("a secret goes out: %s", m)
		}
	}
	if n != 6 {
		t.Errorf("%d messages, want 6", n)
	}
	h.wait()
}

var scrubber = func() *redact.Scrubber {
	s := redact.NewScrubber()
	s.Add(canary)
	return s
}()
