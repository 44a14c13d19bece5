package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

const hello = `{"content":[{"type":"text","text":"hello"}]}`

func TestCallMessage(t *testing.T) {
	progress := func(progress, total []byte, message string) {}
	log := func(level string, data []byte, logger string) {}
	for _, test := range []struct {
		name, version string
		arguments     string
		opts          *CallOptions
		params        string // with # for the id
	}{
		{"plain", legacyName, `{"a":1}`, nil, `{"name":"t\"1","arguments":{"a":1}}`},
		{"S1-05 no arguments", legacyName, "", nil, `{"name":"t\"1","arguments":{}}`},
		{"B091 arguments go as they are written", legacyName, `{"b":12345678901234567890,"a":1.50,"a":null, "z":"\u00e9<"}`, nil,
			`{"name":"t\"1","arguments":{"b":12345678901234567890,"a":1.50,"a":null, "z":"\u00e9<"}}`},
		{"line breaks between tokens", legacyName, "{\n\"a\":\r\n1}", nil, `{"name":"t\"1","arguments":{"a":1}}`},
		{"PRG-01 progress", legacyName, `{}`, &CallOptions{Progress: progress}, `{"name":"t\"1","arguments":{},"_meta":{"progressToken":#}}`},
		{"log messages need no asking", legacyName, `{}`, &CallOptions{Log: log}, `{"name":"t\"1","arguments":{}}`},
		{"modern", modernName, `{}`, nil,
			`{"name":"t\"1","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
				`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1.2"},"io.modelcontextprotocol/clientCapabilities":{}}}`},
		{"modern with progress and log messages", modernName, `{}`, &CallOptions{Progress: progress, Log: log},
			`{"name":"t\"1","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
				`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1.2"},"io.modelcontextprotocol/clientCapabilities":{},` +
				`"io.modelcontextprotocol/logLevel":"info","progressToken":#}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			session, s := connect(t, test.version, func(_ context.Context, req *Request, _ Handler) (*Response, error) {
				if req.Name != `t"1` || len(req.Headers) != 0 {
					t.Errorf("mirrors name %q and %v", req.Name, req.Headers)
				}
				return result(hello)
			})
			r, err := session.CallTool(t.Context(), `t"1`, []byte(test.arguments), test.opts)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(r.Text()); got != `"hello"` {
				t.Errorf("text %s", got)
			}
			body, err := rawjson.Split([]byte(s.last("tools/call")), rawjson.Bounds{})
			if err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(test.params, "#", string(body.Get("id")))
			if got := string(body.Get("params")); got != want {
				t.Errorf("params\n %s, want\n %s", got, want)
			}
		})
	}
}

func TestCallFailures(t *testing.T) {
	for _, test := range []struct {
		name, version string
		answer        side
		check         func(t *testing.T, err error)
	}{
		{"the server's error", legacyName, refuses(200, -32602, "unknown tool", ""), func(t *testing.T, err error) {
			if e := ask[*ServerError](t, err); e.Code != -32602 {
				t.Error(e)
			}
		}},
		{"B133 the user must visit a URL", legacyName, refuses(200, -32042, "please sign in", `{"elicitations":[{"url":"https://x"}]}`), func(t *testing.T, err error) {
			if e := ask[*ServerError](t, err); e.Message != "please sign in" {
				t.Error(e)
			}
		}},
		{"HTM-10 a capability is missing", modernName, refuses(400, codeMissingCapability, "missing", `{"requiredCapabilities":{"elicitation":{}}}`), func(t *testing.T, err error) {
			if e := ask[*ServerError](t, err); !strings.Contains(e.Message, "elicitation") {
				t.Error(e)
			}
		}},
		{"a capability is missing that is not named", modernName, refuses(400, codeMissingCapability, "missing", ""), func(t *testing.T, err error) {
			if e := ask[*ServerError](t, err); e.Message != "missing" {
				t.Error(e)
			}
		}},
		{"a version is refused and none listed", modernName, refuses(400, codeUnsupportedVersion, "unsupported", ""), func(t *testing.T, err error) {
			if e := ask[*ServerError](t, err); e.Message != "unsupported" {
				t.Error(e)
			}
		}},
		{"VER-02 nothing in common any more", modernName, refuses(400, codeUnsupportedVersion, "unsupported", `{"supported":["2099-01-01"]}`), func(t *testing.T, err error) {
			if e := ask[*ServerError](t, err); !strings.Contains(e.Message, "the server speaks 2099-01-01, this client 2026-07-28") {
				t.Error(e)
			}
		}},
		{"-32022 of a server that knows no such code", legacyName, refuses(200, codeUnsupportedVersion, "busy", `{"supported":["2025-11-25"]}`), func(t *testing.T, err error) {
			ask[*ServerError](t, err)
		}},
		{"BAS-12 a legacy code means nothing", modernName, refuses(200, -32001, "Header mismatch", ""), func(t *testing.T, err error) {
			ask[*ServerError](t, err)
		}},
		{"the wire broke", legacyName, always(unreachable), func(t *testing.T, err error) {
			if e := ask[*WireError](t, err); e.Delivered != "no" {
				t.Error(e)
			}
		}},
		{"the result is no object", legacyName, says(`[]`), malformedWith("the result is an array")},
		{"B095 isError stands twice", legacyName, says(`{"content":[],"isError":true,"isError":false}`), malformedWith("isError stands twice")},
		{"isError is no boolean", legacyName, says(`{"content":[],"isError":"true"}`), malformedWith("isError is a string, not a boolean")},
		{"content is a number", legacyName, says(`{"content":5}`), malformedWith("content is a number")},
		{"BAS-11 an unknown resultType", modernName, says(`{"resultType":"later","content":[]}`), malformedWith("its resultType is unknown")},
		{"a resultType that is no string", modernName, says(`{"resultType":5,"content":[]}`), malformedWith("its resultType is unknown")},
		{"MRT-09 input is required", modernName,
			says(`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url"}},"b":{"method":"sampling/createMessage"},"c":{"method":"canary"},"d":5},"requestState":"x"}`),
			func(t *testing.T, err error) {
				ask[*InputError](t, err)
				if want := "elicitation/create, sampling/createMessage, something unknown"; !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
			}},
		{"MRT-02 only a state", modernName, says(`{"resultType":"input_required","requestState":"x"}`), func(t *testing.T, err error) {
			if e := ask[*InputError](t, err); len(e.Wants) != 0 || !strings.Contains(err.Error(), "its own state") {
				t.Error(err)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			session, s := connect(t, test.version, func(_ context.Context, req *Request, _ Handler) (*Response, error) {
				return test.answer(1, req)
			})
			_, err := session.CallTool(t.Context(), "t", nil, nil)
			test.check(t, err)
			if n := s.count("tools/call"); n != 1 {
				t.Errorf("the call was sent %d times", n)
			}
		})
	}
}

func malformedWith(reason string) func(t *testing.T, err error) {
	return func(t *testing.T, err error) {
		t.Helper()
		e := ask[*WireError](t, err)
		if !strings.Contains(e.Reason, reason) || e.Delivered != "yes" || e.SessionLost {
			t.Errorf("%+v, want %q", e, reason)
		}
	}
}

// BAS-10, and revisions that do not know resultType do not read it.
func TestResultTypeByRevision(t *testing.T) {
	for version, text := range map[string]string{
		modernName: `{"resultType":null,"content":"x"}`,
		legacyName: `{"resultType":"later","content":"x"}`,
	} {
		session, _ := connect(t, version, func(context.Context, *Request, Handler) (*Response, error) { return result(text) })
		if _, err := session.CallTool(t.Context(), "t", nil, nil); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// B137: a tool that fails leaves the session as it is.
func TestErrorResultThenSuccess(t *testing.T) {
	var s *server
	session, s := connect(t, legacyName, func(context.Context, *Request, Handler) (*Response, error) {
		if s.count("tools/call") == 1 {
			return result(`{"content":[{"type":"text","text":"no"}],"isError":true}`)
		}
		return result(hello)
	})
	first, err := session.CallTool(t.Context(), "t", nil, nil)
	if err != nil || !first.IsError || string(first.ErrorText()) != `"no"` {
		t.Fatalf("%+v, %v", first, err)
	}
	if second, err := session.CallTool(t.Context(), "t", nil, nil); err != nil || second.IsError {
		t.Errorf("%+v, %v", second, err)
	}
	if n := s.count("initialize"); n != 1 {
		t.Errorf("%d handshakes", n)
	}
}

// B059: the server no longer knows the session.
func TestSessionLost(t *testing.T) {
	for _, test := range []struct {
		name       string
		call       side
		initialize side // from the second on
		trace      string
		err        string
		delivered  string
	}{
		{"B059 once", then(always(sessionLost), says(hello)), speaksLegacy(legacyName),
			"tools/call@2025-11-25 " + shake + " tools/call@2025-11-25", "", ""},
		{"again and again", always(sessionLost), speaksLegacy(legacyName),
			"tools/call@2025-11-25 " + shake + " tools/call@2025-11-25", "the session is gone", "no"},
		{"and the server is away", always(sessionLost), always(unreachable),
			"tools/call@2025-11-25 " + attempt, "could not be opened anew: connection refused", "no"},
		{"and the server has a bad moment", always(sessionLost), fails(503),
			"tools/call@2025-11-25 " + attempt, "could not be opened anew: status 503", "no"},
		{"and the server refuses a new one", always(sessionLost), refuses(200, -32603, "full", ""),
			"tools/call@2025-11-25 " + attempt, "refuses a new one: full (-32603)", "no"},
		{"and the server has become a modern one", then(always(sessionLost), says(hello)),
			refuses(400, codeUnsupportedVersion, "no", `{"supported":["2026-07-28"]}`),
			"tools/call@2025-11-25 " + attempt + " tools/call@2026-07-28", "", ""},
		{"the server refuses the revision and lists a modern one", then(refuses(400, codeUnsupportedVersion, "no", `{"supported":["2026-07-28"]}`), says(hello)),
			nil, "tools/call@2025-11-25 " + probe + " tools/call@2026-07-28", "", ""},
		{"VER-05 the server misses the headers of a modern request", then(refuses(400, codeHeaderMismatch, "no Mcp-Method", ""), says(hello)),
			nil, "tools/call@2025-11-25 " + probe + " tools/call@2026-07-28", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := play(t, map[string]side{
				"server/discover": then(fails(400), says(discovered)),
				"initialize":      then(speaksLegacy(legacyName), test.initialize),
				"tools/call":      test.call,
			})
			session, err := Connect(t.Context(), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			before := s.traced()
			r, err := session.CallTool(t.Context(), "t", []byte(`{}`), nil)
			if got := strings.TrimPrefix(s.traced(), before+" "); got != test.trace {
				t.Errorf("trace\n %s, want\n %s", got, test.trace)
			}
			if test.err == "" {
				if err != nil || string(r.Text()) != `"hello"` {
					t.Errorf("%v, %v", r, err)
				}
				return
			}
			e := ask[*WireError](t, err)
			if !strings.Contains(e.Reason, test.err) || e.Delivered != test.delivered {
				t.Errorf("%+v, want %q", e, test.err)
			}
		})
	}
}

// Many calls find the session lost at once: one handshake, and each call is sent
// once more.
func TestSessionLostByManyCalls(t *testing.T) {
	const calls = 50
	for _, test := range []struct {
		name  string
		fails bool
	}{{"the new session opens", false}, {"the new session does not open", true}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				current := 1
				s := &server{t: t}
				s.answer = func(_ context.Context, req *Request, _ Handler) (*Response, error) {
					time.Sleep(time.Second)
					mu.Lock()
					defer mu.Unlock()
					switch req.Method {
					case "server/discover":
						return status(400)
					case "initialize":
						if test.fails && s.count("initialize") > 1 {
							return status(503)
						}
						return inSession(fmt.Sprint(current), `{"protocolVersion":"`+legacyName+`"}`)
					default:
						if req.Link.Session.Reveal("test") != fmt.Sprint(current) {
							return sessionLost()
						}
						return result(hello)
					}
				}
				session, err := Connect(t.Context(), s, nil)
				if err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				current = 2
				mu.Unlock()
				var group sync.WaitGroup
				for range calls {
					group.Go(func() {
						_, err := session.CallTool(t.Context(), "t", nil, nil)
						if (err != nil) != test.fails {
							t.Errorf("a call ended with %v", err)
						}
					})
				}
				group.Wait()
				want := 2 * calls
				if test.fails {
					want = calls
				}
				if got, shakes := s.count("tools/call"), s.count("initialize"); got != want || shakes != 2 {
					t.Errorf("%d calls were sent and %d handshakes made, want %d and 2", got, shakes, want)
				}
			})
		})
	}
}

// The call that opens the new session gives up: another call that waits for the
// session opens it.
func TestRenewalIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{t: t}
		s.answer = func(ctx context.Context, req *Request, _ Handler) (*Response, error) {
			switch {
			case req.Method == "server/discover":
				return status(400)
			case req.Method == "initialize" && s.count("initialize") == 2:
				<-ctx.Done()
				return nil, context.Cause(ctx)
			case req.Method == "initialize":
				return inSession(fmt.Sprint(s.count("initialize")), `{"protocolVersion":"`+legacyName+`"}`)
			case req.Link.Session.Reveal("test") == "1":
				return sessionLost()
			default:
				return result(hello)
			}
		}
		session, err := Connect(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		first, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := session.CallTool(first, "t", nil, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("the call that gave up ended with %v", err)
			}
		})
		synctest.Wait()
		group.Go(func() {
			if _, err := session.CallTool(t.Context(), "t", nil, nil); err != nil {
				t.Errorf("the call that waited ended with %v", err)
			}
		})
		third, cancelThird := context.WithCancel(t.Context())
		group.Go(func() {
			if _, err := session.CallTool(third, "t", nil, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("the call that gave up waiting ended with %v", err)
			}
		})
		synctest.Wait()
		cancelThird()
		synctest.Wait()
		cancel()
		group.Wait()
	})
}

// A carrier that panics while it opens the new session fails the call that it
// panicked in, and no other.
func TestPanicInRenewal(t *testing.T) {
	s := &server{t: t}
	s.answer = func(_ context.Context, req *Request, _ Handler) (*Response, error) {
		switch {
		case req.Method == methodDiscover:
			return status(400)
		case req.Method == methodInitialize && s.count(methodInitialize) == 2:
			panic("the carrier")
		case req.Method == methodInitialize:
			return inSession(fmt.Sprint(s.count(methodInitialize)), `{"protocolVersion":"`+legacyName+`"}`)
		case req.Link.Session.Reveal("test") == "1":
			return sessionLost()
		default:
			return result(hello)
		}
	}
	session, err := Connect(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		session.CallTool(t.Context(), "t", nil, nil)
	}()
	if _, err := session.CallTool(t.Context(), "t", nil, nil); err != nil {
		t.Error(err)
	}
}

// S1-25: no verb reaches the carrier through a session.
func TestSessionIsNotPrinted(t *testing.T) {
	session, s := connect(t, legacyName, nil)
	s.add("canary")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(verb, session) + fmt.Sprintf(verb, struct{ S *Session }{session}); strings.Contains(got, "canary") || strings.Contains(got, "63616e617279") {
			t.Errorf("%s: %s", verb, got)
		}
	}
}

// S1-25: what a server says of itself is scrubbed wherever our own words quote it.
func TestQuotesOfTheServerAreScrubbed(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	scrub := redact.NewScrubber()
	scrub.Add(secret)
	opts := &Options{Scrub: scrub}
	s := play(t, map[string]side{methodDiscover: says(`{"supportedVersions":["` + secret + `"]}`)})
	if _, err := Connect(t.Context(), s, opts); err == nil || strings.Contains(err.Error(), secret) {
		t.Error(err)
	}
	s = play(t, map[string]side{
		methodDiscover: says(discovered),
		methodList:     says(`{"tools":[{"name":"` + secret + `"}]}`),
	})
	session, err := Connect(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	listing, err := session.ListTools(t.Context())
	if err != nil || len(listing.Notes) != 1 || strings.Contains(listing.Notes[0], secret) {
		t.Errorf("%+v, %v", listing, err)
	}
}

// A failure that does not prove that the call was not run is not repeated, but
// the next call opens a new link.
func TestDoubtedLink(t *testing.T) {
	for _, test := range []struct {
		name, version string
		failure       side
		renewed       bool
	}{
		{"a modern server was replaced by one that wants a session", modernName, refuses(400, -32000, "no session", ""), true},
		{"a modern server was replaced by something else", modernName, always(notMCP), true},
		{"a modern server is asked for nothing it knows", modernName, fails(404), true},
		{"a modern server has a bad moment", modernName, fails(500), false},
		{"a modern server refuses the arguments", modernName, refuses(400, -32602, "bad", ""), false},
		{"BAS-12 a modern server gives a reason of its own", modernName, refuses(400, 5, "no", ""), true},
		{"a session is refused with 400", legacyName, refuses(400, -32000, "Bad Request: No valid session ID provided", ""), true},
		{"arguments are refused with 400", legacyName, refuses(400, -32000, "bad arguments", ""), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s *server
			session, s := connect(t, test.version, func(_ context.Context, req *Request, _ Handler) (*Response, error) {
				if s.count("tools/call") == 1 {
					return test.failure(1, req)
				}
				return result(hello)
			})
			asked := s.count("server/discover") + s.count("initialize")
			if _, err := session.CallTool(t.Context(), "t", nil, nil); err == nil || s.count("tools/call") != 1 {
				t.Fatalf("the call ended with %v after %d requests", err, s.count("tools/call"))
			}
			if _, err := session.CallTool(t.Context(), "t", nil, nil); err != nil {
				t.Fatal(err)
			}
			if renewed := s.count("server/discover")+s.count("initialize") > asked; renewed != test.renewed {
				t.Errorf("a new link: %v, want %v (%s)", renewed, test.renewed, s.traced())
			}
		})
	}
}

func TestProgressAndLog(t *testing.T) {
	var got []string
	var other []string
	var id int64
	var late *call
	s := play(t, nil)
	s.answer = func(_ context.Context, req *Request, h Handler) (*Response, error) {
		if req.Method == "server/discover" {
			h.Notification("notifications/message", []byte(`{"level":"info","data":"early"}`))
			return result(discovered)
		}
		id, late = req.ID, h.(*inbound).call
		send := func(method, params string) {
			h.Notification(method, []byte(strings.ReplaceAll(params, "#", fmt.Sprint(req.ID))))
		}
		send("notifications/progress", `{"progressToken":#,"progress":0.50,"total":2e0,"message":"half\n"}`)
		send("notifications/progress", `{"progressToken":#,"progress":1,"total":"x","message":7}`)
		send("notifications/progress", `{"progressToken":"#","progress":2}`)
		send("notifications/progress", `{"progressToken":999,"progress":3}`)
		send("notifications/progress", `{"progressToken":#.0,"progress":4}`)
		send("notifications/progress", `{"progressToken":#,"progress":"5"}`)
		send("notifications/progress", `[]`)
		h.Notification("notifications/progress", nil)
		send("notifications/message", `{"level":"warning","logger":"db","data":{"a":[1]}}`)
		send("notifications/resources/list_changed", `{"x":1}`)
		return result(hello)
	}
	session, err := Connect(t.Context(), s, &Options{OnNotification: func(method string, params []byte) {
		other = append(other, method+" "+string(params))
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = session.CallTool(t.Context(), "t", nil, &CallOptions{
		Progress: func(progress, total []byte, message string) {
			got = append(got, fmt.Sprintf("%s/%s %q", progress, total, message))
		},
		Log: func(level string, data []byte, logger string) {
			got = append(got, fmt.Sprintf("%s %s %s", level, logger, data))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := `0.50/2e0 "half\n", 1/ "", warning db {"a":[1]}`; strings.Join(got, ", ") != want {
		t.Errorf("got  %s, want %s", strings.Join(got, ", "), want)
	}
	if want := `notifications/message {"level":"info","data":"early"}, notifications/resources/list_changed {"x":1}`; strings.Join(other, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(other, ", "), want)
	}
	// PRG-02: what comes too late belongs to no call, even when it was on its way.
	in := &inbound{s: session, link: session.current()}
	in.Notification("notifications/progress", fmt.Appendf(nil, `{"progressToken":%d,"progress":9}`, id))
	late.deliver(func() { t.Error("a message was delivered after the call") })
	if len(got) != 3 || len(session.calls) != 0 {
		t.Errorf("after the call: %v, %d calls", got, len(session.calls))
	}
}

// A link in doubt that cannot be replaced fails the next request unsent.
func TestDoubtedLinkCannotBeReplaced(t *testing.T) {
	s := play(t, map[string]side{
		methodDiscover: then(says(discovered), fails(503)),
		methodCall:     always(notMCP),
	})
	session, err := Connect(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	session.CallTool(t.Context(), "t", nil, nil)
	_, err = session.CallTool(t.Context(), "t", nil, nil)
	if e := ask[*WireError](t, err); e.Delivered != "no" || s.count(methodCall) != 1 {
		t.Errorf("%+v after %d calls", e, s.count(methodCall))
	}
	_, err = session.ListTools(t.Context())
	if e := ask[*WireError](t, err); e.Delivered != "no" {
		t.Errorf("%+v", e)
	}
}

// Log messages of a call that nobody asked for are dropped.
func TestUnaskedLogMessages(t *testing.T) {
	session, _ := connect(t, legacyName, func(_ context.Context, _ *Request, h Handler) (*Response, error) {
		h.Notification("notifications/message", []byte(`{"level":"info","data":1}`))
		return result(hello)
	})
	session.opts.OnNotification = func(method string, _ []byte) { t.Errorf("%s belongs to the call", method) }
	if _, err := session.CallTool(t.Context(), "t", nil, nil); err != nil {
		t.Error(err)
	}
}

// B143, CAN-10: the server cancels our request and never answers it; why is logged.
func TestServerCancels(t *testing.T) {
	scrub := redact.NewScrubber()
	for _, test := range []struct {
		name, version, params string
		want                  string // of the reason; "" for a call that goes on
	}{
		{"with a reason", legacyName, `{"requestId":#,"reason":"shutting down"}`, "the server cancelled the call: shutting down"},
		{"without a reason", legacyName, `{"requestId":#}`, "the server cancelled the call"},
		{"CAN-07 another id", legacyName, `{"requestId":12345}`, ""},
		{"CAN-07 an id of another type", legacyName, `{"requestId":"#"}`, ""},
		{"CAN-07 no id", legacyName, `{}`, ""},
		{"a modern server has no such message", modernName, `{"requestId":#}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			session, _ := connect(t, test.version, func(ctx context.Context, req *Request, h Handler) (*Response, error) {
				h.Notification("notifications/cancelled", []byte(strings.ReplaceAll(test.params, "#", fmt.Sprint(req.ID))))
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				return result(hello)
			})
			var log bytes.Buffer
			session.opts.Scrub = scrub
			session.opts.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			_, err := session.CallTool(t.Context(), "t", nil, nil)
			if (log.Len() > 0) != (test.want != "") || !strings.Contains(log.String(), test.want) {
				t.Errorf("logged %q", log.String())
			}
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e := ask[*WireError](t, err); e.Reason != test.want || e.Delivered != "yes" {
				t.Errorf("%+v, want %q", e, test.want)
			}
		})
	}
}

// B087, BAS-22: ping is answered, anything else refused.
func TestRequestsOfTheServer(t *testing.T) {
	for method, want := range map[string]string{
		"ping": "{}", "sampling/createMessage": "-32601", "roots/list": "-32601", "elicitation/create": "-32601", "PING": "-32601", "": "-32601",
	} {
		session, _ := connect(t, legacyName, func(ctx context.Context, _ *Request, h Handler) (*Response, error) {
			answer, err := h.Request(ctx, method, []byte(`{}`))
			got := string(answer)
			if err != nil {
				got = fmt.Sprint(err.Code)
			}
			if got != want {
				t.Errorf("%s: %s, want %s", method, got, want)
			}
			return result(hello)
		})
		if _, err := session.CallTool(t.Context(), "t", nil, nil); err != nil {
			t.Error(err)
		}
	}
}

func TestClose(t *testing.T) {
	session, s := connect(t, legacyName, func(context.Context, *Request, Handler) (*Response, error) { return result(hello) })
	for range 2 {
		if err := session.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.traced(); strings.Count(got, "close") != 1 || !strings.HasSuffix(got, "close(session-1)") {
		t.Errorf("trace %s", got)
	}
	_, err := session.CallTool(t.Context(), "t", nil, nil)
	if e := ask[*WireError](t, err); e.Delivered != "no" || !e.Final {
		t.Errorf("%+v", e)
	}
	if _, err := session.renew(t.Context(), session.current()); !errors.Is(err, errClosed) {
		t.Errorf("a closed session is opened anew: %v", err)
	}
}

// A session that is being opened anew when Close comes is ended too.
func TestCloseWaitsForTheNewSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{t: t}
		s.answer = func(_ context.Context, req *Request, _ Handler) (*Response, error) {
			switch req.Method {
			case "server/discover":
				return status(400)
			case "initialize":
				time.Sleep(time.Second)
				return inSession(fmt.Sprint(s.count("initialize")), `{"protocolVersion":"`+legacyName+`"}`)
			default:
				return sessionLost()
			}
		}
		session, err := Connect(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := session.CallTool(t.Context(), "t", nil, nil); err == nil {
				t.Error("a call of a closed session succeeds")
			}
		})
		synctest.Wait()
		if err := session.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		group.Wait()
		if got := s.traced(); !strings.Contains(got, "close(2)") {
			t.Errorf("trace %s", got)
		}
	})
}
