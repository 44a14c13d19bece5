package stdiomcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
)

func TestSTD_12_Lines(t *testing.T) {
	for _, test := range []struct {
		name, method, params, want string
	}{
		{"one line, one message", "echo", `{"a":1}`, `{"a":1}`},
		{"B211 one byte a write", "bytes", `{"t":"é 中文 😀"}`, `{"t":"é 中文 😀"}`},
		{"numbers and keys as they are written", "echo", `{"b":1e3,"a":1.0,"b2":9007199254740993}`, `{"b":1e3,"a":1.0,"b2":9007199254740993}`},
		{"CR LF and white space", "raw", `{"lines":["  {\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1} \r\n"]}`, `1`},
		{"B205 OSC before the object", "raw", `{"lines":["\u001b]1337;RemoteHost=u@h\u0007\u001b]1337;CurrentDir=/\u0007{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}\n"]}`, `1`},
		{"B205 CSI and ESC \\", "raw", `{"lines":["\u001b[2J\u001b[1;1H\u001b]0;t\u001b\\\u001b7\u0000{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}\n"]}`, `1`},
		{"a byte order mark", "raw", `{"lines":["\ufeff{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}\n"]}`, `1`},
		{"the last line has no end", "last-words", `7`, `7`},
		{"B227 unknown ids", "raw", `{"lines":["{\"jsonrpc\":\"2.0\",\"id\":424242,\"error\":{\"code\":0,\"message\":\"x\"}}\n{\"jsonrpc\":\"2.0\",\"id\":\"abc\",\"result\":1}\n{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}\n"]}`, `1`},
		{"null beside the result", "raw", `{"lines":["{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1,\"error\":null}\n"]}`, `1`},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := open(t, server(t), nil)
			if got := tell(t, tr, modern, 7, test.method, test.params); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestSTD_02_NoLineBreakWithin: what the server reads is what was given, on one line,
// and nothing else (STD-03).
func TestSTD_02_NoLineBreakWithin(t *testing.T) {
	tr := open(t, server(t, "tells-lines"), nil)
	req := request(modern, 1, "echo", `{"t":"a\nb\r\u2028 `+"\u2028"+`"}`)
	r := new(recorder)
	if _, err := tr.RoundTrip(t.Context(), req, r); err != nil {
		t.Fatal(err)
	}
	want := "test/line [" + quoteJSON(string(req.Body)) + "]"
	if got := r.all(); len(got) != 1 || got[0] != want {
		t.Errorf("the server read %q\nwant %q", got, want)
	}
}

// quoteJSON quotes as the test server's encoder does.
func quoteJSON(s string) string {
	quoted, _ := json.Marshal(s)
	return string(quoted)
}

func TestMalformedAnswers(t *testing.T) {
	const jsonrpc = `{\"jsonrpc\":\"2.0\",`
	for _, test := range []struct {
		name, line, want string
		notMCP           bool
	}{
		{"B083 result and error", jsonrpc + `\"id\":%d,\"result\":1,\"error\":{\"code\":1,\"message\":\"x\"}}`, "both a result and an error", false},
		{"T17 result twice", jsonrpc + `\"id\":%d,\"result\":1,\"result\":2}`, "stands twice", false},
		{"neither", jsonrpc + `\"id\":%d}`, "neither", false},
		{"B079 id as a string", jsonrpc + `\"id\":\"%d\",\"result\":1}`, "its id is not the number", false},
		{"id as a fraction", jsonrpc + `\"id\":%d.0,\"result\":1}`, "its id is not the number", false},
		{"an error without a code", jsonrpc + `\"id\":%d,\"error\":{}}`, "no integer as code", false},
		{"no jsonrpc", `{\"id\":%d,\"result\":1}`, "not a JSON-RPC message", true},
		{"L11 too deep", jsonrpc + `\"id\":%d,\"result\":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, "json_depth", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := open(t, server(t), nil)
			_, err := tr.RoundTrip(t.Context(), request(modern, 3, "raw", `{"lines":["`+test.line+`\n"]}`), new(recorder))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if w, ok := errors.AsType[*mcpclient.WireError](err); ok && (w.NotMCP != test.notMCP || w.Delivered != "yes") {
				t.Errorf("NotMCP %v, delivered %s", w.NotMCP, w.Delivered)
			}
			// Only that call has failed.
			if got := tell(t, tr, modern, 4, "echo", `1`); got != `1` {
				t.Errorf("the next call: %s", got)
			}
		})
	}
}

func TestErrorsWithoutAnID(t *testing.T) {
	tr := open(t, server(t), nil)
	const refusal = `{"lines":["{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}\n"]}`
	resp, err := tr.RoundTrip(t.Context(), request(modern, 1, "raw", refusal), new(recorder))
	if err != nil || resp.Err == nil || resp.Err.Code != -32700 {
		t.Fatalf("the only one that waits: %v, %v", resp, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var both sync.WaitGroup
	for id := range int64(2) {
		both.Go(func() {
			if _, err := tr.RoundTrip(ctx, request(modern, 10+id, "hang", `{}`), new(recorder)); !errors.Is(err, context.Canceled) {
				t.Errorf("one of two that wait: %v", err)
			}
		})
	}
	// It is answered by nothing, as the two are, but comes behind them.
	if _, err := tr.RoundTrip(t.Context(), request(modern, 20, "raw", strings.Replace(refusal, `\n"]`, `\n{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}\n"]`, 1)), new(recorder)); err != nil {
		t.Error(err)
	}
	cancel()
	both.Wait()
}

func TestB229_AnyOrder(t *testing.T) {
	tr := open(t, server(t), nil)
	var calls sync.WaitGroup
	for id := int64(1); id <= 100; id++ {
		calls.Go(func() {
			if got := tell(t, tr, modern, id, "held", fmt.Sprint(id)); got != fmt.Sprint(id) {
				t.Errorf("call %d got %s", id, got)
			}
		})
	}
	calls.Wait()
}

func TestB209_BigLines(t *testing.T) {
	tr := open(t, server(t), nil)
	for id, size := range []int{8 << 20, 1, 16<<20 - 1024, 70_000} {
		if got := tell(t, tr, modern, int64(id+1), "big", fmt.Sprint(size)); len(got) != size+2 {
			t.Errorf("%d bytes arrived as %d", size, len(got))
		}
	}
}

func TestL05_StdioLine(t *testing.T) {
	for _, test := range []struct{ name, method, params string }{
		{"one byte too many", "big", fmt.Sprint(64<<10 - len(`{"jsonrpc":"2.0","id":1,"result":""}`) + 1)},
		{"at the default", "big", fmt.Sprint(16 << 20)},
		{"T69 a line without an end", "endless", "{}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			settings := []string{"stop_wait=100ms"}
			if test.name != "at the default" {
				settings = append(settings, "stdio_line=64KiB")
			}
			tr := open(t, server(t), &Options{Limits: limits(t, settings...)})
			_, err := tr.RoundTrip(t.Context(), request(modern, 1, test.method, test.params), new(recorder))
			over, ok := errors.AsType[*limit.Error](err)
			if !ok || over.Name != limit.StdioLine {
				t.Fatalf("got %v", err)
			}
			if err := ended(t, tr); err != error(over) {
				t.Errorf("Err: %v", err)
			}
		})
	}
	t.Run("a byte less passes", func(t *testing.T) {
		tr := open(t, server(t), &Options{Limits: limits(t, "stdio_line=64KiB")})
		size := 64<<10 - len(`{"jsonrpc":"2.0","id":1,"result":""}`)
		if got := tell(t, tr, modern, 1, "big", fmt.Sprint(size)); len(got) != size+2 {
			t.Errorf("got %d bytes", len(got))
		}
	})
}

func TestT68_Noise(t *testing.T) {
	for _, test := range []struct {
		habit, shown string
	}{
		{"banner", `Welcome to \\u{1b}[1mthe server\\u{1b}[0m\\u{0}!`},
		{"logo", `\u{1b}[38;5;200m#`},
		{"noise=100", "all work and no play"},
		{"noise-line=20000", "xxxxxxxx"},
	} {
		t.Run(test.habit, func(t *testing.T) {
			var log logbook
			tr := open(t, server(t, test.habit), &Options{Log: log.logger()})
			if got := tell(t, tr, modern, 1, "echo", "1"); got != "1" {
				t.Errorf("got %s", got)
			}
			if n := strings.Count(log.String(), "no MCP message"); n != 1 {
				t.Errorf("said %d times:\n%s", n, &log)
			}
			if !strings.Contains(log.String(), test.shown) || strings.ContainsAny(log.String(), "\x1b\x00") || len(log.String()) > 4096 {
				t.Errorf("log: %q", log.String())
			}
		})
	}
	t.Run("many, but not in a row", func(t *testing.T) {
		tr := open(t, server(t), nil)
		for id := range int64(3) {
			tell(t, tr, modern, id+1, "raw", `{"lines":["`+strings.Repeat(`noise\n`, 60)+`{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}\n"]}`)
		}
	})
	t.Run("one line too many", func(t *testing.T) {
		tr := open(t, server(t, "noise=101"), nil)
		_, err := tr.RoundTrip(t.Context(), request(modern, 1, "hang", "{}"), new(recorder))
		if w := wire(t, err); !strings.Contains(w.Reason, "more than 100 lines") || !strings.Contains(w.Reason, "all work and no play") {
			t.Errorf("reason: %s", w.Reason)
		}
	})
}

func TestB213_OtherFramings(t *testing.T) {
	for _, test := range []struct{ name, lines, want string }{
		{"Content-Length", `Content-Length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}`, "Content-Length headers"},
		{"pretty", `{\n  \"jsonrpc\": \"2.0\",\n  \"id\": %d,\n  \"result\": 1\n}\n`, "over several lines"},
		{"text", `hello\n`, "no MCP message: hello"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := open(t, server(t), nil)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_, err := tr.RoundTrip(ctx, request(legacy, 1, "raw", `{"lines":["`+test.lines+`"]}`), new(recorder))
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestB213_TheCallersReasonIsKept: whose time is over may say so in its own words.
func TestB213_TheCallersReasonIsKept(t *testing.T) {
	tr := open(t, server(t), nil)
	cause := &mcpclient.WireError{Op: "start", Reason: "that took longer than it may", Delivered: "unknown"}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, cause)
	defer cancel()
	_, err := tr.RoundTrip(ctx, request(legacy, 1, "raw", `{"lines":["{\n  \"id\": %d\n}\n"]}`), new(recorder))
	if !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), cause.Reason+"; ") || !strings.Contains(err.Error(), "over several lines") {
		t.Errorf("got %v", err)
	}
}

// TestB223_BothPipesFull: the server writes 1 MiB before it reads each request, and
// each request is larger than a pipe.
func TestB223_BothPipesFull(t *testing.T) {
	tr := open(t, server(t), nil)
	tell(t, tr, legacy, 1, "echo", "{}")
	queue := tr.life.conn.queue
	var calls sync.WaitGroup
	chatter := func(id int64) {
		calls.Go(func() { tell(t, tr, legacy, id, "chatter", `"`+strings.Repeat("a", 300_000)+`"`) })
	}
	for id := int64(3); id < queueSize+20; id++ {
		chatter(id)
	}
	// The one that takes what the server says to nobody in particular, the oldest, is
	// the last to be sent.
	for end := time.Now().Add(patience); len(queue) < cap(queue); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the queue is never full")
		}
	}
	chatter(2)
	calls.Wait()
}

func TestB225_EarlyRequests(t *testing.T) {
	tr := open(t, shell(t, `
		read init
		echo '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"early"}}'
		echo '{"jsonrpc":"2.0","id":"early-1","method":"ping"}'
		read pong
		[ "$pong" = '{"jsonrpc":"2.0","id":"early-1","result":{}}' ] || exit 9
		echo '{"jsonrpc":"2.0","id":1,"result":{}}'
		cat >/dev/null`), nil)
	tell(t, tr, legacy, 1, "initialize", "{}")
}

func TestServerRequests(t *testing.T) {
	t.Run("LIF-11 a ping while nothing is under way", func(t *testing.T) {
		tr := open(t, shell(t, hello+`
			echo '{"jsonrpc":"2.0","id":7,"method":"ping"}'
			read pong; echo "$pong" >&2; cat >/dev/null`), nil)
		tell(t, tr, legacy, 1, "initialize", "{}")
		for end := time.Now().Add(patience); !strings.Contains(tr.life.conn.tail.last(), `"id":7,"result":{}`); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("no pong")
			}
		}
	})
	t.Run("STD-04 none in the modern era, and no answer", func(t *testing.T) {
		tr := open(t, server(t, "tells-lines"), nil)
		r := new(recorder)
		_, err := tr.RoundTrip(t.Context(), request(modern, 1, "raw", `{"lines":["{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}\n"]}`), r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.RoundTrip(t.Context(), request(modern, 2, "echo", `1`), r); err != nil {
			t.Fatal(err)
		}
		if got := r.all(); len(got) != 2 || strings.Contains(strings.Join(got, ""), "pong") || slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "?") }) {
			t.Errorf("the server read, and we were asked: %q", got)
		}
	})
	t.Run("CAN-08 a withdrawn question", func(t *testing.T) {
		tr := open(t, server(t, "tells-lines"), nil)
		withdrawn := make(chan error, 1)
		r := &recorder{answer: func(ctx context.Context, _ string) ([]byte, *mcpclient.ServerError) {
			<-ctx.Done()
			withdrawn <- context.Cause(ctx)
			return []byte(`"late"`), nil
		}}
		_, err := tr.RoundTrip(t.Context(), request(legacy, 1, "raw", `{"lines":["{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"q\"}}\n{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}\n"]}`), r)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-withdrawn; err != errWithdrawn {
			t.Errorf("ended with %v", err)
		}
		r.answer = nil
		if _, err := tr.RoundTrip(t.Context(), request(legacy, 2, "echo", `1`), r); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.all(), "\n"); strings.Contains(got, "late") {
			t.Errorf("it was answered: %s", got)
		}
	})
	t.Run("a flood of questions is bounded", func(t *testing.T) {
		tr := open(t, server(t), nil)
		release := make(chan struct{})
		r := &recorder{answer: func(context.Context, string) ([]byte, *mcpclient.ServerError) {
			<-release
			return []byte("{}"), nil
		}}
		var lines strings.Builder
		for i := range 3 * maxQuestions {
			fmt.Fprintf(&lines, `{\"jsonrpc\":\"2.0\",\"id\":\"q%d\",\"method\":\"ping\"}\n`, i)
		}
		_, err := tr.RoundTrip(t.Context(), request(legacy, 1, "raw", `{"lines":["`+lines.String()+`{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}\n"]}`), r)
		close(release)
		if err != nil {
			t.Fatal(err)
		}
		r.wait(t, "? ping", maxQuestions)
		if n := len(r.all()); n != maxQuestions {
			t.Errorf("%d questions were open at once", n)
		}
	})
}

func TestBatches(t *testing.T) {
	const batch = `{"lines":["[{\"jsonrpc\":\"2.0\",\"method\":\"test/a\"},{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}]\n"]}`
	tr := open(t, server(t), nil)
	r := new(recorder)
	resp, err := tr.RoundTrip(t.Context(), request(oldest, 1, "raw", batch), r)
	if err != nil || string(resp.Result) != "1" || !slices.Equal(r.all(), []string{"test/a"}) {
		t.Errorf("%v, %v, %q", resp, err, r.all())
	}
	// Where the revision has none, it is no message.
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := tr.RoundTrip(ctx, request(modern, 2, "raw", batch), r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestNotificationsComeBeforeTheAnswer(t *testing.T) {
	tr := open(t, server(t), nil)
	var lines strings.Builder
	var want []string
	for i := range 100 {
		fmt.Fprintf(&lines, `{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%%d,\"progress\":%d}}\n`, i)
		want = append(want, fmt.Sprintf(`notifications/progress {"progressToken":5,"progress":%d}`, i))
	}
	// Another call is in flight: it gets nothing of this.
	ctx, cancel := context.WithCancel(t.Context())
	other, done := new(recorder), make(chan struct{})
	go func() {
		defer close(done)
		tr.RoundTrip(ctx, request(modern, 4, "hang", "{}"), other)
	}()
	r := new(recorder)
	_, err := tr.RoundTrip(t.Context(), request(modern, 5, "raw", `{"lines":["`+lines.String()+`{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}\n"]}`), r)
	if err != nil || !slices.Equal(r.all(), want) {
		t.Errorf("%v, %q", err, r.all())
	}
	cancel()
	<-done
	if len(other.all()) != 0 {
		t.Errorf("the other call got %q", other.all())
	}
}
