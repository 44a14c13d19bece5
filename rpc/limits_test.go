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
	"github.com/toolhost/toolhost/spec/speccheck"
)

// probe is what must be answered after anything that went wrong.
const probe = `
	--> {"jsonrpc":"2.0","id":"probe","method":"cancel","params":{"id":"nothing"}}
	<-- {"id":"probe","result":{"cancelled":false}}`

func TestHostLineLimit(t *testing.T) { // L01
	eachFraming(t, func(t *testing.T, framing string) {
		h := newHost(t, hostConfig{framing: framing, limits: []string{"host_line=64KiB"}})
		h.construct("")
		invoke := func(id string, size int) string {
			frame := `{"jsonrpc":"2.0","id":` + id + `,"method":"invoke","params":{"tool":"p/echo","arguments":{"x":""}}}`
			return strings.Replace(frame, `""`, `"`+strings.Repeat("x", size-len(frame))+`"`, 1)
		}
		h.send(invoke("1", 64<<10))
		h.want(`{"id":1,"result":"$any"}`)
		h.send(invoke(`"\u0061"`, 64<<10+1))
		h.want(`{"id":{"$raw":"\"\\u0061\""},"error":{"code":-32600,"message":{"$contains":"host_line (64KiB)"},"data":{"limit":"host_line"}}}`)
		h.send(invoke("2", 1<<20))
		h.want(`{"id":2,"error":{"code":-32600,"data":{"limit":"host_line"}}}`)
		h.send(invoke("1.5", 100<<10))
		h.want(`{"id":null,"error":{"code":-32600,"data":{"limit":"host_line"}}}`)
		h.send(strings.Repeat("x", 100<<10))
		h.want(`{"id":null,"error":{"code":-32600,"data":{"limit":"host_line"}}}`)
		// The id of a call that is in flight is that call's.
		h.send(`{"jsonrpc":"2.0","id":3,"method":"invoke","params":{"tool":"p/wait"}}`, invoke("3", 100<<10))
		h.want(`{"id":null,"error":{"code":-32600,"data":{"limit":"host_line","id":3}}}`)
		h.play(probe)
		h.in.Close()
		h.wait(`{"id":3,"error":{"code":-32800}}`)
	})
}

func TestJSONLimits(t *testing.T) { // L11, L12, T22
	deep := func(n int) string {
		return `{"jsonrpc":"2.0","id":7,"method":"invoke","params":{"tool":"p/call","arguments":{"x":` +
			strings.Repeat("[", n) + strings.Repeat("]", n) + `}}}`
	}
	wide := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%d":0,`, i)
		}
		return `{"jsonrpc":"2.0","id":7,"method":"invoke","params":{"tool":"p/call","arguments":{` + strings.TrimSuffix(b.String(), ",") + `}}}`
	}
	long := func(n int) string {
		return `{"jsonrpc":"2.0","id":7,"method":"invoke","params":{"tool":"p/call","arguments":{"x":[` +
			strings.TrimSuffix(strings.Repeat("0,", n), ",") + `]}}}`
	}
	digits := func(n int) string {
		return `{"jsonrpc":"2.0","id":7,"method":"invoke","params":{"tool":"p/echo","arguments":{"x":` + strings.Repeat("9", n) + `}}}`
	}
	const refused = `{"id":7,"error":{"code":-32600,"data":{"limit":"%s"}}}`
	h := newHost(t, hostConfig{unchecked: true})
	h.construct("")
	for _, test := range []struct{ name, message, want string }{
		{"L11 the deepest", deep(512 - 3), `{"id":7,"result":"$any"}`},
		{"L11 one deeper", deep(512 - 2), fmt.Sprintf(refused, "json_depth")},
		{"L11 a million deep, unclosed", strings.Repeat("[", 1e6), `{"id":null,"error":{"code":-32600,"data":{"limit":"json_depth"}}}`},
		{"L12 the most members", wide(100_000), `{"id":7,"result":"$any"}`},
		{"L12 one more", wide(100_001), fmt.Sprintf(refused, "json_keys")},
		{"L12 the most items", long(1_000_000), `{"id":7,"result":"$any"}`},
		{"L12 one more", long(1_000_001), fmt.Sprintf(refused, "json_items")},
		{"the longest number", digits(1024), `{"id":7,"result":"$any"}`},
		{"one digit more", digits(1025), `{"id":7,"error":{"code":-32600,"data":"$absent"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.t = t
			h.send(test.message)
			h.want(test.want)
			h.play(probe)
		})
	}
	h.t = t
	h.finish()
}

func TestCallLimits(t *testing.T) { // L21, L22
	limits := []string{"calls_total=2", "calls_waiting=2"}

	t.Run("L21 L22 two run, two wait, the next is refused", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{tools: map[string]tool{"second": after(time.Second)}}
			h := newHost(t, hostConfig{framing: framing, pack: p, limits: limits})
			h.construct("")
			start := time.Now()
			for i := range 5 {
				h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"invoke","params":{"tool":"p/second"}}`, i))
			}
			h.want(`{"id":4,"error":{"code":-32004,"message":{"$contains":"overloaded"},"data":{"kind":"unavailable","retryable":true,"delivered":"no","limit":"calls_waiting"}}}`)
			took(t, start, 0)
			h.want(`{"id":0,"result":"$any"}`, `{"id":1,"result":"$any"}`)
			took(t, start, time.Second)
			h.want(`{"id":2,"result":"$any"}`, `{"id":3,"result":"$any"}`)
			took(t, start, 2*time.Second)
			h.finish()
		})
	})

	t.Run("what waits can be cancelled and makes room", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{tools: map[string]tool{"second": stubborn(time.Second)}}
			h := newHost(t, hostConfig{framing: framing, pack: p, limits: limits})
			h.construct("")
			h.play(`
				--> {"jsonrpc":"2.0","id":0,"method":"invoke","params":{"tool":"p/second"}}
				--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/second"}}
				--> {"jsonrpc":"2.0","id":2,"method":"invoke","params":{"tool":"p/call"}}
				--> {"jsonrpc":"2.0","id":3,"method":"invoke","params":{"tool":"p/call"}}
				--> {"jsonrpc":"2.0","id":4,"method":"cancel","params":{"id":2}}
				<-- {"id":2,"error":{"code":-32800,"data":{"delivered":"no"}}}
				<-- {"id":4,"result":{"cancelled":true}}
				--> {"jsonrpc":"2.0","id":5,"method":"invoke","params":{"tool":"p/call"}}
				--> {"jsonrpc":"2.0","id":6,"method":"ready","params":{"id":"p"}}
				<-- {"id":6,"error":{"code":-32004,"data":{"limit":"calls_waiting"}}}
				A call that was cancelled keeps its turn until its pack lets go.
				--> {"jsonrpc":"2.0","id":7,"method":"cancel","params":{"id":0}}
				<-- {"id":0,"error":{"code":-32800}}
				<-- {"id":7,"result":{"cancelled":true}}
				--> {"jsonrpc":"2.0","id":8,"method":"invoke","params":{"tool":"p/call"}}
				<-- {"id":8,"error":{"code":-32004,"data":{"limit":"calls_waiting"}}}
				Close and cancel never wait behind calls.
				--> {"jsonrpc":"2.0","id":9,"method":"close","params":{"id":"p"}}
				<-- {"id":1,"error":{"code":-32800,"data":{"delivered":"unknown"}}}
				<-- {"id":3,"error":{"code":-32800,"data":{"delivered":"no"}}}
				<-- {"id":5,"error":{"code":-32800,"data":{"delivered":"no"}}}
				<-- {"id":9,"result":{}}`)
			h.finish()
		})
	})

	t.Run("L-08 a deadline runs while the call waits", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{tools: map[string]tool{"second": after(time.Second)}}
			h := newHost(t, hostConfig{framing: framing, pack: p, limits: []string{"calls_total=1"}})
			h.construct("")
			start := time.Now()
			h.play(`
				--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/second"}}
				--> {"jsonrpc":"2.0","id":2,"method":"invoke","params":{"tool":"p/call","timeoutMs":399.2}}
				--> {"jsonrpc":"2.0","id":3,"method":"invoke","params":{"tool":"p/call","timeoutMs":1500}}
				--> {"jsonrpc":"2.0","id":4,"method":"invoke","params":{"tool":"p/call"}}
				<-- {"id":2,"error":{"code":-32003,"data":{"kind":"transport","retryable":true,"delivered":"no"}}}`)
			took(t, start, 400*time.Millisecond)
			h.want(
				`{"id":1,"result":{"content":"done"}}`,
				`{"id":3,"result":{"content":",500ms,false,false"}}`,
				`{"id":4,"result":{"content":",0s,false,false"}}`)
			h.finish()
		})
	})
}

func TestBackPressure(t *testing.T) { // L23, T73, B235
	// sent reports how many of n messages were read before reading stopped.
	sent := func(h *testHost, n int, message func(i int) string) int {
		h.t.Helper()
		done := 0
		go func() {
			for i := range n {
				if _, err := h.in.Write([]byte(framed(h.framing, message(i)))); err != nil {
					return
				}
				done = i + 1
			}
		}()
		synctest.Wait()
		return done
	}
	cancel := func(i int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"cancel","params":{"id":"nothing"}}`, i)
	}

	t.Run("L23 reading stops at so many answers and goes on when they are read", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			h := newHost(t, hostConfig{framing: framing, deaf: true, unchecked: true, limits: []string{"output_messages=100"}})
			n := sent(h, 1000, cancel)
			if n < 100 || n > 102 {
				t.Errorf("%d messages were read, want 100 and what a reader holds", n)
			}
			h.listen()
			l := newLedger()
			for range 1000 {
				l.answer(t, h.next())
			}
			h.finish()
			l.check(t, 1000, 1000, 0)
		})
	})

	t.Run("L23 or at so many bytes", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{tools: map[string]tool{"big": func(context.Context, *testPack, *pack.Call) (*pack.Result, error) {
				return text(strings.Repeat("x", 100<<10)), nil
			}}}
			h := newHost(t, hostConfig{framing: framing, pack: p, deaf: true, unchecked: true, limits: []string{"output_bytes=1MiB"}})
			h.send(`{"jsonrpc":"2.0","id":1000,"method":"construct","params":{"pack":"test/pack"}}`)
			done := 0
			var sender sync.WaitGroup
			sender.Go(func() {
				for i := range 50 {
					message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"invoke","params":{"tool":"p/big"}}`, i)
					if _, err := h.in.Write([]byte(framed(framing, message))); err != nil {
						return
					}
					done = i + 1
					time.Sleep(time.Millisecond) // in fake time: until the answer waits
				}
			})
			time.Sleep(time.Second)
			synctest.Wait()
			if done < 10 || done > 13 {
				t.Errorf("%d calls were read, want 11 and what a reader holds", done)
			}
			h.listen()
			h.want(`{"id":1000,"result":"$any"}`)
			l := newLedger()
			for range 50 {
				l.answer(t, h.next())
			}
			sender.Wait()
			h.finish()
			l.check(t, 50, 50, 0)
		})
	})

	t.Run("F-13 up to there cancel and end-of-file are served", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			h := newHost(t, hostConfig{framing: framing, deaf: true, unchecked: true, limits: []string{"output_messages=100"}})
			h.send(`{"jsonrpc":"2.0","id":1000,"method":"construct","params":{"pack":"test/pack"}}`)
			h.send(`{"jsonrpc":"2.0","id":1001,"method":"invoke","params":{"tool":"p/wait"}}`)
			if n := sent(h, 90, cancel); n != 90 {
				t.Fatalf("%d messages were read, want 90", n)
			}
			h.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":1001}}`)
			h.in.Close()
			synctest.Wait()
			h.pack.reached("close", 1)
			h.listen()
			h.wait(append([]string{`{"id":1000,"result":"$any"}`, `{"id":1001,"error":{"code":-32800}}`},
				matchers(90, `{"id":%d,"result":{"cancelled":false}}`)...)...)
		})
	})

	t.Run("F-14 logs are dropped, progress, status and changed merged, answers kept", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			p := &testPack{tools: map[string]tool{"noisy": func(_ context.Context, p *testPack, call *pack.Call) (*pack.Result, error) {
				for i := range 10_000 {
					call.Log(pack.Message{Level: "info", Message: fmt.Sprint(i)})
					p.host.Message(pack.Message{Level: "info", Message: fmt.Sprint(i)})
					p.host.Status([]pack.ServerStatus{{Name: fmt.Sprint(i), Status: "connected"}})
					p.host.Changed()
					call.Progress(pack.Progress{Progress: fmt.Append(nil, i)})
					time.Sleep(time.Second)
				}
				return text("done"), nil
			}}}
			h := newHost(t, hostConfig{framing: framing, pack: p, deaf: true, unchecked: true, limits: []string{"output_messages=100"}})
			h.send(`{"jsonrpc":"2.0","id":1000,"method":"construct","params":{"pack":"test/pack","host":{"capabilities":{"log":true,"progress":true,"status":true,"changed":true}}}}`)
			h.send(`{"jsonrpc":"2.0","id":1001,"method":"invoke","params":{"tool":"p/noisy","progress":true}}`)
			time.Sleep(4 * time.Hour)
			if n := sent(h, 50, cancel); n != 50 {
				t.Errorf("%d messages were read: the notifications keep the host's from being read", n)
			}
			h.listen()
			h.in.Close()
			count := map[string]int{}
			last := map[string]string{}
			for m := h.next(); m != nil; m = h.next() {
				members := rawjson.Members(m)
				method := rawjson.Text(members.Get("method"))
				count[method]++
				last[method] = string(members.Get("params"))
			}
			h.wait()
			if count["log"] < 10 || count["log"] > 60 || count["progress"] > 3 || count["status"] > 3 || count["changed"] > 3 || count[""] != 52 {
				t.Errorf("got %v", count)
			}
			if last["progress"] != `{"invoke":1001,"progress":9999}` || !strings.Contains(last["status"], `"9999"`) {
				t.Errorf("the newest did not win: %v", last)
			}
			if !strings.Contains(h.log.String(), "log messages were dropped") {
				t.Error("nobody is told that log messages were dropped")
			}
		})
	})

	t.Run("T73 B235 50,000 requests to a host that does not read", func(t *testing.T) {
		eachFraming(t, func(t *testing.T, framing string) {
			n := 50_000
			if framing == speccheck.FramingLSP {
				n = 10_000
			}
			h := newHost(t, hostConfig{framing: framing, deaf: true, unchecked: true, limits: []string{"calls_waiting=65536"}})
			h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"construct","params":{"pack":"test/pack"}}`, n))
			go func() {
				for i := range n {
					fmt.Fprint(h.in, framed(framing, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"invoke","params":{"tool":"p/echo"}}`, i)))
				}
				h.in.Close()
			}()
			h.pack.reached("echo", 4000)
			h.listen()
			l := newLedger()
			for range n + 1 {
				l.answer(t, h.next())
			}
			h.wait()
			l.check(t, n+1, n+1, 0)
		})
	})
}

func matchers(n int, format string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return list
}
