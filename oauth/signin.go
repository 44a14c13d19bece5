package oauth

import (
	"context"
	"errors"
	"net/url"
)

// SignIn signs the user in, who is asked by what Options.User returns for ctx. It
// answers the newest challenge of the server, with one visit of a browser at most.
// What it fails with stays the answer of Refused until it is called again.
func (c *Client) SignIn(ctx context.Context) error {
	prompt := c.opts.User(ctx)
	if prompt == nil {
		return wanted("nobody can be asked to sign in here")
	}
	end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if _, err := c.current(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	ch := Challenge{}
	if c.challenge != nil {
		ch = *c.challenge
	}
	c.failure, c.steps, c.denied = nil, nil, nil
	c.mu.Unlock()
	err = c.signIn(ctx, prompt, ch)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.challenge = nil
	case ctx.Err() == nil: // else the caller gave up, and that is no refusal
		c.failure = final(err)
	}
	return err
}

// final is a failure as it stays until the user asks again: an endpoint that could not
// be reached may be reached later, but nobody is sent there by himself.
func final(err error) *Error {
	failure, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{Reason: err.Error(), SignIn: true, Err: err}
	}
	failed := *failure
	failed.SignIn = true
	return &failed
}

// signIn does it. The caller has the turn.
func (c *Client) signIn(ctx context.Context, prompt Prompt, ch Challenge) error {
	record, err := c.opts.Store.Load(ctx, c.key)
	if err != nil {
		return c.stored(err)
	}
	if record == nil {
		record = &Record{}
	}
	c.learn(record)
	f := c.fetcher()
	resource, err := c.discoverResource(ctx, f, ch.ResourceMetadata)
	if err != nil {
		return err
	}
	issuer, err := c.issuer(resource, func(issuer string) bool {
		_, registered := record.Registrations[issuer]
		return registered
	})
	if err != nil {
		return err
	}
	as, err := c.discoverServer(ctx, f, issuer, resource.assumed)
	if err != nil {
		return err
	}
	client, back, err := c.client(ctx, f, as, record.Registrations)
	if err != nil {
		return err
	}
	defer back.Close()
	if err := c.keepRegistration(ctx, as.issuer, client); err != nil {
		return err
	}
	var before []string
	if old := c.asked(); old != nil && old.Issuer == as.issuer && old.Resource == resource.resource {
		before = union(old.Asked, old.Granted)
	}
	g := &Grant{
		Issuer: as.issuer, Client: client, Resource: resource.resource, TokenEndpoint: as.token,
		Asked: choose(splitScopes(ch.Scope), c.opts.Scopes, before, resource, as),
	}
	if err := c.authorize(ctx, f, as, g, prompt, back); err != nil {
		return err
	}
	return c.keep(ctx, g)
}

// asked returns the grant whose scopes a new one must not lose.
func (c *Client) asked() *Grant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.grant
}

// authorize sends the user to the authorization server and exchanges what comes back
// for tokens.
func (c *Client) authorize(ctx context.Context, f *fetcher, as *serverMetadata, g *Grant, prompt Prompt, back *loopback) error {
	v := c.newVisit(as, g, back.uri)
	defer v.forget()
	code, err := v.code(ctx, prompt, back)
	if err != nil {
		return err
	}
	c.opts.Scrub.Add(code)
	defer c.opts.Scrub.Forget(code)
	return c.token(ctx, f, g, url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {code},
		"code_verifier": {v.verifier},
		"redirect_uri":  {back.uri},
	})
}

// keepRegistration stores what a dynamic registration gave, before it is used: a
// sign-in that comes to nothing then does not register again the next time.
func (c *Client) keepRegistration(ctx context.Context, issuer string, client Registration) error {
	if client.RedirectURI == "" {
		return nil // not one that was made here
	}
	err := c.opts.Store.Update(ctx, c.key, func(r *Record) (*Record, error) {
		if r.Registrations == nil {
			r.Registrations = map[string]Registration{}
		}
		r.Registrations[issuer] = client
		return r, nil
	})
	if err != nil {
		return c.stored(err)
	}
	return nil
}

// keep stores a grant and makes it the one in use.
func (c *Client) keep(ctx context.Context, g *Grant) error {
	err := c.opts.Store.Update(ctx, c.key, func(r *Record) (*Record, error) {
		r.Grant = g
		return r, nil
	})
	if err != nil {
		return c.stored(err)
	}
	c.use(g)
	return nil
}
