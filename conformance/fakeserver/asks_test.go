package fakeserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// asking are the options of a server with a tool that asks in two rounds.
func asking(era Era) Options {
	return Options{Era: era, Tools: []Tool{
		{Name: "order", Definition: Define("order", "Asks.", `{"type":"object"}`), Asks: []Round{
			{"b": `{"message":"two"}`, "a": `{"message":"one"}`}, {"c": `{"message":"three"}`}}},
		{Name: "other", Definition: Define("other", "Asks too.", `{"type":"object"}`), Asks: []Round{{"a": `{"message":"x"}`}}},
	}}
}

func TestAToolAsksByRequests(t *testing.T) {
	s, p, end := process(t, asking(Legacy))
	p.Take([]byte(opening))
	p.Take([]byte(opened))
	p.Take([]byte(called(2, "order", "")))
	end.wait(t, `"id":"ask-1","method":"elicitation/create","params":{"message":"one"}}`)
	p.Take([]byte(`{"jsonrpc":"2.0","id":"unknown","result":{}}`))
	p.Take([]byte(`{"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept"}}`))
	end.wait(t, `"id":"ask-2","method":"elicitation/create","params":{"message":"two"}}`)
	p.Take([]byte(`{"jsonrpc":"2.0","id":"ask-2","error":{"code":-1,"message":"no"}}`))
	end.wait(t, `"id":"ask-3"`)
	p.Take([]byte(`{"jsonrpc":"2.0","id":"ask-3","result":{"action":"cancel"}}`))
	end.wait(t, `{\"a\":{\"action\":\"accept\"},\"b\":{\"error\":{\"code\":-1,\"message\":\"no\"}},\"c\":{\"action\":\"cancel\"}}`)
	if l := s.Ledger(); len(l.Complaints) > 0 {
		t.Errorf("complaints: %q", l.Complaints)
	}
}

// stateOf returns the requestState that was said last, as a JSON string.
func stateOf(t *testing.T, end *screen) string {
	t.Helper()
	said := end.text()
	lines := strings.Split(strings.TrimSpace(said), "\n")
	var m struct {
		Result struct{ RequestState json.RawMessage }
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &m); err != nil || m.Result.RequestState == nil {
		t.Fatalf("no state in %s", said)
	}
	return string(m.Result.RequestState)
}

func TestAToolAsksByResults(t *testing.T) {
	s, p, end := process(t, asking(Modern))
	p.Take([]byte(called(1, "order", ","+itsMeta)))
	end.wait(t, `"id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"one"}},"b":`)
	p.Take([]byte(called(2, "order", `,"inputResponses":{"a":{"action":"accept", "content":{}},"b":{"action":"decline"}},"requestState":`+stateOf(t, end)+`,`+itsMeta)))
	end.wait(t, `"id":2,"result":{"resultType":"input_required","inputRequests":{"c":`)
	p.Take([]byte(called(3, "order", `,"inputResponses":{"c":{"action":"cancel"}},"requestState":`+stateOf(t, end)+`,`+itsMeta)))
	end.wait(t, `{\"a\":{\"action\":\"accept\",\"content\":{}},\"b\":{\"action\":\"decline\"},\"c\":{\"action\":\"cancel\"}}`)
	if l := s.Ledger(); len(l.Complaints) > 0 {
		t.Errorf("complaints: %q", l.Complaints)
	}
}

func TestRetriesThatAreWrong(t *testing.T) {
	const both = `,"inputResponses":{"a":{},"b":{}}`
	for _, test := range []struct {
		name, tool, rest string // of params; STATE is the state that was given
		id               int
		wrong            string
	}{
		{"no state", "order", both, 2, "without the requestState"},
		{"another state", "order", both + `,"requestState":"x"`, 2, "never given"},
		{"another tool", "other", both + `,"requestState":STATE`, 2, "another call"},
		{"other arguments", "order", both + `,"requestState":STATE,"arguments":{"a":1}`, 2, "another call"},
		{"the id of the call", "order", both + `,"requestState":STATE`, 1, "the id 1 again"},
		{"an answer is missing", "order", `,"inputResponses":{"a":{}},"requestState":STATE`, 2, "no input response for b"},
		{"no answers", "order", `,"requestState":STATE`, 2, "no input response for a"},
		{"one answer too many", "order", `,"inputResponses":{"a":{},"b":{},"c":{}},"requestState":STATE`, 2, "what was not asked"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, p, end := process(t, asking(Modern))
			p.Take([]byte(called(1, "order", ","+itsMeta)))
			end.wait(t, "input_required")
			rest := strings.ReplaceAll(test.rest, "STATE", stateOf(t, end))
			p.Take([]byte(called(test.id, test.tool, rest+","+itsMeta)))
			end.wait(t, fmt.Sprintf(`"id":%d,"error":{"code":-32602`, test.id))
			if l := s.Ledger(); len(l.Complaints) != 1 || !strings.Contains(l.Complaints[0], test.wrong) {
				t.Errorf("complaints: %q, want %q", l.Complaints, test.wrong)
			}
		})
	}
}

func TestAStateIsGoodForOnce(t *testing.T) {
	s, p, end := process(t, asking(Modern))
	p.Take([]byte(called(1, "other", ","+itsMeta)))
	end.wait(t, "input_required")
	again := `,"inputResponses":{"a":{}},"requestState":` + stateOf(t, end) + "," + itsMeta
	p.Take([]byte(called(2, "other", again)))
	end.wait(t, `"id":2,"result":{"resultType":"complete"`)
	p.Take([]byte(called(3, "other", again)))
	end.wait(t, `"id":3,"error"`)
	if l := s.Ledger(); len(l.Complaints) != 1 || !strings.Contains(l.Complaints[0], "used before") {
		t.Errorf("complaints: %q", l.Complaints)
	}
}
