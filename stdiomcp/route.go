package stdiomcp

import (
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/mcpclient/envelope"
)

// metaSubscription is the member of _meta that names a subscription by the id of its
// request (2026-07-28 basic/patterns/subscriptions).
const metaSubscription = "io.modelcontextprotocol/subscriptionId"

// notification gives a notification to who it is for. All share one pipe, so that
// only its parameters can tell; nobody keeps one that is for nobody.
func (c *conn) notification(m *envelope.Message) {
	params := rawjson.Members(m.Params)
	if m.Method == methodCancelled {
		id := params.Get("requestId")
		c.questions.withdraw(id)
		if n, _, ok := requestID(id); ok && c.unsubscribed(n) {
			return
		}
	}
	for _, x := range c.recipients(m.Method, params) {
		x.deliver(delivery{method: m.Method, params: m.Params})
	}
}

// unsubscribed ends the subscription that the server cancels (CAN-09). It reports
// whether there is one of that id.
func (c *conn) unsubscribed(id int64) bool {
	c.mu.Lock()
	x := c.exchanges[id]
	c.mu.Unlock()
	return x != nil && x.listener != nil && c.finish(id, delivery{err: &mcpclient.WireError{
		Op: "listen", Reason: "the server has ended the subscription", Delivered: "unknown"}})
}

// recipients returns who takes a notification:
//
//   - what names a subscription, that one;
//   - progress and a cancel, the request that its token or id names: mcpclient's
//     tokens are the ids of requests;
//   - all else, those who listen without a subscription; where nobody does, the only
//     request that waits, or else the oldest, since each speaks for the session.
func (c *conn) recipients(method string, params rawjson.Object) []*exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id := rawjson.Members(params.Get("_meta")).Get(metaSubscription); id != nil {
		if n, _, ok := requestID(id); ok {
			if x := c.exchanges[n]; x != nil && x.listener != nil {
				return []*exchange{x}
			}
		}
		return nil
	}
	var named []byte
	switch method {
	case methodProgress:
		named = params.Get("progressToken")
	case methodCancelled:
		named = params.Get("requestId")
	}
	if n, _, ok := requestID(named); ok && c.exchanges[n] != nil {
		return []*exchange{c.exchanges[n]}
	}
	if len(c.listeners) > 0 {
		return append([]*exchange(nil), c.listeners...)
	}
	if x := c.oldest(); x != nil {
		return []*exchange{x}
	}
	return nil
}
