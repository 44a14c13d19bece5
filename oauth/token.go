package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

// A Grant is what a user has granted us at one authorization server for one resource.
// It carries all that its renewal takes.
type Grant struct {
	Issuer        string
	Client        Registration
	Resource      string // as published
	TokenEndpoint string

	Access  redact.Secret // empty once the server has refused it
	Refresh redact.Secret // empty when none was issued
	Expiry  time.Time     // when Access is renewed; zero when its life is not known
	Asked   []string      // the scopes that were asked for
	Granted []string      // those that were granted, as far as the answer said
}

// errDenied is in the error for an answer of the token endpoint that says that it will
// not issue a token (RFC 6749 section 5.2).
var errDenied = errors.New("denied")

// token makes a request of the token endpoint and reads the new tokens into g. form
// holds what the grant type wants; resource and client authentication are added.
func (c *Client) token(ctx context.Context, f *fetcher, g *Grant, form url.Values) error {
	step := at("the token endpoint", g.TokenEndpoint)
	// RFC 8707 section 2.2: in every request, renewals too.
	form.Set("resource", g.Resource)
	secret := g.Client.Secret.Reveal("the client's authentication at its token endpoint")
	if g.Client.Method != methodBasic {
		form.Set("client_id", g.Client.ClientID)
	}
	if g.Client.Method == methodPost {
		form.Set("client_secret", secret)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.TokenEndpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return refused(step, "it is at no valid URL")
	}
	request.GetBody = nil // a code and a refresh token are good once: nothing is sent twice
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if g.Client.Method == methodBasic {
		// RFC 6749 section 2.3.1: encoded before they are joined by a colon.
		request.SetBasicAuth(url.QueryEscape(g.Client.ClientID), url.QueryEscape(secret))
		c.opts.Scrub.Add(request.Header.Get("Authorization"))
		defer c.opts.Scrub.Forget(request.Header.Get("Authorization"))
	}
	a, err := f.do(ctx, step, request, limit.SignInAnswer)
	switch {
	case err != nil:
		return err
	case a.status/100 == 5 || a.status == http.StatusTooManyRequests || a.status == http.StatusRequestTimeout:
		return &Error{Step: step, Reason: statusText(a.status), Err: errStatus}
	case a.object == nil && a.status/100 != 2:
		return refused(step, statusText(a.status))
	case a.object == nil:
		return refused(step, "the answer is "+a.wrong.Error())
	case a.status/100 != 2 || a.object.Get("error") != nil: // some send 200 with an error
		return &Error{Step: step, Reason: "it refuses: " + saidIn(c.opts.Scrub, a.object), SignIn: true, Err: errDenied}
	}
	return c.readToken(step, g, a.object)
}

// maxToken bounds a token, which goes on every request (T57).
const maxToken = 16 << 10

// readToken reads a successful answer (RFC 6749 section 5.1).
func (c *Client) readToken(step string, g *Grant, object rawjson.Object) error {
	access, refresh := rawjson.Text(object.Get("access_token")), rawjson.Text(object.Get("refresh_token"))
	kind := object.Opt("token_type")
	switch {
	case !isToken(access):
		return refused(step, "the answer holds no access_token of at most 16 KiB of visible ASCII")
	case refresh != "" && !isToken(refresh):
		return refused(step, "its refresh_token is not made of at most 16 KiB of visible ASCII")
	case kind != nil && !strings.EqualFold(rawjson.Text(kind), "Bearer"):
		return refused(step, "its token is not of the type Bearer, and others are not supported")
	}
	g.Access = redact.NewSecret(access)
	c.hide(g.Access, redact.NewSecret(refresh))
	if refresh != "" {
		// RFC 6749 section 6: without a new one, the old one stays good.
		g.Refresh = redact.NewSecret(refresh)
	}
	g.Expiry = expiry(object.Get("expires_in"))
	if scope := object.Opt("scope"); scope != nil {
		g.Granted = splitScopes(rawjson.Text(scope))
	}
	return nil
}

// isToken reports whether s can stand behind "Bearer ". More characters are taken than
// RFC 6750 section 2.1 allows, since there are servers whose tokens hold a bar.
func isToken(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return s != "" && len(s) <= maxToken
}

// Renewal begins a little before a token ends, so that none ends under way.
const early = 30 * time.Second

// maxLife keeps a number of seconds from overflowing anything.
const maxLife = 10 * 365 * 24 * time.Hour

// expiry reads expires_in, which some servers write as a string. The zero Time is
// for a life that is not known.
func expiry(value []byte) time.Time {
	text := string(value)
	if rawjson.KindOf(value) == rawjson.String {
		text = rawjson.Text(value)
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds > 0) {
		return time.Time{}
	}
	life := maxLife
	if seconds < maxLife.Seconds() {
		life = time.Duration(seconds * float64(time.Second))
	}
	return time.Now().Add(life - min(early, life/4)).Round(0)
}

// expired reports whether the access token should be renewed before it is used.
func (g *Grant) expired() bool { return !g.Expiry.IsZero() && !time.Now().Before(g.Expiry) }
