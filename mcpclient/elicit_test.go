package mcpclient

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/toolhost/toolhost/internal/rawjson"
)

var bothModes = map[ElicitMode]bool{ElicitForm: true, ElicitURL: true}

// A person answers questions by a script and keeps what was asked. One who is asked
// more often than the script goes cancels.
type person struct {
	script []ElicitAnswer

	mu    sync.Mutex
	asked []*Elicitation // guarded by mu
}

func (p *person) elicit(_ context.Context, e *Elicitation) ElicitAnswer {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, e)
	if n := len(p.asked); n <= len(p.script) {
		return p.script[n-1]
	}
	return ElicitAnswer{Action: ElicitCancel}
}

func accept(content string) ElicitAnswer {
	return ElicitAnswer{Action: ElicitAccept, Content: []byte(content)}
}

// asks sends one request of the server's own during a call, and returns the answer.
func asks(t *testing.T, version string, opts Options, method, params string) (answer string) {
	t.Helper()
	session, _ := connectAs(t, version, opts, func(ctx context.Context, _ *Request, h Handler) (*Response, error) {
		got, refusal := h.Request(ctx, method, []byte(params))
		answer = string(got)
		if refusal != nil {
			answer = fmt.Sprintf("%d %s", refusal.Code, refusal.Message)
		}
		return result(hello)
	})
	if _, err := session.CallTool(t.Context(), "t", nil, nil); err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestS2_15_DeclaresTheModes(t *testing.T) {
	for want, modes := range map[string]map[ElicitMode]bool{
		`{}`:                                   nil, // S1-22
		`{"elicitation":{"form":{}}}`:          {ElicitForm: true, ElicitURL: false},
		`{"elicitation":{"url":{}}}`:           {ElicitURL: true},
		`{"elicitation":{"form":{},"url":{}}}`: {ElicitForm: true, ElicitURL: true, "voice": true},
	} {
		// ELI-01: with the handshake.
		session, s := connectAs(t, legacyName, Options{Elicits: modes}, nil)
		initialize := rawjson.Members(rawjson.Members([]byte(s.last(methodInitialize))).Get("params"))
		if got := string(initialize.Get("capabilities")); got != want {
			t.Errorf("the handshake declares %s, want %s", got, want)
		}
		session.Close(t.Context())

		// ELI-02: with every request.
		session, s = connectAs(t, modernName, Options{Elicits: modes}, func(_ context.Context, req *Request, _ Handler) (*Response, error) {
			if req.Method == methodList {
				return result(`{"tools":[]}`)
			}
			return result(hello)
		})
		if _, err := session.ListTools(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := session.CallTool(t.Context(), "t", nil, nil); err != nil {
			t.Fatal(err)
		}
		if len(s.bodies) != 3 {
			t.Errorf("%d requests", len(s.bodies))
		}
		for _, body := range s.bodies {
			meta := rawjson.Members(rawjson.Members(rawjson.Members([]byte(body)).Get("params")).Get("_meta"))
			if got := string(meta.Get(metaCapabilities)); got != want {
				t.Errorf("%s declares %s, want %s", body, got, want)
			}
		}
	}
}

const nameForm = `{"type":"object","properties":{"name":{"type":"string","minLength":2}},"required":["name"]}`

// What a server asks by a request of its own, and the answer it gets.
func TestElicitationRequest(t *testing.T) {
	form := func(schema string) string { return `{"message":"Who?","requestedSchema":` + schema + `}` }
	visit := func(url string) string { return `{"mode":"url","message":"Go","elicitationId":"e1","url":` + url + `}` }
	for _, test := range []struct {
		name   string
		modes  map[ElicitMode]bool
		params string
		script []ElicitAnswer
		want   string
		asked  int
	}{
		{"ELI-04 no mode is form", bothModes, form(nameForm), []ElicitAnswer{accept(`{"name":"Ann"}`)}, `{"action":"accept","content":{"name":"Ann"}}`, 1},
		{"mode null is form", bothModes, `{"mode":null,"message":"Who?","requestedSchema":` + nameForm + `}`, []ElicitAnswer{accept(`{"name":"Ann"}`)}, `{"action":"accept","content":{"name":"Ann"}}`, 1},
		{"mode form, and members that are not known", bothModes, `{"x":1,"mode":"form","message":"Who?","requestedSchema":` + nameForm + `,"task":{}}`,
			[]ElicitAnswer{accept(`{"name":"Ann"}`)}, `{"action":"accept","content":{"name":"Ann"}}`, 1},
		{"no content is an empty one", bothModes, form(`{"type":"object","properties":{}}`), []ElicitAnswer{{Action: ElicitAccept}}, `{"action":"accept","content":{}}`, 1},
		{"ELI-09 decline sends no content", bothModes, form(nameForm), []ElicitAnswer{{ElicitDecline, []byte(`{"name":"Ann"}`)}}, `{"action":"decline"}`, 1},
		{"cancel sends no content", bothModes, form(nameForm), []ElicitAnswer{{ElicitCancel, []byte(`{"name":"Ann"}`)}}, `{"action":"cancel"}`, 1},
		{"an answer that is none cancels", bothModes, form(nameForm), []ElicitAnswer{{}}, `{"action":"cancel"}`, 1},
		{"ELI-20 a visit has no content", bothModes, visit(`"https://a.example/x?y=1"`), []ElicitAnswer{accept(`{"name":"Ann"}`)}, `{"action":"accept"}`, 1},
		{"a visit is declined", bothModes, visit(`"https://a.example/"`), []ElicitAnswer{{Action: ElicitDecline}}, `{"action":"decline"}`, 1},

		{"ELI-10 asked again until it fits", bothModes, form(nameForm), []ElicitAnswer{accept(`{}`), accept(`{"name":"A"}`), accept(`{"name":"Ann"}`)},
			`{"action":"accept","content":{"name":"Ann"}}`, 3},
		{"ELI-10 asked three times and no more", bothModes, form(nameForm), []ElicitAnswer{accept(`{}`), accept(`{"name":"A"}`), accept(`[]`), accept(`{"name":"Ann"}`)},
			`{"action":"cancel"}`, 3},

		{"ELI-05 a visit, which was not declared", map[ElicitMode]bool{ElicitForm: true}, visit(`"https://a.example/"`), nil, `-32602 Invalid params: this mode was not declared`, 0},
		{"ELI-05 a form, which was not declared", map[ElicitMode]bool{ElicitURL: true}, form(nameForm), nil, `-32602 Invalid params: this mode was not declared`, 0},
		{"ELI-05 a mode of its own", bothModes, `{"mode":"voice"}`, nil, `-32602 Invalid params: this mode was not declared`, 0},
		{"ELI-05 a mode that is no string", bothModes, `{"mode":5}`, nil, `-32602 Invalid params: this mode was not declared`, 0},
		{"no mode is declared", nil, form(nameForm), nil, `-32601 Method not found`, 0},

		{"no params", bothModes, `null`, nil, `-32602 Invalid params: params is null, not an object`, 0},
		{"no message", bothModes, `{"requestedSchema":` + nameForm + `}`, nil, `-32602 Invalid params: message is missing`, 0},
		{"no schema", bothModes, `{"message":"x"}`, nil, `-32602 Invalid params: requestedSchema is missing`, 0},
		{"a schema that is none", bothModes, form(`true`), nil, `-32602 Invalid params: requestedSchema is a boolean, not an object`, 0},
		{"no url", bothModes, `{"mode":"url","message":"x"}`, nil, `-32602 Invalid params: url is missing`, 0},
		{"a url that is none", bothModes, visit(`{}`), nil, `-32602 Invalid params: url is an object, not a string`, 0},
		{"the message stands twice", bothModes, `{"message":"x","message":"y","requestedSchema":` + nameForm + `}`, nil, `-32602 Invalid params: message stands twice in params`, 0},

		{"ELI-13 a schema that cannot be shown", bothModes, form(`{"type":"object","properties":{"a":{"type":"object"}}}`), nil, `{"action":"decline"}`, 0},
		{"L39 a message that nobody reads", bothModes, `{"message":"` + strings.Repeat("m", 8<<10+1) + `","requestedSchema":` + nameForm + `}`, nil, `{"action":"decline"}`, 0},
		{"L39 a message of the length that is read", bothModes, `{"message":"` + strings.Repeat("m", 8<<10) + `","requestedSchema":` + nameForm + `}`, nil, `{"action":"cancel"}`, 1},
		{"L39 a url that nobody reads", bothModes, visit(`"https://a.example/` + strings.Repeat("u", 8<<10) + `"`), nil, `{"action":"decline"}`, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &person{script: test.script}
			got := asks(t, legacyName, Options{Elicits: test.modes, Elicit: p.elicit}, methodElicit, test.params)
			if got != test.want {
				t.Errorf("the server got %s, want %s", got, test.want)
			}
			if len(p.asked) != test.asked {
				t.Errorf("the user was asked %d times, want %d", len(p.asked), test.asked)
			}
		})
	}
}

// ELI-16: the user sees the question as the server wrote it, and what was wrong with
// the answer before.
func TestElicitationAsItIsAsked(t *testing.T) {
	p := &person{script: []ElicitAnswer{accept(`{"name":"canary-\u0061"}`), accept(`{}`)}}
	schema := `{"type":"object", "properties":{"name":{"type":"string","maxLength":3}},"required":["name"]}`
	asks(t, legacyName, Options{Elicits: bothModes, Elicit: p.elicit}, methodElicit, `{"message":"a\u00e9\n<b>","requestedSchema":`+schema+`}`)
	if len(p.asked) != 3 {
		t.Fatalf("asked %d times", len(p.asked))
	}
	for i, problem := range []string{"", `"name" wants a text, at most 3 characters`, `"name" is missing; it wants a text, at most 3 characters`} {
		e := p.asked[i]
		if e.Mode != ElicitForm || e.Message != "aé\n<b>" || string(e.Schema) != schema || e.URL != "" || e.ID != "" || e.Problem != problem {
			t.Errorf("asking %d: %+v", i+1, e)
		}
	}
	p = &person{}
	const url = "https://a.example/x?y=%20#z"
	asks(t, legacyName, Options{Elicits: bothModes, Elicit: p.elicit}, methodElicit, `{"mode":"url","message":"Go","url":"`+url+`","elicitationId":"e\u0031"}`)
	if len(p.asked) != 1 || p.asked[0].URL != url || p.asked[0].ID != "e1" || p.asked[0].Mode != ElicitURL || p.asked[0].Schema != nil {
		t.Errorf("asked %+v", p.asked)
	}
}

// A server of a revision whose servers send no requests gets no answer to one, and
// nobody is asked.
func TestElicitationRequestOfAModernServer(t *testing.T) {
	p := &person{}
	got := asks(t, modernName, Options{Elicits: bothModes, Elicit: p.elicit}, methodElicit, `{"message":"Who?","requestedSchema":`+nameForm+`}`)
	if !strings.HasPrefix(got, "-32601") || len(p.asked) != 0 {
		t.Errorf("the server got %s, the user was asked %d times", got, len(p.asked))
	}
}

func TestELI25_URLsThatNobodyIsSentTo(t *testing.T) {
	for url, fit := range map[string]bool{
		"https://a.example/x":             true,
		"HTTPS://a.example":               true,
		"https://xn--80ak6aa92e.example/": true, // shown with a warning by who asks
		"http://localhost:8080/x":         true,
		"http://127.0.0.1/x":              true,
		"http://[::1]:1/x":                true,
		"http://a.example/":               false,
		"http://127.0.0.1.a.example/":     false,
		"javascript:alert(1)":             false,
		"file:///etc/passwd":              false,
		"data:text/html,x":                false,
		"vscode://x/y":                    false,
		"//a.example/":                    false,
		"a.example":                       false,
		"https:":                          false,
		"https:///x":                      false,
		"https://user@a.example/":         false,
		"https://a.example:x/":            false,
		"https://a.example/\u202egnp":     false,
		"https://a.example/ x":            false,
		"https://a.example\\@b.example/":  false,
		" https://a.example/":             false,
		"":                                false,
	} {
		p := &person{}
		got := asks(t, legacyName, Options{Elicits: bothModes, Elicit: p.elicit}, methodElicit, `{"mode":"url","message":"Go","url":`+string(rawjson.Quote(url))+`}`)
		want := `{"action":"decline"}`
		if fit {
			want = `{"action":"cancel"}` // the user's
		}
		if got != want || (len(p.asked) == 1) != fit {
			t.Errorf("%q: %s, asked %d times", url, got, len(p.asked))
		}
	}
}

func TestELI18_HostsThatCanBeMistaken(t *testing.T) {
	const punycode, foreign = "the host is written in Punycode", "the host holds characters that are not ASCII"
	for url, want := range map[string][]string{
		"https://a.example/xn--x":            nil,
		"https://axn--b.example/":            nil,
		"http://127.0.0.1:8080/":             nil,
		"https://a.example/é":                nil,
		"https://xn--80ak6aa92e.example/":    {punycode},
		"https://login.XN--80ak6aa92e.com/":  {punycode},
		"https://\u0435xample.com/":          {foreign},
		"https://xn--80ak6aa92e.\u0435x.com": {punycode, foreign},
		"https://%D0%B5xample.com/":          {foreign},
	} {
		p := &person{}
		asks(t, legacyName, Options{Elicits: bothModes, Elicit: p.elicit}, methodElicit, `{"mode":"url","message":"Go","url":`+string(rawjson.Quote(url))+`}`)
		if len(p.asked) != 1 {
			t.Errorf("%q: asked %d times", url, len(p.asked))
			continue
		}
		got := p.asked[0].Warnings
		fits := len(got) == len(want)
		for i := range got {
			fits = fits && strings.HasPrefix(got[i], want[i])
		}
		if !fits {
			t.Errorf("%q: warnings %q, want %q", url, got, want)
		}
	}
}

// ELI-12: 1,000 questions at once. Those that are open are bounded, the others are
// declined at once, and a question that is answered makes room for another.
func TestELI12_QuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		open := 0
		var mu sync.Mutex
		opts := Options{Elicits: bothModes, Elicit: func(context.Context, *Elicitation) ElicitAnswer {
			mu.Lock()
			open++
			mu.Unlock()
			<-answer
			return accept(`{"name":"Ann"}`)
		}}
		got := map[string]int{}
		session, _ := connectAs(t, legacyName, opts, func(ctx context.Context, _ *Request, h Handler) (*Response, error) {
			var group sync.WaitGroup
			ask := func() {
				result, _ := h.Request(ctx, methodElicit, []byte(`{"message":"Who?","requestedSchema":`+nameForm+`}`))
				mu.Lock()
				defer mu.Unlock()
				got[string(result)]++
			}
			for range 1000 {
				group.Go(ask)
			}
			synctest.Wait()
			if open != maxOpen || got[`{"action":"decline"}`] != 1000-maxOpen {
				t.Errorf("%d are open, the server got %v", open, got)
			}
			close(answer)
			group.Wait()
			ask()
			return result(hello)
		})
		if _, err := session.CallTool(t.Context(), "t", nil, nil); err != nil {
			t.Fatal(err)
		}
		if n := got[`{"action":"accept","content":{"name":"Ann"}}`]; n != maxOpen+1 {
			t.Errorf("%d were answered, want %d", n, maxOpen+1)
		}
	})
}

// ELI-13: why a question was declined is logged, the first few times as a warning.
func TestDeclinedUnaskedIsLogged(t *testing.T) {
	var log bytes.Buffer
	opts := Options{Elicits: bothModes, Elicit: new(person).elicit, Log: slog.New(slog.NewTextHandler(&log, nil))}
	session, _ := connectAs(t, legacyName, opts, func(ctx context.Context, _ *Request, h Handler) (*Response, error) {
		for range 100 {
			h.Request(ctx, methodElicit, []byte(`{"message":"canary","requestedSchema":{"type":"object","properties":{"a\nb":{"type":"object"}}}}`))
		}
		return result(hello)
	})
	if _, err := session.CallTool(t.Context(), "t", nil, nil); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); strings.Count(got, "\n") != toldDeclines || strings.Contains(got, "canary") ||
		!strings.Contains(got, `is of no type that a form can have`) || !strings.Contains(got, `u{a}b`) {
		t.Errorf("logged %s", got)
	}
}
