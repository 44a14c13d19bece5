package httpmcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/toolhost/toolhost/httpmcp/sse"
	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/mcpclient/envelope"
)

const (
	// listenIdle ends a stream on which nothing, not even a comment, comes for
	// so long (L34): between us and the server something may have forgotten the
	// connection without a word. Servers are asked to send comments, and a
	// stream that was only quiet is simply opened again.
	listenIdle = 120 * time.Second

	// wellAfter is how long a stream must have been open for the next waits to
	// begin anew, so that a server that accepts and closes is not stormed (T16).
	wellAfter = 30 * time.Second
)

// Listen implements mcpclient.Transport. Where the stream is a GET, a stream that
// was open and ends is opened again after a wait, from its last event on, as often
// as it takes while the server is away; what else goes wrong is returned. A
// subscription ends with its stream (nil when the server ended it in order), since
// a new one is a new request.
func (t *Transport) Listen(ctx context.Context, link *mcpclient.Link, req *mcpclient.Request, l mcpclient.Listener) error {
	opCtx, op, err := t.begin(ctx, false)
	if err != nil {
		return err
	}
	defer t.end(op)
	stop := context.AfterFunc(ctx, func() { op.abort(context.Cause(ctx)) })
	defer stop()

	switch {
	case link.Revision.ListenByGet:
		err = t.listenByGet(opCtx, link, l)
	case req != nil:
		err = t.subscribe(opCtx, req, l)
	default:
		err = mcpclient.ErrNoListen
	}
	if opCtx.Err() != nil {
		return context.Cause(opCtx)
	}
	return err
}

func (t *Transport) listenByGet(ctx context.Context, link *mcpclient.Link, l mcpclient.Listener) error {
	header := t.headersFor(link).get
	var reopen pace
	for opened := false; ; {
		began := time.Now()
		events, err := t.listenOnce(ctx, link, header, opened, l)
		var asked time.Duration // to stay away for
		switch away, ok := passing(err); {
		case ctx.Err() != nil, err != nil && !(ok && opened):
			return err
		case err != nil:
			asked = away
		default:
			opened = true
			if time.Since(began) >= wellAfter {
				reopen.well()
			}
			if id := events.LastID(); canResumeFrom(id) && link.Revision.Resume {
				header = header.Clone()
				header[headerLastEventID] = []string{id}
			}
			reopen.heed(events.Retry())
		}
		if err := sleep(ctx, max(reopen.next(), asked)); err != nil {
			return err
		}
	}
}

// passing reports whether an opening failed in a way that may pass, and what the
// server asked us to wait.
func passing(err error) (wait time.Duration, ok bool) {
	var wire *mcpclient.WireError
	if !errors.As(err, &wire) || wire.Final || wire.SessionLost {
		return 0, false
	}
	return wire.RetryAfter, true
}

// listenOnce opens the stream and reads it to its end. The error says that it
// could not be opened, or must not be opened again.
func (t *Transport) listenOnce(ctx context.Context, link *mcpclient.Link, header http.Header, again bool, l mcpclient.Listener) (*sse.Decoder, error) {
	ctx, idle := watchIdle(ctx)
	defer idle.stop()
	var sent attempt
	// A refusal of the token is no reason for a new one: the next call will tell.
	authorized, _, err := t.credential(ctx, header)
	if err != nil {
		return nil, err
	}
	resp, err := t.side.RoundTrip(t.request(sent.watch(ctx), http.MethodGet, authorized, nil))
	if err != nil {
		return nil, t.sendError(err, &sent)
	}
	defer resp.Body.Close()
	if err := t.checkHead(resp); err != nil {
		return nil, err
	}
	if err := t.listenRefused(resp, link, again); err != nil {
		return nil, err
	}
	body, err := t.decoded(resp)
	if err != nil {
		return nil, err
	}
	var lastID string
	if ids := header[headerLastEventID]; ids != nil {
		lastID = ids[0]
	}
	l.Opened()
	events := sse.NewDecoder(idle.reader(body), t.limits, sse.Options{Endless: true, LastID: lastID})
	for {
		event, err := events.Next()
		if err != nil {
			var over *limit.Error
			if errors.As(err, &over) {
				return nil, over
			}
			return events, nil
		}
		if isMessage(event) {
			t.overhear(ctx, link, event.Data, l)
		}
	}
}

// listenRefused judges the reply to a GET. Only a POST is needed to work, so what
// a server makes of the GET is no failure (2025-11-25 transports, "Listening for
// Messages from the Server" 3; B023, B025).
func (t *Transport) listenRefused(resp *http.Response, link *mcpclient.Link, again bool) error {
	switch status := resp.StatusCode; {
	case status/100 == 2 && isType(resp.Header, typeStream):
		return nil
	case status/100 == 3:
		return t.redirected(resp)
	case status == http.StatusNotFound && again && !link.Session.Empty(), status/100 == 5 && status != http.StatusNotImplemented, maybeLater(status):
		_, err := t.refused(resp, link)
		if err != nil {
			return err
		}
	}
	return mcpclient.ErrNoListen
}

// overhear gives out what the server says of its own accord. There is no request
// here that could fail, so what is malformed is left out.
func (t *Transport) overhear(ctx context.Context, link *mcpclient.Link, data []byte, h mcpclient.Handler) {
	if link.Revision.Batches && isBatch(data) && rawjson.Check(data, t.bounds()) == nil {
		for _, element := range rawjson.Elements(data) {
			t.overhear(ctx, link, element, h)
		}
		return
	}
	m, err := envelope.Parse(data, t.bounds())
	if err != nil || m.Method == "" {
		t.log.Debug("a message on the server's own stream was ignored", "server", t.url.Host)
		return
	}
	t.dispatch(ctx, link, &m, h)
}

// subscribe sends a request whose answer is a stream that stays open.
func (t *Transport) subscribe(ctx context.Context, req *mcpclient.Request, l mcpclient.Listener) error {
	ctx, idle := watchIdle(ctx)
	defer idle.stop()
	x := newExchange(t, req, l)
	header, _, err := t.credential(ctx, t.postHeaders(req.Link, req.Method, req.Name, req.Headers))
	if err != nil {
		return err
	}
	resp, err := t.post(x.sent.watch(ctx), t.side, header, req.Body, &x.sent)
	if err != nil {
		return t.sendError(err, &x.sent)
	}
	defer resp.Body.Close()
	if err := t.checkHead(resp); err != nil {
		return err
	}
	var answer *mcpclient.Response
	switch status := resp.StatusCode; {
	case status/100 != 2:
		answer, err = t.refused(resp, req.Link)
		if err != nil && status/100 == 4 && !maybeLater(status) {
			return mcpclient.ErrNoListen
		}
	case isType(resp.Header, typeStream):
		var body io.Reader
		if body, err = t.decoded(resp); err != nil {
			return err
		}
		l.Opened()
		events := sse.NewDecoder(idle.reader(body), t.limits, sse.Options{Endless: true})
		answer, err = x.readEvents(ctx, events)
		var cut *streamCut
		if errors.As(err, &cut) {
			return &mcpclient.WireError{Op: "listen", Reason: "the stream of the subscription ended", Delivered: "unknown"}
		}
	case isType(resp.Header, typeJSON):
		answer, err = x.readJSON(ctx, resp, resp.Body, oneJSON)
	default:
		return mcpclient.ErrNoListen
	}
	if err != nil {
		return err
	}
	return t.subscriptionEnd(answer)
}

// codeUnknownMethod is JSON-RPC's code for a method that a server does not have.
const codeUnknownMethod = -32601

func (t *Transport) subscriptionEnd(answer *mcpclient.Response) error {
	switch {
	case answer.Err == nil:
		return nil
	case answer.Err.Code == codeUnknownMethod:
		return mcpclient.ErrNoListen
	}
	return &mcpclient.WireError{Op: "listen", Status: answer.Status, Delivered: "unknown",
		Reason: t.scrub.Reason("the server refused the subscription: "+answer.Err.Error(), shownBody)}
}

// An idleWatch ends a context when nothing was read for listenIdle.
type idleWatch struct {
	timer  *time.Timer
	cancel context.CancelFunc
}

func watchIdle(ctx context.Context) (context.Context, *idleWatch) {
	ctx, cancel := context.WithCancel(ctx)
	return ctx, &idleWatch{time.AfterFunc(listenIdle, cancel), cancel}
}

func (w *idleWatch) stop() {
	w.timer.Stop()
	w.cancel()
}

func (w *idleWatch) reader(r io.Reader) io.Reader { return &idleReader{r, w.timer} }

// An idleReader starts the timer anew whenever something comes.
type idleReader struct {
	r     io.Reader
	timer *time.Timer
}

func (i *idleReader) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	if n > 0 {
		i.timer.Reset(listenIdle)
	}
	return n, err
}
