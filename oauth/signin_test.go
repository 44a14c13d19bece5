package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"github.com/toolhost/toolhost/redact"
)

// TestAUF_01_SignIn: the whole way, request by request.
func TestAUF_01_SignIn(t *testing.T) {
	w := newWorld(t)
	c := w.client(Config{})
	if w.token(c) != "" {
		t.Error("there is a token before the user has signed in")
	}
	w.signIn(c)
	w.wantMade(resourceDoc, serverDoc, register, tokens)
	if got := w.token(c); got != "access-token-1" {
		t.Errorf("the token is %q", got)
	}
	if len(w.visits) != 1 || len(w.forms) != 1 {
		t.Fatalf("%d visits, %d token requests", len(w.visits), len(w.forms))
	}
	asked, form := w.visits[0], w.forms[0]
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "client-1", "code_challenge_method": "S256", "resource": serverURL,
		"code_challenge": oauth2.S256ChallengeFromVerifier(form.Get("code_verifier")),
	} {
		if got := asked.Get(name); got != want {
			t.Errorf("the user was sent with %s %q, want %q", name, got, want)
		}
	}
	if _, scoped := asked["scope"]; scoped {
		t.Error("a scope was asked for, though nobody names one")
	}
	if n := len(form.Get("code_verifier")); n < 43 || n > 128 {
		t.Errorf("the verifier has %d characters (RFC 7636 section 4.1: 43 to 128)", n)
	}
	for name, want := range map[string]string{
		"grant_type": "authorization_code", "code": "the-code-1", "resource": serverURL, "client_id": "client-1",
		"redirect_uri": asked.Get("redirect_uri"),
	} {
		if got := form.Get(name); got != want {
			t.Errorf("the token was asked for with %s %q, want %q", name, got, want)
		}
	}
	record, err := w.store.Load(t.Context(), Key{Server: serverURL})
	if err != nil || record == nil {
		t.Fatal(record, err)
	}
	w.wantSilent(everything(c, record, record.Grant, record.Registrations), "access-token-1", "refresh-token-1")
}

// TestAUF_01_EveryVisitIsNew: nothing of one visit is used for another.
func TestAUF_01_EveryVisitIsNew(t *testing.T) {
	w := newWorld(t)
	c := w.client(Config{})
	w.signIn(c)
	w.signIn(c)
	for _, name := range []string{"state", "code_challenge"} {
		if w.visits[0].Get(name) == w.visits[1].Get(name) {
			t.Errorf("%s is the same twice", name)
		}
	}
	if w.visits[0].Get("redirect_uri") != w.visits[1].Get("redirect_uri") {
		t.Error("the redirect URI is not the one that was registered")
	}
	w.wantMade(resourceDoc, serverDoc, register, tokens, resourceDoc, serverDoc, tokens)
}

// TestAUF_04_Issuers is the table of RFC 9207, byte for byte (T47).
func TestAUF_04_Issuers(t *testing.T) {
	for _, row := range []struct {
		name       string
		advertised bool
		iss        []string
		good       bool
	}{
		{"said and there", true, []string{issuerURL}, true},
		{"said and missing", true, nil, false},
		{"not said and there", false, []string{issuerURL}, true},
		{"not said and missing", false, nil, true},
		{"not said and wrong", false, []string{"https://evil.test"}, false},
		{"wrong", true, []string{"https://evil.test"}, false},
		{"with a slash", true, []string{issuerURL + "/"}, false},
		{"in capitals", true, []string{"https://AS.test"}, false},
		{"with the default port", true, []string{"https://as.test:443"}, false},
		{"with an escape", true, []string{"https://%61s.test"}, false},
		{"empty", false, []string{""}, false},
		{"twice", true, []string{issuerURL, issuerURL}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, failure := range []string{"", "access_denied"} {
				w := newWorld(t)
				w.server(map[string]any{"authorization_response_iss_parameter_supported": row.advertised})
				w.leave = func(query url.Values) url.Values {
					delete(query, "iss")
					if row.iss != nil {
						query["iss"] = row.iss
					}
					if failure != "" {
						query.Set("error", failure)
						query.Set("error_description", "words of whoever sent it")
						delete(query, "code")
					}
					return query
				}
				c := w.client(Config{})
				err := c.SignIn(t.Context())
				switch {
				case failure == "" && row.good && err != nil:
					t.Errorf("refused: %v", err)
				case !row.good && (err == nil || !strings.Contains(err.Error(), "issuer")):
					t.Errorf("%v, want an error about the issuer", err)
				case failure != "" && err == nil:
					t.Error("an error was taken for success")
				case !row.good && (strings.Contains(err.Error(), "access_denied") || strings.Contains(err.Error(), "words")):
					t.Errorf("it shows what somebody else may have sent: %v", err)
				case failure != "" && row.good && !strings.Contains(err.Error(), "access_denied: words of whoever"):
					t.Errorf("the server's reason is lost: %v", err)
				}
				if asked := slices.Contains(w.made(), tokens); asked != (failure == "" && row.good) {
					t.Errorf("a token was asked for: %v", asked)
				}
			}
		})
	}
}

// TestT60_Echoes: servers that echo what they were sent do not get it printed.
func TestT60_Echoes(t *testing.T) {
	for _, shape := range []string{
		`{"error":"invalid_grant","error_description":%q}`,
		`{"error":%q}`,
		`{"error":"invalid_request","error_description":"bad","echo":%q}`,
		`<html>%s</html>`,
	} {
		for _, status := range []int{200, 400, 401, 500} {
			w := newWorld(t)
			w.pages[register] = answering(201, `{"client_id":"client-1","client_secret":"canary-client-secret","token_endpoint_auth_method":"client_secret_post"}`)
			w.pages[tokens] = func(rw http.ResponseWriter, r *http.Request) {
				r.ParseForm()
				echo := r.PostForm.Encode() + " " + r.PostForm.Get("code_verifier")
				answering(status, strings.Replace(strings.Replace(shape, "%q", `"`+echo+`"`, 1), "%s", echo, 1))(rw, r)
			}
			c := w.client(Config{})
			err := c.SignIn(t.Context())
			if err == nil {
				t.Fatalf("%s with status %d was taken for a token", shape, status)
			}
			w.wantSilent(err.Error(), "canary-client-secret")
			if len(err.Error()) > 512 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		}
	}
}

// TestFinalUntilTheUserActs: a sign-in that was refused is not begun again by itself.
func TestFinalUntilTheUserActs(t *testing.T) {
	w := newWorld(t)
	w.leave = func(query url.Values) url.Values {
		return url.Values{"state": query["state"], "iss": query["iss"], "error": {"access_denied"}}
	}
	c := w.client(Config{})
	first := c.SignIn(t.Context())
	w.made()
	for range 10 {
		err := c.Refused(t.Context(), redact.Secret{}, Challenge{})
		if err == nil || err.Error() != first.Error() {
			t.Errorf("got %v, want what the sign-in failed with: %v", err, first)
		}
	}
	w.wantMade()
	if len(w.visits) != 1 {
		t.Errorf("the user was sent away %d times", len(w.visits))
	}
	w.leave = nil
	w.signIn(c)
	if err := c.Refused(t.Context(), redact.Secret{}, Challenge{}); err != nil {
		t.Errorf("a request that was under way meanwhile is not sent again: %v", err)
	}
}

// TestAUF_03_PastedCallback: where the browser cannot reach us.
func TestAUF_03_PastedCallback(t *testing.T) {
	for _, row := range []struct {
		name, want string
		paste      func(back string, query url.Values) string
	}{
		{"the whole address", "", func(back string, query url.Values) string { return " " + back + "?" + query.Encode() + "#x \n" }},
		{"of another sign-in", "another sign-in", func(back string, query url.Values) string {
			query.Set("state", "other")
			return back + "?" + query.Encode()
		}},
		{"without a query", "copy the whole address", func(back string, _ url.Values) string { return back }},
		{"endless", "longer than 8 KiB", func(back string, _ url.Values) string { return back + "?" + strings.Repeat("x", 9000) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			w.prompt = func(_ context.Context, page string) (PromptAnswer, error) {
				back, query := w.at(page)
				return PromptAnswer{Opened: false, Callback: redact.NewSecret(row.paste(back, query))}, nil
			}
			c := w.client(Config{})
			if row.want == "" {
				w.signIn(c)
				return
			}
			err := c.SignIn(t.Context())
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("%v, want %q", err, row.want)
			}
			w.wantSilent(err.Error())
		})
	}
}

func TestTheUserSaysNo(t *testing.T) {
	w := newWorld(t)
	w.prompt = func(context.Context, string) (PromptAnswer, error) { return PromptAnswer{}, nil }
	w.refused(w.client(Config{}), "was not opened")
	w.prompt = func(context.Context, string) (PromptAnswer, error) {
		return PromptAnswer{}, errors.New("the host is gone")
	}
	w.refused(w.client(Config{}), "could not be asked")
	w.alone = true
	w.refused(w.client(Config{}), "nobody can be asked")
}

// TestTheUserCancels: the caller's context ends the wait, and that is no refusal.
func TestTheUserCancels(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	w.prompt = func(ctx context.Context, _ string) (PromptAnswer, error) {
		cancel(gone)
		<-ctx.Done()
		return PromptAnswer{Opened: true}, nil
	}
	c := w.client(Config{})
	if err := c.SignIn(ctx); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	w.prompt = nil
	w.signIn(c)
}
