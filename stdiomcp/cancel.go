package stdiomcp

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
)

// helperTime bounds how long a message waits for the server to take it that is sent
// behind a caller's back: a cancel, or the answer to a question.
const helperTime = 5 * time.Second

const (
	methodCancelled = "notifications/cancelled"
	methodProgress  = "notifications/progress"
)

// cancel tells the server that nobody waits for a request any more, in every
// revision: on a pipe that all requests share there is no stream to close
// (2026-07-28 basic/transports/stdio, "Cancellation"). It returns at once.
func (x *exchange) cancel(ctx context.Context, cause error) {
	if _, ended := cause.(*mcpclient.WireError); ended || x.req == nil || x.req.NoCancel {
		return // the server has ended it itself (see mcpclient.Transport), or must not be told
	}
	reason := "the caller gave up the request"
	if errors.Is(cause, context.DeadlineExceeded) {
		reason = "the request took too long"
	}
	body := strconv.AppendInt([]byte(`{"jsonrpc":"2.0","method":"`+methodCancelled+`","params":{"requestId":`), x.req.ID, 10)
	body = rawjson.AppendString(append(body, `,"reason":`...), reason)
	x.c.behind(func() { x.c.mention("cancel", append(body, "}}"...)) })
}

// behind does work on a goroutine of its own, which the end of the connection waits
// for. Nothing is done when it has begun to end.
func (c *conn) behind(work func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending {
		return
	}
	c.helpers.Add(1)
	go func() {
		defer c.helpers.Done()
		work()
	}()
}

// mention queues a message that nobody waits for. A server that does not read for so
// long misses it.
func (c *conn) mention(what string, body []byte) {
	timer := time.NewTimer(helperTime)
	defer timer.Stop()
	select {
	case c.queue <- &line{body: body}:
	case <-c.broken:
	case <-timer.C:
		c.t.log.Debug("a message to the server was lost, it does not read", "message", what)
	}
}
