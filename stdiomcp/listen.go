package stdiomcp

import (
	"context"

	"github.com/toolhost/toolhost/mcpclient"
)

// Listen implements mcpclient.Transport. Where the server speaks unasked, all that
// belongs to no call goes to l until ctx or the process ends; nothing is sent. A
// subscription ends with its answer too. Any number may be open at once.
func (t *Transport) Listen(ctx context.Context, link *mcpclient.Link, req *mcpclient.Request, l mcpclient.Listener) error {
	c, err := t.conn(ctx, link)
	switch {
	case err != nil:
		return err
	case link.Revision.ListenByGet:
		return c.overhear(ctx, l)
	case req == nil:
		return mcpclient.ErrNoListen
	}
	x := c.newExchange(req, &subscriber{Listener: l})
	x.listener = l
	if err := c.enter(x); err != nil {
		return err
	}
	defer c.leave(x)
	defer close(x.over)
	answer, err := x.run(ctx)
	if err != nil {
		return err
	}
	return t.subscriptionEnd(answer)
}

// overhear takes what the server says to nobody in particular.
func (c *conn) overhear(ctx context.Context, l mcpclient.Listener) error {
	x := &exchange{c: c, handler: l, listener: l, inbox: make(chan delivery, inboxSize), over: make(chan struct{})}
	leave, err := c.listen(x)
	if err != nil {
		return err
	}
	defer leave()
	defer close(x.over)
	l.Opened()
	for {
		select {
		case d := <-x.inbox:
			l.Notification(d.method, d.params)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.broken:
			return c.failed(false)
		}
	}
}

// A subscriber is open with the first message that names its subscription, which is
// the server's acknowledgement.
type subscriber struct {
	mcpclient.Listener
	open bool
}

func (s *subscriber) Notification(method string, params []byte) {
	if !s.open {
		s.open = true
		s.Opened()
	}
	s.Listener.Notification(method, params)
}

// codeUnknownMethod is JSON-RPC's code for a method that a server does not have.
const codeUnknownMethod = -32601

// shownError bounds what is quoted of a server's error, in bytes.
const shownError = 512

func (t *Transport) subscriptionEnd(answer *mcpclient.Response) error {
	switch {
	case answer.Err == nil:
		return nil
	case answer.Err.Code == codeUnknownMethod:
		return mcpclient.ErrNoListen
	}
	return &mcpclient.WireError{Op: "listen", Delivered: "unknown",
		Reason: t.scrub.Reason("the server refused the subscription: "+answer.Err.Error(), shownError)}
}
