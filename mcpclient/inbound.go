package mcpclient

import (
	"context"
	"strconv"
	"sync"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// An inbound takes what the server says besides the answer, on the stream of one
// request.
type inbound struct {
	s    *Session
	link *Link
	call *call // whose stream it is; nil for the session's own requests
}

func (in *inbound) Notification(method string, params []byte) {
	switch method {
	case "notifications/progress":
		in.s.progress(rawjson.Members(params))
		return
	case "notifications/message":
		if in.call != nil {
			in.call.log(rawjson.Members(params))
			return
		}
	case "notifications/cancelled":
		if in.link.Revision.CancelMessage {
			in.s.cancelled(rawjson.Members(params))
			return
		}
	case notificationToolsChanged:
		// On whichever stream, and whether it was declared or not (B115).
		in.s.toolsChanged()
		return
	case notificationPromptsChanged:
		if in.s.opts.OnPromptsChanged != nil {
			in.s.opts.OnPromptsChanged()
			return
		}
	case notificationComplete:
		in.s.visits.complete(rawjson.Text(str(rawjson.Members(params).Get("elicitationId"))))
		return
	}
	if in.s.opts.OnNotification != nil {
		in.s.opts.OnNotification(method, params)
	}
}

// Request answers ping, and elicitation/create where the user can be asked. No other
// capability is declared that would allow the server to ask for more.
func (in *inbound) Request(ctx context.Context, method string, params []byte) ([]byte, *ServerError) {
	s := in.s
	switch {
	case method == "ping":
		return []byte("{}"), nil
	case method == methodElicit && in.link.Revision.ServerRequests && s.opts.Elicit != nil && s.elicits():
		return s.answer(ctx, params)
	}
	return nil, &ServerError{Code: codeMethodNotFound, Message: "Method not found"}
}

// A call is one exchange under way, as the messages that concern it see it.
type call struct {
	opts   *CallOptions
	cancel context.CancelCauseFunc
	method string // of its requests
	id     int64  // guarded by Session.mu; of the request that is under way

	mu   sync.Mutex // held while a message is delivered
	over bool       // guarded by mu; nothing is delivered any more
}

// enter registers the call under the id of its next request, before that is sent,
// in place of the one before.
func (s *Session) enter(id int64, c *call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	delete(s.calls, c.id)
	c.id = id
	s.calls[id] = c
	return nil
}

// leave unregisters the call between two requests, and after the last one.
func (s *Session) leave(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c.id)
}

// end ends a call. When it returns, no message is being delivered and none will be.
func (c *call) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

// running returns the call whose request has that id, or nil. Ids match by type
// and value.
func (s *Session) running(id []byte) *call {
	if rawjson.KindOf(id) != rawjson.Number {
		return nil
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[n]
}

// progress gives a progress notification to the call that its token names, on
// whichever stream it came. Tokens that name none are ignored.
func (s *Session) progress(params rawjson.Object) {
	c := s.running(params.Get("progressToken"))
	progress, total := params.Get("progress"), params.Get("total")
	if c == nil || c.opts.Progress == nil || rawjson.KindOf(progress) != rawjson.Number {
		return
	}
	if rawjson.KindOf(total) != rawjson.Number {
		total = nil
	}
	c.deliver(func() { c.opts.Progress(progress, total, rawjson.Text(params.Get("message"))) })
}

func (c *call) log(params rawjson.Object) {
	if c.opts.Log == nil {
		return
	}
	c.deliver(func() {
		c.opts.Log(rawjson.Text(params.Get("level")), params.Get("data"), rawjson.Text(params.Get("logger")))
	})
}

// deliver runs f unless the call is over, one f at a time.
func (c *call) deliver(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		f()
	}
}

// shownReason bounds what is quoted of a server's own words, in bytes.
const shownReason = 256

// cancelled ends the call that the server says it has cancelled. The carrier
// does not tell the server of that: see Transport.
func (s *Session) cancelled(params rawjson.Object) {
	c := s.running(params.Get("requestId"))
	if c == nil {
		return
	}
	reason := "the server cancelled the call"
	if text := rawjson.Text(params.Get("reason")); text != "" {
		reason += ": " + s.opts.Scrub.Reason(text, shownReason)
	}
	s.opts.Log.Debug("a call was cancelled", "reason", reason)
	c.cancel(&WireError{Op: c.method, Reason: reason, Delivered: "yes"})
}
