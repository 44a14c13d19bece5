package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
)

// tellsAll is a server of that revision which declares tools.listChanged.
func tellsAll(t *testing.T, version string) *server {
	const capabilities = `"capabilities":{"tools":{"listChanged":true}}`
	sides := map[string]side{
		methodDiscover: fails(400),
		methodInitialize: always(func() (*Response, error) {
			return inSession("session", `{"protocolVersion":"`+version+`",`+capabilities+`}`)
		}),
		methodList: says(`{"tools":[` + tool("a") + `]}`),
	}
	if version == modernName {
		sides[methodDiscover] = says(`{"supportedVersions":["` + version + `"],` + capabilities + `}`)
	}
	return play(t, sides)
}

// open is a stream that stays open.
func open(ctx context.Context, _ int, req *Request, l Listener) error {
	l.Opened()
	if req != nil {
		acknowledge(req, l)
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// acknowledge grants a subscription.
func acknowledge(req *Request, l Listener) {
	tell(l, notificationAcknowledged, `{"_meta":{"`+metaSubscription+`":%d},"notifications":{"toolsListChanged":true}}`, req.ID)
}

func tell(l Listener, method, params string, args ...any) {
	l.Notification(method, fmt.Appendf(nil, params, args...))
}

// listening connects and listens, for as long as the test runs, until what follows
// at once has come to an end. The channel is closed when Listen has returned.
func listeningTo(t *testing.T, s *server, opts *Options) (*Session, <-chan struct{}) {
	t.Helper()
	session, err := Connect(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	settled, ended := 0, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		session.Listen(ctx, func() { settled++ })
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if settled != 1 {
			t.Errorf("settled %d times", settled)
		}
	})
	synctest.Wait()
	return session, ended
}

func TestSUB01_ListensOnlyWhereThatIsDeclared(t *testing.T) {
	modern := func(capabilities string) string {
		return `{"supportedVersions":["` + modernName + `"],"capabilities":` + capabilities + `}`
	}
	legacy := func(capabilities string) side {
		return says(`{"protocolVersion":"` + legacyName + `","capabilities":` + capabilities + `}`)
	}
	const discover, get, subscribe = "server/discover@" + modernName, "listen@" + legacyName, "listen@" + modernName
	for _, test := range []struct {
		name  string
		sides map[string]side
		opts  Options
		trace string // after the handshake
	}{
		{"declared", map[string]side{methodDiscover: says(modern(`{"tools":{"listChanged":true}}`))}, Options{}, subscribe},
		{"declared not", map[string]side{methodDiscover: says(modern(`{"tools":{"listChanged":false}}`))}, Options{}, ""},
		{"not declared", map[string]side{methodDiscover: says(modern(`{"tools":{}}`))}, Options{}, ""},
		{"declared of something else", map[string]side{methodDiscover: says(modern(`{"tools":{},"prompts":{"listChanged":true}}`))}, Options{}, ""},
		{"no tools", map[string]side{methodDiscover: says(modern(`{}`))}, Options{}, ""},
		{"B073 null", map[string]side{methodDiscover: says(modern(`null`))}, Options{}, discover},
		{"legacy, declared", map[string]side{methodInitialize: legacy(`{"tools":{"listChanged":true}}`)}, Options{Legacy: true}, get},
		{"legacy, not declared", map[string]side{methodInitialize: legacy(`{"tools":{}}`)}, Options{Legacy: true}, ""},
		{"legacy, no boolean", map[string]side{methodInitialize: legacy(`{"tools":{"listChanged":"true"}}`)}, Options{Legacy: true}, ""},
		{"legacy, null", map[string]side{methodInitialize: legacy(`null`)}, Options{Legacy: true}, ""},

		// A link that was opened without a word: the server is asked.
		{"pinned, declared", map[string]side{methodDiscover: says(modern(`{"tools":{"listChanged":true}}`))}, Options{Pin: latest(false)}, discover + " " + subscribe},
		{"pinned, not declared", map[string]side{methodDiscover: says(modern(`{"tools":{}}`))}, Options{Pin: latest(false)}, discover},
		{"pinned, unknown method", map[string]side{methodDiscover: refuses(404, codeMethodNotFound, "no", "")}, Options{Pin: latest(false)}, discover},
		{"pinned, no MCP", map[string]side{methodDiscover: fails(400)}, Options{Pin: latest(false)}, discover},
		{"pinned, refused once", map[string]side{methodDiscover: then(refuses(400, codeUnsupportedVersion, "no", `{"supported":["`+modernName+`"]}`), says(modern(`{"tools":{"listChanged":true}}`)))},
			Options{Pin: latest(false)}, discover + " " + discover + " " + subscribe},
		{"pinned, always refused", map[string]side{methodDiscover: refuses(400, codeUnsupportedVersion, "no", `{"supported":["`+modernName+`"]}`)},
			Options{Pin: latest(false)}, discover + " " + discover},
		{"pinned, away for a moment", map[string]side{methodDiscover: then(fails(503), says(modern(`{"tools":{"listChanged":true}}`)))},
			Options{Pin: latest(false)}, discover + " " + discover + " " + subscribe},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := play(t, test.sides)
				s.listen = open
				session, err := Connect(t.Context(), s, &test.opts)
				if err != nil {
					t.Fatal(err)
				}
				before := s.traced()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				settled := time.Duration(-1)
				start := time.Now()
				session.Listen(ctx, func() { settled = time.Since(start) })
				if got := strings.TrimSpace(strings.TrimPrefix(s.traced(), before)); got != test.trace {
					t.Errorf("trace %q, want %q", got, test.trace)
				}
				if settled != 0 {
					t.Errorf("settled after %v", settled)
				}
			})
		})
	}
}

func TestSubscriptionMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tellsAll(t, modernName)
		s.listen = open
		listeningTo(t, s, nil)
		params := paramsOf(t, s.last(methodListen)) // BAS-15 and BAS-16 are checked by the server
		if got := fmt.Sprint(params["notifications"]); got != "map[toolsListChanged:true]" || len(params) != 2 {
			t.Errorf("params %v", params)
		}
	})
}

// What comes on the stream of a subscription, and what it makes of a listing that
// has no time to live.
func TestSubscriptionStream(t *testing.T) {
	ack := func(notifications string) func(req *Request, l Listener) {
		return func(req *Request, l Listener) {
			tell(l, notificationAcknowledged, `{"_meta":{"`+metaSubscription+`":%d},"notifications":%s}`, req.ID, notifications)
		}
	}
	changed := func(params string) func(req *Request, l Listener) {
		return func(req *Request, l Listener) {
			l.Notification(notificationToolsChanged, []byte(strings.ReplaceAll(params, "#", fmt.Sprint(req.ID))))
		}
	}
	const granted = `{"toolsListChanged":true}`
	for _, test := range []struct {
		name    string
		say     []func(req *Request, l Listener)
		want    Freshness
		told    int  // calls of OnToolsChanged
		listens bool // the stream is kept
	}{
		{"acknowledged", []func(*Request, Listener){ack(granted)}, Fresh, 0, true},
		{"not acknowledged", nil, Expired, 0, true},
		{"SUB-02 another filter was granted", []func(*Request, Listener){ack(`{"promptsListChanged":true}`)}, Expired, 0, false},
		{"SUB-02 false was granted", []func(*Request, Listener){ack(`{"toolsListChanged":false}`)}, Expired, 0, false},
		{"SUB-02 nothing was granted", []func(*Request, Listener){ack(`null`)}, Expired, 0, false},
		{"CCH-10 changed", []func(*Request, Listener){ack(granted), changed(`{"_meta":{"` + metaSubscription + `":#}}`)}, Changed, 1, true},
		{"the id as text", []func(*Request, Listener){ack(granted), changed(`{"_meta":{"` + metaSubscription + `":"#"}}`)}, Changed, 1, true},
		{"no id", []func(*Request, Listener){ack(granted), changed(`{}`)}, Changed, 1, true},
		{"no acknowledgment before it", []func(*Request, Listener){changed(`{"_meta":{"` + metaSubscription + `":#}}`)}, Changed, 1, true},
		{"SUB-03 changed, by another id", []func(*Request, Listener){ack(granted), changed(`{"_meta":{"` + metaSubscription + `":7#}}`)}, Fresh, 0, true},
		{"SUB-03 changed, by no id", []func(*Request, Listener){ack(granted), changed(`{"_meta":{"` + metaSubscription + `":null}}`)}, Fresh, 0, true},
		{"SUB-03 acknowledged, by another id", []func(*Request, Listener){func(_ *Request, l Listener) {
			tell(l, notificationAcknowledged, `{"_meta":{"`+metaSubscription+`":"x"},"notifications":`+granted+`}`)
		}}, Expired, 0, true},
		{"SUB-09 what belongs to requests", []func(*Request, Listener){ack(granted), func(req *Request, l Listener) {
			tell(l, "notifications/progress", `{"progressToken":%d,"progress":1}`, req.ID)
			tell(l, "notifications/message", `{"level":"info","data":1}`)
			tell(l, "notifications/cancelled", `{"requestId":%d}`, req.ID)
			tell(l, "notifications/prompts/list_changed", `[]`)
			l.Notification("notifications/message", nil)
		}}, Fresh, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := tellsAll(t, modernName)
				say, kept := make(chan bool), true
				s.listen = func(ctx context.Context, _ int, req *Request, l Listener) error {
					l.Opened() // the head of the reply is no acknowledgment
					for i, f := range test.say {
						if i == 1 {
							<-say
						}
						f(req, l)
					}
					<-ctx.Done()
					kept = t.Context().Err() != nil
					return context.Cause(ctx)
				}
				told := 0
				session, _ := listeningTo(t, s, &Options{
					OnToolsChanged: func() { told++ },
					OnNotification: func(method string, _ []byte) { t.Errorf("%s was passed on", method) },
				})
				if _, err := session.ListTools(t.Context()); err != nil {
					t.Fatal(err)
				}
				early := told
				if len(test.say) > 1 {
					close(say)
				}
				synctest.Wait()
				want := test.want
				if early > 0 {
					want = Expired // the listing came after the word
				}
				if got := session.Freshness(); got != want || told != test.told {
					t.Errorf("freshness %d, told %d times; want %d, %d", got, told, want, test.told)
				}
				time.Sleep(time.Hour)
				if n := s.count("listen"); n != 1 || kept != test.listens {
					t.Errorf("%d streams in an hour, kept: %v", n, kept)
				}
			})
		})
	}
}

// HTL-15: on a GET stream the server may say anything that belongs to no request.
func TestHTL15_GetStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tellsAll(t, legacyName)
		s.listen = func(ctx context.Context, n int, req *Request, l Listener) error {
			if answer, err := l.Request(ctx, "ping", nil); string(answer) != "{}" || err != nil {
				t.Errorf("ping: %s, %v", answer, err)
			}
			tell(l, "notifications/message", `{"level":"info","data":"idle"}`)
			tell(l, notificationToolsChanged, `{}`)
			return open(ctx, n, req, l)
		}
		var heard []string
		told := 0
		session, _ := listeningTo(t, s, &Options{
			OnToolsChanged: func() { told++ },
			OnNotification: func(method string, params []byte) { heard = append(heard, method+string(params)) },
		})
		if want := []string{`notifications/message{"level":"info","data":"idle"}`}; !slices.Equal(heard, want) || told != 1 {
			t.Errorf("heard %q, told %d times", heard, told)
		}
		if _, err := session.ListTools(t.Context()); err != nil || session.Freshness() != Fresh {
			t.Errorf("%v, freshness %d", err, session.Freshness())
		}
	})
}

// SUB-04, T16: whatever ends a stream, the next one waits.
func TestSUB04_StreamsAreOpenedAgainInTheirTime(t *testing.T) {
	wire := &WireError{Op: "listen", Reason: "the stream of the subscription ended", Delivered: "unknown"}
	after := func(d time.Duration, err error) func(context.Context, int, *Request, Listener) error {
		return func(_ context.Context, _ int, req *Request, l Listener) error {
			acknowledge(req, l)
			time.Sleep(d)
			return err
		}
	}
	doubling := "1s 2s 4s 8s 16s 32s 1m0s 1m0s"
	for _, test := range []struct {
		name   string
		listen func(context.Context, int, *Request, Listener) error
		want   string // the first waits
		most   int    // streams in an hour
	}{
		{"ended in order at once, as by one JSON body", func(context.Context, int, *Request, Listener) error { return nil }, doubling, 65},
		{"ended in order after the acknowledgment", after(0, nil), doubling, 65},
		{"ended abruptly", after(time.Second, wire), doubling, 64},
		{"ended in order after a good while", after(wellAfter, nil), "1s 1s 1s 1s", 117},
		{"ended abruptly after a good while", after(time.Minute, wire), "1s 1s 1s 1s", 60},
		{"the server is away", func(context.Context, int, *Request, Listener) error {
			return &WireError{Op: "connect", Reason: "connection refused", Delivered: "no"}
		}, doubling, 65},
		{"the server asks for a longer wait", func(context.Context, int, *Request, Listener) error {
			return &WireError{Op: "send", Status: 429, RetryAfter: 10 * time.Minute}
		}, "10m0s 10m0s 10m0s", 7},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := tellsAll(t, modernName)
				var ended time.Time
				var waits []string
				s.listen = func(ctx context.Context, n int, req *Request, l Listener) error {
					if n > 1 {
						waits = append(waits, time.Since(ended).String())
					}
					defer func() { ended = time.Now() }()
					return test.listen(ctx, n, req, l)
				}
				listeningTo(t, s, nil)
				time.Sleep(time.Hour)
				synctest.Wait()
				if got := strings.Join(waits, " "); !strings.HasPrefix(got+" ", test.want+" ") {
					t.Errorf("waited %s, want %s", got, test.want)
				}
				if n := s.count("listen"); n > test.most {
					t.Errorf("%d streams in an hour", n)
				}
				if n := s.count(methodDiscover); n != 1 {
					t.Errorf("%d requests besides", n-1)
				}
			})
		})
	}
}

// SUB-05, HTL-04: a server that offers no stream is left alone, until its session
// is another.
func TestSUB05_NoStreamIsRespected(t *testing.T) {
	for _, version := range []string{modernName, legacyName} {
		for name, err := range map[string]error{
			"not offered":                 ErrNoListen,
			"a redirect":                  &WireError{Op: "send", Status: 307, Final: true},
			"more than a stream may hold": limit.Table{}.Exceeded(limit.SSEEvent, "an event"),
			"a fault of the carrier":      errors.New("boom"),
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := tellsAll(t, version)
					s.listen = func(context.Context, int, *Request, Listener) error { return err }
					session, _ := listeningTo(t, s, nil)
					time.Sleep(time.Hour)
					if n := s.count("listen"); n != 1 {
						t.Errorf("%d tries in an hour", n)
					}
					if _, err := session.renew(t.Context(), session.current()); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					if n := s.count("listen"); n != 2 {
						t.Errorf("%d tries after the session was opened anew", n)
					}
				})
			})
		}
	}
}

// HTL-06: a session that the stream finds lost is opened anew, and no call has to
// find out.
func TestHTL06_SessionLostWhileListening(t *testing.T) {
	lost := &WireError{Op: "send", Status: 404, Reason: "the session is gone", Delivered: "no", SessionLost: true}
	synctest.Test(t, func(t *testing.T) {
		s := tellsAll(t, legacyName)
		s.listen = func(ctx context.Context, n int, req *Request, l Listener) error {
			if n > 1 {
				return open(ctx, n, req, l)
			}
			l.Opened()
			time.Sleep(time.Minute)
			return lost
		}
		session, _ := listeningTo(t, s, nil)
		if _, err := session.ListTools(t.Context()); err != nil || session.Freshness() != Fresh {
			t.Fatalf("%v, freshness %d", err, session.Freshness())
		}
		before := s.traced()
		time.Sleep(time.Hour)
		want := " " + shake + " listen@" + legacyName
		if got := strings.TrimPrefix(s.traced(), before); got != want {
			t.Errorf("trace %s, want %s", got, want)
		}
		if got := session.Freshness(); got != Expired {
			t.Errorf("the new session's listing: freshness %d", got)
		}
	})
	for name, again := range map[string]func(ctx context.Context) (*Response, error){
		"again and again":        nil,
		"and the server is away": func(context.Context) (*Response, error) { return status(503) },
		"and it does not answer": func(ctx context.Context) (*Response, error) { <-ctx.Done(); return nil, context.Cause(ctx) },
	} {
		t.Run("T16 "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := tellsAll(t, legacyName)
				healthy := s.answer
				s.answer = func(ctx context.Context, req *Request, h Handler) (*Response, error) {
					if req.Method == methodInitialize && s.count(methodInitialize) > 1 && again != nil {
						return again(ctx)
					}
					return healthy(ctx, req, h)
				}
				s.listen = func(context.Context, int, *Request, Listener) error { return lost }
				listeningTo(t, s, nil)
				time.Sleep(time.Hour)
				if n := s.count(methodInitialize); n > 65 || n < 20 {
					t.Errorf("%d handshakes in an hour", n)
				}
			})
		})
	}
}

// A session that a call opens anew takes the stream along.
func TestListenFollowsTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := tellsAll(t, legacyName)
		running := 0
		s.listen = func(ctx context.Context, n int, req *Request, l Listener) error {
			running++
			defer func() { running-- }()
			return open(ctx, n, req, l)
		}
		session, _ := listeningTo(t, s, nil)
		for n := 2; n < 5; n++ {
			if _, err := session.renew(t.Context(), session.current()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if s.count("listen") != n || running != 1 {
				t.Errorf("%d streams so far, %d open; want %d, 1", s.count("listen"), running, n)
			}
		}
	})
}

// SUB-07: the end of the session or of the context ends the listening, whatever
// it is at.
func TestSUB07_ListenEnds(t *testing.T) {
	for name, listen := range map[string]func(context.Context, int, *Request, Listener) error{
		"a stream is open":       open,
		"it waits for the next":  func(context.Context, int, *Request, Listener) error { return nil },
		"it has nothing to hear": func(context.Context, int, *Request, Listener) error { return ErrNoListen },
		"the session is lost":    func(context.Context, int, *Request, Listener) error { return &WireError{SessionLost: true} },
		"the stream is not opened": func(ctx context.Context, _ int, _ *Request, _ Listener) error {
			<-ctx.Done()
			return context.Cause(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := tellsAll(t, modernName)
				s.listen = listen
				session, ended := listeningTo(t, s, nil)
				session.Close(t.Context())
				synctest.Wait()
				select {
				case <-ended:
				default:
					t.Error("it outlives the session")
				}
				session.Listen(t.Context(), func() {}) // returns at once
			})
			synctest.Test(t, func(t *testing.T) {
				s := tellsAll(t, modernName)
				s.listen = listen
				listeningTo(t, s, nil) // its cleanup waits for the end
			})
		})
	}
}
