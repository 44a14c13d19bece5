package httpmcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

// A fakeAuthorizer deals out tokens token-1, token-2 and so on: the next one after each
// refusal that it takes.
type fakeAuthorizer struct {
	mu      sync.Mutex
	number  int
	fails   error                // of Token
	judge   func(*Refusal) error // of Refused; nil takes every refusal
	refused []Refusal
	seen    []any // the values that contexts carried
}

type userKey struct{}

func (a *fakeAuthorizer) Token(ctx context.Context) (redact.Secret, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, ctx.Value(userKey{}))
	if a.number == 0 {
		return redact.Secret{}, a.fails
	}
	return redact.NewSecret(fmt.Sprintf("token-%d", a.number)), a.fails
}

func (a *fakeAuthorizer) Refused(_ context.Context, r *Refusal) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = append(a.refused, *r)
	if a.judge != nil {
		if err := a.judge(r); err != nil {
			return err
		}
	}
	a.number++
	return nil
}

// wanting serves as h once a request carries one of these tokens, and refuses others.
func wanting(h handler, status int, challenge string, tokens ...string) handler {
	return func(w http.ResponseWriter, r *http.Request, body string) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if slices.Contains(tokens, token) {
			h(w, r, body)
			return
		}
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(status)
		fmt.Fprint(w, strings.Repeat("no ", 100))
	}
}

func answersGood(w http.ResponseWriter, r *http.Request, body string) {
	w.Header().Set("Content-Type", "application/json")
	if strings.Contains(body, `"id":2`) {
		fmt.Fprint(w, strings.Replace(good, `"id":1`, `"id":2`, 1))
		return
	}
	fmt.Fprint(w, good)
}

func withAuth(a Authorizer) func(*Options) { return func(o *Options) { o.Auth = a } }

// TestAUF_13_TokenOnEveryRequest: POST, GET and DELETE, and never in the URL (AUF-14).
func TestAUF_13_TokenOnEveryRequest(t *testing.T) {
	a := &fakeAuthorizer{number: 1}
	r := newRig(t, func(w http.ResponseWriter, req *http.Request, body string) {
		switch {
		case req.Method == http.MethodGet:
			w.WriteHeader(405)
		case strings.Contains(body, `"id"`):
			answersGood(w, req, body)
		default:
			w.WriteHeader(202)
		}
	}, withAuth(a), func(o *Options) {
		o.Headers = []mcpclient.Header{{Name: "Authorization", Value: redact.NewSecret("Basic configured")}}
	})
	l := linkIn("session-1")
	if _, err := r.RoundTrip(t.Context(), call(l), nil); err != nil {
		t.Fatal(err)
	}
	if err := r.Notify(t.Context(), &mcpclient.Notification{Link: l, Method: "notifications/x", Body: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if err := r.Listen(t.Context(), l, nil, &listener{}); !errors.Is(err, mcpclient.ErrNoListen) {
		t.Fatal(err)
	}
	if err := r.Close(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	var methods []string
	for _, req := range r.requests() {
		methods = append(methods, req.Method)
		if got := req.Header["Authorization"]; !slices.Equal(got, []string{"Bearer token-1"}) {
			t.Errorf("%s carries %q", req.Method, got)
		}
	}
	if !slices.Equal(methods, []string{"POST", "POST", "GET", "DELETE"}) {
		t.Errorf("requests %q", methods)
	}
}

// TestRefusedAndSentAgain: once, when there is another token, with what the server said.
func TestRefusedAndSentAgain(t *testing.T) {
	const hint = `Bearer error="insufficient_scope", scope="a b", resource_metadata="https://mcp.test/x"`
	for _, row := range []struct {
		name      string
		status    int
		challenge string
		takes     string // the token that the server takes
		sent      int
		refusals  int
		err       string
		final     bool
	}{
		{"a token that has run out", 401, "Bearer", "token-2", 2, 1, "", false},
		{"no challenge", 401, "", "token-2", 2, 1, "", false},
		{"more scopes", 403, hint, "token-2", 2, 1, "", false},
		{"the new token is refused too", 401, "Bearer", "token-9", 2, 2, "status 401 Unauthorized: the server refuses the token, and a new one too", false},
		{"the new scopes are refused too", 403, hint, "token-9", 2, 2, "status 403 Forbidden: the server refuses the token, and a new one too", true},
		{"forbidden for another reason", 403, "Bearer", "token-2", 1, 0, "status 403 Forbidden: no no", false},
		{"a challenge with another status", 400, hint, "token-2", 1, 0, "status 400", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, request := range []*mcpclient.Request{call(link(modern)), list(link(modern))} {
				a := &fakeAuthorizer{number: 1}
				r := newRig(t, wanting(answersGood, row.status, row.challenge, row.takes), withAuth(a))
				ctx := context.WithValue(t.Context(), userKey{}, "the user")
				_, err := r.RoundTrip(ctx, request, nil)
				if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
					t.Errorf("%s: %v, want %q", request.Method, err, row.err)
				}
				if wire, ok := errors.AsType[*mcpclient.WireError](err); ok && row.refusals > 0 && (wire.Delivered != "no" || wire.Status != row.status || wire.Final != row.final) {
					t.Errorf("%s: %+v", request.Method, wire)
				}
				if got := len(r.requests()); got != row.sent {
					t.Errorf("%s was sent %d times, want %d", request.Method, got, row.sent)
				}
				// An id is not used twice where the request can have another.
				if got := r.requests(); len(got) == 2 && (got[0].Body == got[1].Body) != (request.Again == nil) {
					t.Errorf("%s was sent as %s and then as %s", request.Method, got[0].Body, got[1].Body)
				}
				if len(a.refused) != row.refusals {
					t.Fatalf("%s: %d refusals were told, want %d", request.Method, len(a.refused), row.refusals)
				}
				for i, refusal := range a.refused {
					if refusal.Status != row.status || refusal.Last != (i == 1) || !strings.HasPrefix(refusal.Operation, request.Method) ||
						refusal.Token.Reveal("a test") != fmt.Sprintf("token-%d", i+1) || row.challenge == hint && refusal.Bearer["scope"] != "a b" {
						t.Errorf("%s: told of %+v", request.Method, refusal)
					}
				}
				if slices.ContainsFunc(a.seen, func(v any) bool { return v != "the user" }) {
					t.Errorf("the values of the context are lost: %v", a.seen)
				}
			}
		})
	}
}

// TestRefusedForGood: the Authorizer's reason is the error, and nothing is sent again.
func TestRefusedForGood(t *testing.T) {
	reason := errors.New("the user said\nno")
	a := &fakeAuthorizer{judge: func(*Refusal) error { return reason }}
	r := newRig(t, wanting(answersGood, 401, "Bearer", "token-1"), withAuth(a))
	for _, do := range []func() error{
		func() error { _, err := r.RoundTrip(t.Context(), call(link(legacy)), nil); return err },
		func() error {
			return r.Notify(t.Context(), &mcpclient.Notification{Link: link(legacy), Method: "notifications/x", Body: []byte(`{}`)})
		},
	} {
		err := do()
		wire, ok := errors.AsType[*mcpclient.WireError](err)
		if !ok || wire.Reason != redact.Escape(reason.Error()) || wire.Status != 401 || wire.Delivered != "no" || !errors.Is(err, reason) {
			t.Errorf("got %+v", err)
		}
	}
	if got := r.requests(); len(got) != 2 || got[0].Header["Authorization"] != nil {
		t.Errorf("requests %+v", got)
	}

	// A notification has nobody to ask for more scopes.
	a.judge = nil
	r = newRig(t, wanting(answersGood, 403, `Bearer error="insufficient_scope"`, "token-9"), withAuth(a))
	if err := r.Notify(t.Context(), &mcpclient.Notification{Link: link(legacy), Method: "notifications/x", Body: []byte(`{}`)}); err == nil || !strings.Contains(err.Error(), "status 403") {
		t.Errorf("got %v", err)
	}
	if len(r.requests()) != 1 || len(a.refused) != 2 {
		t.Errorf("%d requests, %d refusals", len(r.requests()), len(a.refused))
	}
}

// TestNotificationSentAgain: with a new token, which the server takes.
func TestNotificationSentAgain(t *testing.T) {
	a := &fakeAuthorizer{number: 1}
	r := newRig(t, wanting(func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(202) }, 401, "Bearer", "token-2"), withAuth(a))
	if err := r.Notify(t.Context(), &mcpclient.Notification{Link: link(legacy), Method: "notifications/x", Body: []byte(`{}`)}); err != nil {
		t.Error(err)
	}
	if got := r.requests(); len(got) != 2 || got[0].Body != got[1].Body {
		t.Errorf("requests %+v", got)
	}
}

// TestNoToken: what cannot be had now fails the request unsent.
func TestNoToken(t *testing.T) {
	a := &fakeAuthorizer{fails: errors.New("the token could not be renewed")}
	r := newRig(t, answersGood, withAuth(a))
	_, err := r.RoundTrip(t.Context(), call(link(modern)), nil)
	if wire, ok := errors.AsType[*mcpclient.WireError](err); !ok || wire.Delivered != "no" || wire.Status != 0 || !strings.Contains(wire.Reason, "could not be renewed") {
		t.Errorf("got %+v", err)
	}
	if len(r.requests()) != 0 {
		t.Error("the request was sent")
	}
}

// TestWithoutAuthorizer: a refusal is the server's answer, as for configured headers.
func TestWithoutAuthorizer(t *testing.T) {
	r := newRig(t, wanting(answersGood, 401, "Bearer", "token-1"))
	if _, err := r.RoundTrip(t.Context(), call(link(modern)), nil); err == nil || !strings.Contains(err.Error(), "status 401 Unauthorized: no no") {
		t.Errorf("got %v", err)
	}
}
