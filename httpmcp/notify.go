package httpmcp

import (
	"context"
	"net/http"

	"github.com/toolhost/toolhost/mcpclient"
)

// Notify implements mcpclient.Transport. Any 2xx is the server's receipt; neither
// its media type nor its body is looked at (B001, B003, B005).
func (t *Transport) Notify(ctx context.Context, n *mcpclient.Notification) error {
	opCtx, op, err := t.begin(ctx, false)
	if err != nil {
		return err
	}
	defer t.end(op)
	stop := context.AfterFunc(ctx, func() { op.abort(context.Cause(ctx)) })
	defer stop()
	if err = t.tell(opCtx, n.Link, n.Method, n.Body); opCtx.Err() != nil && err != nil {
		return context.Cause(opCtx)
	}
	return err
}

// tell sends a message that has no answer. method is "" for one that is itself an
// answer.
func (t *Transport) tell(ctx context.Context, link *mcpclient.Link, method string, body []byte) error {
	resp, err := t.tellAuthorized(ctx, t.postHeaders(link, method, "", nil), method, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := t.checkHead(resp); err != nil {
		return err
	}
	if resp.StatusCode/100 == 2 {
		return nil
	}
	refusal, err := t.refused(resp, link)
	if err != nil {
		return err
	}
	return &mcpclient.WireError{Op: "send", Status: resp.StatusCode, Delivered: "unknown",
		Reason: t.scrub.Reason(statusText(resp.StatusCode)+": "+refusal.Err.Error(), shownBody)}
}

// tellAuthorized sends the message, and once more when the server has refused its
// token and there is another.
func (t *Transport) tellAuthorized(ctx context.Context, plain http.Header, method string, body []byte) (*http.Response, error) {
	for last := false; ; last = true {
		header, token, err := t.credential(ctx, plain)
		if err != nil {
			return nil, err
		}
		var sent attempt
		resp, err := t.post(sent.watch(ctx), t.side, header, body, &sent)
		if err != nil {
			return nil, t.sendError(err, &sent)
		}
		if resp.StatusCode != http.StatusUnauthorized {
			return resp, nil // nobody is asked for more scopes for this
		}
		again, err := t.unauthorized(ctx, resp, &Refusal{Token: token, Operation: method, Last: last})
		switch {
		case err != nil:
			return nil, err
		case !again:
			return resp, nil
		}
	}
}
