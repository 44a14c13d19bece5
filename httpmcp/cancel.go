package httpmcp

import (
	"context"
	"errors"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
)

// helperTime bounds what goes on behind the caller's back: the POST of a cancel,
// or of an answer to the server.
const helperTime = 5 * time.Second

// cancelPause is how long a cancel waits before it is sent. It travels on another
// connection than its request; without the pause it overtook 13 of 100 requests that
// were given up at random with 64 in flight (conformance/soak), and a server that
// does not know the id yet ignores the cancel and runs the call to its end.
const cancelPause = 50 * time.Millisecond

// behind does work on a goroutine and a context of its own, which outlive the
// caller and ctx but neither helperTime nor the patience of Close. It returns false
// when the Transport is closed and nothing will be done.
func (t *Transport) behind(ctx context.Context, work func(ctx context.Context)) bool {
	opCtx, op, err := t.begin(ctx, true)
	if err != nil {
		return false
	}
	go func() {
		defer t.end(op)
		opCtx, cancel := context.WithTimeout(opCtx, helperTime)
		defer cancel()
		work(opCtx)
	}()
	return true
}

// mention sends a message that nobody waits for: a failure is only logged.
func (t *Transport) mention(ctx context.Context, what string, link *mcpclient.Link, method string, body []byte) {
	if err := t.tell(ctx, link, method, body); err != nil {
		t.log.Debug("a message to the server was lost", "server", t.url.Host, "message", what, "reason", err)
	}
}

const methodCancelled = "notifications/cancelled"

// sendCancelled tells the server that nobody waits for a request any more, where
// the revision has that message; elsewhere, the closing of the response stream
// has said it. It returns at once: the caller has given up (B141).
func (x *exchange) sendCancelled(ctx context.Context) {
	link, cause := x.req.Link, context.Cause(ctx)
	if !link.Revision.CancelMessage || x.req.NoCancel || !x.sent.connected {
		return
	}
	if _, ended := cause.(*mcpclient.WireError); ended {
		return // by the server: see Transport.RoundTrip
	}
	reason := "the caller gave up the request"
	if errors.Is(cause, context.DeadlineExceeded) {
		reason = "the request took too long"
	}
	body := append([]byte(`{"jsonrpc":"2.0","method":"`+methodCancelled+`","params":{"requestId":`), x.id...)
	body = rawjson.AppendString(append(body, `,"reason":`...), reason)
	body = append(body, "}}"...)
	x.t.behind(ctx, func(ctx context.Context) {
		if sleep(ctx, cancelPause) != nil || !x.sent.wrote() {
			return // only after the pause is it certain that nothing was written
		}
		x.t.mention(ctx, "cancel", link, methodCancelled, body)
	})
}
