package mcpclient

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// A server may refuse a request until the user has visited a URL (2025-11-25
// client/elicitation, "URL Elicitation Required Error"). The error says that it did
// not act on the request, which can be sent again then.

const (
	codeURLElicitation   = -32042
	notificationComplete = "notifications/elicitation/complete"
)

// maxVisits bounds the URLs that one error may send the user to.
const maxVisits = 8

// visitTime is how long the server's word is waited for that a visit is complete. It
// need not give it, so that the request is sent again after that time even so.
const visitTime = 30 * time.Second

// visit puts the URLs that an error lists to the user, one after the other. It
// returns nil when the request may be sent again: once, when the user has agreed to
// all of them. Else the error stands, as it does when its data is not what the
// specification says.
func (x *exchange) visit(ctx context.Context, link *Link, err error) error {
	// The error itself, since a handshake that was refused wraps one too.
	refusal, ok := err.(*ServerError)
	if !ok || refusal.Code != codeURLElicitation || !link.Revision.ServerRequests || x.opts.Elicit == nil || x.visited {
		return err
	}
	x.visited = true
	questions := x.s.required(refusal.Data)
	if questions == nil {
		return err
	}
	var ends []<-chan struct{}
	for _, q := range questions {
		// Before it is put: the user may be back before the answer is.
		end, forget := x.s.visits.expect(q.ID)
		defer forget()
		ends = append(ends, end)
	}
	for _, q := range questions {
		answer := x.s.put(ctx, x.opts.Elicit, q)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if answer.Action != ElicitAccept {
			return err
		}
	}
	timer := time.NewTimer(visitTime)
	defer timer.Stop()
	for _, end := range ends {
		select {
		case <-end:
			continue
		case <-timer.C:
		case <-ctx.Done():
		}
		break
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// required returns the questions that the data of such an error lists; nil when it
// lists none, or something else than questions in mode url that can be put.
func (s *Session) required(data []byte) []*question {
	listed := rawjson.Elements(rawjson.Members(data).Get("elicitations"))
	if len(listed) > maxVisits {
		return nil
	}
	var questions []*question
	for _, params := range listed {
		q, problem := s.readQuestion(params)
		if problem != "" || q.undeclared || q.unfit != "" || q.ID == "" { // a form has no ID
			return nil
		}
		questions = append(questions, q)
	}
	return questions
}

// visits are the visits whose completion somebody waits for.
type visits struct {
	mu      sync.Mutex
	waiting map[string][]chan struct{} // guarded by mu; by elicitationId
}

// expect returns a channel that is closed when a visit is complete. forget is called
// when nobody waits for that any more.
func (v *visits) expect(id string) (end <-chan struct{}, forget func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	own := make(chan struct{})
	if v.waiting == nil {
		v.waiting = map[string][]chan struct{}{}
	}
	v.waiting[id] = append(v.waiting[id], own)
	return own, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		left := slices.DeleteFunc(v.waiting[id], func(c chan struct{}) bool { return c == own })
		if v.waiting[id] = left; len(left) == 0 {
			delete(v.waiting, id)
		}
	}
}

// complete notes that a visit is complete. Ids that nobody waits for, and those that
// are complete already, are ignored (ELI-21).
func (v *visits) complete(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, end := range v.waiting[id] {
		close(end)
	}
	delete(v.waiting, id)
}
