package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/oauth"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
)

// A signInServer is an MCP server with an authorization server of its own, over real
// connections. Its tool "write" takes a scope that its listing does not.
type signInServer struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	scopes   map[string]string   // of each token that is good; guarded by mu
	refresh  map[string]string   // the scopes of each refresh token; guarded by mu
	codes    map[string]string   // the scopes of each code; guarded by mu
	seen     map[string][]string // the bodies and headers of requests, by path; guarded by mu
	number   int                 // of tokens; guarded by mu
	deny     bool                // the user says no; guarded by mu
	noTokens bool                // no refresh tokens; guarded by mu
	down     bool                // the token endpoint is; guarded by mu
}

func newSignInServer(t *testing.T) *signInServer {
	s := &signInServer{t: t, scopes: map[string]string{}, refresh: map[string]string{}, codes: map[string]string{}, seen: map[string][]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mcp", s.mcp)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		s.json(w, 200, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}, "scopes_supported": []string{"read"}})
	})
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		s.json(w, 200, map[string]any{
			"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
			"registration_endpoint": s.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"},
		})
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, _ *http.Request) {
		s.json(w, 201, map[string]any{"client_id": "client-1"})
	})
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		s.mu.Lock()
		s.seen[r.URL.Path] = append(s.seen[r.URL.Path], fmt.Sprint(r.Method, " ", r.URL, " ", r.Header, " ", string(body)))
		s.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *signInServer) json(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func (s *signInServer) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	back := url.Values{"state": q["state"]}
	if s.deny {
		back.Set("error", "access_denied")
	} else {
		code := fmt.Sprintf("canary-code-%d", len(s.codes))
		s.codes[code] = q.Get("scope")
		back.Set("code", code)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (s *signInServer) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		w.WriteHeader(503)
		return
	}
	from, key := s.codes, r.PostFormValue("code")
	if r.PostFormValue("grant_type") == "refresh_token" {
		from, key = s.refresh, r.PostFormValue("refresh_token")
	}
	scope, ok := from[key]
	delete(from, key)
	if !ok || r.PostFormValue("resource") != s.URL+"/mcp" {
		s.json(w, 400, map[string]any{"error": "invalid_grant"})
		return
	}
	s.number++
	access, refresh := fmt.Sprintf("canary-access-%d", s.number), fmt.Sprintf("canary-refresh-%d", s.number)
	s.scopes[access], s.refresh[refresh] = scope, scope
	answer := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 3600}
	if !s.noTokens {
		answer["refresh_token"] = refresh
	}
	s.json(w, 200, answer)
}

func (s *signInServer) mcp(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	scope, ok := s.scopes[token]
	s.mu.Unlock()
	if !ok {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource/mcp"`)
		w.WriteHeader(401)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		s.t.Error(err)
	}
	result := `{}`
	switch m.Method {
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
	case "tools/list":
		result = `{"tools":[` + tool("read", `,"annotations":{"readOnlyHint":true}`) + `,` + tool("write", `,"annotations":{"readOnlyHint":true}`) + `]}`
	case "tools/call":
		if m.Params.Name == "write" && !slices.Contains(strings.Fields(scope), "write") {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="write"`)
			w.WriteHeader(403)
			return
		}
		result = `{"content":[{"type":"text","text":"done"}]}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (s *signInServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// expire makes all access tokens worthless.
func (s *signInServer) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.scopes)
}

// count returns how many requests came to a path.
func (s *signInServer) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen[path])
}

// newSignInWorld is a world over real connections, whose user opens what is to be
// opened and is sent back from there.
func newSignInWorld(t *testing.T, tokens oauth.Store) *world {
	w := newWorld(t)
	w.registry = pack.NewRegistry()
	if err := Install(w.registry, nil, &Options{Tokens: tokens, Env: func(name string) (string, bool) { return "canary-secret-of-the-client", name == "SECRET" }}); err != nil {
		t.Fatal(err)
	}
	w.host.Asks[pack.AskOpen] = true
	w.answer = func(q *pack.Question) *pack.Answer {
		if q.Kind == pack.AskOpen {
			go func() { // as a browser, of which the host only says that it is open
				resp, err := http.Get(q.URL)
				if err != nil {
					t.Errorf("the browser: %v", err)
					return
				}
				resp.Body.Close()
			}()
		}
		return &pack.Answer{Action: pack.Accept}
	}
	t.Cleanup(w.end)
	return w
}

// dialSignIn constructs a pack over the server and waits for the first attempt.
func (w *world) dialSignIn(s *signInServer, config string) {
	w.t.Helper()
	p, err := w.try("mcp", fmt.Sprintf(`{"servers":{"notion":{"url":%q,"oauth":%s,"headers":{"X-Api-Key":"canary-of-the-headers"}}}}`, s.URL+"/mcp", config))
	if err != nil {
		w.t.Fatal(err)
	}
	w.pack = p
	w.status("notion")
}

// opened returns the questions to open a page.
func (w *world) opened() []pack.Question {
	return slices.DeleteFunc(w.asked(), func(q pack.Question) bool { return q.Kind != pack.AskOpen })
}

// wantSilent checks that no secret is in anything that was said.
func (w *world) wantSilent(said ...string) {
	w.t.Helper()
	w.mu.Lock()
	said = append(said, w.log.String(), fmt.Sprint(w.statuses, w.messages))
	w.mu.Unlock()
	for _, text := range said {
		if strings.Contains(text, "canary") || strings.Contains(text, "code_challenge") {
			w.t.Errorf("a secret was said: %s", text)
		}
	}
}

// TestS2_02_SigningIn: the user is asked when /connect is invoked, the tools come after
// it, and more scopes are asked for in the middle of a call.
func TestS2_02_SigningIn(t *testing.T) {
	s := newSignInServer(t)
	w := newSignInWorld(t, nil)
	w.dialSignIn(s, "true")
	st := w.now("notion")
	if st.Status != "failed" || !st.NeedsSignIn || !strings.Contains(st.Error, "/connect notion") {
		t.Errorf("got %+v", st)
	}
	if len(w.opened()) != 0 || s.count("/authorize") != 0 {
		t.Error("the user was asked without having asked")
	}
	if got := w.text("command/connect", `{"name":"notion"}`); !strings.Contains(got, "is connected") {
		t.Errorf("got %q", got)
	}
	w.wantNames("notion_read", "notion_write")
	if got := w.text("command/connect", `{"name":"notion"}`); !strings.Contains(got, "is connected") || len(w.opened()) != 1 {
		t.Errorf("a second /connect: %q, %d questions", got, len(w.opened()))
	}
	if got := w.text("notion_read", "{}"); got != "done" {
		t.Errorf("got %q", got)
	}
	if got := w.text("notion_write", "{}"); got != "done" {
		t.Errorf("got %q", got)
	}
	opened := w.opened()
	if len(opened) != 2 {
		t.Fatalf("%d questions, want one for the sign-in and one for the scope", len(opened))
	}
	for i, scope := range []string{"read", "read write"} {
		u, err := url.Parse(opened[i].URL)
		if err != nil || u.Query().Get("scope") != scope || opened[i].Purpose != "sign-in" || opened[i].Server != "notion" || string(opened[i].Invoke) != "1" {
			t.Errorf("question %d: %+v", i, opened[i])
		}
	}
	if got := s.count("/register"); got != 1 {
		t.Errorf("registered %d times", got)
	}
	// The configured header reaches neither server: it has no effect beside oauth.
	for path, requests := range s.seen {
		if strings.Contains(strings.Join(requests, "\n"), "canary-of-the-headers") {
			t.Errorf("%s was sent the configured header", path)
		}
	}
	w.wantSilent()
}

// TestS2_02_TokensAreKept: a server whose token is in the store is connected to without
// asking, a token that has run out is renewed without asking, and /disconnect forgets.
func TestS2_02_TokensAreKept(t *testing.T) {
	s := newSignInServer(t)
	tokens := oauth.NewMemoryStore()
	w := newSignInWorld(t, tokens)
	w.dialSignIn(s, "true")
	w.text("command/connect", `{"name":"notion"}`)
	s.expire()
	if got := w.text("notion_read", "{}"); got != "done" || s.count("/token") != 2 {
		t.Errorf("%q after %d token requests", got, s.count("/token"))
	}

	again := newSignInWorld(t, tokens)
	again.dialSignIn(s, "true")
	if st := again.now("notion"); st.Status != "connected" {
		t.Errorf("got %+v", st)
	}
	again.text("command/disconnect", `{"name":"notion"}`)
	if got := len(again.opened()) + len(w.opened()); got != 1 {
		t.Errorf("the user was asked %d times", got)
	}
	third := newSignInWorld(t, tokens)
	third.dialSignIn(s, "true")
	if st := third.now("notion"); st.Status != "failed" || !st.NeedsSignIn {
		t.Errorf("after /disconnect: %+v", st)
	}
	third.text("command/connect", `{"name":"notion"}`)
	if got := len(third.opened()); got != 1 || s.count("/register") != 1 {
		t.Errorf("asked %d times, registered %d times", got, s.count("/register"))
	}
	w.wantSilent()
	third.wantSilent()
}

// TestS2_02_PacksOfDifferentUsers: without a store that the program gives, no pack uses
// what the user of another has signed in with.
func TestS2_02_PacksOfDifferentUsers(t *testing.T) {
	s := newSignInServer(t)
	w := newSignInWorld(t, nil)
	w.dialSignIn(s, "true")
	w.text("command/connect", `{"name":"notion"}`)
	p, err := w.try("other", fmt.Sprintf(`{"servers":{"notion":{"url":%q,"oauth":true}}}`, s.URL+"/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	w.pack = p
	if st := w.status("notion"); st.Status != "failed" || !st.NeedsSignIn {
		t.Errorf("got %+v", st)
	}
}

// TestS2_02_ATokenThatIsLost: without a way to renew it the server waits for its user
// again; the call says so, and was not acted on.
func TestS2_02_ATokenThatIsLost(t *testing.T) {
	s := newSignInServer(t)
	s.noTokens = true
	w := newSignInWorld(t, nil)
	w.dialSignIn(s, "true")
	w.text("command/connect", `{"name":"notion"}`)
	s.expire()
	e := w.refusal(pack.KindTransport, "notion_read", "{}", "wants its user to sign in")
	if e.Delivered != pack.DeliveredNo || e.Retryable {
		t.Errorf("got %+v", e)
	}
	w.text("command/connect", `{"name":"notion"}`)
	if got := w.text("notion_read", "{}"); got != "done" || len(w.opened()) != 2 {
		t.Errorf("%q after %d questions", got, len(w.opened()))
	}
}

// TestS2_02_ARenewalThatFails: what may pass is no reason to trouble the user.
func TestS2_02_ARenewalThatFails(t *testing.T) {
	s := newSignInServer(t)
	w := newSignInWorld(t, nil)
	w.dialSignIn(s, "true")
	w.text("command/connect", `{"name":"notion"}`)
	s.expire()
	s.set(func() { s.down = true })
	w.refusal(pack.KindTransport, "notion_read", "{}", "the token endpoint", "503")
	w.refusal(pack.KindMessage, "command/connect", `{"name":"notion"}`, "is reconnecting")
	if st := w.now("notion"); st.NeedsSignIn || !strings.Contains(st.Error, "the token endpoint") {
		t.Errorf("got %+v", st)
	}
	s.set(func() { s.down = false })
	if got := w.text("command/connect", `{"name":"notion"}`); !strings.Contains(got, "is connected") || len(w.opened()) != 1 {
		t.Errorf("%q after %d questions", got, len(w.opened()))
	}
}

// TestH_08_TheUserSignsIn: the time of the call stands still for as long as the user is
// at the page.
func TestH_08_TheUserSignsIn(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.host.Asks[pack.AskOpen] = true
		w.answer = func(*pack.Question) *pack.Answer { return &pack.Answer{Action: pack.Accept} }
		w.serve("notion")
		w.dial(`notion "oauth":true`)
		over := errors.New("the time of the call is over")
		call, clock, stop := withClock(t.Context(), time.Second, over)
		defer stop()
		r := &running{server: w.inside().servers[0], call: &pack.Call{ID: pack.Raw("1")}, clock: clock}
		visit, back := context.WithCancel(call)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if answer, err := userOf(forUser(visit, r))(visit, "https://as.test/authorize"); err != nil || !answer.Opened {
				t.Errorf("%+v, %v", answer, err)
			}
		}()
		pass(time.Hour)
		if call.Err() != nil {
			t.Error("the time of the call went on")
		}
		back()
		<-ended
		pass(2 * time.Second)
		if context.Cause(call) != over {
			t.Error("the time of the call stands still for ever")
		}
	})
}

// TestS2_02_SignInsThatFail: the reason is in the answer and in the status, no URL is in
// either, and nothing is asked again before the user acts.
func TestS2_02_SignInsThatFail(t *testing.T) {
	s := newSignInServer(t)
	s.deny = true
	w := newSignInWorld(t, nil)
	w.dialSignIn(s, "true")
	e := w.refusal(pack.KindMessage, "command/connect", `{"name":"notion"}`, "access_denied")
	st := w.status("notion")
	if st.Status != "failed" || !st.NeedsSignIn || !strings.Contains(st.Error, "access_denied") {
		t.Errorf("got %+v", st)
	}
	for _, text := range []string{e.Message, st.Error} {
		if strings.Contains(text, "http") {
			t.Errorf("a URL in what a model may read: %s", text)
		}
	}
	if got := s.count("/authorize"); got != 1 {
		t.Errorf("the user was sent away %d times", got)
	}
	w.wantSilent(e.Message)

	w.host.Asks[pack.AskOpen] = false
	w.refusal(pack.KindMessage, "command/connect", `{"name":"notion"}`, "capability open")
	if got := s.count("/authorize"); got != 1 {
		t.Error("the user was sent away by a host that opens no pages")
	}
}

// TestS2_02_PastedCallback: the host gives the address at which the browser has ended.
func TestS2_02_PastedCallback(t *testing.T) {
	s := newSignInServer(t)
	w := newSignInWorld(t, nil)
	w.dialSignIn(s, "true")
	w.answer = func(q *pack.Question) *pack.Answer {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, q.URL, nil)
		if err != nil {
			t.Error(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Error(err)
			return &pack.Answer{Action: pack.Cancel}
		}
		resp.Body.Close()
		return &pack.Answer{Action: pack.Decline, Callback: redact.NewSecret(resp.Header.Get("Location"))}
	}
	if got := w.text("command/connect", `{"name":"notion"}`); !strings.Contains(got, "is connected") {
		t.Errorf("got %q", got)
	}
	w.wantSilent()
}

// TestOAuthConfigurations: what an entry's oauth may say.
func TestOAuthConfigurations(t *testing.T) {
	w := newWorld(t)
	t.Cleanup(w.end)
	w.serve("s")
	for config, say := range map[string]string{
		`true`:  "",
		`false`: "",
		`{}`:    "",
		`{"clientId":"c","clientSecret":"${env:TOKEN}","issuer":"https://as.test","scopes":["a","b c"],"redirectPort":8080,"clientName":null}`: "",
		`{"clientMetadataUrl":"https://app.test/client.json","scopes":"a b"}`:                                                                  "",
		`"yes"`:                              "true, false or an object",
		`{"clientID":"c"}`:                   `"clientID" is not known; known: clientId`,
		`{"grant":"client_credentials"}`:     `"grant" is not known`,
		`{"clientId":5}`:                     "clientId must be a string, not a number",
		`{"clientId":""}`:                    "clientId is empty",
		`{"clientId":"a","clientId":"b"}`:    "stands twice",
		`{"clientSecret":"canary"}`:          "no use without clientId",
		`{"clientId":"${env:GONE}"}`:         "GONE is not set",
		`{"redirectPort":65536}`:             "redirectPort must be a number",
		`{"redirectPort":"1"}`:               "redirectPort must be a number",
		`{"scopes":[1]}`:                     "scopes must be a string",
		`{"clientMetadataUrl":"http://x/y"}`: "https URL with a path",
	} {
		p, err := w.try("x", `{"servers":{"s":{"url":"https://mcp.test/x","oauth":`+config+`}}}`)
		if err != nil {
			t.Fatal(err)
		}
		st := p.(*pack.Instance).Pack.(*mcptools).Servers()[0]
		if say == "" && st.Status == "failed" || say != "" && !strings.Contains(st.Error, say) || strings.Contains(st.Error, "canary") {
			t.Errorf("%s: %+v, want %q", config, st, say)
		}
		w.registry.Close(context.Background(), "x")
	}
	p, err := w.try("x", `{"servers":{"s":{"url":"http://mcp.test/x","oauth":true}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if st := p.(*pack.Instance).Pack.(*mcptools).Servers()[0]; !strings.Contains(st.Error, "https") {
		t.Errorf("got %+v", st)
	}
}
