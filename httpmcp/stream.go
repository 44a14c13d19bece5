package httpmcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/toolhost/toolhost/httpmcp/sse"
	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/mcpclient/envelope"
)

// readStream reads an event stream up to the answer. A stream that ends before it
// is resumed where the revision and the server have that.
func (x *exchange) readStream(ctx context.Context, body io.Reader) (*mcpclient.Response, error) {
	var lastID string
	var reopen pace
	for {
		events := sse.NewDecoder(body, x.t.limits, sse.Options{LastID: lastID})
		answer, err := x.readEvents(ctx, events)
		var cut *streamCut
		if !errors.As(err, &cut) {
			if answer != nil {
				x.rest = body
			}
			return answer, err
		}
		if !x.req.Link.Revision.Resume || !canResumeFrom(events.LastID()) {
			return nil, cut.wireError("")
		}
		x.body.Close()
		if events.LastID() != lastID {
			reopen.well()
		}
		reopen.heed(events.Retry())
		lastID = events.LastID()
		if body, err = x.resume(ctx, lastID, &reopen, cut); err != nil {
			return nil, err
		}
	}
}

// readEvents takes events until one of them is the answer. The error is a
// *streamCut when the stream ended first.
func (x *exchange) readEvents(ctx context.Context, events *sse.Decoder) (*mcpclient.Response, error) {
	for {
		event, err := events.Next()
		if err != nil {
			var over *limit.Error
			if errors.As(err, &over) {
				return nil, over
			}
			if ctx.Err() != nil {
				return nil, &streamCut{err} // by us: the server has not ended it
			}
			if answer := x.unfinished(events); answer != nil {
				return answer, nil
			}
			return nil, &streamCut{err}
		}
		if !isMessage(event) {
			continue
		}
		if answer, err := x.take(ctx, event.Data); answer != nil || err != nil {
			return answer, err
		}
	}
}

// unfinished takes the answer from an event that the end of the stream cut off
// (B045). A whole JSON object cannot have lost anything. Nothing else is taken
// from such an event: it was not dispatched, and may come again.
func (x *exchange) unfinished(events *sse.Decoder) *mcpclient.Response {
	event, ok := events.Unfinished()
	if !ok || !isMessage(event) {
		return nil
	}
	m, err := envelope.Parse(event.Data, x.t.bounds())
	if err != nil || m.Method != "" || match(&m, x.id) != ours {
		return nil
	}
	return &mcpclient.Response{Result: m.Result, Err: m.Err}
}

// isMessage reports whether an event is one that MCP defines. Others, such as
// "ping", are ignored, and so is blank data.
func isMessage(e sse.Event) bool {
	return (e.Type == "" || e.Type == "message") && len(bytes.TrimSpace(e.Data)) > 0
}

// A streamCut says that an event stream ended before the answer.
type streamCut struct {
	err error // io.EOF, or what broke it
}

func (c *streamCut) Error() string { return "stream cut" }

func (c *streamCut) wireError(more string) *mcpclient.WireError {
	reason := "the stream ended before the answer"
	if c.err != io.EOF {
		reason = "the stream broke off before the answer: " + cause(c.err)
	}
	return &mcpclient.WireError{Op: opRead, Reason: reason + more, Delivered: "unknown"}
}

// maxReopens bounds how often in a row a stream is opened again without anything
// new coming of it.
const maxReopens = 5

// resume opens the stream again behind the event lastID (2025-11-25 transports,
// "Resumability and Redelivery") and returns its body.
func (x *exchange) resume(ctx context.Context, lastID string, reopen *pace, cut *streamCut) (io.Reader, error) {
	t := x.t
	header := t.headersFor(x.req.Link).get.Clone()
	header[headerLastEventID] = []string{lastID}
	for reopen.tries < maxReopens {
		if err := sleep(ctx, reopen.next()); err != nil {
			return nil, err
		}
		authorized, _, err := t.credential(ctx, header)
		if err != nil {
			return nil, err
		}
		resp, err := t.calls.RoundTrip(t.request(ctx, http.MethodGet, authorized, nil))
		if err != nil {
			continue // the server may be starting again
		}
		if err := t.checkHead(resp); err != nil {
			resp.Body.Close()
			return nil, err
		}
		if resp.StatusCode/100 == 2 && isType(resp.Header, typeStream) {
			x.body = resp.Body
			return t.decoded(resp)
		}
		resp.Body.Close()
		if !maybeLater(resp.StatusCode) {
			return nil, cut.wireError(", and the server does not resume it (" + statusText(resp.StatusCode) + ")")
		}
	}
	return nil, cut.wireError(", and could not be resumed")
}

// maybeLater reports whether a status may be another one after a while.
func maybeLater(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500 && status != http.StatusNotImplemented
}

// canResumeFrom reports whether an event id can be sent back in a header.
func canResumeFrom(id string) bool {
	if id == "" || len(id) > maxEventID {
		return false
	}
	for i := range len(id) {
		if id[i] < 0x20 || id[i] == 0x7f {
			return false
		}
	}
	return true
}

const maxEventID = 4 << 10
