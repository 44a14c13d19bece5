package oauth

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/redact"
)

const (
	rootResourceDoc = "GET https://mcp.test/.well-known/oauth-protected-resource"
	openIDDoc       = "GET https://as.test/.well-known/openid-configuration"
	originServerDoc = "GET https://mcp.test/.well-known/oauth-authorization-server"
)

// TestAUD_04_PlacesOfTheResource: which documents are asked for, in which order.
func TestAUD_04_PlacesOfTheResource(t *testing.T) {
	sound := map[string]any{"resource": "https://mcp.test", "authorization_servers": []string{issuerURL}}
	for _, row := range []struct {
		name, hint string
		at         string // where the document is
		want       []string
		err        string
	}{
		{"at the path", "", resourceDoc, []string{resourceDoc}, ""},
		{"at the root", "", rootResourceDoc, []string{resourceDoc, rootResourceDoc}, ""},
		{"where the challenge says", "https://mcp.test/custom", "GET https://mcp.test/custom", []string{"GET https://mcp.test/custom"}, ""},
		{"not where the challenge says", "https://mcp.test/custom", resourceDoc, []string{"GET https://mcp.test/custom"}, "there is none"},
		{"the challenge names no place", "http://mcp.test/custom", resourceDoc, nil, "only https"},
		{"the challenge leads here", "https://127.0.0.1/custom", resourceDoc, nil, "this machine"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			w.resource(sound)
			page := w.pages[resourceDoc]
			delete(w.pages, resourceDoc)
			w.pages[row.at] = page
			c := w.client(Config{})
			c.Refused(t.Context(), redact.Secret{}, Challenge{ResourceMetadata: row.hint})
			if row.err != "" {
				w.refused(c, "the protected resource metadata", row.err)
				w.wantMade(row.want...)
				return
			}
			w.signIn(c)
			w.wantMade(append(row.want, serverDoc, register, tokens)...)
			if got := w.visits[0].Get("resource"); got != "https://mcp.test" {
				t.Errorf("resource is %q, not as published", got)
			}
		})
	}
}

// TestAUD_08_PlacesOfTheServer: an issuer with a path has three places, one without
// has two.
func TestAUD_08_PlacesOfTheServer(t *testing.T) {
	for issuer, places := range map[string][]string{
		issuerURL: {serverDoc, openIDDoc},
		issuerURL + "/tenant": {
			"GET https://as.test/.well-known/oauth-authorization-server/tenant",
			"GET https://as.test/.well-known/openid-configuration/tenant",
			"GET https://as.test/tenant/.well-known/openid-configuration",
		},
	} {
		for i, place := range places {
			w := newWorld(t)
			w.resource(map[string]any{"resource": serverURL, "authorization_servers": []string{issuer}})
			w.server(map[string]any{"issuer": issuer})
			page := w.pages[serverDoc]
			delete(w.pages, serverDoc)
			w.pages[place] = page
			w.leave = func(query url.Values) url.Values { query.Set("iss", issuer); return query }
			w.signIn(w.client(Config{}))
			w.wantMade(slices.Concat([]string{resourceDoc}, places[:i+1], []string{register, tokens})...)
		}
	}
}

// TestAUD_10_DocumentsThatAreRefused: the search ends there, nothing that they name is
// asked, and nothing of MCP 2025-03-26 takes their place (T48, LEG-07).
func TestAUD_10_DocumentsThatAreRefused(t *testing.T) {
	resource := func(document map[string]any) func(w *world) { return func(w *world) { w.resource(document) } }
	server := func(changes map[string]any) func(w *world) { return func(w *world) { w.server(changes) } }
	page := func(key string, handler http.HandlerFunc) func(w *world) {
		return func(w *world) { w.pages[key] = handler }
	}
	for name, row := range map[string]struct {
		set func(w *world)
		say string
	}{
		"another resource":         {resource(map[string]any{"resource": "https://evil.test/mcp", "authorization_servers": []string{issuerURL}}), "resource"},
		"no resource":              {resource(map[string]any{"authorization_servers": []string{issuerURL}}), "resource"},
		"no server":                {resource(map[string]any{"resource": serverURL, "authorization_servers": []string{}}), "no authorization server"},
		"a server that is no URL":  {resource(map[string]any{"resource": serverURL, "authorization_servers": []string{"as.test"}}), "the issuer"},
		"a server by http":         {resource(map[string]any{"resource": serverURL, "authorization_servers": []string{"http://as.test"}}), "only https"},
		"a server with a query":    {resource(map[string]any{"resource": serverURL, "authorization_servers": []string{issuerURL + "?a"}}), "a query"},
		"a server on this machine": {resource(map[string]any{"resource": serverURL, "authorization_servers": []string{"https://127.0.0.1"}}), "this machine"},
		"an array":                 {page(resourceDoc, answering(200, `[]`)), "no JSON object"},
		"two resources":            {page(resourceDoc, answering(200, `{"resource":"`+serverURL+`","resource":"x","authorization_servers":["`+issuerURL+`"]}`)), "stands twice"},
		"an error":                 {page(resourceDoc, answering(503, `{}`)), "status 503"},
		"an overload":              {page(resourceDoc, answering(429, `{}`)), "status 429"},
		"an overloaded server":     {page(serverDoc, answering(408, `{}`)), "status 408"},
		"a redirect":               {page(resourceDoc, redirecting(307)), "redirects are never followed"},

		"another issuer":           {server(map[string]any{"issuer": "https://evil.test"}), "its issuer"},
		"an issuer with a slash":   {server(map[string]any{"issuer": issuerURL + "/"}), "its issuer"},
		"an issuer in capitals":    {server(map[string]any{"issuer": "https://AS.test"}), "its issuer"},
		"no issuer":                {server(map[string]any{"issuer": nil}), "its issuer"},
		"no PKCE":                  {server(map[string]any{"code_challenge_methods_supported": nil}), "S256"},
		"no method of PKCE":        {server(map[string]any{"code_challenge_methods_supported": []string{}}), "S256"},
		"plain PKCE":               {server(map[string]any{"code_challenge_methods_supported": []string{"plain"}}), "S256"},
		"authorization by a file":  {server(map[string]any{"authorization_endpoint": "file:///etc/passwd"}), "authorization_endpoint"},
		"authorization by http":    {server(map[string]any{"authorization_endpoint": "http://as.test/authorize"}), "authorization_endpoint"},
		"no authorization":         {server(map[string]any{"authorization_endpoint": nil}), "authorization_endpoint"},
		"tokens by http":           {server(map[string]any{"token_endpoint": "http://as.test/token"}), "token_endpoint"},
		"tokens from this machine": {server(map[string]any{"token_endpoint": "https://localhost/token"}), "token_endpoint"},
		"registration by http":     {server(map[string]any{"registration_endpoint": "http://as.test/register"}), "registration_endpoint"},
		"a redirect of the server": {page(serverDoc, redirecting(302)), "redirects are never followed"},
		"no document at all":       {func(w *world) { delete(w.pages, serverDoc) }, "none at any"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			row.set(w)
			for _, trap := range []string{"/authorize", "/token", "/register"} { // of MCP 2025-03-26
				w.pages["POST https://mcp.test"+trap] = answering(200, `{}`)
			}
			w.refused(w.client(Config{}), row.say)
			if len(w.visits) > 0 {
				t.Error("the user was sent away")
			}
			for _, request := range w.made() {
				if strings.HasPrefix(request, "POST") || strings.Contains(request, "evil") || request == originServerDoc {
					t.Errorf("%s was asked", request)
				}
			}
		})
	}
}

func redirecting(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "https://sink.test/")
		w.WriteHeader(status)
	}
}

// TestT02_RedirectsCarryNothing: of no endpoint is a redirect followed.
func TestT02_RedirectsCarryNothing(t *testing.T) {
	for _, endpoint := range []string{resourceDoc, serverDoc, register, tokens} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			w := newWorld(t)
			w.pages[endpoint] = redirecting(status)
			w.refused(w.client(Config{}), "redirects are never followed")
			if slices.ContainsFunc(w.made(), func(request string) bool { return strings.Contains(request, "sink") }) {
				t.Errorf("%s: a redirect with status %d was followed", endpoint, status)
			}
		}
	}
	w := newWorld(t)
	w.pages[tokens] = redirecting(307)
	g := grant("access-token-0", "refresh-token-0")
	w.keep(g)
	c := w.client(Config{})
	if err := c.Refused(t.Context(), redact.NewSecret("access-token-0"), Challenge{}); err == nil {
		t.Error("a renewal went through a redirect")
	}
	w.wantMade(tokens)
}

// TestLEG_03_NothingPublished: what MCP 2025-03-26 knows, when there is nothing else.
func TestLEG_03_NothingPublished(t *testing.T) {
	w := newWorld(t)
	delete(w.pages, resourceDoc)
	w.pages["POST https://mcp.test/register"] = w.pages[register]
	w.pages["POST https://mcp.test/token"] = w.pages[tokens]
	w.leave = func(query url.Values) url.Values { delete(query, "iss"); return query }
	w.signIn(w.client(Config{}))
	w.wantMade(resourceDoc, rootResourceDoc, originServerDoc, "POST https://mcp.test/register", "POST https://mcp.test/token")
	if w.visits[0].Get("code_challenge_method") != "S256" || w.visits[0].Get("resource") != serverURL {
		t.Errorf("the user was sent with %v", w.visits[0])
	}

	w = newWorld(t)
	delete(w.pages, resourceDoc)
	w.pages[originServerDoc] = answering(200, `{"issuer":"https://evil.test"}`)
	w.refused(w.client(Config{}), "its issuer")
	w.wantMade(resourceDoc, rootResourceDoc, originServerDoc)

	// A web page is what some servers give for whatever is asked.
	w = newWorld(t)
	w.pages[resourceDoc] = func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		rw.Write([]byte("<html>"))
	}
	w.pages[rootResourceDoc] = answering(200, `{"resource":"https://mcp.test","authorization_servers":["`+issuerURL+`"]}`)
	w.signIn(w.client(Config{}))
}

// TestT52_Bounds: what is too long is not read.
func TestT52_Bounds(t *testing.T) {
	for endpoint, bound := range map[string]limit.Name{
		resourceDoc: limit.SignInDocument, serverDoc: limit.SignInDocument, register: limit.SignInDocument, tokens: limit.SignInAnswer,
	} {
		most := limit.Table{}.Int(bound)
		for _, over := range []int{0, 1} {
			w := newWorld(t)
			plain := w.pages[endpoint]
			w.pages[endpoint] = func(rw http.ResponseWriter, r *http.Request) {
				recorder := &padded{ResponseWriter: rw, size: most + over}
				plain(recorder, r)
			}
			err := w.client(Config{}).SignIn(t.Context())
			if over == 0 && err != nil || over == 1 && (err == nil || !strings.Contains(err.Error(), bound.String())) {
				t.Errorf("%s, %d over: %v", endpoint, over, err)
			}
		}
	}
}

// padded fills an answer up to a size with space.
type padded struct {
	http.ResponseWriter
	size int
}

func (p *padded) Write(text []byte) (int, error) {
	return p.ResponseWriter.Write([]byte(string(text) + strings.Repeat(" ", p.size-len(text))))
}

// TestAUR_10_ConfiguredIssuer: credentials of one authorization server are not used at
// another.
func TestAUR_10_ConfiguredIssuer(t *testing.T) {
	w := newWorld(t)
	w.refused(w.client(Config{ClientID: "c", Issuer: "https://other.test"}), "issuer")
	w.wantMade(resourceDoc)
	w.resource(map[string]any{"resource": serverURL, "authorization_servers": []string{"https://first.test", issuerURL}})
	w.signIn(w.client(Config{ClientID: "c", Issuer: issuerURL}))
	w.wantMade(resourceDoc, serverDoc, tokens)
}
