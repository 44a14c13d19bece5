package mcpclient

import (
	"context"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/rawjson"
)

func TestS2_17_ListResources(t *testing.T) {
	const items = `[ {"uri":"file:///a","name":"a","x":1e400} ,5]`
	page := func(member, rest string) string { return `{"` + member + `":` + items + rest + `}` }
	for method, list := range map[string]struct {
		member string
		list   func(s *Session, ctx context.Context, cursor *string) (*ResourcePage, error)
	}{
		methodResources: {"resources", (*Session).ListResources},
		methodTemplates: {"resourceTemplates", (*Session).ListResourceTemplates},
	} {
		t.Run(method, func(t *testing.T) {
			s := offering(t, modernName, `{"resources":{}}`, map[string]side{method: byCursor(map[string]string{
				"first":       page(list.member, `,"nextCursor":""`),
				`""`:          page(list.member, `,"nextCursor":"\u0061\u2028 é"`),
				`"a\u2028 é"`: page(list.member, `,"nextCursor":null`),
			})})
			session := connected(t, s, nil)
			var cursor *string
			for _, next := range []string{`""`, `"\u0061\u2028 é"`, ""} {
				p, err := list.list(session, t.Context(), cursor)
				if err != nil {
					t.Fatal(err)
				}
				if string(p.Resources) != items || string(p.NextCursor) != next || !strings.Contains(string(p.Raw), items) {
					t.Errorf("%s, next %s, want %s", p.Resources, p.NextCursor, next)
				}
				cursor = new(string)
				*cursor = rawjson.Text(p.NextCursor)
			}
			if n := s.count(method); n != 3 {
				t.Errorf("%d requests", n)
			}
			*cursor = "old"
			_, err := list.list(session, t.Context(), cursor)
			if e := ask[*ServerError](t, err); e.Code != codeInvalidParams {
				t.Error(e)
			}
		})
	}
}

func TestListResourcesFailures(t *testing.T) {
	for _, test := range []struct {
		answer side
		want   string
	}{
		{says(`[]`), "the result is an array"},
		{says(`{}`), "resources is missing"},
		{says(`{"resources":{}}`), "resources is an object"},
		{says(`{"resources":[],"resources":[]}`), "resources stands twice"},
		{says(`{"resources":[],"nextCursor":5}`), "nextCursor is a number"},
		{says(`{"resources":[],"resultType":"input_required"}`), "input_required is no answer to it"},
		{fails(503), "status 503"},
	} {
		session := connected(t, offering(t, modernName, `{"resources":{}}`, map[string]side{methodResources: test.answer}), nil)
		if _, err := session.ListResources(t.Context(), nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

// PAG-03: a cursor is not used in another session than its own.
func TestPAG03_CursorOfALostSession(t *testing.T) {
	lost := func() *Session {
		return connected(t, offering(t, legacyName, `{"resources":{}}`, map[string]side{methodResources: then(always(sessionLost), says(`{"resources":[]}`))}), nil)
	}
	if p, err := lost().ListResources(t.Context(), nil); err != nil || string(p.Resources) != "[]" {
		t.Errorf("the first page: %+v, %v", p, err)
	}
	session, cursor := lost(), "x"
	_, err := session.ListResources(t.Context(), &cursor)
	if e := ask[*WireError](t, err); e.Delivered != "no" || !strings.Contains(e.Reason, "ask for the first page again") {
		t.Errorf("%+v", e)
	}
	if _, err := session.ListResources(t.Context(), nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestS2_17_ReadResource(t *testing.T) {
	contents := `[{"uri":"u:v","text":"a\u0062"},{"uri":"u:w","mimeType":"image/png","blob":"canary"},{"uri":"u:x"}]`
	for _, version := range []string{legacyName, modernName} {
		var req *Request
		session := connected(t, offering(t, version, `{"resources":{}}`, map[string]side{methodRead: func(_ int, r *Request) (*Response, error) {
			req = r
			return result(`{"contents":` + contents + `}`)
		}}), nil)
		r, err := session.ReadResource(t.Context(), "https://a.example/é", nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := `"a\u0062\n\n[resource omitted: image/png]\n\n[resource omitted: application/octet-stream]"`; string(r.Text()) != want || string(r.Contents) != contents {
			t.Errorf("text %s, want %s, of %s", r.Text(), want, r.Contents)
		}
		params := rawjson.Members(rawjson.Members(req.Body).Get("params"))
		if req.Name != "https://a.example/é" || rawjson.Text(params.Get("uri")) != req.Name || params.Get("arguments") != nil {
			t.Errorf("%s: name %q in %s", version, req.Name, req.Body) // HDR-02
		}
	}
	for _, test := range []struct {
		answer side
		want   string
	}{
		{refuses(200, -32002, "not found", ""), "not found"},
		{says(`{}`), "contents is missing"},
		{says(`{"contents":"x"}`), "contents is a string"},
		{says(`{"contents":[],"contents":[]}`), "contents stands twice"},
		{says(wants(asksFor("a"), "")), `the resource asks for input that this client cannot give`},
	} {
		session := connected(t, offering(t, modernName, `{"resources":{}}`, map[string]side{methodRead: test.answer}), nil)
		if _, err := session.ReadResource(t.Context(), "canary:x", nil); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	session := connected(t, offering(t, modernName, `{"resources":{}}`, map[string]side{methodRead: says(`{"contents":[]}`)}), nil)
	if r, err := session.ReadResource(t.Context(), "u:v", nil); err != nil || string(r.Text()) != `""` {
		t.Errorf("%+v, %v", r, err)
	}
}
