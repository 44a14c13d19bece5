package stdiomcp

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/toolhost/toolhost/mcpclient/envelope"
)

// maxQuestions bounds the requests of the server that are under way at once. More
// are dropped without an answer: each would take a goroutine.
const maxQuestions = 64

// question lets a handler answer a request of the server while the pipe is read on:
// a question to a person may take minutes, and a server that pings waits for the
// pong before it sends what we wait for (B225).
func (c *conn) question(m *envelope.Message) {
	h := c.answerer()
	if h == nil {
		// 2026-07-28 basic/transports/stdio: the server must not send any, and we
		// must not answer.
		c.t.log.Debug("a request of the server was ignored, its revision has none")
		return
	}
	id := string(m.ID)
	ctx, cancel := context.WithCancelCause(c.ctx)
	if !c.questions.open(id, cancel) {
		cancel(nil)
		c.t.log.Debug("a request of the server was ignored, too many are open")
		return
	}
	method, params := m.Method, bytes.Clone(m.Params)
	// When the connection is ending instead, that ends ctx.
	c.behind(func() {
		defer cancel(nil)
		result, failure := h.Request(ctx, method, params)
		if c.questions.close(id) {
			c.mention("answer", envelope.Response(id, result, failure))
		}
	})
}

// questions are the requests of the server that are not answered yet.
type questions struct {
	mu   sync.Mutex
	asks map[string]context.CancelCauseFunc // guarded by mu; by id as it was written; nil when it was withdrawn
}

// open adds a question, unless there are too many or it is there already.
func (q *questions) open(id string, cancel context.CancelCauseFunc) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, twice := q.asks[id]; twice || len(q.asks) == maxQuestions {
		return false
	}
	if q.asks == nil {
		q.asks = map[string]context.CancelCauseFunc{}
	}
	q.asks[id] = cancel
	return true
}

// close removes a question and reports whether the server still wants its answer.
func (q *questions) close(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	wanted := q.asks[id] != nil
	delete(q.asks, id)
	return wanted
}

var errWithdrawn = errors.New("the server withdrew its request")

// withdraw ends the question that the server cancels. Ids that are not open are
// ignored. The question counts until its handler has noticed.
func (q *questions) withdraw(id []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if cancel := q.asks[string(id)]; cancel != nil {
		cancel(errWithdrawn)
		q.asks[string(id)] = nil
	}
}
