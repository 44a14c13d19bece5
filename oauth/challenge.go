package oauth

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/redact"
)

// A Challenge is why a server refuses a request for want of authorization: its status
// and what its WWW-Authenticate header says under Bearer (RFC 6750 section 3, RFC 9728
// section 5.1).
type Challenge struct {
	// Insufficient means that the token is good and its scopes do not reach: status
	// 403 with error="insufficient_scope". Else no token, or none that is good.
	Insufficient bool

	Scope            string // the scopes that it takes, "" when it does not say
	ResourceMetadata string // where the server says who it is, "" when it does not say

	// Last means that the request is not sent again, whatever Refused returns: a
	// token was fetched for it already.
	Last bool

	// Operation is what was refused, to count how often more is asked for it.
	Operation string
}

// maxSteps is how often more scopes are asked for one operation until the user asks
// to sign in (T56).
const maxSteps = 3

// Refused is told that the server has refused a request that carried token, empty for
// none. It returns nil when the request may be sent once more, with what Token
// returns then. Renewing is done here; a user is asked only for more scopes, and only
// one who stands behind the request.
func (c *Client) Refused(ctx context.Context, token redact.Secret, ch Challenge) error {
	g, err := c.current(ctx)
	if err != nil {
		return err
	}
	if g != nil && !g.Access.Empty() && !token.Equal(g.Access) {
		return nil // it was replaced while the request was under way
	}
	if ch.Insufficient && !ch.Last && g != nil && !g.Access.Empty() {
		return c.stepUp(ctx, g, ch)
	}
	if g != nil && !g.Refresh.Empty() && !ch.Last {
		next, err := c.renew(ctx, g)
		if err != nil || next != nil {
			return err
		}
	}
	if !ch.Last && c.elsewhere(ctx, token) {
		return nil
	}
	if !ch.Insufficient && !token.Empty() {
		c.drop(ctx, token)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.challenge = &ch
	if c.failure != nil {
		return c.failure // final until the user asks again
	}
	return wanted("the server wants its user to sign in")
}

// drop takes a token that the server has refused out of use, and out of the store.
// What the grant says besides stays: who we are there, and which scopes were asked for.
func (c *Client) drop(ctx context.Context, token redact.Secret) {
	without := func(g *Grant) *Grant {
		if g == nil || !g.Access.Equal(token) {
			return g
		}
		dropped := *g
		dropped.Access = redact.Secret{}
		return &dropped
	}
	c.mu.Lock()
	c.grant = without(c.grant)
	c.mu.Unlock()
	err := c.opts.Store.Update(ctx, c.key, func(r *Record) (*Record, error) {
		r.Grant = without(r.Grant)
		return r, nil
	})
	if err != nil {
		c.opts.Log.Warn("a refused token could not be taken out of the store", "reason", c.stored(err))
	}
}

// elsewhere reports whether the user has signed in to the server by another Client with
// the same store, whose grant is then in use here too.
func (c *Client) elsewhere(ctx context.Context, token redact.Secret) bool {
	record, err := c.opts.Store.Load(ctx, c.key)
	if err != nil || record == nil || record.Grant == nil || record.Grant.Access.Empty() || record.Grant.Access.Equal(token) {
		return false
	}
	c.learn(record)
	c.use(record.Grant)
	return true
}

// Challenged reports whether the server has refused a request and a sign-in may change
// that.
func (c *Client) Challenged() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.challenge != nil
}

// stepUp asks the user for more scopes (2026-07-28 basic/authorization, "Step-Up
// Authorization Flow"). Calls that are refused side by side ask once.
func (c *Client) stepUp(ctx context.Context, g *Grant, ch Challenge) error {
	scopes := union(g.Asked, g.Granted, splitScopes(ch.Scope))
	set := strings.Join(scopes, " ")
	if within(splitScopes(ch.Scope), union(g.Asked, g.Granted)) {
		return refused("", "the server refuses the request for want of scopes that the user has signed in with already ("+c.opts.Scrub.Reason(ch.Scope, shownText)+")")
	}
	c.mu.Lock()
	c.challenge = &ch
	denied, steps := c.denied[set], c.steps[ch.Operation]
	c.mu.Unlock()
	prompt := c.opts.User(ctx)
	switch {
	case denied:
		return refused("", "the server wants more scopes, which were not granted when the user was asked ("+c.opts.Scrub.Reason(ch.Scope, shownText)+")")
	case steps >= maxSteps:
		return refused("", "the server wanted more scopes for this "+strconv.Itoa(maxSteps)+" times already")
	case prompt == nil:
		return wanted("the server wants its user to sign in with more scopes (" + c.opts.Scrub.Reason(ch.Scope, shownText) + ")")
	}
	end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if now, err := c.current(ctx); err != nil || now != g {
		return err // another call has asked meanwhile
	}
	err = c.signIn(ctx, prompt, ch)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.steps == nil {
		c.steps, c.denied = map[string]int{}, map[string]bool{}
	}
	c.steps[ch.Operation]++
	if failure, ok := errors.AsType[*Error](err); ok && failure.SignIn && ctx.Err() == nil {
		c.denied[set] = true
	}
	return err
}
