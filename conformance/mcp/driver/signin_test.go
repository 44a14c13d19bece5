package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// A fakeSignIn plays a host over stdin and stdout that wants its user to sign in, as
// play says. It is called by playHost.
func fakeSignIn(play string, in io.Reader, out io.Writer) {
	connected := false
	var held json.RawMessage // the id of the /connect that waits
	dec := json.NewDecoder(in)
	for {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Tool string }
			Result struct{ Opened bool }
		}
		if err := dec.Decode(&m); err != nil {
			return
		}
		answer := func(id json.RawMessage, result string) {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
		}
		refuse := func(id json.RawMessage) {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"the issuer is wrong","data":{"kind":"message","untrusted":true}}}`+"\n", id)
		}
		switch {
		case m.Method == "construct":
			answer(m.ID, `{"protocol":"1","child":{"name":"x","version":"0"},"pack":{"name":"tanstack/mcp","id":"mcp","description":"d"},"tools":[]}`)
		case m.Method == "ready" && (connected || play == "open to all"):
			answer(m.ID, `{"tools":[{"name":"mcp/conformance_a","kind":"tool","description":"d","inputSchema":{"type":"object"},"untrusted":true,"server":"conformance","serverTool":"a"}],"servers":[{"name":"conformance","status":"connected","toolCount":1}]}`)
		case m.Method == "ready":
			answer(m.ID, `{"tools":[],"servers":[{"name":"conformance","status":"failed","toolCount":0,"needsSignIn":true,"error":"the issuer is wrong"}]}`)
		case m.Params.Tool == "mcp/command/connect" && play == "refused before the page":
			refuse(m.ID)
		case m.Params.Tool == "mcp/command/connect":
			held = m.ID
			_, page, _ := strings.Cut(play, " ")
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":1,"method":"open","params":{"id":"mcp","server":"conformance","invoke":%s,"url":%q,"host":"h","purpose":"sign-in"}}`+"\n", m.ID, page)
		case m.Method == "": // the answer to open
			if connected = m.Result.Opened && !strings.HasPrefix(play, "refusing"); connected {
				answer(held, `{"content":"connected","untrusted":false}`)
			} else {
				refuse(held)
			}
		case m.Method == "invoke":
			answer(m.ID, `{"content":"test","untrusted":true}`)
		}
	}
}

// pages is an authorization server whose page sends the browser on as its path says.
func pages(t *testing.T) *httptest.Server {
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/authorize":
			http.Redirect(w, r, s.URL+"/callback", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://mcp.example:80/callback", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, s.URL+"/authorize", http.StatusFound)
		case "/callback":
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestSignInPlays(t *testing.T) {
	site := pages(t)
	const preRegistered = `{"name":"auth/pre-registration","client_id":"the-client","client_secret":"the-secret","issuer":"https://as.example"}`
	for name, test := range map[string]struct {
		scenario, inputs, play, err string
		seen                        []string // by the host
	}{
		"the user signs in":                 {"auth/metadata-default", "", "signs-in " + site.URL + "/authorize", "", []string{`"oauth":{}`, `"opened":true`, `"open":true`}},
		"with what is registered":           {"auth/pre-registration", preRegistered, "signs-in " + site.URL + "/authorize", "", []string{`"clientId":"the-client","clientSecret":"${env:CONF_CLIENT_SECRET}","issuer":"https://as.example"`, "CONF_CLIENT_SECRET=the-secret"}},
		"with a document":                   {"auth/basic-cimd", "", "signs-in " + site.URL + "/authorize", "", []string{`"clientMetadataUrl":"` + documentURL + `"`}},
		"nobody is asked":                   {"auth/metadata-default", "", "open to all", "does not wait for its user", nil},
		"the browser is led away":           {"auth/metadata-default", "", "signs-in " + site.URL + "/away", "somewhere else than this machine", []string{`"opened":false`}},
		"the browser is led in a circle":    {"auth/metadata-default", "", "signs-in " + site.URL + "/loop", "status 302, want 200", []string{`"opened":false`}},
		"the page is not there":             {"auth/metadata-default", "", "signs-in " + site.URL + "/nothing", "status 404, want 302", []string{`"opened":false`}},
		"the sign-in is refused":            {"auth/iss-wrong-issuer", "", "refusing " + site.URL + "/authorize", "", []string{`"opened":true`}},
		"a sign-in that must be refused":    {"auth/iss-wrong-issuer", "", "signs-in " + site.URL + "/authorize", "was not refused", nil},
		"refused for another reason":        {"auth/resource-mismatch", "", "refused before the page", "does not name the resource", nil},
		"refused before the browser is out": {"auth/metadata-issuer-mismatch", "", "refused before the page", "", nil},
		"refused too early":                 {"auth/iss-wrong-issuer", "", "refused before the page", "sent to sign in 0 times, want 1", nil},
		"the user is sent away too seldom":  {"auth/scope-step-up", "", "signs-in " + site.URL + "/authorize", "sent to sign in 1 times, want 2", nil},
	} {
		seen, err := drive(t, test.scenario, test.inputs, "auto", "sign-in: "+test.play)
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v, want %q", name, err, test.err)
		}
		for _, want := range test.seen {
			if !slices.ContainsFunc(seen, func(line string) bool { return strings.Contains(line, want) }) {
				t.Errorf("%s: the host does not see %s: %q", name, want, seen)
			}
		}
		for _, line := range seen {
			if strings.Contains(line, "MCP_CONFORMANCE") || strings.Contains(line, test.scenario) || strings.HasPrefix(line, "{") && strings.Contains(line, "the-secret") {
				t.Errorf("%s: the host sees %s", name, line)
			}
		}
	}
}

// TestBrowserEnds: a page that never answers does not hold the driver.
func TestBrowserEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer hang.Close()
	b := new(browser)
	if b.visit(ctx, hang.URL) {
		t.Error("the visit came to an end")
	}
	if n, err := b.state(); n != 1 || err == nil {
		t.Errorf("%d visits, %v", n, err)
	}
}
