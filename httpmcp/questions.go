package httpmcp

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/mcpclient/envelope"
)

// dispatch gives a request or notification of the server to h.
func (t *Transport) dispatch(ctx context.Context, link *mcpclient.Link, m *envelope.Message, h mcpclient.Handler) {
	switch {
	case m.ID == nil:
		if m.Method == methodCancelled {
			t.questions.withdraw(rawjson.Members(m.Params).Get("requestId"))
		}
		h.Notification(m.Method, m.Params)
	case rawjson.KindOf(m.ID) == rawjson.Null:
		// Neither: a request's id is not null, a notification has none (B089).
	case link.Revision.ServerRequests:
		t.answer(ctx, link, m, h)
	default:
		t.log.Debug("a request of the server was ignored, its revision has none", "server", t.url.Host)
	}
}

// answer lets h answer a request of the server while the stream is read on: a
// question to a person may take minutes, and a server that pings waits for the
// pong before it sends what we wait for (B087). The question ends with the call or
// stream that it came on, and its answer is sent even so, since every request
// wants one.
func (t *Transport) answer(ctx context.Context, link *mcpclient.Link, m *envelope.Message, h mcpclient.Handler) {
	opCtx, op, err := t.begin(ctx, false)
	if err != nil {
		return
	}
	id := string(m.ID)
	if !t.questions.open(id, op) {
		t.end(op)
		t.log.Debug("a request of the server was ignored, too many are open", "server", t.url.Host)
		return
	}
	stop := context.AfterFunc(ctx, func() { op.abort(context.Cause(ctx)) })
	method, params := m.Method, bytes.Clone(m.Params) // the buffer goes on
	go func() {
		defer t.end(op)
		defer stop()
		result, failure := h.Request(opCtx, method, params)
		wanted := t.questions.close(id, op) && t.behind(opCtx, func(ctx context.Context) {
			defer t.questions.done()
			t.mention(ctx, "answer", link, "", envelope.Response(id, result, failure))
		})
		if !wanted {
			t.questions.done()
		}
	}()
}

// maxQuestions bounds the requests of a server that are under way at once, each
// until its answer has been taken. More are dropped without an answer: to decline a
// flood would take as many POSTs.
const maxQuestions = 64

// questions are the requests of the server.
type questions struct {
	mu      sync.Mutex
	waiting map[string]*operation // guarded by mu; not answered yet, by id as it was written
	busy    int                   // guarded by mu; those, and those whose answer is being sent
}

// open adds a question, unless there are too many or it is there already.
func (q *questions) open(id string, op *operation) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting[id] != nil || q.busy == maxQuestions {
		return false
	}
	q.busy++
	if q.waiting == nil {
		q.waiting = map[string]*operation{}
	}
	q.waiting[id] = op
	return true
}

// done ends a question that open added.
func (q *questions) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy--
}

// close removes a question and reports whether the server still wants its answer.
func (q *questions) close(id string, op *operation) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting[id] != op {
		return false
	}
	delete(q.waiting, id)
	return true
}

var errWithdrawn = errors.New("the server withdrew its request")

// withdraw ends the question that the server cancels. Ids that are not open, and
// what is no id, are ignored.
func (q *questions) withdraw(id []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if op := q.waiting[string(id)]; op != nil {
		op.abort(errWithdrawn)
		delete(q.waiting, string(id))
	}
}
