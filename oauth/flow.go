package oauth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/redact"
)

// A Prompt puts the URL of a sign-in before the user, who goes there with a browser.
// It is called on a goroutine of its own and returns when the user was told, or with
// the address at which the browser has ended, or when ctx ends: then the browser has
// come back by itself, or the time is over.
type Prompt func(ctx context.Context, url string) (PromptAnswer, error)

// A PromptAnswer is what came of a Prompt.
type PromptAnswer struct {
	Opened   bool          // false: the user said no, or cannot be asked
	Callback redact.Secret // the address that the user pasted; empty for none
}

// A visit is one visit of the user at an authorization server. What it is compared
// with when the browser is back was recorded before it left (2026-07-28
// basic/authorization, "Authorization Response Validation").
type visit struct {
	c        *Client
	as       *serverMetadata // validated: its issuer is the expected one
	state    string
	verifier string
	url      string
}

// newVisit prepares the visit for g.
func (c *Client) newVisit(as *serverMetadata, g *Grant, redirectURI string) *visit {
	v := &visit{c: c, as: as, state: rand.Text(), verifier: oauth2.GenerateVerifier()}
	c.opts.Scrub.Add(v.state, v.verifier)
	config := oauth2.Config{
		ClientID:    g.Client.ClientID,
		Endpoint:    oauth2.Endpoint{AuthURL: as.authorize},
		RedirectURL: redirectURI,
		Scopes:      g.Asked,
	}
	v.url = config.AuthCodeURL(v.state, oauth2.S256ChallengeOption(v.verifier), oauth2.SetAuthURLParam("resource", g.Resource))
	return v
}

// forget takes the visit's own secrets, which are worth nothing any more, out of what
// texts are searched for.
func (v *visit) forget() { v.c.opts.Scrub.Forget(v.state, v.verifier) }

// code sends the user there and returns the code that comes back.
func (v *visit) code(ctx context.Context, prompt Prompt, back *loopback) (string, error) {
	wait := v.c.opts.Limits.Time(limit.SignInWait)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	back.expect(v.state)

	type told struct {
		PromptAnswer
		err error
	}
	answers := make(chan told, 1)
	go func() {
		answer, err := prompt(ctx, v.url)
		answers <- told{answer, err}
		close(answers)
	}()
	defer func() { // the question is over before this is
		cancel()
		for range answers {
		}
	}()
	for pending := answers; ; {
		select {
		case query := <-back.came:
			return v.read(query)
		case answer := <-pending:
			pending = nil
			pasted := answer.Callback.Reveal("the callback that the user pasted")
			switch {
			case ctx.Err() != nil:
			case answer.err != nil:
				return "", wanted("the user could not be asked to sign in")
			case pasted != "":
				return v.pasted(pasted)
			case !answer.Opened:
				return "", refused("", "the page to sign in was not opened")
			}
		case <-ctx.Done():
			if time.Until(deadline(ctx)) <= 0 {
				return "", refused("", "nobody came back from the page to sign in within "+wait.String())
			}
			return "", context.Cause(ctx)
		}
	}
}

func deadline(ctx context.Context) time.Time {
	at, _ := ctx.Deadline()
	return at
}

// pasted reads the address at which a browser has ended that could not reach us.
func (v *visit) pasted(address string) (string, error) {
	if len(address) > maxCallback {
		return "", refused("", "the pasted address is longer than 8 KiB")
	}
	_, query, found := strings.Cut(strings.TrimSpace(address), "?")
	query, _, _ = strings.Cut(query, "#")
	values, err := url.ParseQuery(query)
	if !found || err != nil {
		return "", refused("", "the pasted address is not the one at which the sign-in ends: copy the whole address from the browser")
	}
	if !v.isState(values) {
		return "", refused("", "the pasted address belongs to another sign-in: its state is not that of this one")
	}
	return v.read(values)
}

// isState compares in constant time.
func (v *visit) isState(values url.Values) bool { return sameState(values, v.state) }

func sameState(values url.Values, state string) bool {
	got := values["state"]
	return len(got) == 1 && state != "" && subtle.ConstantTimeCompare([]byte(got[0]), []byte(state)) == 1
}

// read judges an authorization response whose state is ours. Who sent it is settled
// before anything else of it is looked at, its error texts too (RFC 9207 section 2.4).
func (v *visit) read(values url.Values) (string, error) {
	const step = "the answer of the authorization server"
	v.c.opts.Scrub.Add(values["code"]...)
	defer v.c.opts.Scrub.Forget(values["code"]...)
	if err := checkIssuer(v.as, values); err != nil {
		return "", err
	}
	if failure := values["error"]; len(failure) > 0 {
		return "", refused(step, "it refuses: "+said(v.c.opts.Scrub, failure[0], values.Get("error_description")))
	}
	code := values["code"]
	if len(code) != 1 || code[0] == "" {
		return "", refused(step, "it holds no code")
	}
	return code[0], nil
}

// checkIssuer is the table of 2026-07-28 basic/authorization, "Authorization Response
// Validation". The comparison is byte for byte: nothing is made alike first.
func checkIssuer(as *serverMetadata, values url.Values) error {
	const step = "the answer of the authorization server"
	iss := values["iss"]
	switch {
	case len(iss) == 0 && as.iss:
		return refused(step, "it does not name its issuer, though the server says that its answers do; it may come from somebody else")
	case len(iss) > 1, len(iss) == 1 && iss[0] != as.issuer:
		return refused(step, "its issuer is not the one that the user was sent to; it may come from somebody else")
	}
	return nil
}
