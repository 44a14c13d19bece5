package mcpclient

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// listed connects to a server whose pages are these, in order, and lists it.
func listed(t *testing.T, version string, pages ...string) (*Session, *server) {
	t.Helper()
	session, s := connect(t, version, func(_ context.Context, req *Request, _ Handler) (*Response, error) {
		n := 0
		if cursor, ok := paramsOf(t, string(req.Body))["cursor"]; ok {
			fmt.Sscan(cursor.(string), &n)
		}
		next := ""
		if n > 0 {
			time.Sleep(time.Second) // the later pages take their time
		}
		if n+1 < len(pages) {
			next = fmt.Sprintf(`,"nextCursor":"%d"`, n+1)
		}
		return result(`{"tools":[` + tool(fmt.Sprint("t", n)) + `]` + pages[n] + next + `}`)
	})
	if _, err := session.ListTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	return session, s
}

// How long a listing is fresh, and that nothing is asked when it no longer is.
func TestFreshness(t *testing.T) {
	for _, test := range []struct {
		name    string
		version string
		pages   []string
		at      []time.Duration // since the listing was complete
		want    []Freshness
	}{
		{"CCH-02 a positive ttlMs", modernName, []string{`,"ttlMs":5000`}, []time.Duration{0, 4999 * time.Millisecond, 5 * time.Second}, []Freshness{Fresh, Fresh, Expired}},
		{"CCH-03 0", modernName, []string{`,"ttlMs":0`}, []time.Duration{0}, []Freshness{Expired}},
		{"CCH-04 absent", modernName, []string{``}, []time.Duration{0}, []Freshness{Expired}},
		{"CCH-05 negative", modernName, []string{`,"ttlMs":-5`}, []time.Duration{0}, []Freshness{Expired}},
		{"CCH-05 no integer", modernName, []string{`,"ttlMs":1.5`}, []time.Duration{0}, []Freshness{Expired}},
		{"CCH-05 a text", modernName, []string{`,"ttlMs":"5000"`}, []time.Duration{0}, []Freshness{Expired}},
		{"CCH-05 huge", modernName, []string{`,"ttlMs":1e300`}, []time.Duration{0}, []Freshness{Expired}},
		{"CCH-05 more than time can tell", modernName, []string{`,"ttlMs":9223372036854775807`}, []time.Duration{0, 1000 * time.Hour}, []Freshness{Fresh, Fresh}},
		{"CCH-04 a server of a revision without ttlMs", legacyName, []string{``}, []time.Duration{0, 1000 * time.Hour}, []Freshness{Kept, Kept}},
		{"one that gives it all the same", legacyName, []string{`,"ttlMs":5000`}, []time.Duration{0, 5 * time.Second}, []Freshness{Fresh, Expired}},
		{"CCH-11 the first page expires first", modernName, []string{`,"ttlMs":3000`, `,"ttlMs":9000`}, []time.Duration{1999 * time.Millisecond, 2 * time.Second}, []Freshness{Fresh, Expired}},
		{"CCH-11 the last page expires first", modernName, []string{`,"ttlMs":9000`, `,"ttlMs":3000`}, []time.Duration{2999 * time.Millisecond, 3 * time.Second}, []Freshness{Fresh, Expired}},
		{"CCH-11 a page in the middle expires at once", modernName, []string{`,"ttlMs":9000`, ``, `,"ttlMs":9000`}, []time.Duration{0}, []Freshness{Expired}},
		{"CCH-09 cacheScope makes no difference", modernName, []string{`,"ttlMs":5000,"cacheScope":"private"`, `,"ttlMs":5000,"cacheScope":7`}, []time.Duration{0}, []Freshness{Fresh}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				session, s := listed(t, test.version, test.pages...)
				began := time.Now()
				for i, at := range test.at {
					time.Sleep(at - time.Since(began))
					if got := session.Freshness(); got != test.want[i] {
						t.Errorf("after %v: %d, want %d", at, got, test.want[i])
					}
				}
				time.Sleep(time.Hour)
				if n := s.count(methodList); n != len(test.pages) {
					t.Errorf("CCH-08: %d requests for %d pages", n, len(test.pages))
				}
			})
		})
	}
}

// What puts a listing out of date before its time, and that a new one cures it.
func TestFreshnessEndsEarly(t *testing.T) {
	answering := func(s *server, method string, answer func(h Handler) (*Response, error)) {
		healthy := s.answer
		s.answer = func(ctx context.Context, req *Request, h Handler) (*Response, error) {
			if req.Method == method {
				return answer(h)
			}
			return healthy(ctx, req, h)
		}
	}
	call := func(t *testing.T, session *Session) { session.CallTool(t.Context(), "t0", nil, nil) }
	for _, test := range []struct {
		name    string
		version string
		do      func(t *testing.T, session *Session, s *server)
		want    Freshness
		told    int
	}{
		{"B113 list_changed on the stream of a call", legacyName, func(t *testing.T, session *Session, s *server) {
			answering(s, methodCall, func(h Handler) (*Response, error) {
				h.Notification(notificationToolsChanged, []byte(`{}`))
				return result(hello)
			})
			call(t, session)
		}, Changed, 1},
		{"B115 without params, and not declared", modernName, func(t *testing.T, session *Session, s *server) {
			answering(s, methodCall, func(h Handler) (*Response, error) {
				h.Notification(notificationToolsChanged, nil)
				return result(hello)
			})
			call(t, session)
		}, Changed, 1},
		{"HDR the server misses a header", modernName, func(t *testing.T, session *Session, s *server) {
			n := 0
			answering(s, methodCall, func(Handler) (*Response, error) {
				if n++; n == 1 {
					return refusal(400, codeHeaderMismatch, "no", "")
				}
				return result(hello)
			})
			call(t, session)
		}, Changed, 1},
		{"the server finds the arguments wrong", modernName, func(t *testing.T, session *Session, s *server) {
			answering(s, methodCall, func(Handler) (*Response, error) { return refusal(400, codeInvalidParams, "unknown tool", "") })
			call(t, session)
		}, Expired, 0},
		{"the tool fails", modernName, func(t *testing.T, session *Session, s *server) {
			answering(s, methodCall, func(Handler) (*Response, error) { return refusal(200, -32603, "oops", "") })
			call(t, session)
		}, Fresh, 0},
		{"the session is another", legacyName, func(t *testing.T, session *Session, s *server) {
			if _, err := session.renew(t.Context(), session.current()); err != nil {
				t.Fatal(err)
			}
		}, Expired, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				session, s := listed(t, test.version, `,"ttlMs":60000`)
				told := 0
				session.opts.OnToolsChanged = func() { told++ }
				if got := session.Freshness(); got != Fresh {
					t.Fatalf("at first: %d", got)
				}
				test.do(t, session, s)
				if got := session.Freshness(); got != test.want || told != test.told {
					t.Errorf("%d, told %d times; want %d, %d", got, told, test.want, test.told)
				}
				if _, err := session.ListTools(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := session.Freshness(); got != Fresh {
					t.Errorf("CCH-12 listed anew: %d", got)
				}
			})
		})
	}
}

// A change that is told while the pages come in may not be in them.
func TestChangeDuringTheListing(t *testing.T) {
	for _, version := range []string{modernName, legacyName} {
		session, s := listed(t, version, ``)
		healthy := s.answer
		s.answer = func(ctx context.Context, req *Request, h Handler) (*Response, error) {
			h.Notification(notificationToolsChanged, nil)
			return healthy(ctx, req, h)
		}
		if _, err := session.ListTools(t.Context()); err != nil || session.Freshness() != Changed {
			t.Errorf("%s: %v, freshness %d", version, err, session.Freshness())
		}
	}
}

// A stream that had to be opened again was deaf for a while, and one that opens
// after the listing was deaf before.
func TestGapsInTheListening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tellsAll(t, legacyName)
		again := make(chan bool)
		s.listen = func(ctx context.Context, _ int, _ *Request, l Listener) error {
			for range again {
				l.Opened()
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}
		session, err := Connect(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		look := func() {
			synctest.Wait()
			fmt.Fprint(&got, session.Freshness(), " ")
		}
		list := func() {
			if _, err := session.ListTools(t.Context()); err != nil {
				t.Fatal(err)
			}
			look()
		}
		list()
		go session.Listen(t.Context(), func() {})
		again <- true
		look()
		list()
		again <- true
		look()
		list()
		if want := fmt.Sprint(Kept, Expired, Fresh, Expired, Fresh); strings.TrimSpace(got.String()) != want {
			t.Errorf("got %s, want %s", got.String(), want)
		}
		close(again)
		session.Close(t.Context())
	})
}
