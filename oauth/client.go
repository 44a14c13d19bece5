package oauth

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/redact"
)

// Config is what a configuration may say about signing in to a server. The zero value
// finds everything out.
type Config struct {
	ClientID     string        // of a client that is registered already; "" to register
	ClientSecret redact.Secret // of that client; empty for a public one
	Issuer       string        // the only authorization server to use; "" for the one that is found
	MetadataURL  string        // of a client id metadata document; https with a path; "" for none
	ClientName   string        // that users see at the authorization server; "" for "toolhost"
	Scopes       []string      // to ask for in place of what the server publishes
	RedirectPort int           // on 127.0.0.1, for the browser to come back to; 0 for any
}

// Options are a Client's. HTTP, Store, Scrub and User must be set.
type Options struct {
	Config

	// HTTP returns what makes every request. It must follow no redirect, send no
	// header of its own and keep no cookie, as the client that httpmcp.NewClient
	// makes. local says that the MCP server is on this machine; for another it
	// connects by Dial.
	HTTP func(local bool) *http.Client

	Store  Store
	Limits limit.Table
	Scrub  *redact.Scrubber
	Log    *slog.Logger // nil: nothing is logged

	// User returns how the user is asked whom a call is made for, whose context it
	// is; nil when nobody stands behind it, as in background work.
	User func(ctx context.Context) Prompt
}

// A Client is us, to one MCP server and its authorization server. All methods may be
// called from any goroutine.
type Client struct {
	opts   Options
	server *url.URL
	http   *http.Client
	local  bool // the server is on this machine
	key    Key

	turn chan struct{} // holds one while a sign-in or a renewal is under way

	mu        sync.Mutex
	loaded    bool            // guarded by mu; grant is what the store has
	grant     *Grant          // guarded by mu; replaced as a whole; nil for none
	challenge *Challenge      // guarded by mu; what the next sign-in answers; nil for nothing
	failure   *Error          // guarded by mu; of the last sign-in; nil once the user asks again
	steps     map[string]int  // guarded by mu; how often more scopes were asked for, by operation
	denied    map[string]bool // guarded by mu; sets of scopes that were not granted
	hidden    []redact.Secret // guarded by mu; tokens that may still be echoed, the oldest first
	kept      []redact.Secret // guarded by mu; secrets that stay hidden
}

// New returns the Client for the MCP server at rawURL. It does no I/O. The error says,
// in words for who wrote the configuration, why signing in is not possible.
func New(rawURL redact.Secret, opts *Options) (*Client, error) {
	u, err := url.Parse(rawURL.Reveal("the server to sign in to"))
	if err != nil || u.Host == "" {
		return nil, refused("", "the url cannot be read")
	}
	c := &Client{opts: *opts, server: u, local: onThisMachine(u.Hostname()), turn: make(chan struct{}, 1)}
	if u.Scheme != "https" && !(u.Scheme == "http" && c.local) {
		return nil, refused("", "oauth needs an https url, or one on this machine: a token that is sent by http can be read on the way")
	}
	c.http = opts.HTTP(c.local)
	if c.opts.Log == nil {
		c.opts.Log = slog.New(slog.DiscardHandler)
	}
	if c.opts.ClientName == "" {
		c.opts.ClientName = "toolhost"
	}
	if c.opts.MetadataURL != "" {
		if doc, err := checkURL(c.opts.MetadataURL, false); err != nil || doc.Scheme != "https" || doc.Path == "" || doc.Path == "/" {
			return nil, refused("", "oauth: clientMetadataUrl must be an https URL with a path")
		}
	}
	client := c.opts.ClientID
	if client == "" {
		client = c.opts.MetadataURL
	}
	c.key = Key{Server: canonical(u), Issuer: c.opts.Issuer, Client: client}
	c.hideForGood(c.opts.ClientSecret)
	return c, nil
}

// Format prints nothing of a Client for any verb.
func (c *Client) Format(f fmt.State, _ rune) { io.WriteString(f, "[OAuth client]") }

// hiddenTokens is how many tokens of one server are kept out of texts: those in use,
// and some that a late answer may still echo. A server can deal them out without end.
const hiddenTokens = 16

// hide keeps tokens out of every text from now on, until so many others were used
// later.
func (c *Client) hide(tokens ...redact.Secret) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, token := range tokens {
		if token.Empty() {
			continue
		}
		if i := slices.IndexFunc(c.hidden, token.Equal); i >= 0 {
			c.hidden = slices.Delete(c.hidden, i, i+1)
		} else {
			c.opts.Scrub.Add(reveal(token))
		}
		if c.hidden = append(c.hidden, token); len(c.hidden) > hiddenTokens {
			c.opts.Scrub.Forget(reveal(c.hidden[0]))
			c.hidden = slices.Delete(c.hidden, 0, 1)
		}
	}
}

// hideForGood keeps secrets that do not change out of every text from now on.
func (c *Client) hideForGood(secrets ...redact.Secret) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, secret := range secrets {
		if !secret.Empty() && !slices.ContainsFunc(c.kept, secret.Equal) {
			c.kept = append(c.kept, secret)
			c.opts.Scrub.Add(reveal(secret))
		}
	}
}

func reveal(secret redact.Secret) string { return secret.Reveal("the scrubber") }

// current returns the grant in use, nil for none. It reads the store once.
func (c *Client) current(ctx context.Context) (*Grant, error) {
	c.mu.Lock()
	loaded, grant := c.loaded, c.grant
	c.mu.Unlock()
	if loaded {
		return grant, nil
	}
	record, err := c.opts.Store.Load(ctx, c.key)
	if err != nil {
		return nil, c.stored(err)
	}
	if record != nil {
		grant = record.Grant
		c.learn(record)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.loaded {
		c.loaded, c.grant = true, grant
	}
	return c.grant, nil
}

// stored is the error of a store that cannot be used.
func (c *Client) stored(err error) error {
	return &Error{Step: "the store of tokens", Reason: c.opts.Scrub.Reason(err.Error(), 2*shownText), SignIn: true, Err: err}
}

// learn makes the secrets of a record known before they are used.
func (c *Client) learn(record *Record) {
	if g := record.Grant; g != nil {
		c.hideForGood(g.Client.Secret)
		c.hide(g.Access, g.Refresh)
	}
	for _, client := range record.Registrations {
		c.hideForGood(client.Secret)
	}
}

// use makes a grant the one in use.
func (c *Client) use(grant *Grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded, c.grant = true, grant
}

// begin waits for the turn to sign in or renew, and returns what gives it back.
func (c *Client) begin(ctx context.Context) (end func(), err error) {
	select {
	case c.turn <- struct{}{}:
		return func() { <-c.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Token returns the access token for the next request, renewed where its time is over
// and it can be; empty when the user is not signed in. An error means that there was
// a token and it could not be renewed now.
func (c *Client) Token(ctx context.Context) (redact.Secret, error) {
	g, err := c.current(ctx)
	if err != nil || g == nil {
		return redact.Secret{}, err
	}
	if (g.expired() || g.Access.Empty()) && !g.Refresh.Empty() {
		if g, err = c.renew(ctx, g); err != nil || g == nil {
			return redact.Secret{}, err
		}
	}
	// One that has run out and cannot be renewed is sent all the same: the server's
	// refusal carries the challenge that the next sign-in answers.
	return g.Access, nil
}

// Forget signs the user out here: the tokens are forgotten, in the store too, and no
// request is made with them any more. What the client was registered as stays.
func (c *Client) Forget(ctx context.Context) error {
	end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	c.mu.Lock()
	c.loaded, c.grant, c.failure, c.steps, c.denied = true, nil, nil, nil, nil
	c.mu.Unlock()
	err = c.opts.Store.Update(ctx, c.key, func(r *Record) (*Record, error) {
		r.Grant = nil
		return r, nil
	})
	if err != nil {
		return c.stored(err)
	}
	return nil
}
