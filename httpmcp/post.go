package httpmcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/mcpclient/envelope"
	"github.com/toolhost/toolhost/redact"
)

// RoundTrip implements mcpclient.Transport.
func (t *Transport) RoundTrip(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (*mcpclient.Response, error) {
	opCtx, op, err := t.begin(ctx, false)
	if err != nil {
		return nil, err
	}
	x := newExchange(t, req, h)
	x.deadline, _ = ctx.Deadline()
	stop := context.AfterFunc(ctx, func() { op.abort(context.Cause(ctx)) })
	defer x.end(op, stop)

	resp, err := x.run(opCtx)
	if err == nil || opCtx.Err() == nil {
		return resp, err
	}
	// The caller gave up, or the Transport is being closed: whatever err says is
	// what that did to the connection.
	x.sendCancelled(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	closed := *errClosed
	closed.Delivered = x.sent.delivered(nil)
	return nil, &closed
}

// An exchange is one request and all that comes back for it. It belongs to the
// goroutine of its RoundTrip.
type exchange struct {
	t       *Transport
	req     *mcpclient.Request
	handler mcpclient.Handler
	id      []byte // of the request, as JSON
	idText  [20]byte
	sent    attempt
	token   redact.Secret // that was sent; empty for none

	// deadline is the caller's, zero for none. It decides whether a wait is worth
	// beginning; what ends the exchange is the context.
	deadline time.Time

	body io.Closer // of the reply being read; nil when there is none
	rest io.Reader // of an answered stream, to be drained; nil when there is none
}

func newExchange(t *Transport, req *mcpclient.Request, h mcpclient.Handler) *exchange {
	x := &exchange{t: t, handler: h}
	x.carry(req)
	return x
}

// carry makes req the request that is sent and whose answer is looked for.
func (x *exchange) carry(req *mcpclient.Request) {
	x.req, x.id = req, strconv.AppendInt(x.idText[:0], req.ID, 10)
}

func (x *exchange) run(ctx context.Context) (*mcpclient.Response, error) {
	if err := x.t.shared.acquire(ctx); err != nil {
		return nil, err
	}
	defer x.t.shared.release()
	resp, err := x.sendAuthorized(ctx)
	if err != nil {
		return nil, err
	}
	x.body = resp.Body
	return x.read(ctx, resp)
}

// end closes what is open. An answered stream is drained for a moment, so that
// its connection can serve the next call, but not on the caller's time.
func (x *exchange) end(op *operation, stop func() bool) {
	stop()
	if x.rest == nil {
		if x.body != nil {
			x.body.Close()
		}
		x.t.end(op)
		return
	}
	go func() {
		defer x.t.end(op)
		x.t.drain(x.rest, x.body)
	}()
}

// send sends the request and returns the head of its reply.
func (x *exchange) send(ctx context.Context) (*http.Response, error) {
	t, req := x.t, x.req
	header, token, err := t.credential(ctx, t.postHeaders(req.Link, req.Method, req.Name, req.Headers))
	if err != nil {
		return nil, err
	}
	x.token = token
	ctx = x.sent.watch(ctx)
	var resp *http.Response
	if req.Again != nil {
		resp, err = x.sendRepeatable(t.request(ctx, http.MethodPost, header, nil))
	} else {
		resp, err = t.post(ctx, t.calls, header, req.Body, &x.sent)
	}
	if err != nil {
		return nil, t.sendError(err, &x.sent)
	}
	return resp, nil
}

// maxSends bounds how often a message is sent when nothing of it ever reaches the
// server. Each time a kept connection may turn out to be closed.
const maxSends = 3

// post sends a message, and again only when none of it can have been received.
//
// The request has no GetBody: with one, net/http sends a POST again by itself,
// and a configured Idempotency-Key header makes it do so even when the server may
// have acted on it.
func (t *Transport) post(ctx context.Context, by http.RoundTripper, header http.Header, body []byte, sent *attempt) (*http.Response, error) {
	for n := 1; ; n++ {
		t.kept.shun(by)
		resp, err := by.RoundTrip(t.request(ctx, http.MethodPost, header, body))
		if err == nil || ctx.Err() != nil {
			return resp, err
		}
		t.kept.note(sent)
		if n == maxSends || !sent.unsent(err) {
			return nil, err
		}
		sent.again(true)
	}
}

// request returns a request to the server. Its header is shared and not written
// to.
func (t *Transport) request(ctx context.Context, method string, header http.Header, body []byte) *http.Request {
	r := (&http.Request{
		Method: method, URL: t.url, Host: t.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return r
}

// read finds the answer in the reply.
func (x *exchange) read(ctx context.Context, resp *http.Response) (*mcpclient.Response, error) {
	t := x.t
	if err := t.checkHead(resp); err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return t.refused(resp, x.req.Link)
	}
	body, err := t.decoded(resp)
	if err != nil {
		return nil, err
	}
	var answer *mcpclient.Response
	switch kind := kindOf(resp.Header); kind {
	case eventStream:
		answer, err = x.readStream(ctx, body)
	case oneJSON, untyped:
		answer, err = x.readJSON(ctx, resp, body, kind)
	default:
		err = &mcpclient.WireError{Op: opRead, Delivered: "unknown", NotMCP: true,
			Reason: "the answer is neither JSON nor an event stream: " + t.quote(resp.Header.Get("Content-Type"), resp)}
	}
	var failure *mcpclient.WireError
	if errors.As(err, &failure) && failure.Status == 0 {
		failure.Status = resp.StatusCode
	}
	if answer != nil {
		answer.Status = resp.StatusCode
		if isHandshake(x.req.Link, x.req.Method) && answer.Err == nil {
			answer.Session, err = t.openedSession(resp.Header)
		}
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// readJSON reads a reply of one body.
func (x *exchange) readJSON(ctx context.Context, resp *http.Response, body io.Reader, kind replyKind) (*mcpclient.Response, error) {
	size := resp.ContentLength
	if body != resp.Body {
		size = -1 // it is the size before decompression
	}
	data, err := readBody(body, size, x.t.limits)
	if err != nil {
		return nil, x.t.readError(err)
	}
	nothing := &mcpclient.WireError{Op: opRead, Delivered: "unknown", NotMCP: true}
	if len(bytes.TrimSpace(data)) == 0 {
		nothing.Reason = statusText(resp.StatusCode) + " without an answer to the request"
		return nil, nothing
	}
	if kind == untyped && rawjson.KindOf(withoutMark(data)) != rawjson.Dict {
		nothing.Reason = "the answer has no Content-Type and is no JSON object"
		return nil, nothing
	}
	answer, err := x.take(ctx, data)
	if err == nil && answer == nil {
		err = &mcpclient.WireError{Op: opRead, Delivered: "unknown", Reason: "the reply holds no answer to the request"}
	}
	return answer, err
}

// take gives out what a body or an event holds. It returns the answer to our
// request when it is among that.
func (x *exchange) take(ctx context.Context, data []byte) (*mcpclient.Response, error) {
	data = withoutMark(data)
	if !isBatch(data) {
		return x.takeOne(ctx, data)
	}
	if !x.req.Link.Revision.Batches {
		return nil, &mcpclient.WireError{Op: opRead, Delivered: "yes", NotMCP: true,
			Reason: "the answer is malformed: it is a batch, which revision " + x.req.Link.Revision.Name + " does not have"}
	}
	if err := rawjson.Check(data, x.t.bounds()); err != nil {
		return nil, x.t.badMessage(err)
	}
	var answer *mcpclient.Response
	for _, element := range rawjson.Elements(data) {
		found, err := x.takeOne(ctx, element)
		if err != nil {
			return nil, err
		}
		if answer == nil {
			answer = found // the first one counts (B057)
		}
	}
	return answer, nil
}

func (x *exchange) takeOne(ctx context.Context, data []byte) (*mcpclient.Response, error) {
	m, err := envelope.Parse(data, x.t.bounds())
	if err != nil {
		return nil, x.t.badMessage(err)
	}
	if m.Method != "" {
		x.t.dispatch(ctx, x.req.Link, &m, x.handler)
		return nil, nil
	}
	match := match(&m, x.id)
	switch {
	case match == ours, match == nobodys && m.Err != nil: // an error without id is this POST's (B081)
		return &mcpclient.Response{Result: m.Result, Err: m.Err}, nil
	case match == foreign:
		x.t.log.Debug("a response to another request was ignored", "server", x.t.url.Host)
		return nil, nil
	}
	return nil, &mcpclient.WireError{Op: opRead, Delivered: "yes",
		Reason: "the answer is malformed: its id is not the number that the request has"}
}

// drain reads what is left of an answered reply, within L07, and closes it.
func (t *Transport) drain(rest io.Reader, body io.Closer) {
	// Closing is what ends a Read that waits; it leaves the connection unusable,
	// which is what L07 wants by then.
	timer := time.AfterFunc(t.limits.Time(limit.DrainTime), func() { body.Close() })
	defer timer.Stop()
	io.CopyN(io.Discard, rest, int64(t.limits.Int(limit.Drain)))
	body.Close()
}
