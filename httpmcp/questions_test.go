package httpmcp

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
)

// asks opens a stream with the events, and sends the answer when answered is
// closed or the client is gone.
func asks(events string, answered <-chan struct{}) handler {
	return func(w http.ResponseWriter, r *http.Request, b string) {
		stream(events)(w, r, b)
		w.(http.Flusher).Flush()
		select {
		case <-answered:
			fmt.Fprintf(w, "data: %s\n\n", good)
		case <-r.Context().Done():
		}
	}
}

// B087, LIF-11, HTL-14: the server gets its answer while it holds ours back,
// whatever it says to the POST of it.
func TestB087_PingWhileTheServerHoldsTheAnswer(t *testing.T) {
	for _, status := range []int{202, 200, 204, 400} {
		for _, id := range []string{`"srv-1"`, "7", "-7", `"\u0041"`} {
			t.Run(fmt.Sprint(id, " ", status), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					answered := make(chan struct{})
					r := newRig(t, func(w http.ResponseWriter, req *http.Request, b string) {
						if strings.Contains(b, `"tools/call"`) {
							asks(`data: {"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`+"\n\n", answered)(w, req, b)
							return
						}
						w.WriteHeader(status)
						close(answered)
					})
					began := time.Now()
					resp, err := r.RoundTrip(t.Context(), call(linkIn("session-1")), &listener{})
					wantGood(t, resp, err)
					if took := time.Since(began); took > 0 {
						t.Errorf("it took %v", took)
					}
					pong := r.requests()[1]
					if want := `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`; pong.Body != want {
						t.Errorf("the server got %s, want %s", pong.Body, want)
					}
					if h := pong.Header; h.Get(headerSession) != "session-1" || h.Get(headerVersion) != legacy.Name || h.Get("Accept") != acceptBoth {
						t.Errorf("it came with the headers %v", h)
					}
				})
			})
		}
	}
}

// A question that takes long holds up neither the stream nor other questions.
func TestQuestionsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answered := make(chan struct{})
		events := `data: {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"n":1}}` + "\n\n" +
			`data: {"jsonrpc":"2.0","id":"1","method":"unknown"}` + "\n\n" +
			`data: {"jsonrpc":"2.0","id":1,"method":"again"}` + "\n\n" + // an id that is in use
			`data: {"jsonrpc":"2.0","method":"progress"}` + "\n\n"
		r := newRig(t, func(w http.ResponseWriter, req *http.Request, b string) {
			switch {
			case strings.Contains(b, `"tools/call"`):
				asks(events, answered)(w, req, b)
			case idOf(b) == "1":
				w.WriteHeader(202)
				close(answered)
			default:
				w.WriteHeader(202)
			}
		})
		h := &listener{answer: func(ctx context.Context, method string, params []byte) ([]byte, *mcpclient.ServerError) {
			if method == "unknown" {
				return nil, &mcpclient.ServerError{Code: -32601, Message: "Method \"not\" found", Data: []byte(`{"a":1}`)}
			}
			select {
			case <-time.After(time.Minute):
				return params, nil
			case <-ctx.Done():
				return []byte(`"aborted"`), nil
			}
		}}
		resp, err := r.RoundTrip(t.Context(), call(linkIn("s")), h)
		wantGood(t, resp, err)
		var posted []string
		for _, q := range r.requests()[1:] {
			posted = append(posted, q.Body)
		}
		want := []string{`{"jsonrpc":"2.0","id":"1","error":{"code":-32601,"message":"Method \"not\" found","data":{"a":1}}}`, `{"jsonrpc":"2.0","id":1,"result":{"n":1}}`}
		if !slices.Equal(posted, want) {
			t.Errorf("the server got %q, want %q", posted, want)
		}
		if heard := h.all(); !slices.Contains(heard, "progress") {
			t.Errorf("heard %q", heard)
		}
	})
}

// CAN-08: the server withdraws its question, which is then not answered; what
// names no question is ignored (CAN-07).
func TestCAN08_QuestionIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answered := make(chan struct{})
		events := `data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create"}` + "\n\n" +
			`data: {"jsonrpc":"2.0","method":"notifications/cancelled"}` + "\n\n" +
			`data: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"other"}}` + "\n\n" +
			`data: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}` + "\n\n"
		r := newRig(t, asks(events, answered))
		h := &listener{answer: func(ctx context.Context, _ string, _ []byte) ([]byte, *mcpclient.ServerError) {
			<-ctx.Done()
			if context.Cause(ctx) != errWithdrawn {
				t.Errorf("it ended by %v", context.Cause(ctx))
			}
			close(answered)
			return []byte(`{}`), nil
		}}
		resp, err := r.RoundTrip(t.Context(), call(linkIn("s")), h)
		wantGood(t, resp, err)
		synctest.Wait()
		if n := len(r.requests()); n != 1 {
			t.Errorf("the server saw %d requests", n)
		}
		if heard := h.all(); len(heard) != 4 {
			t.Errorf("heard %q", heard)
		}
	})
}

// A question ends with the call it came on, and its answer is still sent.
func TestQuestionEndsWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(w http.ResponseWriter, req *http.Request, b string) {
			if strings.Contains(b, `"tools/call"`) {
				stream(`data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create"}`+"\n\ndata: "+good+"\n\n")(w, req, b)
				return
			}
			w.WriteHeader(202)
		})
		h := &listener{answer: func(ctx context.Context, _ string, _ []byte) ([]byte, *mcpclient.ServerError) {
			<-ctx.Done()
			return []byte(`{"action":"cancel"}`), nil
		}}
		resp, err := r.RoundTrip(t.Context(), call(linkIn("s")), h)
		wantGood(t, resp, err)
		synctest.Wait()
		sent := r.requests()
		if len(sent) != 2 || sent[1].Body != `{"jsonrpc":"2.0","id":"q","result":{"action":"cancel"}}` {
			t.Errorf("the server saw %v", sent)
		}
	})
}

// ELI-12, T20: a flood of requests does not become a flood of goroutines or POSTs.
func TestT20_FloodOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&events, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"sampling/createMessage\"}\n\n", i)
		}
		answered := make(chan struct{})
		r := newRig(t, func(w http.ResponseWriter, req *http.Request, b string) {
			if strings.Contains(b, `"tools/call"`) {
				asks(events.String(), answered)(w, req, b)
				return
			}
			w.WriteHeader(202)
		})
		release := make(chan struct{})
		h := &listener{answer: func(context.Context, string, []byte) ([]byte, *mcpclient.ServerError) {
			<-release
			return []byte(`{}`), nil
		}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			resp, err := r.RoundTrip(t.Context(), call(linkIn("s")), h)
			wantGood(t, resp, err)
		}()
		synctest.Wait()
		if n := len(h.all()); n != maxQuestions {
			t.Errorf("%d questions are open, want %d", n, maxQuestions)
		}
		close(release)
		synctest.Wait()
		close(answered)
		<-done
		if n := len(r.requests()); n != 1+maxQuestions {
			t.Errorf("the server saw %d requests", n)
		}
	})
}

// A server that asks without end and takes no answer holds no more than the bound,
// though every question is answered at once.
func TestT20_AnswersThatAreNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&events, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n\n", i)
		}
		answered := make(chan struct{})
		r := newRig(t, func(w http.ResponseWriter, req *http.Request, b string) {
			if strings.Contains(b, `"tools/call"`) {
				asks(events.String(), answered)(w, req, b)
				return
			}
			<-req.Context().Done() // an answer is never taken
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			resp, err := r.RoundTrip(t.Context(), call(linkIn("s")), &listener{})
			wantGood(t, resp, err)
		}()
		synctest.Wait()
		if n := len(r.requests()); n != 1+maxQuestions {
			t.Errorf("the server saw %d requests, want the call and %d answers", n, maxQuestions)
		}
		close(answered)
		<-done
		time.Sleep(helperTime) // the answers are given up
	})
}

// B139: a late answer to a cancelled call, on the GET stream, is ignored.
func TestB139_LateAnswerElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(w http.ResponseWriter, req *http.Request, b string) {
			if req.Method == http.MethodGet {
				stream(`data: {"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"cancelled"}}`+"\n\n")(w, req, b)
				w.(http.Flusher).Flush()
				<-req.Context().Done()
				return
			}
			reply(200, typeJSON, good)(w, req, b)
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		h := &listener{}
		go func() { ended <- r.Listen(ctx, linkIn("s"), nil, h) }()
		synctest.Wait()
		resp, err := r.RoundTrip(t.Context(), call(linkIn("s")), &listener{})
		wantGood(t, resp, err)
		cancel()
		if err := <-ended; err != context.Canceled || len(h.all()) > 0 {
			t.Errorf("got %v, heard %q", err, h.all())
		}
	})
}

func TestNotify(t *testing.T) {
	note := func(l *mcpclient.Link) *mcpclient.Notification {
		return &mcpclient.Notification{Link: l, Method: "notifications/initialized", Body: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)}
	}
	for _, test := range []struct {
		name string
		h    handler
		want string // "" for taken
		lost bool
	}{
		{name: "B001 202 without body or type", h: reply(202, "", "")},
		{name: "B003 204", h: reply(204, "", "")},
		{name: "B005 202 with text", h: reply(202, "text/plain; charset=utf-8", "Accepted")},
		{name: "200 with JSON that is none", h: reply(200, typeJSON, "{")},
		{name: "compressed", h: gzipped("x", nil)},
		{name: "a body that never ends is not read", h: func(w http.ResponseWriter, r *http.Request, b string) {
			reply(202, "text/plain", "x")(w, r, b)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
		{name: "400 with a JSON-RPC error", h: reply(400, typeJSON, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"bad"}}`), want: "status 400 Bad Request: bad (-32600)"},
		{name: "500", h: reply(500, "text/plain", "oops"), want: "status 500 Internal Server Error: oops"},
		{name: "HTL-06 404 of the session", h: reply(404, "text/plain", ""), want: "status 404: the server does not know the session any more", lost: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, test.h)
				began := time.Now()
				err := r.Notify(t.Context(), note(linkIn("s")))
				if took := time.Since(began); took > 0 {
					t.Errorf("it took %v", took)
				}
				if test.want == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if wire := wireError(t, err); wire.Reason != test.want || wire.SessionLost != test.lost {
					t.Errorf("got %+v", wire)
				}
			})
		})
	}
	t.Run("B071 it returns when the server has taken it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, func(w http.ResponseWriter, req *http.Request, _ string) {
				<-time.After(400 * time.Millisecond)
				w.WriteHeader(202)
			})
			began := time.Now()
			if err := r.Notify(t.Context(), note(link(legacy))); err != nil || time.Since(began) != 400*time.Millisecond {
				t.Errorf("got %v after %v", err, time.Since(began))
			}
		})
	})
	t.Run("it ends with its context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, hangs)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := r.Notify(ctx, note(link(legacy))); err != context.DeadlineExceeded {
				t.Errorf("got %v", err)
			}
		})
	})
}
