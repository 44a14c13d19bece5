package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/redact"
)

// rotating answers token requests with a new pair each time, and takes each refresh
// token once.
func (w *world) rotating() {
	next := 1
	w.pages[tokens] = func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		r.ParseForm()
		if r.PostForm.Get("refresh_token") != fmt.Sprintf("refresh-token-%d", next) {
			answering(400, `{"error":"invalid_grant"}`)(rw, r)
			return
		}
		next++
		answering(200, fmt.Sprintf(`{"access_token":"access-token-%d","token_type":"Bearer","expires_in":600,"refresh_token":"refresh-token-%d"}`, next, next))(rw, r)
	}
}

// TestT59_OneRenewal: many callers, by many Clients with one store, renew a token once.
func TestT59_OneRenewal(t *testing.T) {
	for name, store := range map[string]func(t *testing.T) Store{
		"memory": func(*testing.T) Store { return NewMemoryStore() },
		"files":  func(t *testing.T) Store { return NewFileStore(filepath.Join(t.TempDir(), "tokens")) },
	} {
		t.Run(name, func(t *testing.T) {
			shared := store(t)
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.store = shared
				w.rotating()
				g := grant("access-token-1", "refresh-token-1")
				g.Expiry = time.Now().Add(time.Minute)
				w.keep(g)
				var clients []*Client
				for range 5 {
					clients = append(clients, w.client(Config{}))
				}
				for generation := 1; generation < 4; generation++ {
					var callers sync.WaitGroup
					for i := range 100 {
						callers.Go(func() {
							want := fmt.Sprintf("access-token-%d", generation)
							if got := w.token(clients[i%len(clients)]); got != want {
								t.Errorf("the token is %q, want %q", got, want)
							}
						})
					}
					callers.Wait()
					want := make([]string, min(generation-1, 1))
					for i := range want {
						want[i] = tokens
					}
					w.wantMade(want...)
					time.Sleep(600 * time.Second)
				}
				for _, form := range w.forms {
					if form.Get("resource") != serverURL || form.Get("grant_type") != "refresh_token" || form.Get("client_id") != "client-1" {
						t.Errorf("a renewal was asked for with %v", form)
					}
				}
				w.wantSilent("", "access-token-1", "access-token-2", "access-token-3")
			})
		})
	}
}

// TestAUF_20_RenewedAfterARefusal: the server says that a token is not good, whatever
// its life was to be; requests that were under way with it meet a new one.
func TestAUF_20_RenewedAfterARefusal(t *testing.T) {
	w := newWorld(t)
	w.rotating()
	w.keep(grant("access-token-1", "refresh-token-1"))
	c := w.client(Config{})
	old := redact.NewSecret(w.token(c))
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if err := c.Refused(t.Context(), old, Challenge{}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	w.wantMade(tokens)
	if got := w.token(c); got != "access-token-2" {
		t.Errorf("the token is %q", got)
	}
	// The new one is refused too: enough for this request.
	err := c.Refused(t.Context(), redact.NewSecret("access-token-2"), Challenge{Last: true})
	if err == nil || !signIn(err) {
		t.Errorf("got %v", err)
	}
	w.wantMade()
}

func signIn(err error) bool {
	failure, ok := errors.AsType[*Error](err)
	return ok && failure.SignIn
}

// TestAUF_20_RenewalsThatFail: a denied one is the user's business, any other passes.
func TestAUF_20_RenewalsThatFail(t *testing.T) {
	for name, row := range map[string]struct {
		status int
		answer string
		denied bool
	}{
		"used up":              {400, `{"error":"invalid_grant","error_description":"refresh-token-1 was used"}`, true},
		"the client is gone":   {401, `{"error":"invalid_client"}`, true},
		"down":                 {503, `{}`, false},
		"down, with a code":    {500, `{"error":"server_error"}`, false},
		"slow down":            {429, `{}`, false},
		"a proxy's login page": {200, `<html>`, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.pages[tokens] = answering(row.status, row.answer)
			g := grant("access-token-1", "refresh-token-1")
			g.Expiry = time.Now().Add(-time.Minute)
			g.Asked = []string{"read"}
			w.keep(g)
			c := w.client(Config{})
			token, err := c.Token(t.Context())
			switch {
			case row.denied && (err != nil || !token.Empty()):
				t.Errorf("%v and a token %v; the server's challenge is wanted", err, !token.Empty())
			case !row.denied && (err == nil || signIn(err)):
				t.Errorf("got %v, want an error that passes", err)
			}
			if err != nil {
				w.wantSilent(err.Error(), "refresh-token-1")
			}
			record, err := w.store.Load(t.Context(), Key{Server: serverURL})
			if err != nil {
				t.Fatal(err)
			}
			if kept := !record.Grant.Refresh.Empty(); kept == row.denied {
				t.Errorf("the refresh token is kept: %v", kept)
			}
			w.made()
			if row.denied {
				if err := c.Refused(t.Context(), redact.Secret{}, Challenge{}); !signIn(err) {
					t.Errorf("got %v", err)
				}
				w.wantMade()
			} else {
				w.rotating()
				if got := w.token(c); got != "access-token-2" {
					t.Errorf("later, the token is %q", got)
				}
			}
			w.wantSilent("", "refresh-token-1")
		})
	}
}

// TestAUF_19_NoRefreshToken: a token that has run out is sent, so that the server's
// refusal says what the next sign-in has to ask for.
func TestAUF_19_NoRefreshToken(t *testing.T) {
	w := newWorld(t)
	g := grant("access-token-1", "")
	g.Expiry = time.Now().Add(-time.Minute)
	w.keep(g)
	c := w.client(Config{})
	if got := w.token(c); got != "access-token-1" {
		t.Errorf("the token is %q", got)
	}
	if err := c.Refused(t.Context(), redact.NewSecret("access-token-1"), Challenge{}); !signIn(err) {
		t.Errorf("got %v", err)
	}
	if got := w.token(c); got != "" {
		t.Errorf("a refused token is sent again: %q", got)
	}
	if got := w.token(w.client(Config{})); got != "" {
		t.Errorf("and by another Client: %q", got)
	}
	w.wantMade()
}

// TestSignedInElsewhere: a sign-in by another Client with the same store serves here.
func TestSignedInElsewhere(t *testing.T) {
	w := newWorld(t)
	here, there := w.client(Config{}), w.client(Config{})
	if got := w.token(here); got != "" {
		t.Errorf("the token is %q", got)
	}
	w.signIn(there)
	if err := here.Refused(t.Context(), redact.Secret{}, Challenge{}); err != nil {
		t.Errorf("got %v", err)
	}
	if got := w.token(here); got != "access-token-1" {
		t.Errorf("the token is %q", got)
	}
	if err := here.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Client{here, w.client(Config{})} {
		if got := w.token(c); got != "" {
			t.Errorf("the token is %q after it was forgotten", got)
		}
	}
	// Other credentials are another matter.
	if got := w.token(w.client(Config{ClientID: "mine"})); got != "" {
		t.Errorf("the token is %q", got)
	}
}

// TestAStoreThatFails: the error says so, and no token is lost that was had.
func TestAStoreThatFails(t *testing.T) {
	w := newWorld(t)
	w.store = brokenStore{}
	c := w.client(Config{})
	if _, err := c.Token(t.Context()); err == nil || !strings.Contains(err.Error(), "the store of tokens") {
		t.Errorf("got %v", err)
	}
	w.refused(c, "the store of tokens", "no space")
}

// TestSecretsStayHidden: a server that deals out tokens without end has those in use
// kept out of texts, and what does not change for good.
func TestSecretsStayHidden(t *testing.T) {
	w := newWorld(t)
	n := 0
	w.pages[tokens] = func(rw http.ResponseWriter, r *http.Request) {
		n++
		answering(200, fmt.Sprintf(`{"access_token":"access-token-%d"}`, n))(rw, r)
	}
	g := grant("access-token-0", "the-refresh-token")
	g.Client = Registration{ClientID: "client-1", Secret: redact.NewSecret("the-client-secret"), Method: methodPost}
	w.keep(g)
	c := w.client(Config{})
	for range 3 * hiddenTokens {
		if err := c.Refused(t.Context(), redact.NewSecret(w.token(c)), Challenge{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, secret := range []string{"the-refresh-token", "the-client-secret", w.token(c)} {
		if text := w.scrub.Text("it says " + secret); strings.Contains(text, secret) {
			t.Errorf("%s is shown", text)
		}
	}
	if text := w.scrub.Text("access-token-1"); text != "access-token-1" {
		t.Error("tokens that are long worthless fill the scrubber")
	}
}
