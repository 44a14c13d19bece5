package httpmcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
)

// A script gives the n-th GET its reply, and notes when the GETs came.
type script struct {
	mu    sync.Mutex
	last  time.Time
	waits []time.Duration // before each GET, since the request before it
	ids   []string        // their Last-Event-ID
	post  handler
	gets  []handler // the last one serves the rest
}

func (s *script) serve(w http.ResponseWriter, r *http.Request, body string) {
	s.mu.Lock()
	now := time.Now()
	h := s.post
	if r.Method == http.MethodGet {
		s.waits = append(s.waits, now.Sub(s.last))
		s.ids = append(s.ids, r.Header.Get(headerLastEventID))
		h = s.gets[min(len(s.ids), len(s.gets))-1]
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last = time.Now()
	}()
	h(w, r, body)
}

// HTL-10 to HTL-13, B047, B049, B153.
func TestResume(t *testing.T) {
	const answer = "data: " + good + "\n\n"
	const ms = time.Millisecond
	drop := func(h handler) handler { // the connection breaks behind the reply
		return func(w http.ResponseWriter, r *http.Request, body string) {
			h(w, r, body)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	for _, test := range []struct {
		name  string
		rev   *mcpclient.Revision
		post  handler
		gets  []handler
		ids   []string
		waits []time.Duration // at least; and at most a tenth more
		want  string          // reason; "" for the answer
	}{
		{name: "HTL-12 closed behind a priming event, as the official suite does", post: stream("id: 1\nretry: 500\ndata:\n\n"), gets: []handler{stream("id: 2\n" + answer)},
			ids: []string{"1"}, waits: []time.Duration{500 * ms}},
		{name: "HTL-10 broken behind several events", post: drop(stream("id: a\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\nid: b\ndata:\n\ndata: half")), gets: []handler{stream(answer)},
			ids: []string{"b"}, waits: []time.Duration{time.Second}},
		{name: "HTL-12 three closes in a row, each with a new id", post: stream("id: 1\nretry: 2000\n\n"),
			gets: []handler{stream("id: 2\n\n"), stream("id: 3\nretry: 700\n\n"), stream(answer)}, ids: []string{"1", "2", "3"}, waits: []time.Duration{2 * time.Second, 2 * time.Second, 700 * ms}},
		{name: "the last id stays when a stream has none", post: stream("id: 1\nretry: 600\n\n"), gets: []handler{stream(": nothing\n\n"), stream(answer)},
			ids: []string{"1", "1"}, waits: []time.Duration{600 * ms, 1200 * ms}},
		{name: "T16 retry of 0", post: stream("id: 1\nretry: 0\n\n"), gets: []handler{stream(answer)}, ids: []string{"1"}, waits: []time.Duration{500 * ms}},
		{name: "T16 retry of 1", post: stream("id: 1\nretry: 1\n\n"), gets: []handler{stream(answer)}, ids: []string{"1"}, waits: []time.Duration{500 * ms}},
		{name: "T16 retry of -5", post: stream("id: 1\nretry: -5\n\n"), gets: []handler{stream(answer)}, ids: []string{"1"}, waits: []time.Duration{time.Second}},
		{name: "T16 retry of 1e18", post: stream("id: 1\nretry: 1000000000000000000\n\n"), gets: []handler{stream(answer)}, ids: []string{"1"}, waits: []time.Duration{30 * time.Second}},
		{name: "T16 retry of NaN", post: stream("id: 1\nretry: NaN\n\n"), gets: []handler{stream(answer)}, ids: []string{"1"}, waits: []time.Duration{time.Second}},
		{name: "the server is away for a moment", post: stream("id: 1\n\n"), gets: []handler{reply(503, "text/plain", ""), drop(reply(200, typeStream, "")), stream(answer)},
			ids: []string{"1", "1", "1"}, waits: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{name: "T16 never anything new", post: stream("id: 1\nretry: 500\n\n"), gets: []handler{stream("id: 1\nretry: 500\n\n")},
			ids: []string{"1", "1", "1", "1", "1"}, waits: []time.Duration{500 * ms, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second},
			want: "the stream ended before the answer, and could not be resumed"},
		{name: "B153 HTL-17 another request's answer first", post: stream("id: 1\n\n"), gets: []handler{stream("data: {\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n\n" + answer)},
			ids: []string{"1"}, waits: []time.Duration{time.Second}},
		{name: "the server does not resume", post: stream("id: 1\n\n"), gets: []handler{reply(405, "text/plain", "")}, ids: []string{"1"}, waits: []time.Duration{time.Second},
			want: "the stream ended before the answer, and the server does not resume it (status 405 Method Not Allowed)"},
		{name: "the session is gone", post: stream("id: 1\n\n"), gets: []handler{reply(404, "text/plain", "")}, ids: []string{"1"}, waits: []time.Duration{time.Second},
			want: "the stream ended before the answer, and the server does not resume it (status 404 Not Found)"},
		{name: "the resumed stream is JSON", post: stream("id: 1\n\n"), gets: []handler{reply(200, typeJSON, good)}, ids: []string{"1"}, waits: []time.Duration{time.Second},
			want: "the stream ended before the answer, and the server does not resume it (status 200 OK)"},
		{name: "B047 HTL-13 no id was seen", post: drop(stream("data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n")), want: "the stream broke off before the answer: the connection was closed before the end"},
		{name: "the id came with an unfinished event", post: stream("id: 1\ndata: x\n"), want: "the stream ended before the answer"},
		{name: "the id cannot be a header", post: stream("id: a\x01b\n\n"), want: "the stream ended before the answer"},
		{name: "HTM-06 HTM-07 where nothing is resumed", rev: modern, post: stream("id: 1\nretry: 500\n\n"), want: "the stream ended before the answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{post: test.post, gets: test.gets}
				r := newRig(t, s.serve)
				l := linkIn("session-1")
				if test.rev != nil {
					l = link(test.rev)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				resp, err := r.RoundTrip(ctx, call(l), &listener{})
				if test.want == "" {
					wantGood(t, resp, err)
				} else if wire := wireError(t, err); wire.Reason != test.want || wire.Delivered != "unknown" || wire.SessionLost {
					t.Errorf("got %+v", wire)
				}
				if !slices.Equal(s.ids, test.ids) {
					t.Errorf("resumed from %q, want %q", s.ids, test.ids)
				}
				for i, got := range s.waits {
					if want := test.waits[i]; got < want || got > want+want/10 || i == 0 && got != want {
						t.Errorf("GET %d after %v, want %v", i+1, got, want)
					}
				}
				if n := r.runs(); n != 1 {
					t.Errorf("the call was sent %d times", n)
				}
				for _, q := range r.requests() {
					if q.Method == http.MethodGet && (q.Header.Get(headerSession) != "session-1" || q.Header.Get(headerVersion) != legacy.Name || q.Header.Get("Accept") != typeStream) {
						t.Errorf("the GET has the headers %v", q.Header)
					}
					if strings.Contains(q.Body, methodCancelled) {
						t.Error("HTL-09: a dropped stream was taken for a cancel")
					}
				}
			})
		})
	}
}

// The deadline ends a resumption too, and the server is told.
func TestResumeEndsAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{post: stream("id: 1\nretry: 20000\n\n"), gets: []handler{stream("")}}
		r := newRig(t, func(w http.ResponseWriter, req *http.Request, body string) {
			if strings.Contains(body, methodCancelled) {
				w.WriteHeader(202)
				return
			}
			s.serve(w, req, body)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began := time.Now()
		_, err := r.RoundTrip(ctx, call(linkIn("s")), &listener{})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != 30*time.Second {
			t.Errorf("got %v after %v", err, took)
		}
		time.Sleep(cancelPause)
		synctest.Wait()
		if sent := r.requests(); len(sent) != 3 || !strings.Contains(sent[2].Body, methodCancelled) {
			t.Errorf("the server saw %v", sent)
		}
	})
}

// HTL-04, B023, B025: what a server that has no GET stream says.
func TestListenIsNotOffered(t *testing.T) {
	subscription := &mcpclient.Request{Link: link(modern), ID: 1, Method: "subscriptions/listen", Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`)}
	for _, test := range []struct {
		name string
		h    handler
		link *mcpclient.Link
		req  *mcpclient.Request
		want string // "" for ErrNoListen
	}{
		{name: "405", h: reply(405, "", "")},
		{name: "404", h: reply(404, "text/plain", "")},
		{name: "404 in a session", link: linkIn("s"), h: reply(404, "text/plain", "")},
		{name: "B023 400", h: reply(400, "text/plain", "No sessionId")},
		{name: "401", h: reply(401, "text/plain", "")},
		{name: "403", h: reply(403, "text/plain", "")},
		{name: "501", h: reply(501, "text/plain", "")},
		{name: "B025 200 with JSON", h: reply(200, typeJSON, "{}")},
		{name: "204", h: reply(204, "", "")},
		{name: "500", h: reply(500, "text/plain", "oops"), want: "status 500 Internal Server Error: oops"},
		{name: "429", h: reply(429, "text/plain", ""), want: "status 429 Too Many Requests"},
		{name: "SUB-05 subscription, unknown method", link: link(modern), req: subscription, h: reply(404, typeJSON, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`)},
		{name: "subscription, unknown method with status 200", link: link(modern), req: subscription, h: reply(200, typeJSON, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`)},
		{name: "subscription, 405", link: link(modern), req: subscription, h: reply(405, "text/plain", "")},
		{name: "subscription, HTML", link: link(modern), req: subscription, h: reply(200, "text/html", "")},
		{name: "subscription, refused", link: link(modern), req: subscription, h: reply(200, typeJSON, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad filter"}}`), want: "the server refused the subscription: bad filter (-32602)"},
		{name: "subscription, 503", link: link(modern), req: subscription, h: reply(503, "text/plain", ""), want: "status 503 Service Unavailable"},
		{name: "no subscription", link: link(modern), h: reply(500, "text/plain", "")},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, test.h)
				if test.link == nil {
					test.link = link(legacy)
				}
				err := r.Listen(t.Context(), test.link, test.req, &listener{})
				if test.want == "" && err != mcpclient.ErrNoListen || test.want != "" && wireError(t, err).Reason != test.want {
					t.Errorf("got %v", err)
				}
				if n := len(r.requests()); n > 1 {
					t.Errorf("the server saw %d requests", n)
				}
			})
		})
	}
}

// B049, HTL-15: what comes on the GET stream, and how it goes on after a drop.
func TestB049_Listen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := "id: 7\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\n" +
			"data: not JSON\n\n" +
			"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n" +
			"data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ping\"}\n\n"
		ctx, cancel := context.WithCancel(t.Context())
		s := &script{post: reply(202, "", ""), gets: []handler{stream(events), func(w http.ResponseWriter, r *http.Request, b string) {
			stream("data: {\"jsonrpc\":\"2.0\",\"method\":\"b\"}\n\n")(w, r, b)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}}}
		r := newRig(t, s.serve)
		h := &listener{onNote: func(method string) {
			if method == "b" {
				cancel()
			}
		}}
		if err := r.Listen(ctx, linkIn("session-1"), nil, h); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if want := []string{"", "7"}; !slices.Equal(s.ids, want) {
			t.Errorf("opened from %q, want %q", s.ids, want)
		}
		heard := h.all()
		slices.Sort(heard)
		if want := []string{"? ping", "a", "b"}; !slices.Equal(heard, want) {
			t.Errorf("heard %q, want %q", heard, want)
		}
		var posted []string
		for _, q := range r.requests() {
			if q.Method == http.MethodPost {
				posted = append(posted, q.Body)
			}
		}
		if want := []string{`{"jsonrpc":"2.0","id":"q","result":{}}`}; !slices.Equal(posted, want) {
			t.Errorf("the server got %q, want %q", posted, want)
		}
	})
}

// T16: a server that accepts and closes, for an hour.
func TestT16_ListenIsNoStorm(t *testing.T) {
	for _, retry := range []string{"0", "1", "-5", "1000000000000000000", "NaN", ""} {
		t.Run("retry "+retry, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				r := newRig(t, func(w http.ResponseWriter, req *http.Request, b string) {
					n++
					stream(fmt.Sprintf("retry: %s\nid: %d\n\n", retry, n))(w, req, b)
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := r.Listen(ctx, linkIn("s"), nil, &listener{}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
				if n > 125 || n < 50 {
					t.Errorf("%d GETs in an hour", n)
				}
			})
		})
	}
}

func TestT16_WaitBeginsAnewAfterAWellStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short, long := stream(""), func(w http.ResponseWriter, r *http.Request, b string) {
			stream("")(w, r, b)
			w.(http.Flusher).Flush()
			select {
			case <-time.After(wellAfter):
			case <-r.Context().Done():
			}
		}
		s := &script{gets: []handler{short, short, short, long, short, reply(405, "", "")}}
		s.last = time.Now()
		r := newRig(t, s.serve)
		if err := r.Listen(t.Context(), link(legacy), nil, &listener{}); err != mcpclient.ErrNoListen {
			t.Errorf("got %v", err)
		}
		for i, want := range []time.Duration{0, 1, 2, 4, 1, 2} {
			if got := s.waits[i]; got < want*time.Second || got > want*time.Second*11/10 {
				t.Errorf("GET %d after %v, want %ds", i+1, got, want)
			}
		}
	})
}

// L34: a stream on which nothing comes is opened again; comments keep it.
func TestL34_IdleStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := func(comments int) handler {
			return func(w http.ResponseWriter, r *http.Request, b string) {
				stream("")(w, r, b)
				for range comments {
					w.(http.Flusher).Flush()
					<-time.After(listenIdle - time.Second)
					io.WriteString(w, ":\r\n")
				}
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}
		}
		s := &script{gets: []handler{quiet(0), quiet(3), reply(405, "", "")}}
		r := newRig(t, s.serve)
		began := time.Now()
		err := r.Listen(t.Context(), link(legacy), nil, &listener{})
		took := time.Since(began)
		want := 2*listenIdle + 3*(listenIdle-time.Second) + 2*defaultReopen
		if err != mcpclient.ErrNoListen || took != want || len(s.ids) != 3 {
			t.Errorf("got %v after %v and %d GETs, want %v", err, took, len(s.ids), want)
		}
	})
}

func TestListenEndsWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{gets: []handler{stream("id: 1\n\n"), reply(404, "text/plain", "")}}
		r := newRig(t, s.serve)
		if wire := wireError(t, r.Listen(t.Context(), linkIn("s"), nil, &listener{})); !wire.SessionLost {
			t.Errorf("got %+v", wire)
		}
	})
}

// A server that is away before its stream was ever open is the caller's business;
// one that goes away later is asked again, and comes back to the same stream.
func TestListenOfAServerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, reply(405, "", ""))
		r.pipes.Close()
		if wire := wireError(t, r.Listen(t.Context(), link(legacy), nil, &listener{})); wire.Op != "connect" || wire.Final {
			t.Errorf("got %+v", wire)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		later := func(w http.ResponseWriter, r *http.Request, b string) {
			w.Header().Set("Retry-After", "40")
			reply(503, "text/plain", "")(w, r, b)
		}
		s := &script{gets: []handler{stream("id: 1\n\n"), reply(500, "text/plain", ""), later, hangUp, stream("id: 2\n\n"), reply(404, "text/plain", "")}}
		s.last = time.Now()
		r := newRig(t, s.serve)
		h := &listener{}
		if wire := wireError(t, r.Listen(t.Context(), linkIn("s"), nil, h)); !wire.SessionLost {
			t.Errorf("got %+v", wire)
		}
		if want := []string{"", "1", "1", "1", "1", "2"}; !slices.Equal(s.ids, want) {
			t.Errorf("opened from %q, want %q", s.ids, want)
		}
		if n := h.openings(); n != 2 {
			t.Errorf("told of %d openings, want 2", n)
		}
		for i, want := range []time.Duration{0, 1, 2, 40, 8, 16} {
			if got := s.waits[i]; got < want*time.Second || got > want*time.Second*11/10 {
				t.Errorf("GET %d after %v, want %ds", i+1, got, want)
			}
		}
	})
}

// hangUp closes the connection without a reply.
func hangUp(http.ResponseWriter, *http.Request, string) { panic(http.ErrAbortHandler) }

// SUB-04, SUB-07: the stream of a subscription.
func TestSubscription(t *testing.T) {
	const note = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"
	for _, test := range []struct {
		name string
		h    handler
		want string // "" for a graceful end
	}{
		{"SUB-04 ended by a result", stream(note + "data: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n\n"), ""},
		{"SUB-04 ended at once by JSON", reply(200, typeJSON, `{"jsonrpc":"2.0","id":5,"result":{}}`), ""},
		{"SUB-04 ended without a word", stream(note), "the stream of the subscription ended"},
		{"ended by an error", stream(note + "data: {\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":1,\"message\":\"over\"}}\n\n"), "the server refused the subscription: over (1)"},
		{"L34 nothing comes", func(w http.ResponseWriter, r *http.Request, b string) {
			stream(note)(w, r, b)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "the stream of the subscription ended"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, test.h)
				req := &mcpclient.Request{Link: link(modern), ID: 5, Method: "subscriptions/listen", Body: []byte(`{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen"}`)}
				h := &listener{}
				err := r.Listen(t.Context(), req.Link, req, h)
				if test.want == "" && err != nil || test.want != "" && wireError(t, err).Reason != test.want {
					t.Errorf("got %v", err)
				}
				if heard := h.all(); strings.Contains(test.name, "JSON") != (len(heard) == 0) || len(heard) != h.openings() {
					t.Errorf("heard %q after %d openings", heard, h.openings())
				}
				if sent := r.requests(); len(sent) != 1 || sent[0].Header.Get(headerMethod) != req.Method || sent[0].Header.Get("Accept") != acceptBoth {
					t.Errorf("the server saw %v", sent)
				}
			})
		})
	}
}

func TestSubscriptionEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		r := newRig(t, func(w http.ResponseWriter, req *http.Request, b string) {
			hangsInStream(w, req, b)
			close(gone)
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		req := &mcpclient.Request{Link: link(modern), ID: 5, Method: "subscriptions/listen", Body: []byte(`{}`)}
		if err := r.Listen(ctx, req.Link, req, &listener{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		<-gone
		if n := len(r.requests()); n != 1 {
			t.Errorf("the server saw %d requests", n)
		}
	})
}

func TestL03_ListenIsBounded(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, req *http.Request, b string) {
		stream("data: "+strings.Repeat("x", 70<<10)+"\n\n")(w, req, b)
	}, withLimits(t, "sse_event=64KiB"))
	wantLimit(t, r.Listen(t.Context(), link(legacy), nil, &listener{}), limit.SSEEvent)
}
