package httpmcp

import (
	"context"
	"io"
	"maps"
	"net/http"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

// An Authorizer gives requests their bearer token. The Transport calls it for every
// request, from the goroutines that make them, many at once; ctx carries the values of
// the caller's. Its errors are shown, scrubbed.
type Authorizer interface {
	// Token returns the token to send, empty for none. An error fails the request
	// unsent.
	Token(ctx context.Context) (redact.Secret, error)

	// Refused is told that the server has refused a request for want of
	// authorization, which proves that it has not acted on it. When it returns nil
	// the request is sent once more, with what Token returns then. It may take as
	// long as ctx lasts.
	Refused(ctx context.Context, r *Refusal) error
}

// A Refusal is a server's refusal of one request: status 401, or 403 whose challenge
// says insufficient_scope (RFC 6750 section 3.1).
type Refusal struct {
	Token     redact.Secret     // that the request carried; empty for none
	Status    int               // 401 or 403
	Bearer    map[string]string // the parameters of the Bearer challenge, by name in lower case; nil for none
	Operation string            // the request's method, with the name of what it calls
	Last      bool              // the request was sent twice already and is not sent again
}

const opAuthorize = "authorize"

// credential returns header with the token of the request that it is for. What is
// configured as Authorization gives way to it.
func (t *Transport) credential(ctx context.Context, header http.Header) (http.Header, redact.Secret, error) {
	if t.auth == nil {
		return header, redact.Secret{}, nil
	}
	token, err := t.auth.Token(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, token, context.Cause(ctx)
	case err != nil:
		return nil, token, &mcpclient.WireError{Op: opAuthorize, Reason: t.shown(err.Error()), Delivered: "no", Err: err}
	case token.Empty():
		return header, token, nil
	}
	header = maps.Clone(header)
	header["Authorization"] = []string{"Bearer " + token.Reveal("the token of every request to its server")}
	return header, token, nil
}

// unauthorized looks whether a reply refuses the request for want of authorization and
// reports whether it is worth sending again. When it is, or there is an error, the
// reply has been closed.
func (t *Transport) unauthorized(ctx context.Context, resp *http.Response, r *Refusal) (again bool, err error) {
	if t.auth == nil {
		return false, nil
	}
	r.Status, r.Bearer = resp.StatusCode, bearerChallenge(resp.Header)
	switch {
	case r.Status == http.StatusUnauthorized:
	case r.Status == http.StatusForbidden && r.Bearer["error"] == "insufficient_scope":
	default:
		return false, nil
	}
	// Read to its end, the connection serves the next sending.
	io.CopyN(io.Discard, resp.Body, int64(t.limits.Int(limit.Drain)))
	resp.Body.Close()
	err = t.auth.Refused(ctx, r)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err == nil && !r.Last:
		return true, nil
	}
	failure := &mcpclient.WireError{Op: opAuthorize, Status: r.Status, Delivered: "no", Err: err}
	failure.Reason = statusText(r.Status) + ": the server refuses the token, and a new one too"
	if err != nil {
		failure.Reason = t.shown(err.Error())
	}
	// Without a token the whole server is of no use; without a scope, this request.
	failure.Final = r.Status == http.StatusForbidden
	return false, failure
}

// sendAuthorized sends the request, and once more when the server has refused its
// token and there is another.
func (x *exchange) sendAuthorized(ctx context.Context) (*http.Response, error) {
	for last := false; ; last = true {
		resp, err := x.send(ctx)
		if err != nil {
			return nil, err
		}
		again, err := x.t.unauthorized(ctx, resp, &Refusal{Token: x.token, Operation: x.operation(), Last: last})
		switch {
		case err != nil:
			return nil, err
		case !again:
			return resp, nil
		}
		if x.req.Again != nil {
			x.carry(x.req.Again())
		}
		x.sent.again(true)
	}
}

// operation names the request for who counts what was refused.
func (x *exchange) operation() string {
	if x.req.Name == "" {
		return x.req.Method
	}
	return x.req.Method + " " + x.req.Name
}
