package mcpclient

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

func names(listing *Listing) string {
	var list []string
	for i := range listing.Tools {
		list = append(list, listing.Tools[i].Name)
	}
	return strings.Join(list, ",")
}

// lists returns the listing that a server gives whose pages are these, by the
// cursor that asks for them ("first" for none).
func lists(t *testing.T, version string, pages map[string]string) (*Listing, *server, error) {
	t.Helper()
	session, s := connect(t, version, func(_ context.Context, req *Request, _ Handler) (*Response, error) {
		cursor := "first"
		if raw := rawjson.Members(rawjson.Members(req.Body).Get("params")).Get("cursor"); raw != nil {
			cursor = string(raw)
		}
		page, ok := pages[cursor]
		if !ok {
			return refusal(200, codeInvalidParams, "invalid cursor "+cursor, "")
		}
		return result(page)
	})
	listing, err := session.ListTools(t.Context())
	return listing, s, err
}

const obj = `"inputSchema":{"type":"object"}`

func tool(name string) string { return `{"name":"` + name + `",` + obj + `}` }

func TestListTools(t *testing.T) {
	const good = `{"name":"good","inputSchema":{"type":"object"}}`
	for _, test := range []struct {
		name    string
		version string
		pages   map[string]string
		want    string   // names, or
		err     string   // the error
		notes   []string // what each note holds, in order
	}{
		{"one page", modernName, map[string]string{"first": `{"tools":[` + tool("a") + `,` + tool("b") + `]}`}, "a,b", "", nil},
		{"PAG-01 no tools", legacyName, map[string]string{"first": `{"tools":[]}`}, "", "", nil},
		{"B101 an empty cursor is a cursor", modernName, map[string]string{
			"first": `{"tools":[` + tool("a") + `],"nextCursor":""}`,
			`""`:    `{"tools":[` + tool("b") + `]}`,
		}, "a,b", "", nil},
		{"PAG-03 a cursor goes back as it came", legacyName, map[string]string{
			"first":                                 `{"tools":[],"nextCursor":"\u00e9\/é"}`,
			`"\u00e9\/é"`:                           `{"tools":[],"nextCursor":"` + strings.Repeat("c", 10_000) + `"}`,
			`"` + strings.Repeat("c", 10_000) + `"`: `{"tools":[` + good + `]}`,
		}, "good", "", nil},
		{"PAG-02 and B103 null ends, and is absent elsewhere", legacyName, map[string]string{
			"first": `{"tools":[{"name":"a","title":null,"description":null,"annotations":null,"outputSchema":null,"_meta":null,` + obj + `}],"nextCursor":null,"ttlMs":null}`,
		}, "a", "", nil},
		{"T26 the same cursor for ever", legacyName, map[string]string{
			"first": `{"tools":[` + tool("a") + `],"nextCursor":"x"}`,
			`"x"`:   `{"tools":[` + tool("b") + `],"nextCursor":"x"}`,
		}, "a,b", "", []string{"repeats a cursor"}},
		{"two cursors in turn", legacyName, map[string]string{
			"first": `{"tools":[],"nextCursor":"x"}`,
			`"x"`:   `{"tools":[],"nextCursor":"y"}`,
			`"y"`:   `{"tools":[],"nextCursor":"x"}`,
		}, "", "", []string{"repeats a cursor"}},
		{"CCH-13 a cursor that stays invalid", legacyName, map[string]string{"first": `{"tools":[],"nextCursor":"x"}`}, "", "invalid cursor", nil},

		{"B105 broken entries", legacyName, map[string]string{
			"first": `{"tools":[null,5,{},{"name":7},{"name":"",` + obj + `},` + good + `]}`,
		}, "good", "", []string{"left out a tool: its definition is null", "its definition is a number", "its name is missing", "its name is a number", "its name is empty"}},
		{"B107 schemas of odd kinds", legacyName, map[string]string{
			"first": `{"tools":[{"name":"a","inputSchema":true},{"name":"b","inputSchema":[]},{"name":"c","inputSchema":"x"},{"name":"d","inputSchema":{"type":"string"}},` +
				`{"name":"e","inputSchema":{"anyOf":[]}},{"name":"f","inputSchema":{"$schema":"x"}},{"name":"g","inputSchema":{"type":["object","null"]}},{"name":"h"},{"name":"i","inputSchema":null}]}`,
		}, "d,e,f,g", "", []string{
			`left out "a": its inputSchema is a boolean`, `left out "b": its inputSchema is an array`, `left out "c": its inputSchema is a string`,
			`left out "h", "i": its inputSchema is missing`,
		}},
		{"B109 and T24 a schema that refers elsewhere is data", legacyName, map[string]string{
			"first": `{"tools":[{"name":"a","inputSchema":{"$ref":"http://other.example/schema.json"}}]}`,
		}, "a", "", nil},
		{"B111 names that look alike", legacyName, map[string]string{
			"first": `{"tools":[` + tool("a.b") + `,` + tool("a_b") + `,` + tool("a/b") + `,` + tool("A.b") + `,` + tool(strings.Repeat("x", 140)+"1") + `,` + tool(strings.Repeat("x", 140)+"2") + `,` + tool("a.b") + `]}`,
		}, "a.b,a_b,a/b,A.b," + strings.Repeat("x", 140) + "1," + strings.Repeat("x", 140) + "2", "", []string{`left out "a.b": the name stands twice`}},
		{"TOL-11 odd names", legacyName, map[string]string{"first": `{"tools":[` + tool("a b,c") + `,` + tool("größe") + `,` + tool(`q\"`) + `]}`}, `a b,c,größe,q"`, "", nil},
		{"T29 names that cannot be shown or sent back", legacyName, map[string]string{
			"first": `{"tools":[` + tool(`a\u0000`) + `,` + tool(`b\n`) + `,` + tool(`c\u202e`) + `,` + tool(`d\ud800`) + `,` + tool(strings.Repeat("e", 1025)) + `]}`,
		}, "", "", []string{`left out "a\u{0}", "b\u{a}", "c\u{202e}", `, "too long"}},
		{"B095 the name stands twice", legacyName, map[string]string{
			"first": `{"tools":[{"name":"a","name":"b",` + obj + `},{"name":"c",` + obj + `,` + obj + `},` + good + `]}`,
		}, "good", "", []string{`left out "a": name stands twice`, `left out "c": inputSchema stands twice`}},
		{"tools without a name", legacyName, map[string]string{"first": `{"tools":[{},{},{}]}`}, "", "", []string{"left out 3 tools: its name is missing"}},
		{"many faults make few notes", legacyName, map[string]string{
			"first": `{"tools":[` + strings.TrimSuffix(strings.Repeat(`{"name":"a"},`, 100), ",") + `]}`,
		}, "", "", []string{`left out "a", "a", "a", "a", "a" and 95 more: its inputSchema is missing`}},

		{"tools is no array", legacyName, map[string]string{"first": `{"tools":{}}`}, "", "tools is an object, not an array", nil},
		{"tools is missing", legacyName, map[string]string{"first": `{}`}, "", "tools is missing", nil},
		{"tools stands twice", legacyName, map[string]string{"first": `{"tools":[],"tools":[]}`}, "", "tools stands twice", nil},
		{"the cursor is a number", legacyName, map[string]string{"first": `{"tools":[],"nextCursor":5}`}, "", "nextCursor is a number", nil},
		{"MRT-10 input is required", modernName, map[string]string{"first": `{"resultType":"input_required","tools":[]}`}, "", "input_required is no answer to it", nil},
		{"an unknown resultType", modernName, map[string]string{"first": `{"resultType":"later","tools":[]}`}, "", "its resultType is unknown", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			listing, _, err := lists(t, test.version, test.pages)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := names(listing); got != test.want {
				t.Errorf("tools %s, want %s", got, test.want)
			}
			if len(listing.Notes) != len(test.notes) {
				t.Fatalf("notes %q, want %q", listing.Notes, test.notes)
			}
			for i, want := range test.notes {
				if !strings.Contains(listing.Notes[i], want) {
					t.Errorf("note %q, want %q", listing.Notes[i], want)
				}
			}
		})
	}
}

// S1-08, and the bytes of a schema are kept.
func TestS1_08_Describe(t *testing.T) {
	const schema = `{ "type":"object","properties":{"é":{"const":12345678901234567890,"x":1.0}},"b":null}`
	listing, _, err := lists(t, legacyName, map[string]string{"first": `{"tools":[
		{"name":"a","title":"T","description":"D","inputSchema":` + schema + `,"outputSchema":[1],"annotations":{"readOnlyHint":true}},
		{"name":"b","title":"T","description":"",` + obj + `},{"name":"c","description":7,` + obj + `}]}`})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range listing.Tools {
		got = append(got, listing.Tools[i].Describe())
	}
	if strings.Join(got, ",") != "D,T,c" {
		t.Errorf("described as %v", got)
	}
	a := listing.Tools[0]
	if string(a.InputSchema) != schema || string(a.OutputSchema) != "[1]" || string(a.Annotations) != `{"readOnlyHint":true}` || !bytes.HasPrefix(a.Raw, []byte(`{"name":"a"`)) {
		t.Errorf("%s", a.Raw)
	}
}

func TestListLimits(t *testing.T) {
	endless := func(page string) func(*server) func(context.Context, *Request, Handler) (*Response, error) {
		return func(s *server) func(context.Context, *Request, Handler) (*Response, error) {
			return func(context.Context, *Request, Handler) (*Response, error) {
				return result(fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, fmt.Sprintf(page, s.count("tools/list")), s.count("tools/list")))
			}
		}
	}
	small := endless(tool("t%d"))
	large := endless(`{"name":"t%d",` + obj + `,"description":"` + strings.Repeat("x", 20_000) + `"}`)
	for _, test := range []struct {
		name, setting string
		answer        func(*server) func(context.Context, *Request, Handler) (*Response, error)
		tools         int
		note          string
	}{
		{"L13 tools", "tools=7", small, 7, "the list of tools exceeds the limit tools (7); it was cut"},
		{"L14 pages", "list_pages=5", small, 5, "the list of tools exceeds the limit list_pages (5); it was cut"},
		{"L14 bytes", "list_bytes=64KiB", large, 4, "the list of tools exceeds the limit list_bytes (64KiB); it was cut"},
		{"L15 a definition", "tool_definition=16KiB", func(s *server) func(context.Context, *Request, Handler) (*Response, error) {
			return func(context.Context, *Request, Handler) (*Response, error) {
				return result(`{"tools":[{"name":"big",` + obj + `,"description":"` + strings.Repeat("x", 20_000) + `"},` + tool("small") + `]}`)
			}
		}, 1, `left out "big": its definition exceeds the limit tool_definition (16KiB)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			table, err := limit.Table{}.With(test.setting)
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			s := &server{t: t}
			s.answer = test.answer(s)
			session, err := Connect(t.Context(), s, &Options{Pin: latest(false), Limits: table, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			listing, err := session.ListTools(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(listing.Tools) != test.tools || !slices.Equal(listing.Notes, []string{test.note}) {
				t.Errorf("%d tools and the notes %q", len(listing.Tools), listing.Notes)
			}
			// HDR-17: left out with one log line.
			if n := strings.Count(log.String(), "\n"); n != 1 {
				t.Errorf("%d log lines: %s", n, log.String())
			}
		})
	}
}

func TestL14_ListTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, answered := range []int{0, 3} {
			s := &server{t: t}
			s.answer = func(ctx context.Context, _ *Request, _ Handler) (*Response, error) {
				if n := s.count("tools/list"); n <= answered {
					return result(fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, tool(fmt.Sprint(n)), n))
				}
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			session, err := Connect(t.Context(), s, &Options{Pin: latest(false)})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			listing, err := session.ListTools(t.Context())
			if got := time.Since(start); got != 2*time.Minute {
				t.Errorf("ended after %v", got)
			}
			if answered == 0 {
				if e := ask[*limit.Error](t, err); e.Name != limit.ListTime {
					t.Error(e)
				}
				continue
			}
			if err != nil || len(listing.Tools) != 3 || len(listing.Notes) != 1 || !strings.Contains(listing.Notes[0], "list_time") {
				t.Errorf("%+v, %v", listing, err)
			}
		}
	})
}

func TestListTTL(t *testing.T) {
	for ttl, want := range map[string]time.Duration{
		`1500`: 1500 * time.Millisecond, `0`: 0, `-5`: 0, `1.5`: 0, `"x"`: 0, `1e300`: 0, `null`: 0, `99999999999999`: (1 << 40) * time.Millisecond,
	} {
		listing, _, err := lists(t, modernName, map[string]string{"first": `{"tools":[],"ttlMs":` + ttl + `}`})
		if err != nil || listing.TTL != want {
			t.Errorf("CCH-05 ttlMs %s: %v, %v", ttl, listing, err)
		}
	}
	listing, _, err := lists(t, modernName, map[string]string{
		"first": `{"tools":[],"ttlMs":5000,"nextCursor":"2"}`, `"2"`: `{"tools":[],"ttlMs":3000,"nextCursor":"3"}`, `"3"`: `{"tools":[],"ttlMs":9000}`,
	})
	if err != nil || listing.TTL != 3*time.Second {
		t.Errorf("of three pages: %v, %v", listing, err)
	}
}

func TestListStartsAgain(t *testing.T) {
	for _, test := range []struct {
		name   string
		second side // what the second page answers at first
		trace  string
	}{
		{"CCH-13 the cursor became invalid", refuses(200, codeInvalidParams, "invalid cursor", ""), ""},
		{"PAG-03 the session was lost between pages", always(sessionLost), shake + " "},
	} {
		t.Run(test.name, func(t *testing.T) {
			var s *server
			session, s := connect(t, legacyName, func(_ context.Context, req *Request, _ Handler) (*Response, error) {
				switch n := s.count("tools/list"); {
				case n == 2:
					return test.second(1, req)
				case strings.Contains(string(req.Body), `"cursor"`):
					return result(`{"tools":[` + tool("b") + `]}`)
				default:
					return result(`{"tools":[` + tool("a") + `],"nextCursor":"x"}`)
				}
			})
			before := s.traced()
			listing, err := session.ListTools(t.Context())
			if err != nil || names(listing) != "a,b" || len(listing.Notes) != 0 {
				t.Errorf("%+v, %v", listing, err)
			}
			const page = "tools/list@" + legacyName
			if got := strings.TrimPrefix(s.traced(), before+" "); got != page+" "+page+" "+test.trace+page+" "+page {
				t.Errorf("trace %s", got)
			}
		})
	}
}

func TestListOfALostSessionIsTriedOnceMore(t *testing.T) {
	session, s := connect(t, legacyName, func(context.Context, *Request, Handler) (*Response, error) { return sessionLost() })
	_, err := session.ListTools(t.Context())
	if e := ask[*WireError](t, err); !e.SessionLost || s.count(methodList) != 2 {
		t.Errorf("%v after %d requests", err, s.count(methodList))
	}
}

func TestListOfALostSessionThatCannotBeOpenedAnew(t *testing.T) {
	s := play(t, map[string]side{
		methodDiscover:   fails(400),
		methodInitialize: then(speaksLegacy(legacyName), fails(503)),
		methodList:       always(sessionLost),
	})
	session, err := Connect(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = session.ListTools(t.Context())
	if e := ask[*WireError](t, err); e.Status != 503 || s.count(methodList) != 1 {
		t.Errorf("%+v after %d requests", e, s.count(methodList))
	}
}

func TestServersWithoutTools(t *testing.T) {
	for _, test := range []struct {
		name, capabilities string
		asked              int
		note               string
	}{
		{"LIF-08 tools are not declared", `{"prompts":{}}`, 0, "declares no tools"},
		{"nothing is declared", `{}`, 0, "declares no tools"},
		{"B073 capabilities are null", `null`, 1, "does not know tools/list"},
		{"tools are declared", `{"tools":{}}`, 1, "does not know tools/list"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := play(t, map[string]side{
				"server/discover": fails(400),
				"initialize":      says(`{"protocolVersion":"` + legacyName + `","capabilities":` + test.capabilities + `}`),
				"tools/list":      refuses(200, codeMethodNotFound, "no such method", ""),
			})
			session, err := Connect(t.Context(), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			listing, err := session.ListTools(t.Context())
			if err != nil || len(listing.Tools) != 0 || len(listing.Notes) != 1 || !strings.Contains(listing.Notes[0], test.note) {
				t.Errorf("%+v, %v", listing, err)
			}
			if n := s.count("tools/list"); n != test.asked {
				t.Errorf("asked %d times", n)
			}
		})
	}
}
