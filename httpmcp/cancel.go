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

// behind sends a message on a goroutine and a context of its own, which outlive
// the caller and ctx but neither helperTime nor the patience of Close. A failure
// is only logged: nobody waits for it.
func (t *Transport) behind(ctx context.Context, what string, link *mcpclient.Link, method string, body []byte) {
	opCtx, op, err := t.begin(ctx, true)
	if err != nil {
		return
	}
	go func() {
		defer t.end(op)
		opCtx, cancel := context.WithTimeout(opCtx, helperTime)
		defer cancel()
		if err := t.tell(opCtx, link, method, body); err != nil {
			t.log.Debug("a message to the server was lost", "server", t.url.Host, "message", what, "reason", err)
		}
	}()
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
	x.t.behind(ctx, "cancel", link, methodCancelled, append(body, "}}"...))
}
