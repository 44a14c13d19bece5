package stdiomcp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
)

// overheard listens to all that the server says to nobody in particular: with the
// habit tells-lines, all that it reads.
func overheard(t *testing.T, tr *Transport) *recorder {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, done := new(recorder), make(chan struct{})
	go func() {
		defer close(done)
		tr.Listen(ctx, &mcpclient.Link{Revision: legacy}, nil, r)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	r.wait(t, "opened", 1)
	return r
}

// cancelled returns the cancels that the server has read, among all that was sent
// until now.
func cancelled(t *testing.T, tr *Transport, r *recorder, id int64) (lines []string) {
	t.Helper()
	tr.life.conn.helpers.Wait()
	tell(t, tr, modern, id, "echo", "{}") // behind all that was queued
	r.wait(t, "test/line ["+quoteJSON(string(request(modern, id, "echo", "{}").Body))+"]", 1)
	for _, line := range r.all() {
		if strings.Contains(line, "notifications/cancelled") {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestSTD_06_Cancel(t *testing.T) {
	told := errors.New("the server's own word")
	for _, rev := range []*mcpclient.Revision{modern, legacy} {
		for _, test := range []struct {
			name     string
			cause    error
			noCancel bool
			want     string
		}{
			{"given up", context.Canceled, false, "the caller gave up the request"},
			{"deadline", context.DeadlineExceeded, false, "the request took too long"},
			{"CAN-04 not to be cancelled", context.Canceled, true, ""},
			{"ended by the server", &mcpclient.WireError{Err: told}, false, ""},
		} {
			t.Run(rev.Name+" "+test.name, func(t *testing.T) {
				tr := open(t, server(t, "tells-lines"), nil)
				r := overheard(t, tr)
				ctx, cancel := context.WithCancelCause(t.Context())
				req := request(rev, 9, "hang", "{}")
				req.NoCancel = test.noCancel
				go func() {
					r.wait(t, "test/line ["+quoteJSON(string(req.Body))+"]", 1) // the server has read it
					cancel(test.cause)
				}()
				if _, err := tr.RoundTrip(ctx, req, new(recorder)); err != test.cause {
					t.Fatalf("got %v", err)
				}
				switch got := cancelled(t, tr, r, 10); {
				case test.want == "" && len(got) > 0, test.want != "" && len(got) != 1:
					t.Errorf("got %q", got)
				case test.want != "" && !strings.Contains(got[0], `\"params\":{\"requestId\":9,\"reason\":\"`+test.want+`\"}`):
					t.Errorf("got %s", got[0])
				}
			})
		}
	}
}

// TestCAN_06_Races: no call hears of another, whatever is given up when.
func TestCAN_06_Races(t *testing.T) {
	tr := open(t, server(t), nil)
	tell(t, tr, modern, 1, "echo", "{}")
	var calls sync.WaitGroup
	for worker := range int64(8) {
		calls.Go(func() {
			for i := range int64(60) {
				id := 100 + worker*1000 + i
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(400))*time.Microsecond)
				resp, err := tr.RoundTrip(ctx, request(modern, id, "echo", fmt.Sprint(id)), new(recorder))
				if err == nil && string(resp.Result) != fmt.Sprint(id) {
					t.Errorf("call %d got %s", id, resp.Result)
				}
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("call %d: %v", id, err)
				}
				cancel()
			}
		})
	}
	calls.Wait()
	if n := len(tr.life.conn.exchanges); n != 0 {
		t.Errorf("%d exchanges are left", n)
	}
}

func TestSTD_07_TwoSubscriptions(t *testing.T) {
	tr := open(t, server(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	subs := map[int64]*recorder{31: new(recorder), 32: new(recorder)}
	ends := map[int64]chan error{31: make(chan error, 1), 32: make(chan error, 1)}
	for id, r := range subs {
		go func() {
			req := request(modern, id, "subscriptions/listen", "{}")
			ends[id] <- tr.Listen(ctx, req.Link, req, r)
		}()
		r.wait(t, "opened", 1)
	}
	const changed = `{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{\"n\":%s,\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s}}}\n`
	say := func(lines string) {
		t.Helper()
		tell(t, tr, modern, int64(1000+len(lines)), "raw", `{"lines":["`+lines+`{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}\n"]}`)
	}
	say(fmt.Sprintf(changed, "1", "31") + fmt.Sprintf(changed, "2", "32") + fmt.Sprintf(changed, "3", `\"31\"`) + fmt.Sprintf(changed, "4", "99"))
	for id, want := range map[int64][]string{31: {"1", "3"}, 32: {"2"}} {
		meta := `"_meta":{"io.modelcontextprotocol/subscriptionId":`
		subs[id].wait(t, `notifications/tools/list_changed {"n":`+want[0]+`,`+meta+fmt.Sprint(id)+`}}`, 1)
		if len(want) > 1 {
			subs[id].wait(t, `notifications/tools/list_changed {"n":`+want[1]+`,`+meta+fmt.Sprintf(`"%d"`, id)+`}}`, 1)
		}
		if got := subs[id].all(); len(got) != 2+len(want) || got[0] != "opened" || !strings.HasPrefix(got[1], "notifications/subscriptions/acknowledged") {
			t.Errorf("subscription %d got %q", id, got)
		}
	}
	// One ends with its answer, the other by the server's cancel (CAN-09).
	say(`{\"jsonrpc\":\"2.0\",\"id\":31,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":32}}\n`)
	if err := <-ends[31]; err != nil {
		t.Errorf("ended in order: %v", err)
	}
	if w := wire(t, <-ends[32]); w.Final || !strings.Contains(w.Reason, "has ended the subscription") {
		t.Errorf("%+v", w)
	}
}

func TestSubscriptionEnds(t *testing.T) {
	const refusal = `{"lines":["{\"jsonrpc\":\"2.0\",\"id\":%%d,\"error\":{\"code\":%d,\"message\":\"no\"}}\n"]}`
	listen := func(ctx context.Context, tr *Transport, method, params string) error {
		req := request(modern, 5, method, params)
		return tr.Listen(ctx, req.Link, req, new(recorder))
	}
	tr := open(t, server(t, "tells-lines"), nil)
	all := overheard(t, tr)
	if err := listen(t.Context(), tr, "raw", fmt.Sprintf(refusal, -32601)); err != error(mcpclient.ErrNoListen) {
		t.Errorf("unknown method: %v", err)
	}
	if w := wire(t, listen(t.Context(), tr, "raw", fmt.Sprintf(refusal, -32000))); w.Final || !strings.Contains(w.Reason, "refused the subscription: no (-32000)") {
		t.Errorf("%+v", w)
	}
	if err := tr.Listen(t.Context(), &mcpclient.Link{Revision: modern}, nil, new(recorder)); err != error(mcpclient.ErrNoListen) {
		t.Errorf("no request: %v", err)
	}
	// Ending it is a cancel (2026-07-28 basic/patterns/subscriptions, "Cancellation").
	ctx, cancel := context.WithCancel(t.Context())
	req := request(modern, 6, "subscriptions/listen", "{}")
	r := &recorder{notify: func(string, []byte) { cancel() }}
	if err := tr.Listen(ctx, req.Link, req, r); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := cancelled(t, tr, all, 10); len(got) != 1 || !strings.Contains(got[0], `\"requestId\":6,`) {
		t.Errorf("got %q", got)
	}
	// The end of the process ends it.
	go tr.RoundTrip(t.Context(), request(modern, 30, "exit", "1"), new(recorder))
	if w := wire(t, listen(t.Context(), tr, "hang", "{}")); !strings.Contains(w.Reason, "exit status 1") {
		t.Errorf("%+v", w)
	}
}

func TestListenWithoutARequest(t *testing.T) {
	tr := open(t, server(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	listener, call := new(recorder), new(recorder)
	end := make(chan error, 1)
	go func() { end <- tr.Listen(ctx, &mcpclient.Link{Revision: legacy}, nil, listener) }()
	listener.wait(t, "opened", 1)
	lines := func(id int64, h mcpclient.Handler) {
		t.Helper()
		_, err := tr.RoundTrip(t.Context(), request(legacy, id, "raw", `{"lines":["`+
			`{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n`+
			`{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n`+
			`{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%d}}\n`+
			`{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%d}}\n`+
			`{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}\n"]}`), h)
		if err != nil {
			t.Fatal(err)
		}
	}
	lines(1, call)
	listener.wait(t, "notifications/message {}", 1)
	listener.wait(t, "notifications/tools/list_changed", 1)
	if got, want := call.all(), []string{`notifications/cancelled {"requestId":1}`, `notifications/progress {"progressToken":1}`}; !slices.Equal(got, want) {
		t.Errorf("the call got %q", got)
	}
	cancel()
	if err := <-end; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// Nobody listens: a call takes it for the session.
	call = new(recorder)
	lines(2, call)
	if got := call.all(); len(got) != 4 || got[0] != "notifications/message {}" {
		t.Errorf("the call got %q", got)
	}
}

// TestReaderIsNotHeldByTheDead: a call is given up while the reader waits for it.
func TestReaderIsNotHeldByTheDead(t *testing.T) {
	tr := open(t, server(t), nil)
	tell(t, tr, legacy, 1, "echo", "{}")
	c := tr.life.conn
	for id := int64(2); id < 20; id++ {
		ctx, cancel := context.WithCancel(t.Context())
		r := &recorder{notify: func(string, []byte) {
			c.mu.Lock()
			x := c.exchanges[id]
			c.mu.Unlock()
			for x != nil && len(x.inbox) < inboxSize && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}}
		_, err := tr.RoundTrip(ctx, request(legacy, id, "raw", `{"lines":["`+strings.Repeat(`{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n`, 50)+`"]}`), r)
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	tell(t, tr, legacy, 100, "echo", "{}")
}

// TestNothingAfterTheEnd: a handler is not called when its call has returned.
func TestNothingAfterTheEnd(t *testing.T) {
	tr := open(t, server(t), nil)
	for id := range int64(50) {
		over := false
		var mu sync.Mutex
		r := &recorder{notify: func(string, []byte) {
			mu.Lock()
			defer mu.Unlock()
			if over {
				t.Error("a notification came after the end")
			}
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(id)*20*time.Microsecond)
		tr.RoundTrip(ctx, request(legacy, id+1, "raw", `{"lines":["`+strings.Repeat(`{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n`, 50)+`{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":1}\n"]}`), r)
		mu.Lock()
		over = true
		mu.Unlock()
		cancel()
	}
}
