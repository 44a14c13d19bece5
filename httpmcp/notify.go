package httpmcp

import (
	"context"

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
	var sent attempt
	resp, err := t.post(sent.watch(ctx), t.side, t.postHeaders(link, method, "", nil), body, &sent)
	if err != nil {
		return t.sendError(err, &sent)
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
