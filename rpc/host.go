package rpc

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack"
)

// questionTime is how long a host may take to answer a question.
const questionTime = 10 * time.Minute

// questions holds what the host was asked and has not answered. The library
// could match answers too, but it keeps a question for ever once its asker has
// gone, and would decode and encode its params.
type questions struct {
	out *output
	log *slog.Logger

	mu   sync.Mutex
	last int64                  // id given out; guarded by mu
	open map[int64]chan<- reply // guarded by mu
	over bool                   // nobody is left who could answer; guarded by mu
}

// A reply is what came for a question. Neither member is set when it was broken.
type reply struct {
	result, failed []byte
}

func newQuestions(out *output, log *slog.Logger) *questions {
	return &questions{out: out, log: log, open: map[int64]chan<- reply{}}
}

// begin opens a question. Its reply comes on the channel, which is closed when
// none can come any more. The second result is false when that is so already.
func (q *questions) begin() (id int64, replies <-chan reply, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over {
		return 0, nil, false
	}
	q.last++
	c := make(chan reply, 1)
	q.open[q.last] = c
	return q.last, c, true
}

// answer takes a response of the host's. It returns false when no question of
// that id is open: it was withdrawn, answered or never asked.
func (q *questions) answer(id, result, failed []byte) bool {
	key, ok := parseID(id)
	if !ok || key.isText {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	c, ok := q.open[key.number]
	if !ok {
		return false
	}
	delete(q.open, key.number)
	if result != nil && failed != nil {
		result, failed = nil, nil
	}
	c <- reply{result, failed}
	return true
}

// withdraw tells the host that a question is over. One that has been answered
// meanwhile needs no word.
func (q *questions) withdraw(id int64, reason string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.open[id]; !ok {
		return
	}
	delete(q.open, id)
	m := newCall(nil, q.out.cancelName())
	params := object{m: m}
	params.number("id", id)
	params.text("reason", reason)
	params.end()
	q.out.send(m.end())
}

// end fails all questions, now and later.
func (q *questions) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	for id, c := range q.open {
		close(c)
		delete(q.open, id)
	}
}

// ask implements pack.Host.Ask.
func (n *session) ask(ctx context.Context, q *pack.Question) (*pack.Answer, error) {
	row := questionOf(q.Kind)
	if row == nil || !n.can.asks[q.Kind] {
		return &pack.Answer{Action: pack.Decline}, nil
	}
	call := context.Background()
	if q.Invoke != nil {
		key, _ := parseID(q.Invoke)
		c := n.server.calls.find(key)
		if c == nil {
			return nil, pack.Errorf(pack.KindCancelled, "the call has been answered already")
		}
		call = c.ctx
	}
	questions := n.server.questions
	id, replies, ok := questions.begin()
	if !ok {
		return nil, errNobody()
	}
	m, err := row.message(n, id, q)
	if err != nil {
		questions.answer(strconv.AppendInt(nil, id, 10), nil, nil)
		return nil, pack.AsError(err)
	}
	n.server.out.send(m)

	limit := time.NewTimer(questionTime)
	defer limit.Stop()
	select {
	case r, ok := <-replies:
		if !ok {
			return nil, errNobody()
		}
		return n.read(row, r), nil
	case <-ctx.Done():
		questions.withdraw(id, "the call was cancelled or has ended")
		return nil, pack.AsError(context.Cause(ctx))
	case <-call.Done():
		questions.withdraw(id, "the call was cancelled or has ended")
		return nil, pack.AsError(context.Cause(call))
	case <-limit.C:
		questions.withdraw(id, "no answer within "+questionTime.String())
		return &pack.Answer{Action: pack.Cancel, Reason: "no answer within " + questionTime.String()}, nil
	}
}

func errNobody() *pack.Error {
	return pack.Errorf(pack.KindCancelled, "the host cannot be asked any more")
}

// read returns the answer that a reply means. An error of the host's, or what
// cannot be read, means that nobody chose.
func (n *session) read(row *questionRow, r reply) *pack.Answer {
	if r.failed != nil {
		failed := rawjson.Members(r.failed)
		n.server.log.Warn("the host answered a question with an error", "method", row.method.name, "code", string(failed.Get("code")))
		return &pack.Answer{Action: pack.Cancel, Reason: "the host could not ask"}
	}
	p := paramsOf(rawjson.Members(r.result))
	p.path = "result"
	answer := row.answer(p)
	if f := p.wrong(); f != nil || rawjson.KindOf(r.result) != rawjson.Dict {
		n.server.log.Warn("the host's answer to a question cannot be read", "method", row.method.name)
		return &pack.Answer{Action: pack.Cancel, Reason: "the host's answer could not be read"}
	}
	return answer
}
