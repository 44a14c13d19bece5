package fakeserver

import (
	"encoding/json"
	"net/http"
	"strings"
)

// A listener is a stream on which the server speaks of its own accord: a GET of
// the legacy era, or subscriptions/listen.
type listener struct {
	x            *exchange
	subscription string // the id of subscriptions/listen; "" for GET
}

// Notify sends a notification to every client that listens and returns how many
// they are. params are the members of params, without the braces.
func (s *Server) Notify(method, params string) int {
	s.mu.Lock()
	listeners := make([]*listener, 0, len(s.streams))
	for l := range s.streams {
		listeners = append(listeners, l)
	}
	s.mu.Unlock()
	for _, l := range listeners {
		l.send(method, params)
	}
	return len(listeners)
}

func (l *listener) send(method, params string) {
	members := params
	if l.subscription != "" {
		members = `"_meta":{"io.modelcontextprotocol/subscriptionId":` + l.subscription + `},` + params
	}
	l.x.event(`{"jsonrpc":"2.0","method":` + quote(method) + `,"params":{` + strings.TrimSuffix(members, ",") + `}}`)
}

// subscribe opens the stream of subscriptions/listen, whose first message is the
// acknowledgment (2026-07-28 subscriptions).
func (x *exchange) subscribe() {
	var params struct {
		Notifications json.RawMessage `json:"notifications"`
	}
	if json.Unmarshal(x.msg.Params, &params) != nil || params.Notifications == nil {
		x.complain("params.notifications must be there")
		x.fault(http.StatusBadRequest, codeInvalidParams, "Invalid params: notifications")
		return
	}
	x.listen(string(x.msg.ID), `"notifications":`+string(params.Notifications))
}

// listen holds a stream open until the client or Close ends it.
func (x *exchange) listen(subscription, acknowledge string) {
	if x.process == nil && !strings.Contains(x.r.Header.Get("Accept"), "text/event-stream") {
		x.complain("Accept has no text/event-stream")
		http.Error(x.w, "not acceptable", http.StatusNotAcceptable)
		return
	}
	l := &listener{x: x, subscription: subscription}
	if subscription != "" {
		l.send("notifications/subscriptions/acknowledged", acknowledge)
	} else {
		x.chunk(": listening\n\n")
	}
	x.s.setListening(l, true)
	defer x.s.setListening(l, false)
	x.hold()
}

func (s *Server) setListening(l *listener, on bool) {
	s.mu.Lock()
	if on {
		s.streams[l] = true
	} else {
		delete(s.streams, l)
	}
	n := len(s.streams)
	s.mu.Unlock()
	s.book.change(func(l *Ledger) { l.Listeners = n })
}
