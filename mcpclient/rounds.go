package mcpclient

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// Multi round-trip requests (2026-07-28 basic/patterns/mrtr): a server that wants
// input answers with what it wants, and the same request is sent again with it.

// inputRequired is the resultType of a result that wants input.
const inputRequired = "input_required"

// resultReads are the members that are acted on in a result that may want input.
var resultReads = []string{"resultType", "inputRequests", "requestState"}

// inputRequests are the requests that an input_required result may hold.
var inputRequests = []string{methodElicit, "sampling/createMessage", "roots/list"}

// An InputError says that a tool, prompt or resource cannot go on without input
// that this client has no way to give. The request has had no other effect than
// the server tells.
type InputError struct {
	Wants []string // what the server asks for, in MCP's own words, which are safe to show

	what string // what asks: the tool
}

func (e *InputError) Error() string {
	if len(e.Wants) == 0 {
		return e.what + " asks to be called again with its own state, which this client does not do"
	}
	return e.what + " asks for input that this client cannot give: " + strings.Join(e.Wants, ", ")
}

// want adds what the server asks for, once.
func (e *InputError) want(kind string) {
	if !slices.Contains(e.Wants, kind) {
		e.Wants = append(e.Wants, kind)
	}
}

// A wanted is what an input_required result says.
type wanted struct {
	requests rawjson.Object // by the server's keys
	state    []byte         // requestState, the literal; nil for none
}

// wanted reads what a result asks for. It is nil for a result that is complete.
func (x *exchange) wanted(rev *Revision, result rawjson.Object) (*wanted, error) {
	if !rev.InputRequired || rawjson.Text(result.Opt("resultType")) != inputRequired {
		return nil, complete(x.method, rev, result)
	}
	requests, state := result.Opt("inputRequests"), result.Opt("requestState")
	w := &wanted{requests: rawjson.Members(requests), state: state}
	_, twice := w.requests.Duplicate()
	switch {
	case requests != nil && rawjson.KindOf(requests) != rawjson.Dict:
		return nil, malformed(x.method, notA("inputRequests", requests, rawjson.Dict))
	case state != nil && rawjson.KindOf(state) != rawjson.String:
		return nil, malformed(x.method, notA("requestState", state, rawjson.String))
	case twice:
		return nil, malformed(x.method, "a key stands twice in inputRequests")
	case len(w.requests) == 0 && state == nil:
		return nil, malformed(x.method, "it is input_required, and says neither which input nor a state to come back with")
	}
	return w, nil
}

// gather gets what the server wants and makes it the input of the next request.
// Before the first question is put, it is known that all of them can be: there is
// no retry with a part of the input (MRT-09). round counts the results before this
// one that wanted input.
func (x *exchange) gather(ctx context.Context, w *wanted, round int) error {
	questions, err := x.questions(w)
	if err != nil {
		return err
	}
	table := x.s.opts.Limits
	switch {
	case round >= table.Int(limit.ElicitRounds):
		return table.Exceeded(limit.ElicitRounds, x.what()+", which asks for input again and again,")
	case len(questions) > table.Int(limit.ElicitFields):
		// As a form may: a person is not asked more at once, however it is written.
		return table.Exceeded(limit.ElicitFields, x.what()+", which asks for much at once,")
	}
	x.input = nil // what belonged to the request before goes with it
	if len(questions) == 0 {
		if !sleep(ctx, statePause<<round) {
			return context.Cause(ctx)
		}
	} else {
		x.input = append(x.input, `"inputResponses":{`...)
		for i, q := range questions {
			answer := x.s.put(ctx, x.opts.Elicit, q)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			x.input = append(append(separate(x.input), w.requests[i].Key...), ':')
			x.input = answer.appendResult(x.input)
		}
		x.input = append(x.input, '}')
	}
	if w.state != nil {
		// Byte for byte as it came: it is not ours to read (MRT-03, MRT-05).
		if x.input != nil {
			x.input = append(x.input, ',')
		}
		x.input = append(append(x.input, `"requestState":`...), w.state...)
	}
	return nil
}

// statePause is the wait before the first retry of a request whose server wants
// nothing but its own state back. It doubles from round to round: such a server
// sheds load, or waits for something to happen elsewhere.
const statePause = 100 * time.Millisecond

// questions reads what the server asks, in its order. The error is an *InputError
// when something is among it that cannot be had.
func (x *exchange) questions(w *wanted) ([]*question, error) {
	var list []*question
	lack := &InputError{what: x.what()}
	for _, m := range w.requests {
		request := rawjson.Members(m.Value)
		method := rawjson.Text(request.Get("method"))
		switch {
		case !slices.Contains(inputRequests, method):
			lack.want("something unknown")
			continue
		case method != methodElicit || x.opts.Elicit == nil:
			lack.want(method)
			continue
		}
		q, problem := x.s.readQuestion(request.Get("params"))
		switch {
		case problem != "":
			return nil, malformed(x.method, "in inputRequests, "+problem)
		case q.undeclared:
			lack.want(method + " in a mode that was not declared")
		}
		list = append(list, q)
	}
	if len(lack.Wants) > 0 || x.opts.Elicit == nil {
		return nil, lack
	}
	return list, nil
}
