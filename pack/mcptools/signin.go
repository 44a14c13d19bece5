package mcptools

import (
	"context"
	"net/http"
	"sync"

	"github.com/toolhost/toolhost/httpmcp"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/oauth"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
	"github.com/toolhost/toolhost/redact"
)

// A signer makes what signs in to servers. The packs of one Install share it.
type signer struct {
	tokens oauth.Store // nil: each pack has its own
	once   sync.Once
	public *http.Client // for servers on other machines; made by once, with the limits of the first pack
	local  *http.Client // for servers on this one; made by once
}

// store returns where a new pack keeps its tokens.
func (s *signer) store() oauth.Store {
	if s.tokens == nil {
		return oauth.NewMemoryStore()
	}
	return s.tokens
}

// client returns what signs in to an entry's server. The error is safe to show.
func (s *signer) client(entry *mcpclient.Entry, config *oauth.Config, store oauth.Store, host *pack.Host) (*oauth.Client, error) {
	// Its own client: what is configured for the MCP server, headers above all, must
	// not reach an authorization server (T03).
	s.once.Do(func() {
		s.public = httpmcp.NewClient(&httpmcp.ClientConfig{Limits: host.Limits, Dial: oauth.Dial})
		s.local = httpmcp.NewClient(&httpmcp.ClientConfig{Limits: host.Limits})
	})
	return oauth.New(entry.URL, &oauth.Options{
		Config: *config,
		HTTP: func(local bool) *http.Client {
			if local {
				return s.local
			}
			return s.public
		},
		Store:  store,
		Limits: host.Limits,
		Scrub:  host.Scrub,
		Log:    bridge.NewServer(entry.Name, host).Logger(),
		User:   userOf,
	})
}

// An authorizer gives the requests of one connection their tokens. It implements
// httpmcp.Authorizer.
type authorizer struct{ *oauth.Client }

// authorizerOf returns nil, and not an interface that holds nil, for a server that is
// not signed in to.
func authorizerOf(client *oauth.Client) httpmcp.Authorizer {
	if client == nil {
		return nil
	}
	return authorizer{client}
}

func (a authorizer) Refused(ctx context.Context, r *httpmcp.Refusal) error {
	return a.Client.Refused(ctx, r.Token, oauth.Challenge{
		Insufficient:     r.Status == http.StatusForbidden,
		Scope:            r.Bearer["scope"],
		ResourceMetadata: r.Bearer["resource_metadata"],
		Operation:        r.Operation,
		Last:             r.Last,
	})
}

// userKey is the key under which a context has the call that it is made for.
type userKey struct{}

// forUser returns a context in which the user of r may be asked to sign in.
func forUser(ctx context.Context, r *running) context.Context {
	return context.WithValue(ctx, userKey{}, r)
}

// userOf returns how the user behind a context is asked, nil when there is none, or
// none who can be sent to a page.
func userOf(ctx context.Context) oauth.Prompt {
	r, ok := ctx.Value(userKey{}).(*running)
	if !ok || !canOpen(r.server.pack.host) {
		return nil
	}
	return r.signIn
}

// canOpen reports whether the host takes URLs to open.
func canOpen(host *pack.Host) bool { return host.Ask != nil && host.Asks[pack.AskOpen] }

// signIn has the host open the page at which the user signs in. While the user is
// there, the time of the call stands still (H-08).
func (r *running) signIn(ctx context.Context, url string) (oauth.PromptAnswer, error) {
	if r.clock != nil {
		r.clock.pause()
		defer r.clock.resume()
	}
	answer, err := r.server.pack.host.Ask(ctx, &pack.Question{
		Kind:    pack.AskOpen,
		Invoke:  r.call.ID,
		Run:     r.call.Run,
		Server:  r.server.name,
		URL:     url,
		Purpose: "sign-in",
	})
	if err != nil {
		r.server.say.Logger().Debug("the page to sign in was not opened", "reason", redact.Cut(err.Error(), 256))
		return oauth.PromptAnswer{}, err
	}
	opened := answer.Action == pack.Accept
	if opened && answer.Callback.Empty() {
		<-ctx.Done() // until the browser is back, or the time for that is over
	}
	return oauth.PromptAnswer{Opened: opened, Callback: answer.Callback}, nil
}

// maxSignIns is how often one /connect sends the user to a page: once, and once more
// where the server then wants more scopes for the very listing.
const maxSignIns = 2

// signIn answers /connect for a server that waits for its user: the user signs in, and
// the server is connected to. It returns the state after that.
func (s *server) signIn(ctx context.Context, call *pack.Call) (*state, error) {
	st, err := s.now(), error(nil)
	if st.link != nil && st.link.isLost() || st.link == nil && !(st.needsSignIn && s.auth.Challenged()) {
		// It is not known yet what the server wants, or whether it wants anything.
		if st, err = s.conn.again(ctx); err != nil {
			return nil, s.say.NotSent(ctx, err)
		}
	}
	for range maxSignIns {
		if st.link != nil || !st.needsSignIn || !s.auth.Challenged() {
			return st, nil
		}
		if !canOpen(s.pack.host) {
			return nil, bridge.Message("server %s wants its user to sign in, and this host opens no pages (capability open)", s.say.Quoted())
		}
		failed := s.auth.SignIn(forUser(ctx, &running{server: s, call: call}))
		if ctx.Err() != nil {
			return nil, s.say.Ended(ctx)
		}
		// After a failure too: the state then says why.
		if st, err = s.conn.again(ctx); err != nil {
			return nil, s.say.NotSent(ctx, err)
		}
		if failed != nil && st.link == nil {
			e := bridge.Message("signing in to server %s failed: %s", s.say.Quoted(), s.pack.host.Scrub.Reason(failed.Error(), bridge.ShownReason))
			e.Server, e.Delivered = s.name, pack.DeliveredNo
			return nil, e
		}
	}
	return st, nil
}
