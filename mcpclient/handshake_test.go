package mcpclient

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	modernName = "2026-07-28"
	legacyName = "2025-11-25"
)

// A side answers one kind of request; n counts from 1.
type side func(n int, req *Request) (*Response, error)

func always(f func() (*Response, error)) side {
	return func(int, *Request) (*Response, error) { return f() }
}

func says(text string) side {
	return always(func() (*Response, error) { return result(text) })
}

func refuses(status int, code int64, message, data string) side {
	return always(func() (*Response, error) { return refusal(status, code, message, data) })
}

func fails(code int) side { return always(func() (*Response, error) { return status(code) }) }

func speaksLegacy(version string) side {
	return always(func() (*Response, error) { return initialized(version) })
}

// then answers the first request by one side and the later ones by another.
func then(first, later side) side {
	return func(n int, req *Request) (*Response, error) {
		if n == 1 {
			return first(n, req)
		}
		return later(n, req)
	}
}

// play returns a server that answers each method by its side and fails the test
// for a method that has none.
func play(t *testing.T, sides map[string]side) *server {
	s := &server{t: t}
	s.answer = func(_ context.Context, req *Request, _ Handler) (*Response, error) {
		if f := sides[req.Method]; f != nil {
			return f(s.count(req.Method), req)
		}
		t.Errorf("unexpected request %s", req.Method)
		return unreachable()
	}
	return s
}

// discoverThen and initialized are how most traces go on.
const (
	probe   = "server/discover@" + modernName
	shake   = "initialize@" + legacyName + " notifications/initialized@" + legacyName
	attempt = "initialize@" + legacyName
)

func TestDetectEra(t *testing.T) {
	const supportsModern = `{"supported":["` + modernName + `"],"requested":"x"}`
	legacy := speaksLegacy(legacyName)
	for _, test := range []struct {
		name       string
		discover   side
		list       side
		initialize side
		trace      string
		revision   string // or
		err        string
	}{
		{"modern server", says(discovered), nil, nil, probe, modernName, ""},
		{"VER-09 versions in odd order with unknown ones", says(`{"supportedVersions":["1999-01-01",7,"2025-06-18","` + modernName + `","z"],"extra":1}`), nil, nil,
			probe, modernName, ""},
		{"only versions with a handshake are discovered", says(`{"supportedVersions":["2025-06-18"]}`), nil, speaksLegacy("2025-06-18"),
			probe + " initialize@2025-06-18 notifications/initialized@2025-06-18", "2025-06-18", ""},
		{"VER-02 nothing in common is discovered", says(`{"supportedVersions":["2099-01-01"]}`), nil, nil,
			probe + " close()", "", "the server speaks 2099-01-01; this client speaks 2026-07-28, 2025-11-25"},
		{"discover answers with input_required", says(`{"resultType":"input_required","supportedVersions":["` + modernName + `"]}`), nil, nil,
			probe + " close()", "", "input_required is no answer to it"},
		{"discover names its versions twice", says(`{"supportedVersions":["` + modernName + `"],"supportedVersions":[]}`), nil, nil,
			probe + " close()", "", "supportedVersions stands twice"},

		{"200 with {}", says(`{}`), nil, legacy, probe + " " + shake, legacyName, ""},
		{"200 with a result that is no object", says(`"hello"`), nil, legacy, probe + " " + shake, legacyName, ""},
		{"200 with an empty list of versions", says(`{"supportedVersions":[]}`), nil, legacy, probe + " " + shake, legacyName, ""},
		{"B075 200 with -32601", refuses(200, codeMethodNotFound, "no such method", ""), nil, legacy, probe + " " + shake, legacyName, ""},
		{"VER-03 400 with -32000", refuses(400, -32000, "Bad Request: No valid session ID provided", ""), nil, legacy, probe + " " + shake, legacyName, ""},
		{"400 with -32602", refuses(400, -32602, "", ""), nil, legacy, probe + " " + shake, legacyName, ""},
		{"400 without a body", fails(400), nil, legacy, probe + " " + shake, legacyName, ""},
		{"404 without a body", fails(404), nil, legacy, probe + " " + shake, legacyName, ""},
		{"405", fails(405), nil, legacy, probe + " " + shake, legacyName, ""},
		{"B075 200 with an answer that is malformed", always(func() (*Response, error) { return nil, &WireError{Status: 200, Delivered: "yes"} }), nil, legacy,
			probe + " " + shake, legacyName, ""},
		{"200 with something that is not MCP", always(notMCP), nil, legacy, probe + " " + shake, legacyName, ""},
		{"500 to unknown methods", fails(500), nil, legacy, probe + " " + shake, legacyName, ""},
		{"501 with -32601", refuses(501, codeMethodNotFound, "", ""), nil, legacy, probe + " " + shake, legacyName, ""},

		{"401 ends the attempt", fails(401), nil, nil, probe + " close()", "", "status 401"},
		{"403 with a JSON-RPC error ends the attempt", refuses(403, -32000, "forbidden", ""), nil, nil, probe + " close()", "", "forbidden"},
		{"429 ends the attempt", fails(429), nil, nil, probe + " close()", "", "status 429"},
		{"503 ends the attempt", fails(503), nil, nil, probe + " close()", "", "status 503"},
		{"307 ends the attempt", fails(307), nil, nil, probe + " close()", "", "status 307"},
		{"no connection ends the attempt", always(unreachable), nil, nil, probe + " close()", "", "connection refused"},

		{"VER-01 -32022 lists another revision", refuses(400, codeUnsupportedVersion, "unsupported", `{"supported":["2025-11-25"]}`), nil, legacy,
			probe + " " + shake, legacyName, ""},
		{"-32022 lists the refused revision, once", then(refuses(400, codeUnsupportedVersion, "unsupported", supportsModern), says(discovered)), nil, nil,
			probe + " " + probe, modernName, ""},
		{"-32022 lists the refused revision again and again", refuses(400, codeUnsupportedVersion, "unsupported", supportsModern), nil, nil,
			probe + " " + probe + " close()", "", "unsupported"},
		{"-32022, and then no connection", then(refuses(400, codeUnsupportedVersion, "unsupported", supportsModern), always(unreachable)), nil, nil,
			probe + " " + probe + " close()", "", "connection refused"},
		{"-32022 with nothing in common", refuses(400, codeUnsupportedVersion, "unsupported", `{"supported":["2099-01-01","sk canary"]}`), nil, nil,
			probe + " close()", "", "the server speaks 2099-01-01, an unreadable version; this client speaks 2026-07-28"},
		{"-32022 without a list", refuses(400, codeUnsupportedVersion, "unsupported", ""), nil, nil, probe + " close()", "", "unsupported"},
		{"VER-04 -32020 is a modern server", refuses(400, codeHeaderMismatch, "mismatch", ""), nil, nil, probe, modernName, ""},
		{"VER-04 -32021 is a modern server", refuses(400, codeMissingCapability, "needs x", ""), nil, nil, probe, modernName, ""},

		{"VER-11 404 with -32601, and a modern listing", refuses(404, codeMethodNotFound, "no", ""), says(`{"resultType":"complete","tools":[]}`), nil,
			probe + " tools/list@" + modernName, modernName, ""},
		{"404 with -32601, and no modern listing", refuses(404, codeMethodNotFound, "no", ""), refuses(400, -32000, "no session", ""), legacy,
			probe + " tools/list@" + modernName + " " + shake, legacyName, ""},
		{"404 with -32601, then nothing that is MCP", refuses(404, codeMethodNotFound, "no", ""), fails(400), legacy,
			probe + " tools/list@" + modernName + " " + shake, legacyName, ""},
		{"404 with -32601, then 401", refuses(404, codeMethodNotFound, "no", ""), fails(401), nil,
			probe + " tools/list@" + modernName + " close()", "", "status 401"},
		{"404 with -32601, then 403 with a JSON-RPC error", refuses(404, codeMethodNotFound, "no", ""), refuses(403, -32000, "forbidden", ""), nil,
			probe + " tools/list@" + modernName + " close()", "", "forbidden"},
		{"404 with -32601, and a listing that misses a header", refuses(404, codeMethodNotFound, "no", ""), refuses(400, codeHeaderMismatch, "", ""), nil,
			probe + " tools/list@" + modernName, modernName, ""},

		{"B061 the url is wrong", fails(404), nil, fails(404), probe + " " + attempt + " close()", "", "status 404; the url may be wrong"},
		{"B067 an older version is answered", fails(400), nil, speaksLegacy("2024-11-05"),
			probe + " " + attempt + " notifications/initialized@2024-11-05", "2024-11-05", ""},
		{"LIF-04 an unknown version is answered", fails(400), nil, speaksLegacy("1999-01-01"),
			probe + " " + attempt + " close(session-1)", "", "the server speaks 1999-01-01; this client speaks 2026-07-28"},
		{"B069 the offer is refused and another listed", fails(400), nil,
			then(refuses(400, -32602, "Unsupported protocol version", `{"supported":["2025-06-18"],"requested":"x"}`), speaksLegacy("2025-06-18")),
			probe + " " + attempt + " initialize@2025-06-18 notifications/initialized@2025-06-18", "2025-06-18", ""},
		{"the offer is refused and another named in the message", fails(400), nil,
			then(refuses(400, -32000, "Bad Request: Unsupported protocol version (supported versions: 2025-03-26, 2024-11-05)", ""), speaksLegacy("2025-03-26")),
			probe + " " + attempt + " initialize@2025-03-26 notifications/initialized@2025-03-26", "2025-03-26", ""},
		{"B069 every offer is refused", fails(400), nil, refuses(400, -32602, "still unsupported", `{"supported":["2025-06-18"]}`),
			probe + " " + attempt + " initialize@2025-06-18 close()", "", "still unsupported"},
		{"each refusal lists another version", fails(400), nil,
			then(refuses(400, -32602, "no", `{"supported":["2025-06-18"]}`), refuses(400, -32602, "still no", `{"supported":["2025-03-26"]}`)),
			probe + " " + attempt + " initialize@2025-06-18 close()", "", "still no"},
		{"a long list", fails(400), nil, refuses(400, -32602, "no", `{"supported":["1","2","3","4","5","6","7","8","9","10"]}`),
			probe + " " + attempt + " close()", "", "the server speaks 1, 2, 3, 4, 5, 6, 7, 8, 2 more; this client"},
		{"the offer is refused and nothing in common listed", fails(400), nil, refuses(400, -32602, "no", `{"supported":["1.0"]}`),
			probe + " " + attempt + " close()", "", "the server speaks 1.0; this client speaks"},
		{"initialize is refused with a list of what was offered", fails(400), nil, refuses(400, -32602, "not now", `{"supported":["2025-11-25"]}`),
			probe + " " + attempt + " close()", "", "not now"},
		{"initialize is answered with a modern version", fails(400), nil, speaksLegacy(modernName), probe + " " + attempt, modernName, ""},
		{"initialize is refused for another reason", fails(400), nil, refuses(200, -32603, "database down", ""),
			probe + " " + attempt + " close()", "", "database down"},
		{"B077 only modern versions are listed", fails(500), nil, refuses(400, codeUnsupportedVersion, "no", supportsModern),
			probe + " " + attempt, modernName, ""},
		{"B073 a sparse result", fails(400), nil, says(`{"protocolVersion":"2025-06-18","capabilities":null,"x":1}`),
			probe + " " + attempt + " notifications/initialized@2025-06-18", "2025-06-18", ""},
		{"B073 an empty result", fails(400), nil, says(`{}`), probe + " " + attempt + " close()", "", "protocolVersion is missing"},
		{"the version stands twice", fails(400), nil, says(`{"protocolVersion":"2025-06-18","protocolVersion":"2025-11-25"}`),
			probe + " " + attempt + " close()", "", "protocolVersion stands twice"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := play(t, map[string]side{"server/discover": test.discover, "tools/list": test.list, "initialize": test.initialize})
			session, err := Connect(t.Context(), s, nil)
			if got := s.traced(); got != test.trace {
				t.Errorf("trace\n %s, want\n %s", got, test.trace)
			}
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := session.Revision().Name; got != test.revision {
				t.Errorf("speaks %s, want %s", got, test.revision)
			}
		})
	}
}

func TestS1_22_CapabilitiesAreDeclaredEmpty(t *testing.T) {
	session, s := connect(t, legacyName, func(context.Context, *Request, Handler) (*Response, error) { return result(`{"tools":[]}`) })
	params := paramsOf(t, s.last("initialize"))
	if got, ok := params["capabilities"].(map[string]any); !ok || len(got) != 0 {
		t.Errorf("capabilities are %v", params["capabilities"])
	}
	if info := params["clientInfo"].(map[string]any); info["name"] != "test" || info["version"] != "1.2" {
		t.Errorf("clientInfo is %v", info)
	}
	if session.Revision().MetaPerRequest {
		t.Error("the revision carries metadata")
	}

	_, s = connect(t, modernName, nil)
	meta := paramsOf(t, s.last("server/discover"))["_meta"].(map[string]any)
	if got, ok := meta[metaCapabilities].(map[string]any); !ok || len(got) != 0 {
		t.Errorf("clientCapabilities are %v", meta[metaCapabilities])
	}
}

func TestPinnedAndLegacy(t *testing.T) {
	older := RevisionNamed("2025-06-18")
	for _, test := range []struct {
		name       string
		opts       Options
		initialize side
		trace      string
		err        string
	}{
		{"pinned to a modern revision nothing is asked", Options{Pin: latest(false)}, nil, "", ""},
		{"pinned to a revision with a handshake", Options{Pin: older}, speaksLegacy(older.Name), "initialize@2025-06-18 notifications/initialized@2025-06-18", ""},
		{"pinned, and the server answers another", Options{Pin: older}, speaksLegacy(legacyName), "initialize@2025-06-18 close(session-1)",
			"the server speaks 2025-11-25; this client speaks 2025-06-18"},
		{"pinned, and the server lists another", Options{Pin: older}, refuses(400, -32602, "no", `{"supported":["2025-11-25"]}`), "initialize@2025-06-18 close()",
			"the server speaks 2025-11-25; this client speaks 2025-06-18"},
		{"legacy", Options{Legacy: true}, speaksLegacy(legacyName), shake, ""},
		{"legacy, and the server is modern", Options{Legacy: true}, refuses(400, codeUnsupportedVersion, "no", `{"supported":["2026-07-28"]}`), attempt + " close()",
			"the server speaks 2026-07-28; this client speaks 2025-11-25"},
		{"a pin counts more than what is remembered", Options{Pin: older, Era: &Era{open: latest(false)}}, speaksLegacy(older.Name), "initialize@2025-06-18 notifications/initialized@2025-06-18", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := play(t, map[string]side{"initialize": test.initialize})
			_, err := Connect(t.Context(), s, &test.opts)
			if got := s.traced(); got != test.trace {
				t.Errorf("trace\n %s, want\n %s", got, test.trace)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}

// VER-05: what is known of a server is not asked again, and is forgotten when it
// turns out wrong.
func TestEraIsRemembered(t *testing.T) {
	var era Era
	sides := map[string]side{"server/discover": fails(400), "initialize": speaksLegacy(legacyName)}
	open := func() (*server, error) {
		s := play(t, sides)
		_, err := Connect(t.Context(), s, &Options{Era: &era})
		return s, err
	}
	for _, step := range []struct {
		name       string
		discover   side
		initialize side
		trace      string
		fails      bool
	}{
		{"the first time it is found out", fails(400), speaksLegacy(legacyName), probe + " " + shake, false},
		{"the second time it is known", nil, speaksLegacy(legacyName), shake, false},
		{"the server is away", nil, fails(503), attempt + " close()", true},
		{"it is still known", nil, speaksLegacy(legacyName), shake, false},
		{"the server was upgraded", says(discovered), fails(404), attempt + " " + probe, false},
		{"that is known at once", nil, nil, "", false},
	} {
		sides = map[string]side{"server/discover": step.discover, "initialize": step.initialize}
		s, err := open()
		if got := s.traced(); got != step.trace || (err != nil) != step.fails {
			t.Errorf("%s: trace\n %s (error %v), want\n %s", step.name, got, err, step.trace)
		}
	}
}

// B071: nothing overtakes notifications/initialized.
func TestInitializedIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, map[string]side{"server/discover": fails(400), "initialize": speaksLegacy(legacyName)})
		s.notify = func(context.Context, *Notification) error {
			time.Sleep(400 * time.Millisecond)
			s.add("taken")
			return nil
		}
		start := time.Now()
		if _, err := Connect(t.Context(), s, nil); err != nil {
			t.Fatal(err)
		}
		if got := s.traced(); !strings.HasSuffix(got, "taken") || time.Since(start) != 400*time.Millisecond {
			t.Errorf("trace %s after %v", got, time.Since(start))
		}
	})

	s := play(t, map[string]side{"server/discover": fails(400), "initialize": speaksLegacy("2025-06-18")})
	s.notify = func(context.Context, *Notification) error {
		_, err := status(500)
		return err
	}
	if _, err := Connect(t.Context(), s, nil); err == nil || !strings.HasSuffix(s.traced(), "close(session-1)") {
		t.Errorf("a refused notification gives %v, trace %s", err, s.traced())
	}
	if got := s.closed.Revision.Name; got != "2025-06-18" {
		t.Errorf("closed with %s, not what was negotiated (LIF-10)", got)
	}
}

func TestProbeThatIsNeverAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mute := func(ctx context.Context, req *Request, _ Handler) (*Response, error) {
			if req.Method == "initialize" {
				return initialized(legacyName)
			}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		start := time.Now()
		session, err := Connect(t.Context(), &server{t: t, answer: mute}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != 30*time.Second || session.Revision().Name != legacyName {
			t.Errorf("after %v: %s", got, session.Revision().Name)
		}

		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		if _, err := Connect(ctx, &server{t: t, answer: mute}, nil); !errors.Is(err, gone) {
			t.Errorf("a context that is over gives %v", err)
		}
	})
}
