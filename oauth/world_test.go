package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/redact"
)

// A world is what a Client meets: hosts that answer without a network, and a user with
// a browser. Only the callback goes over a real port.
type world struct {
	t     *testing.T
	scrub *redact.Scrubber
	store Store

	mu       sync.Mutex
	pages    map[string]http.HandlerFunc // by method and URL without its query
	requests []string                    // the keys of pages that were asked for, absent ones too
	forms    []url.Values                // of token requests
	visits   []url.Values                // the queries of the pages that the user was sent to
	log      bytes.Buffer

	// leave is what the user does at the authorization endpoint: it returns the query
	// that the browser comes back with. Nil for what an honest server sends.
	leave func(query url.Values) url.Values

	// prompt replaces the user altogether.
	prompt Prompt
	alone  bool // there is no user
}

const (
	serverURL   = "https://mcp.test/mcp"
	issuerURL   = "https://as.test"
	resourceDoc = "GET https://mcp.test/.well-known/oauth-protected-resource/mcp"
	serverDoc   = "GET https://as.test/.well-known/oauth-authorization-server"
	register    = "POST https://as.test/register"
	tokens      = "POST https://as.test/token"
)

func newWorld(t *testing.T) *world {
	w := &world{t: t, scrub: redact.NewScrubber(), store: NewMemoryStore(), pages: map[string]http.HandlerFunc{}}
	w.resource(map[string]any{"resource": serverURL, "authorization_servers": []string{issuerURL}})
	w.server(nil)
	w.pages[register] = answering(201, `{"client_id":"client-1"}`)
	w.pages[tokens] = answering(200, `{"access_token":"access-token-1","token_type":"Bearer","expires_in":3600,"refresh_token":"refresh-token-1"}`)
	return w
}

func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// resource sets the document of the MCP server.
func (w *world) resource(document map[string]any) {
	text, _ := json.Marshal(document)
	w.pages[resourceDoc] = answering(200, string(text))
}

// server sets the document of the authorization server: a sound one with changes, of
// which nil takes a member out.
func (w *world) server(changes map[string]any) {
	document := map[string]any{
		"issuer":                                         issuerURL,
		"authorization_endpoint":                         issuerURL + "/authorize",
		"token_endpoint":                                 issuerURL + "/token",
		"registration_endpoint":                          issuerURL + "/register",
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none"},
		"authorization_response_iss_parameter_supported": true,
	}
	for name, value := range changes {
		if document[name] = value; value == nil {
			delete(document, name)
		}
	}
	text, _ := json.Marshal(document)
	w.pages[serverDoc] = answering(200, string(text))
}

// RoundTrip answers a request of the Client.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	body := ""
	if r.Body != nil {
		text, _ := io.ReadAll(r.Body)
		body = string(text)
	}
	key := r.Method + " " + r.URL.Scheme + "://" + r.URL.Host + r.URL.Path
	w.mu.Lock()
	w.requests = append(w.requests, key)
	if form, err := url.ParseQuery(body); err == nil && key == tokens {
		form["Authorization"] = r.Header["Authorization"]
		w.forms = append(w.forms, form)
	}
	page := w.pages[key]
	w.mu.Unlock()
	if page == nil {
		page = http.NotFound
	}
	copied := httptest.NewRequest(r.Method, r.URL.String(), strings.NewReader(body))
	copied.Header = r.Header
	recorder := httptest.NewRecorder()
	page(recorder, copied)
	return recorder.Result(), nil
}

func (w *world) httpClient() *http.Client {
	return &http.Client{Transport: w, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (w *world) options(config Config) *Options {
	return &Options{
		Config: config,
		HTTP:   func(bool) *http.Client { return w.httpClient() },
		Store:  w.store,
		Scrub:  w.scrub,
		Log:    slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})),
		User: func(context.Context) Prompt {
			switch {
			case w.alone:
				return nil
			case w.prompt != nil:
				return w.prompt
			}
			return w.visit
		},
	}
}

// Write takes the log.
func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *world) client(config Config) *Client {
	w.t.Helper()
	c, err := New(redact.NewSecret(serverURL), w.options(config))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// visit is the user, who goes to the page and comes back.
func (w *world) visit(ctx context.Context, page string) (PromptAnswer, error) {
	back, query := w.at(page)
	_, err := get(ctx, back+"?"+query.Encode())
	return PromptAnswer{Opened: true}, err
}

// at notes a visit and returns where the authorization server sends the browser.
func (w *world) at(page string) (back string, query url.Values) {
	u, err := url.Parse(page)
	if err != nil {
		w.t.Error(err)
		return "", nil
	}
	asked := u.Query()
	w.mu.Lock()
	w.visits = append(w.visits, asked)
	w.mu.Unlock()
	query = url.Values{"code": {"the-code-1"}, "state": asked["state"], "iss": {issuerURL}}
	if w.leave != nil {
		query = w.leave(query)
	}
	return asked.Get("redirect_uri"), query
}

// get is a browser's request to the callback.
func get(ctx context.Context, address string) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, nil
}

// signIn signs in, which must succeed.
func (w *world) signIn(c *Client) {
	w.t.Helper()
	if err := c.SignIn(w.t.Context()); err != nil {
		w.t.Fatalf("the sign-in failed: %v", err)
	}
}

// refused signs in, which must fail with an error of the user's that says all of that.
func (w *world) refused(c *Client, says ...string) {
	w.t.Helper()
	err := c.SignIn(w.t.Context())
	failure, ok := errors.AsType[*Error](err)
	if !ok {
		w.t.Errorf("got %v, want an *Error that says %q", err, says)
		return
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			w.t.Errorf("%q does not say %q", err, text)
		}
	}
	_ = failure
}

// token returns the token that a request would carry.
func (w *world) token(c *Client) string {
	w.t.Helper()
	token, err := c.Token(w.t.Context())
	if err != nil {
		w.t.Errorf("no token: %v", err)
	}
	return token.Reveal("a test")
}

// made returns the requests since the last call.
func (w *world) made() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	made := w.requests
	w.requests = nil
	return made
}

func (w *world) wantMade(want ...string) {
	w.t.Helper()
	if got := w.made(); !slices.Equal(got, want) {
		w.t.Errorf("requests\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// wantSilent checks that nothing printed holds any of these secrets, nor those of
// every visit and token request so far.
func (w *world) wantSilent(printed string, secrets ...string) {
	w.t.Helper()
	w.mu.Lock()
	printed += w.log.String()
	for _, form := range w.forms {
		for _, name := range []string{"code", "code_verifier", "refresh_token", "client_secret", "Authorization"} {
			secrets = append(secrets, form[name]...)
		}
	}
	for _, query := range w.visits {
		secrets = append(secrets, query.Get("state"))
	}
	w.mu.Unlock()
	for _, secret := range secrets {
		if secret != "" && strings.Contains(printed, secret) {
			w.t.Errorf("the secret %q was printed in %q", secret, printed)
		}
	}
}

// grant is one that was given before.
func grant(access, refresh string) *Grant {
	return &Grant{
		Issuer: issuerURL, Client: Registration{ClientID: "client-1", Method: methodNone}, Resource: serverURL,
		TokenEndpoint: issuerURL + "/token", Access: redact.NewSecret(access), Refresh: redact.NewSecret(refresh),
	}
}

// keep puts a grant into the store.
func (w *world) keep(g *Grant) {
	w.t.Helper()
	err := w.store.Update(w.t.Context(), Key{Server: serverURL}, func(r *Record) (*Record, error) {
		r.Grant = g
		return r, nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// everything prints values in every way that could show a secret.
func everything(values ...any) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "%v %+v %#v %s %q %x %d\n", v, v, v, v, v, v, v)
		text, _ := json.Marshal(v)
		b.Write(text)
	}
	return b.String()
}

// leaveWith is what a server of that issuer sends the browser back with.
func leaveWith(issuer string) func(url.Values) url.Values {
	return func(query url.Values) url.Values { query.Set("iss", issuer); return query }
}

// A brokenStore can do nothing.
type brokenStore struct{}

var errNoSpace = errors.New("no space left on device")

func (brokenStore) Load(context.Context, Key) (*Record, error) { return nil, errNoSpace }

func (brokenStore) Update(context.Context, Key, func(*Record) (*Record, error)) error {
	return errNoSpace
}
