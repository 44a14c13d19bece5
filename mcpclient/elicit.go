package mcpclient

import (
	"context"

	"github.com/toolhost/toolhost/internal/rawjson"
)

const methodElicit = "elicitation/create"

// An ElicitMode is a way in which a server can ask the user (client/elicitation).
type ElicitMode string

// The modes.
const (
	ElicitForm ElicitMode = "form" // fields that the user fills in, which the client sees
	ElicitURL  ElicitMode = "url"  // a page that the user visits, which it does not
)

// An Elicitation is a question of a server to the user. All of it is the server's
// own words, which may be meant to deceive.
type Elicitation struct {
	Mode    ElicitMode
	Message string // unscrubbed
	Schema  []byte // of a form: requestedSchema, an object of the kinds that MCP allows
	URL     string // of mode url: https, or http on this machine; never fetched here
	ID      string // of mode url: what a notice of completion calls it; "" for none

	// Warnings say why the host of URL may be mistaken for another (client/elicitation,
	// "Safe URL Handling"). They quote nothing.
	Warnings []string

	// Problem says what was wrong with the answer before this one, naming the field
	// and what is wanted; it quotes no answer. "" the first time a question is put.
	Problem string
}

// An ElicitAction is what the user did.
type ElicitAction string

// The actions. Any other one counts as ElicitCancel.
const (
	ElicitAccept  ElicitAction = "accept"  // sent the form, or agreed to visit the URL
	ElicitDecline ElicitAction = "decline" // said no
	ElicitCancel  ElicitAction = "cancel"  // did not choose
)

// An ElicitAnswer is the user's answer. Content is that of an accepted form: a JSON
// object of values by field, nil for {}. Fields that are left out get their defaults.
// With another action, or for a URL, it is not sent.
type ElicitAnswer struct {
	Action  ElicitAction
	Content []byte
}

// An Elicitor puts a question to the user and returns the answer, which may take
// minutes. ctx ends when nobody waits for it any more; what is returned then is
// dropped. It may be called from many goroutines at once. A form whose answer does
// not fit is put again, with Problem set.
type Elicitor func(ctx context.Context, e *Elicitation) ElicitAnswer

// capabilities returns the ClientCapabilities object. It is {} when the user cannot
// be asked; leaving it out would be invalid MCP.
func capabilities(modes map[ElicitMode]bool) []byte {
	declared := []byte(`{"elicitation":{`)
	none := len(declared)
	for _, mode := range []ElicitMode{ElicitForm, ElicitURL} {
		if modes[mode] {
			declared = append(rawjson.AppendString(separate(declared), string(mode)), ":{}"...)
		}
	}
	if len(declared) == none {
		return []byte("{}")
	}
	return append(declared, "}}"...)
}

// elicits reports whether the user can be asked in any mode.
func (s *Session) elicits() bool {
	return s.opts.Elicits[ElicitForm] || s.opts.Elicits[ElicitURL]
}

// maxAskings is how often a form is put in all, when its answers do not fit.
const maxAskings = 3

// put puts a question to the user and returns the answer as the server gets it: with
// content only where a form was accepted, which is then what its schema wants, and
// nothing that the user did not give or the form did not propose.
func (s *Session) put(ctx context.Context, ask Elicitor, q *question) ElicitAnswer {
	if q.unfit != "" {
		s.declineUnasked(q.unfit)
		return ElicitAnswer{Action: ElicitDecline}
	}
	for range maxAskings {
		e := q.Elicitation
		answer := ask(ctx, &e)
		switch {
		case answer.Action == ElicitDecline:
			return ElicitAnswer{Action: ElicitDecline}
		case answer.Action != ElicitAccept:
			return ElicitAnswer{Action: ElicitCancel}
		case q.form == nil:
			return ElicitAnswer{Action: ElicitAccept}
		}
		content, problem, err := q.form.complete(answer.Content)
		switch {
		case err != nil:
			s.opts.Log.Warn("a question of the server was cancelled: the answer could not be checked", "reason", s.opts.Scrub.Text(err.Error()))
			return ElicitAnswer{Action: ElicitCancel}
		case problem == "":
			return ElicitAnswer{Action: ElicitAccept, Content: content}
		}
		q.Problem = problem
	}
	s.opts.Log.Warn("a question of the server was cancelled: no answer fits its form", "reason", s.opts.Scrub.Text(q.Problem))
	return ElicitAnswer{Action: ElicitCancel}
}

// appendResult appends the ElicitResult of an answer that put has returned.
func (a ElicitAnswer) appendResult(dst []byte) []byte {
	dst = rawjson.AppendString(append(dst, `{"action":`...), string(a.Action))
	if a.Content != nil {
		dst = append(append(dst, `,"content":`...), a.Content...)
	}
	return append(dst, '}')
}

// maxOpen bounds the questions of a server's own requests that are open at once, so
// that a server cannot bury its user in them (client/elicitation, "Security
// Considerations": clients SHOULD implement rate limiting). Others are declined.
const maxOpen = 8

// answer answers an elicitation/create that the server sent as a request of its own.
func (s *Session) answer(ctx context.Context, params []byte) ([]byte, *ServerError) {
	q, problem := s.readQuestion(params)
	switch {
	case problem != "":
		return nil, &ServerError{Code: codeInvalidParams, Message: "Invalid params: " + problem}
	case q.undeclared:
		return nil, &ServerError{Code: codeInvalidParams, Message: "Invalid params: this mode was not declared"}
	case !s.take():
		s.declineUnasked("too many questions of it are open")
		return ElicitAnswer{Action: ElicitDecline}.appendResult(nil), nil
	}
	defer s.release()
	return s.put(ctx, s.opts.Elicit, q).appendResult(nil), nil
}

// take counts a question as open, unless there are too many.
func (s *Session) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking == maxOpen {
		return false
	}
	s.asking++
	return true
}

func (s *Session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking--
}

// toldDeclines is how many questions that nobody was asked are worth a warning. A
// server can send any number of them.
const toldDeclines = 8

// declineUnasked says why a question is declined that nobody was asked.
func (s *Session) declineUnasked(reason string) {
	s.mu.Lock()
	s.declines++
	told := s.declines > toldDeclines
	s.mu.Unlock()
	tell := s.opts.Log.Warn
	if told {
		tell = s.opts.Log.Debug
	}
	tell("a question of the server was declined unasked", "reason", s.opts.Scrub.Text(reason))
}
