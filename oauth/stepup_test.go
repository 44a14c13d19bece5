package oauth

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/redact"
)

// TestSCP_01_Scopes is 2026-07-28 basic/authorization, "Scope Selection Strategy".
func TestSCP_01_Scopes(t *testing.T) {
	for _, row := range []struct {
		name                                     string
		challenged, configured, before, resource string
		server                                   string
		want                                     string
	}{
		{"nobody names any", "", "", "", "", "", ""},
		{"the challenge", "a b", "", "", "c d", "", "a b"},
		{"what the resource publishes", "", "", "", "c d", "", "c d"},
		{"what is configured", "", "x", "", "c d", "", "x"},
		{"what is configured and the challenge", "a", "x", "", "c d", "", "x a"},
		{"what was asked for before", "a", "", "b a", "c", "", "b a"},
		{"renewal where it is offered", "a", "", "", "", "offline_access a", "a offline_access"},
		{"renewal alone would replace the default", "", "", "", "", "offline_access", ""},
		{"renewal that is not offered", "a", "", "", "", "a b", "a"},
		{"twice the same", "a a", "", "a", "", "", "a"},
	} {
		got := choose(splitScopes(row.challenged), splitScopes(row.configured), splitScopes(row.before),
			&resourceMetadata{scopes: splitScopes(row.resource)}, &serverMetadata{scopes: splitScopes(row.server)})
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
	if got := splitScopes("a  b\ta \"c\" d\\e größe"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
}

// more is the challenge of an operation that wants scopes.
func more(operation, scopes string) Challenge {
	return Challenge{Insufficient: true, Scope: scopes, Operation: operation}
}

// TestSCP_05_StepUp: the new token has the old scopes and the new ones, over three steps.
func TestSCP_05_StepUp(t *testing.T) {
	w := newWorld(t)
	n := 0
	w.pages[tokens] = answering(200, `{"access_token":"access-token-0"}`)
	c := w.client(Config{})
	if err := c.Refused(t.Context(), redact.Secret{}, Challenge{Scope: "read"}); err == nil {
		t.Fatal("there is a token already")
	}
	w.signIn(c)
	for _, step := range []struct{ scope, want string }{{"write", "read write"}, {"admin read", "read write admin"}, {"root", "read write admin root"}} {
		n++
		w.pages[tokens] = answering(200, `{"access_token":"access-token-`+strconv.Itoa(n)+`"}`)
		if err := c.Refused(t.Context(), redact.NewSecret(w.token(c)), more("tools/call a", step.scope)); err != nil {
			t.Fatal(err)
		}
		if got := w.visits[len(w.visits)-1].Get("scope"); got != step.want {
			t.Errorf("asked for %q, want %q", got, step.want)
		}
		if got, want := w.token(c), "access-token-"+strconv.Itoa(n); got != want {
			t.Errorf("the token is %q, want %q", got, want)
		}
	}
	if got := slices.Index(w.made(), register); got < 0 || len(w.visits) != 4 {
		t.Errorf("%d visits", len(w.visits))
	}

	// A fourth for the same operation is one too many; another operation may ask.
	token := redact.NewSecret(w.token(c))
	if err := c.Refused(t.Context(), token, more("tools/call a", "more")); err == nil || !strings.Contains(err.Error(), "3 times") {
		t.Errorf("got %v", err)
	}
	if err := c.Refused(t.Context(), token, more("tools/call b", "more")); err != nil {
		t.Errorf("got %v", err)
	}
	if len(w.visits) != 5 {
		t.Errorf("%d visits", len(w.visits))
	}
}

// TestSCP_04_OnePrompt: calls that are refused side by side ask the user once.
func TestSCP_04_OnePrompt(t *testing.T) {
	w := newWorld(t)
	w.keep(grant("access-token-0", ""))
	c := w.client(Config{})
	old := redact.NewSecret(w.token(c))
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if err := c.Refused(t.Context(), old, more("tools/call a", "write")); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if len(w.visits) != 1 {
		t.Errorf("the user was sent away %d times", len(w.visits))
	}
}

// TestT56_NoLoops: what cannot help is not asked for, and what was denied is not asked
// for again.
func TestT56_NoLoops(t *testing.T) {
	w := newWorld(t)
	g := grant("access-token-0", "refresh-token-0")
	g.Asked, g.Granted = []string{"read"}, []string{"read", "extra"}
	w.keep(g)
	c := w.client(Config{})
	token := redact.NewSecret(w.token(c))
	for _, scopes := range []string{"read", "extra read", ""} {
		if err := c.Refused(t.Context(), token, more("tools/call a", scopes)); err == nil || !strings.Contains(err.Error(), "signed in with already") {
			t.Errorf("%q: %v", scopes, err)
		}
	}
	w.prompt = func(ctx context.Context, page string) (PromptAnswer, error) {
		w.at(page)
		return PromptAnswer{}, nil
	}
	for i := range 3 {
		err := c.Refused(t.Context(), token, more("tools/call "+strconv.Itoa(i), "write"))
		if want := []string{"was not opened", "not granted", "not granted"}[i]; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if len(w.visits) != 1 {
		t.Errorf("the user was sent away %d times", len(w.visits))
	}
	if got := w.token(c); got != "access-token-0" {
		t.Errorf("the token that was good for less is gone: %q", got)
	}
	// The user acts.
	w.prompt = nil
	w.signIn(c)
	if got := w.visits[1].Get("scope"); got != "read extra write" {
		t.Errorf("asked for %q", got)
	}
}

// TestStepUpWithoutAUser: background work leaves it to the user's next sign-in.
func TestStepUpWithoutAUser(t *testing.T) {
	w := newWorld(t)
	w.alone = true
	w.keep(grant("access-token-0", ""))
	c := w.client(Config{})
	token := redact.NewSecret(w.token(c))
	if c.Challenged() {
		t.Error("nothing was refused yet")
	}
	if err := c.Refused(t.Context(), token, more("tools/list", "list")); !signIn(err) || !strings.Contains(err.Error(), "list") {
		t.Errorf("got %v", err)
	}
	if !c.Challenged() {
		t.Error("the challenge is lost")
	}
	w.wantMade()
	w.alone = false
	w.signIn(c)
	if got := w.visits[0].Get("scope"); got != "list" {
		t.Errorf("asked for %q", got)
	}
	if c.Challenged() {
		t.Error("the challenge is still there")
	}
}

// TestScopesOfAnotherServer: what was asked for at one authorization server is not
// asked for at another.
func TestScopesOfAnotherServer(t *testing.T) {
	w := newWorld(t)
	g := grant("", "")
	g.Issuer, g.Asked = "https://first.test", []string{"theirs"}
	w.keep(g)
	w.leave = func(query url.Values) url.Values { return query }
	w.signIn(w.client(Config{}))
	if scope, ok := w.visits[0]["scope"]; ok {
		t.Errorf("asked for %q", scope)
	}
}
