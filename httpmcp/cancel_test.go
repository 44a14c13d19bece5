package httpmcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

// hangs answers nothing until its caller goes away; cancels are accepted.
func hangs(w http.ResponseWriter, r *http.Request, body string) {
	if strings.Contains(body, methodCancelled) {
		w.WriteHeader(202)
		return
	}
	<-r.Context().Done()
}

// hangsInStream opens a stream and then does the same.
func hangsInStream(w http.ResponseWriter, r *http.Request, body string) {
	if !strings.Contains(body, methodCancelled) {
		stream(": open\n\n")(w, r, body)
		w.(http.Flusher).Flush()
	}
	hangs(w, r, body)
}

// hangsInEvent sends a whole answer, but not the blank line that would end its
// event.
func hangsInEvent(w http.ResponseWriter, r *http.Request, body string) {
	if !strings.Contains(body, methodCancelled) {
		stream("data: "+good+"\n")(w, r, body)
		w.(http.Flusher).Flush()
	}
	hangs(w, r, body)
}

// CAN-01 to CAN-04, S1-21: what the server is told when a call is given up.
func TestS1_21_Cancel(t *testing.T) {
	const (
		gaveUp  = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"the caller gave up the request"}}`
		tooLong = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"the request took too long"}}`
	)
	for _, test := range []struct {
		name   string
		req    *mcpclient.Request
		h      handler
		cause  error // nil: the deadline
		cancel string
	}{
		{"CAN-01 given up before the reply", call(linkIn("session-1")), hangs, context.Canceled, gaveUp},
		{"CAN-01 given up within the stream", call(linkIn("session-1")), hangsInStream, context.Canceled, gaveUp},
		{"B045 given up within the event of the answer", call(linkIn("session-1")), hangsInEvent, context.Canceled, gaveUp},
		{"B145 TMO-02 the deadline", call(linkIn("session-1")), hangs, nil, tooLong},
		{"a repeatable request", list(linkIn("session-1")), hangs, context.Canceled, gaveUp},
		{"CAN-04 the handshake is left alone", handshake(legacy), hangs, context.Canceled, ""},
		{"CAN-02 HTM-09 closing the stream says it", call(link(modern)), hangsInStream, context.Canceled, ""},
		{"CAN-02 before the reply", call(link(modern)), hangs, context.Canceled, ""},
		{"B143 the server ended it", call(linkIn("session-1")), hangs, &mcpclient.WireError{Reason: "the server cancelled"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				gone := time.Duration(-1)
				began := time.Now()
				r := newRig(t, func(w http.ResponseWriter, req *http.Request, body string) {
					test.h(w, req, body)
					if !strings.Contains(body, methodCancelled) {
						mu.Lock()
						gone = time.Since(began)
						mu.Unlock()
					}
				})
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				want := context.DeadlineExceeded
				if test.cause != nil {
					want = test.cause
					var give context.CancelCauseFunc
					ctx, give = context.WithCancelCause(ctx)
					time.AfterFunc(time.Minute, func() { give(test.cause) })
				}
				_, err := r.RoundTrip(ctx, test.req, &listener{})
				took := time.Since(began)
				if !errors.Is(err, want) {
					t.Errorf("got %v, want the cause %v", err, want)
				}
				time.Sleep(cancelPause)
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				if gone != took || took != time.Minute && took != 5*time.Minute {
					t.Errorf("the call ended after %v, the server saw it after %v", took, gone)
				}
				var told []received
				for _, q := range r.requests() {
					if strings.Contains(q.Body, methodCancelled) {
						told = append(told, q)
					}
				}
				if test.cancel == "" {
					if len(told) > 0 {
						t.Errorf("the server was told %q", told[0].Body)
					}
					return
				}
				if len(told) != 1 || told[0].Body != test.cancel {
					t.Fatalf("the server was told %q, want %q", told, test.cancel)
				}
				if h := told[0].Header; h.Get(headerSession) != "session-1" || h.Get(headerVersion) != legacy.Name || h.Get("Accept") != acceptBoth {
					t.Errorf("the cancel has the headers %v", h)
				}
				if n := r.pipes.open.Load(); n > 1 { // that of the cancel may be kept
					t.Errorf("%d connections are open", n)
				}
			})
		})
	}
}

// Nothing is told of a request that never got a connection, and the dial that it
// waited for ends with the Transport.
func TestCAN03_NothingIsToldOfWhatWasNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		tr := New(redact.NewSecret("http://mcp.test/mcp"), nil)
		tr.connect(&ClientConfig{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			dials++
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := tr.RoundTrip(ctx, call(linkIn("s")), &listener{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if took := time.Since(began); dials != 1 || took != time.Second {
			t.Errorf("%d dials, %v", dials, took)
		}
		if err := tr.Close(t.Context(), link(legacy)); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("Close waited until %v", took)
		}
	})
}

// B141: the cancel that the server never answers, or refuses, holds nobody up.
func TestB141_CancelIsNotAnswered(t *testing.T) {
	for name, answer := range map[string]handler{
		"never":      func(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() },
		"status 500": reply(500, "text/plain", "no"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(w http.ResponseWriter, req *http.Request, body string) {
					if strings.Contains(body, methodCancelled) {
						answer(w, req, body)
						return
					}
					hangs(w, req, body)
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				r.RoundTrip(ctx, call(link(legacy)), &listener{})
				if took := time.Since(began); took != time.Second {
					t.Errorf("the call took %v", took)
				}
				time.Sleep(helperTime)
				synctest.Wait()
				if n := len(r.requests()); n != 2 {
					t.Errorf("the server saw %d requests", n)
				}
				if n := r.pipes.open.Load(); n > 1 {
					t.Errorf("%d connections are open", n)
				}
			})
		})
	}
}

// CAN-03, CAN-05: after the answer there is nothing to cancel.
func TestCAN03_NoCancelAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, stream("data: "+good+"\n\n"))
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := r.RoundTrip(ctx, call(link(legacy)), &listener{})
		cancel()
		wantGood(t, resp, err)
		synctest.Wait()
		if n := len(r.requests()); n != 1 {
			t.Errorf("the server saw %d requests", n)
		}
	})
}

// B147, T13: bytes that drip do not move the deadline.
func TestB147_DripsEndAtTheDeadline(t *testing.T) {
	drips := func(contentType string, bytes string) handler {
		return func(w http.ResponseWriter, r *http.Request, body string) {
			if strings.Contains(body, methodCancelled) {
				w.WriteHeader(202)
				return
			}
			w.Header().Set("Content-Type", contentType)
			for i := 0; r.Context().Err() == nil; i++ {
				io.WriteString(w, bytes[i%len(bytes):][:1])
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(200 * time.Millisecond):
				}
			}
		}
	}
	dripsHead := func(w http.ResponseWriter, r *http.Request, body string) {
		if strings.Contains(body, methodCancelled) {
			w.WriteHeader(202)
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		for head := "HTTP/1.1 200 OK\r\nX: "; ; head = head[1:] + "x" {
			if _, err := io.WriteString(conn, head[:1]); err != nil {
				return
			}
			<-time.After(200 * time.Millisecond)
		}
	}
	for name, h := range map[string]handler{
		"the head of the reply":   dripsHead,
		"JSON":                    drips(typeJSON, " "),
		"comments":                drips(typeStream, ": keep\n"),
		"an event":                drips(typeStream, "data: x"),
		"TMO-04 endless progress": drips(typeStream, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, h)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				_, err := r.RoundTrip(ctx, call(link(legacy)), &listener{})
				if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
					t.Errorf("got %v after %v", err, took)
				}
				time.Sleep(time.Second) // for the server to see that the client is gone
			})
		})
	}
}

// CAN-06: calls given up at any moment leak nothing, and each ends once.
func TestCAN06_RandomCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(w http.ResponseWriter, req *http.Request, body string) {
			if strings.Contains(body, methodCancelled) {
				w.WriteHeader(202)
				return
			}
			select {
			case <-req.Context().Done():
				return
			case <-time.After(rand.N(10 * time.Millisecond)):
			}
			answer := strings.Replace(good, `"id":1`, `"id":`+idOf(body), 1)
			if rand.N(2) == 0 {
				reply(200, typeJSON, answer)(w, req, body)
				return
			}
			stream(": hi\n\ndata: "+answer+"\n\n")(w, req, body)
		})
		var answered, given int
		var mu sync.Mutex
		var calls sync.WaitGroup
		for id := range int64(500) {
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(10*time.Millisecond))
				defer cancel()
				req := call(linkIn("s"))
				req.ID = id + 1
				req.Body = []byte(strings.Replace(string(req.Body), `"id":1`, fmt.Sprintf(`"id":%d`, req.ID), 1))
				resp, err := r.RoundTrip(ctx, req, &listener{})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && string(resp.Result) == `{"ok":true}`:
					answered++
				case errors.Is(err, context.DeadlineExceeded):
					given++
				default:
					t.Errorf("call %d: %+v, %v", req.ID, resp, err)
				}
			})
		}
		calls.Wait()
		if answered == 0 || given == 0 {
			t.Errorf("%d answered, %d given up: the test shows nothing", answered, given)
		}
		time.Sleep(helperTime)
		synctest.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		told := map[string]int{}
		for _, q := range r.got {
			if strings.Contains(q.Body, methodCancelled) {
				told[q.Body]++
			}
		}
		for body, n := range told {
			if n > 1 {
				t.Errorf("told %d times: %s", n, body)
			}
		}
		if len(told) > given {
			t.Errorf("%d cancels for %d calls that were given up", len(told), given)
		}
		r.Transport.mu.Lock()
		defer r.Transport.mu.Unlock()
		if n := len(r.Transport.ops); n > 0 {
			t.Errorf("%d operations are left", n)
		}
	})
}

func TestClose(t *testing.T) {
	for _, test := range []struct {
		name    string
		answer  handler // to the DELETE; nil: hangs
		session string
		took    time.Duration
		want    string
	}{
		{name: "HTL-07 the session is deleted", answer: reply(200, "", ""), session: "session-1"},
		{name: "204", answer: reply(204, "", ""), session: "session-1"},
		{name: "HTL-07 405", answer: reply(405, "", ""), session: "session-1"},
		{name: "B027 404", answer: reply(404, "", ""), session: "session-1"},
		{name: "500", answer: reply(500, "text/plain", "session-1"), session: "session-1", want: "the end of the session was refused: status 500 Internal Server Error"},
		{name: "never answered", session: "session-1", took: closeTime, want: "did not answer the end of the session in time"},
		{name: "no session, nothing is sent"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(w http.ResponseWriter, req *http.Request, body string) {
					if test.answer == nil {
						<-req.Context().Done()
						return
					}
					test.answer(w, req, body)
				})
				l := linkIn(test.session)
				began := time.Now()
				err := r.Close(t.Context(), l)
				if took := time.Since(began); took != test.took {
					t.Errorf("it took %v", took)
				}
				if test.want == "" && err != nil || test.want != "" && !strings.Contains(fmt.Sprint(err), test.want) {
					t.Errorf("got %v", err)
				}
				if _, err := r.RoundTrip(t.Context(), call(l), &listener{}); wireError(t, err).Delivered != "no" {
					t.Errorf("a call after Close: %v", err)
				}
				if err := r.Close(t.Context(), l); err != nil {
					t.Errorf("the second Close: %v", err)
				}
				sent := r.requests()
				if test.session == "" {
					if len(sent) > 0 {
						t.Errorf("the server saw %v", sent)
					}
					return
				}
				if len(sent) != 1 || sent[0].Method != "DELETE" || sent[0].Header.Get(headerSession) != test.session {
					t.Errorf("the server saw %v", sent)
				}
			})
		})
	}
}

// Close ends what is in flight, tells the server, and ends the session last.
func TestCloseEndsCallsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, hangsInStream)
		l := linkIn("session-1")
		ended := make(chan error, 2)
		go func() {
			_, err := r.RoundTrip(t.Context(), call(l), &listener{})
			ended <- err
		}()
		go func() { ended <- r.Listen(t.Context(), l, nil, &listener{}) }()
		synctest.Wait()
		r.Close(t.Context(), l)
		for range 2 {
			if wire := wireError(t, <-ended); wire.Reason != errClosed.Reason || wire.Delivered != "unknown" {
				t.Errorf("got %v", wire)
			}
		}
		sent := r.requests()
		if n := len(sent); n != 4 || sent[n-1].Method != "DELETE" || !strings.Contains(sent[n-2].Body, methodCancelled) {
			t.Errorf("the server saw %v", sent)
		}
	})
}

// A cancel that is under way is let finish before the session ends, as long as
// Close is patient.
func TestCloseLetsHelpersFinish(t *testing.T) {
	for _, test := range []struct {
		name     string
		takes    time.Duration
		finished bool
		took     time.Duration
	}{
		{"soon", time.Second, true, cancelPause + time.Second},
		{"too late", time.Minute, false, closeTime},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				finished := false
				r := newRig(t, func(w http.ResponseWriter, req *http.Request, body string) {
					switch {
					case req.Method == http.MethodDelete:
					case strings.Contains(body, methodCancelled):
						select {
						case <-time.After(test.takes):
							finished = true
						case <-req.Context().Done():
						}
					default:
						<-req.Context().Done()
					}
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				r.RoundTrip(ctx, call(linkIn("s")), &listener{})
				synctest.Wait()
				began := time.Now()
				if err := r.Close(t.Context(), linkIn("s")); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != test.took || finished != test.finished {
					t.Errorf("it took %v, finished: %v", took, finished)
				}
				if sent := r.requests(); len(sent) != 3 || sent[2].Method != http.MethodDelete {
					t.Errorf("the server saw %v", sent)
				}
			})
		})
	}
}
