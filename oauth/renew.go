package oauth

import (
	"context"
	"errors"
	"net/url"
)

// renew replaces the tokens of a grant by its refresh token (RFC 6749 section 6). Many
// callers, and many processes with one store, make one request: whoever comes later
// finds the new tokens. It returns the grant to use, nil when the user has to sign in
// again.
func (c *Client) renew(ctx context.Context, old *Grant) (*Grant, error) {
	end, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if now, err := c.current(ctx); err != nil || now != old {
		return now, err
	}
	var next *Grant
	var failure error
	lost := false
	err = c.opts.Store.Update(ctx, c.key, func(r *Record) (*Record, error) {
		if g := r.Grant; g != nil && !g.Access.Empty() && !g.Access.Equal(old.Access) && !g.expired() {
			c.learn(r)
			next = g // another process was first
			return r, nil
		} else if g != nil && g.Issuer == old.Issuer && !g.Refresh.Empty() {
			old = g // its refresh token may be newer than ours
		}
		c.learn(&Record{Grant: old})
		fresh := *old
		form := url.Values{
			"grant_type":    {"refresh_token"},
			"refresh_token": {old.Refresh.Reveal("the renewal at the token endpoint that issued it")},
		}
		switch err := c.token(ctx, c.fetcher(), &fresh, form); {
		case errors.Is(err, errDenied):
			// Used up, withdrawn, or used by a thief: none of them is good any more
			// (RFC 9700 section 4.14.2).
			c.opts.Log.Warn("the token of the MCP server could not be renewed; its user has to sign in again", "reason", err)
			lost = true
			r.Grant = &Grant{Issuer: old.Issuer, Client: old.Client, Resource: old.Resource, TokenEndpoint: old.TokenEndpoint, Asked: old.Asked, Granted: old.Granted}
			next = r.Grant
			return r, nil
		case err != nil:
			failure = passing(err)
			return nil, failure
		}
		next, r.Grant = &fresh, &fresh
		return r, nil
	})
	switch {
	case failure != nil:
		return nil, failure
	case next == nil: // the store did not come to it
		return nil, c.stored(err)
	case err != nil:
		// The authorization server has taken the old token back already.
		c.opts.Log.Warn("the renewed token could not be stored; it is used all the same", "reason", c.stored(err))
	}
	c.use(next)
	if lost {
		return nil, nil
	}
	return next, nil
}

// passing is the error of a renewal that was not denied: the refresh token may still be
// good, so the user is not troubled.
func passing(err error) error {
	if failure, ok := errors.AsType[*Error](err); ok {
		later := *failure
		later.SignIn = false
		return &later
	}
	return err
}
