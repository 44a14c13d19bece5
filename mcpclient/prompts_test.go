package mcpclient

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// offering is a server of that revision which declares those capabilities and
// answers other requests by the sides.
func offering(t *testing.T, version, capabilities string, sides map[string]side) *server {
	t.Helper()
	all := map[string]side{
		methodDiscover:   fails(400),
		methodInitialize: says(`{"protocolVersion":"` + version + `","capabilities":` + capabilities + `}`),
	}
	if version == modernName {
		all[methodDiscover] = says(`{"supportedVersions":["` + version + `"],"capabilities":` + capabilities + `}`)
	}
	for method, side := range sides {
		all[method] = side
	}
	return play(t, all)
}

func connected(t *testing.T, s *server, opts *Options) *Session {
	t.Helper()
	session, err := Connect(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// byCursor answers a list by its pages, by the literal of the cursor that asks for
// them ("first" for none).
func byCursor(pages map[string]string) side {
	return func(_ int, req *Request) (*Response, error) {
		cursor := "first"
		if raw := rawjson.Members(rawjson.Members(req.Body).Get("params")).Get("cursor"); raw != nil {
			cursor = string(raw)
		}
		if page, ok := pages[cursor]; ok {
			return result(page)
		}
		return refusal(200, codeInvalidParams, "invalid cursor "+cursor, "")
	}
}

func TestS2_17_ListPrompts(t *testing.T) {
	long := strings.Repeat("d", 256<<10)
	for _, test := range []struct {
		name  string
		pages map[string]string
		want  string
		err   string
		notes []string
	}{
		{"one page", map[string]string{"first": `{"prompts":[{"name":"a"},{"name":"b c"}]}`}, "a, b c", "", nil},
		{"PAG-03 an empty cursor is a cursor", map[string]string{
			"first":    `{"prompts":[{"name":"a"}],"nextCursor":""}`,
			`""`:       `{"prompts":[{"name":"b"}],"nextCursor":"\u0061"}`,
			`"\u0061"`: `{"prompts":[{"name":"c"}],"nextCursor":null}`,
		}, "a, b, c", "", nil},
		{"PAG-04 the same cursor for ever", map[string]string{
			"first": `{"prompts":[{"name":"a"}],"nextCursor":"x"}`,
			`"x"`:   `{"prompts":[{"name":"b"}],"nextCursor":"x"}`,
		}, "a, b", "", []string{"repeats a cursor"}},
		{"CCH-13 a cursor that stays invalid", map[string]string{"first": `{"prompts":[],"nextCursor":"x"}`}, "", "invalid cursor", nil},
		{"broken definitions", map[string]string{"first": `{"prompts":[5,{},{"name":""},{"name":"a\u202e"},{"name":"b","name":"c"},` +
			`{"name":"d","arguments":{}},{"name":"e","arguments":[{}]},{"name":"f","arguments":[{"name":"x"},{"name":"x"}]},` +
			`{"name":"g","description":"` + long + `"},{"name":"h"},{"name":"h"}]}`}, "h", "", []string{
			"left out a prompt: its definition is a number", "its name is missing", "its name is empty", `left out "a\u{202e}": its name holds characters`,
			`left out "b": name stands twice`, `left out "d": arguments is an object`, `left out "e": one of its arguments has no name`,
			`left out "f": its argument "x" stands twice`, `left out "g": its definition exceeds the limit tool_definition`, `left out "h": the name stands twice in the list; the first prompt`}},
		{"many without a name", map[string]string{"first": `{"prompts":[{},{}]}`}, "", "", []string{"left out 2 prompts: its name is missing"}},
		{"prompts is no array", map[string]string{"first": `{"prompts":{}}`}, "", "prompts is an object, not an array", nil},
		{"prompts stands twice", map[string]string{"first": `{"prompts":[],"prompts":[]}`}, "", "prompts stands twice", nil},
		{"MRT-10 input is required", map[string]string{"first": `{"resultType":"input_required","prompts":[]}`}, "", "input_required is no answer to it", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			session := connected(t, offering(t, modernName, `{"prompts":{}}`, map[string]side{methodPrompts: byCursor(test.pages)}), nil)
			listing, err := session.ListPrompts(t.Context())
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("%v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range listing.Prompts {
				got = append(got, p.Name)
			}
			if strings.Join(got, ", ") != test.want || len(listing.Notes) != len(test.notes) {
				t.Errorf("%q with %q", got, listing.Notes)
			}
			for i, want := range test.notes {
				if i < len(listing.Notes) && !strings.Contains(listing.Notes[i], want) {
					t.Errorf("note %q, want %q", listing.Notes[i], want)
				}
			}
		})
	}
}

func TestPromptDefinition(t *testing.T) {
	const raw = `{"name":"a","title":"A","description":"d\u0065","icons":[],"arguments":[{"name":"x","title":"X","description":"dx","required":true},{"name":"y","required":"true"}]}`
	session := connected(t, offering(t, legacyName, `{"prompts":{}}`, map[string]side{methodPrompts: says(`{"prompts":[` + raw + `,{"name":"b","title":null,"arguments":null}]}`)}), nil)
	listing, err := session.ListPrompts(t.Context())
	if err != nil || len(listing.Prompts) != 2 {
		t.Fatalf("%+v, %v", listing, err)
	}
	p := listing.Prompts[0]
	if want := `{a A de [{x X dx true} {y   false}]}`; fmt.Sprint(struct {
		a, b, c string
		d       []PromptArgument
	}{p.Name, p.Title, p.Description, p.Arguments}) != want || string(p.Raw) != raw {
		t.Errorf("%+v, want %s", p, want)
	}
	if p := listing.Prompts[1]; p.Title != "" || p.Arguments != nil {
		t.Errorf("%+v", p)
	}
}

// L13 and L14 bound the prompts as they do the tools; what is left out is news once.
func TestL14_PromptsAreBounded(t *testing.T) {
	var log bytes.Buffer
	table, err := limit.Table{}.With("list_pages=2")
	if err != nil {
		t.Fatal(err)
	}
	if table, err = table.With("tools=3"); err != nil {
		t.Fatal(err)
	}
	endless := func(n int, _ *Request) (*Response, error) {
		return result(fmt.Sprintf(`{"prompts":[{"name":"p%d"}],"nextCursor":"%d"}`, n, n))
	}
	many := says(`{"prompts":[{"name":"a"},{"name":"b"},{},{"name":"c"},{"name":"d"}]}`)
	for want, answer := range map[string]side{"list_pages": endless, "tools": many} {
		session := connected(t, offering(t, legacyName, `{"prompts":{}}`, map[string]side{methodPrompts: answer}), &Options{
			Limits: table, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		listing, err := session.ListPrompts(t.Context())
		if err != nil || !strings.Contains(strings.Join(listing.Notes, " "), "the list of prompts exceeds the limit "+want) {
			t.Errorf("%s: %+v, %v", want, listing, err)
		}
		if n := len(listing.Prompts); want == "tools" && n != 3 || want == "list_pages" && n != 2 {
			t.Errorf("%s: %d prompts", want, n)
		}
		if want == "tools" {
			log.Reset()
			session.ListPrompts(t.Context())
			if log.Len() != 0 {
				t.Errorf("told again: %s", log.String())
			}
		}
	}
}

// LIF-08: what a server does not declare is not used; what it has said nothing of is
// asked for.
func TestOffers(t *testing.T) {
	for _, test := range []struct {
		capabilities string
		offers       string
		requests     int
	}{
		{`{}`, "", 0},
		{`{"tools":{}}`, "tools ", 0},
		{`{"prompts":null,"resources":null}`, "", 0},
		{`{"prompts":{},"resources":{"subscribe":true}}`, "prompts resources ", 5},
		{`null`, "tools prompts resources ", 5},
		{`5`, "tools prompts resources ", 5},
	} {
		for _, version := range []string{legacyName, modernName} {
			s := offering(t, version, test.capabilities, map[string]side{
				methodPrompts:   says(`{"prompts":[]}`),
				methodPrompt:    says(`{"messages":[]}`),
				methodResources: says(`{"resources":[]}`),
				methodTemplates: says(`{"resourceTemplates":[]}`),
				methodRead:      says(`{"contents":[]}`),
			})
			session := connected(t, s, nil)
			offers := ""
			for _, name := range offered {
				if session.Offers(name) {
					offers += name + " "
				}
			}
			before := len(s.bodies)
			listing, err1 := session.ListPrompts(t.Context())
			resources, err2 := session.ListResources(t.Context(), nil)
			templates, err3 := session.ListResourceTemplates(t.Context(), nil)
			if err1 != nil || err2 != nil || err3 != nil || len(listing.Prompts)+len(listing.Notes) != 0 ||
				string(resources.Resources) != "[]" || string(templates.Resources) != "[]" {
				t.Errorf("%s: %+v %+v %+v, %v %v %v", test.capabilities, listing, resources, templates, err1, err2, err3)
			}
			_, err1 = session.GetPrompt(t.Context(), "p", nil, nil)
			_, err2 = session.ReadResource(t.Context(), "u:v", nil)
			if test.requests == 0 {
				ask[*ArgumentError](t, err1)
				ask[*ArgumentError](t, err2)
			} else if err1 != nil || err2 != nil {
				t.Errorf("%s: %v, %v", test.capabilities, err1, err2)
			}
			if sent := len(s.bodies) - before; offers != test.offers || sent != test.requests {
				t.Errorf("%s of %s offers %s, %d requests", test.capabilities, version, offers, sent)
			}
		}
	}
}

func TestS2_17_GetPrompt(t *testing.T) {
	messages := `[ {"role":"user","content":{"type":"text","text":"a\u0062"}}, {"role":"assistant","content":{"type":"image","mimeType":"image/png","data":"canary"}},` +
		`{"role":"user","content":{"type":"resource","resource":{"uri":"u","text":"t"}}},{"role":"user","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]},{"content":"z"},5]`
	for _, version := range []string{legacyName, modernName} {
		var req *Request
		raw := `{"description":"d","messages":` + messages + `}`
		session := connected(t, offering(t, version, `{"prompts":{}}`, map[string]side{methodPrompt: func(_ int, r *Request) (*Response, error) {
			req = r
			return result(raw)
		}}), nil)
		r, err := session.GetPrompt(t.Context(), "p q", []byte(`{"a":"\u0062"}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Description != "d" || string(r.Messages) != messages || string(r.Raw) != raw {
			t.Errorf("%+v", r)
		}
		if want := `"a\u0062\n\n[image omitted: image/png]\n\nt\n\nx\n\ny\n\nz\n\n[content omitted: its type is missing]"`; string(r.Text()) != want {
			t.Errorf("text %s, want %s", r.Text(), want)
		}
		params := rawjson.Members(rawjson.Members(req.Body).Get("params"))
		if req.Name != "p q" || string(params.Get("name")) != `"p q"` || string(params.Get("arguments")) != `{"a":"\u0062"}` {
			t.Errorf("%s: name %q in %s", version, req.Name, req.Body) // HDR-02
		}
		// The carrier may repeat it by itself.
		if again := req.Again(); again.ID == req.ID || again.Name != req.Name {
			t.Errorf("again %+v", again)
		}
	}
}

func TestGetPromptFailures(t *testing.T) {
	for _, test := range []struct {
		answer side
		want   string
	}{
		{refuses(200, codeInvalidParams, "no such prompt", ""), "no such prompt"},
		{says(`{}`), "messages is missing"},
		{says(`{"messages":{}}`), "messages is an object, not an array"},
		{says(`{"messages":[],"messages":[]}`), "messages stands twice"},
		{says(`{"resultType":"later","messages":[]}`), "its resultType is unknown"},
		{says(wants(asksFor("a"), "")), `prompt "p" asks for input that this client cannot give: elicitation/create`},
	} {
		s := offering(t, modernName, `{"prompts":{},"tools":{}}`, map[string]side{methodPrompt: test.answer, methodList: says(`{"tools":[]}`)})
		session := connected(t, s, nil)
		if _, err := session.ListTools(t.Context()); err != nil {
			t.Fatal(err)
		}
		session.fresh.hearing = true
		if _, err := session.GetPrompt(t.Context(), "p", nil, nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
		if n := s.count(methodPrompt); n != 1 || session.Freshness() != Fresh {
			t.Errorf("%d requests, the tools are %d", n, session.Freshness())
		}
	}
}

// The three requests that may ask for input do so alike.
func TestS2_16_PromptsAndResourcesAskToo(t *testing.T) {
	answer := func(_ int, req *Request) (*Response, error) {
		responses, state := inputOf(req)
		if (responses == "") != (req.Again != nil) {
			t.Errorf("%s: Again is there: %v", req.Body, req.Again != nil)
		}
		switch {
		case responses == "":
			return result(wants(asksFor("k"), `"s"`))
		case state != `"s"` || responses != `{"k":{"action":"accept","content":{"name":"Ann"}}}`:
			t.Errorf("%s: input %s, state %s", req.Method, responses, state)
		}
		return result(`{"messages":[],"contents":[]}`)
	}
	session := connected(t, offering(t, modernName, `{"prompts":{},"resources":{}}`, map[string]side{methodPrompt: answer, methodRead: answer}), &Options{Elicits: bothModes})
	opts := &CallOptions{Elicit: func(context.Context, *Elicitation) ElicitAnswer { return accept(`{"name":"Ann"}`) }}
	if _, err := session.GetPrompt(t.Context(), "p", nil, opts); err != nil {
		t.Error(err)
	}
	if _, err := session.ReadResource(t.Context(), "u:v", opts); err != nil {
		t.Error(err)
	}
}

// A request that the carrier has sent again is the same call to who takes its
// progress, and the one that came to nothing is not.
func TestProgressOfARepeatedRequest(t *testing.T) {
	s := offering(t, legacyName, `{"prompts":{}}`, nil)
	answer := s.answer
	s.answer = func(ctx context.Context, req *Request, h Handler) (*Response, error) {
		if req.Method != methodPrompt {
			return answer(ctx, req, h)
		}
		again := req.Again()
		for _, id := range []int64{req.ID, again.ID} {
			h.Notification("notifications/progress", fmt.Appendf(nil, `{"progressToken":%d,"progress":%d}`, id, id-req.ID))
		}
		return result(`{"messages":[]}`)
	}
	session := connected(t, s, nil)
	var got []string
	_, err := session.GetPrompt(t.Context(), "p", nil, &CallOptions{Progress: func(progress, _ []byte, _ string) { got = append(got, string(progress)) }})
	if err != nil || strings.Join(got, " ") != "1" || len(session.calls) != 0 {
		t.Errorf("%v, progress %q, %d calls are left", err, got, len(session.calls))
	}
}
