package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// questions are what the child asks its host: approve, elicit and open. The steps of
// a case answer them; one that no step expects is a fault.
type questions struct {
	over context.Context // nobody answers any more when it ends
	stop context.CancelFunc

	mu      sync.Mutex
	open    []*asked          // guarded by mu; that no step has taken yet
	current *asked            // guarded by mu; that the next answer goes to
	always  map[string]string // guarded by mu; answers by method, for all that come
	changed chan struct{}     // guarded by mu; closed and replaced at each
}

// An asked is one question.
type asked struct {
	method string
	params json.RawMessage
	answer chan string // with room for one: the JSON of a result
}

func newQuestions() *questions {
	q := &questions{always: map[string]string{}, changed: make(chan struct{})}
	q.over, q.stop = context.WithCancel(context.Background())
	return q
}

// take is called for each question, on a goroutine of its own, and returns its
// answer; "" for none.
func (q *questions) take(method string, params json.RawMessage) string {
	one := &asked{method, bytes.Clone(params), make(chan string, 1)}
	q.mu.Lock()
	if answer, ok := q.always[method]; ok {
		q.mu.Unlock()
		return answer
	}
	q.open = append(q.open, one)
	close(q.changed)
	q.changed = make(chan struct{})
	q.mu.Unlock()
	select {
	case answer := <-one.answer:
		return answer
	case <-q.over.Done():
		return ""
	}
}

// await waits for a question that no step has taken, and takes it.
func (q *questions) await(ctx context.Context, method, matcher string) error {
	for {
		q.mu.Lock()
		changed := q.changed
		why := error(nil)
		for i, one := range q.open {
			if one.method != method {
				continue
			}
			if err := match(matcher, one.params); err != nil {
				why = fmt.Errorf("%w; it was %.500s", err, one.params)
				continue
			}
			q.open = append(q.open[:i:i], q.open[i+1:]...)
			q.current = one
			q.mu.Unlock()
			return nil
		}
		q.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			if why == nil {
				why = errors.New("there was no such question")
			}
			return why
		}
	}
}

// answer answers the question that was taken last.
func (q *questions) answer(result string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.current == nil {
		return errors.New("no question was taken")
	}
	q.current.answer <- result
	q.current = nil
	return nil
}

// answerAll answers each question of a method that is open and that no step has
// taken, or that comes from now on.
func (q *questions) answerAll(method, result string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.always[method] = result
	q.open = slices.DeleteFunc(q.open, func(one *asked) bool {
		if one.method == method {
			one.answer <- result
		}
		return one.method == method
	})
}

// unexpected are the questions that no step has taken.
func (q *questions) unexpected() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []string
	for _, one := range q.open {
		all = append(all, fmt.Sprintf("%s %.500s", one.method, one.params))
	}
	return all
}

// asked METHOD [MATCHER]: waits for a question to the host that no step has taken.
func parseAsked(w *words) (doing, error) {
	method, matcher, err := methodAndMatcher(w)
	return doing{act: func(ctx context.Context, r *player) error {
		return r.questions.await(ctx, method, r.fill(matcher))
	}}, err
}

// answer RESULT: to the question that was taken last.
func parseAnswer(w *words) (doing, error) {
	result, err := w.value()
	if result == "" {
		return doing{}, fmt.Errorf("answer wants a result in JSON (%v)", err)
	}
	return doing{act: func(_ context.Context, r *player) error { return r.questions.answer(r.fill(result)) }}, nil
}

// always METHOD RESULT: each such question, open or to come, is answered with it.
func parseAlways(w *words) (doing, error) {
	method, result, err := methodAndMatcher(w)
	if err == nil && result == "" {
		err = errors.New("always wants a result in JSON")
	}
	return doing{act: func(_ context.Context, r *player) error {
		r.questions.answerAll(method, r.fill(result))
		return nil
	}}, err
}

// declares CAPABILITIES: which questions the host takes, of approve, elicit and open.
// It comes before construct.
func parseDeclares(w *words) (doing, error) {
	capabilities, err := w.value()
	if capabilities == "" {
		return doing{}, fmt.Errorf("declares wants capabilities in JSON (%v)", err)
	}
	return doing{act: func(_ context.Context, r *player) error {
		r.asks = capabilities
		return nil
	}}, nil
}
