package fakeserver

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Round is what a tool asks at once: the params of elicitation/create by key, each
// a JSON object. The keys are taken in alphabetical order.
//
// In the revisions with sessions each is a request of the server's own on the stream
// of the call, one after the other. From 2026-07-28 on they are the inputRequests of
// one result, with a requestState that is good for one retry of that call
// (basic/patterns/mrtr); what is wrong with the retry is a complaint. In the end the
// tool answers with a text: a JSON object of what it was told, by key.
type Round map[string]string

func (r Round) keys() []string {
	keys := make([]string, 0, len(r))
	for key := range r {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// asks are the questions that wait for an answer.
type asks struct {
	mu      sync.Mutex
	last    int                       // guarded by mu; numbers requests and states
	waiting map[string]chan<- message // guarded by mu; requests of the server, by id
	flows   map[string]*flow          // guarded by mu; calls that wait for input, by requestState
}

// A flow is one call that goes over several requests.
type flow struct {
	tool      string
	arguments string
	ids       []string // of its requests so far
	round     int      // what it waits for
	told      []string // members of the answer
}

// next returns another number.
func (a *asks) next() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	return strconv.Itoa(a.last)
}

// ask asks what the tool asks. input reports whether the exchange has been answered,
// with a wish for input or a refusal.
func (x *exchange) ask(ctx context.Context, tool *Tool, call *Call) (out Output, input bool) {
	if x.modern {
		return x.askForInput(tool, call)
	}
	var told []string
	for _, round := range tool.Asks {
		for _, key := range round.keys() {
			answer, ok := x.askClient(ctx, round[key])
			if !ok {
				return Output{}, false
			}
			told = append(told, quote(key)+":"+answer)
		}
	}
	return Text("{" + strings.Join(told, ",") + "}"), false
}

// askClient sends elicitation/create and returns its result, or {"error": ...}.
func (x *exchange) askClient(ctx context.Context, params string) (answer string, ok bool) {
	id := quote("ask-" + x.s.asks.next())
	came := make(chan message, 1)
	a := &x.s.asks
	a.mu.Lock()
	if a.waiting == nil {
		a.waiting = map[string]chan<- message{}
	}
	a.waiting[id] = came
	a.mu.Unlock()
	x.event(`{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":` + params + `}`)
	select {
	case m := <-came:
		if m.Error != nil {
			return `{"error":` + string(m.Error) + `}`, true
		}
		return string(m.Result), true
	case <-ctx.Done():
		return "", false
	}
}

// answered takes a response of the client. One to no question of ask is nothing.
func (s *Server) answered(m *message) {
	s.asks.mu.Lock()
	defer s.asks.mu.Unlock()
	if came := s.asks.waiting[string(m.ID)]; came != nil {
		delete(s.asks.waiting, string(m.ID))
		came <- *m
	}
}

// askForInput answers with the next round of questions, or with what was told.
func (x *exchange) askForInput(tool *Tool, call *Call) (out Output, input bool) {
	var params struct {
		InputResponses map[string]json.RawMessage
		RequestState   *string
	}
	if err := json.Unmarshal(x.msg.Params, &params); err != nil {
		x.refuse(codeInvalidParams, "Invalid params")
		return Output{}, true
	}
	f := &flow{tool: tool.Name, arguments: string(call.Arguments)}
	if params.RequestState != nil || params.InputResponses != nil {
		var wrong string
		if f, wrong = x.s.asks.resumed(params.RequestState, tool, call, string(x.msg.ID)); wrong == "" {
			wrong = f.take(tool.Asks[f.round], params.InputResponses)
		}
		if wrong != "" {
			x.complain("%s", wrong)
			x.refuse(codeInvalidParams, "Invalid params: "+wrong)
			return Output{}, true
		}
		f.round++
	}
	if f.round == len(tool.Asks) {
		return Text("{" + strings.Join(f.told, ",") + "}"), false
	}
	f.ids = append(f.ids, string(x.msg.ID))
	x.wish(tool.Asks[f.round], x.s.asks.wait(f))
	return Output{}, true
}

// wait keeps a flow until its retry comes, under the state that it returns.
func (a *asks) wait(f *flow) (state string) {
	state = `{"state" ` + a.next() + "} " + randomID() // no JSON: it is none of the client's business
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.flows == nil {
		a.flows = map[string]*flow{}
	}
	a.flows[state] = f
	return state
}

// resumed returns the flow of a state, which is good for once, and what is wrong with
// the request that brings it.
func (a *asks) resumed(state *string, tool *Tool, call *Call, id string) (f *flow, wrong string) {
	if state == nil {
		return nil, "inputResponses without the requestState that was given"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if f = a.flows[*state]; f == nil {
		return nil, "a requestState that was never given, or used before"
	}
	delete(a.flows, *state)
	switch {
	case f.tool != tool.Name || f.arguments != string(call.Arguments):
		return nil, "a requestState that belongs to another call"
	case slices.Contains(f.ids, id):
		return nil, "the id " + id + " again in a retry"
	}
	return f, ""
}

// take notes the answers to a round, and says what is wrong with them.
func (f *flow) take(round Round, answers map[string]json.RawMessage) (wrong string) {
	for _, key := range round.keys() {
		answer, ok := answers[key]
		if !ok {
			return "no input response for " + key
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, answer); err != nil {
			return err.Error()
		}
		f.told = append(f.told, quote(key)+":"+compact.String())
	}
	if len(answers) > len(round) {
		return "input responses for what was not asked"
	}
	return ""
}

// wish answers with a result that wants input.
func (x *exchange) wish(round Round, state string) {
	var requests []string
	for _, key := range round.keys() {
		requests = append(requests, quote(key)+`:{"method":"elicitation/create","params":`+round[key]+`}`)
	}
	x.answer(x.fill(Result(`{"resultType":"input_required","inputRequests":{` + strings.Join(requests, ",") + `},"requestState":` + quote(state) + `}`)))
}
