package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// conversation is what a server saw: a POST for each text, a GET for "", each with
// the header X set to its number.
func conversation(bodies ...string) []*request {
	var all []*request
	for i, body := range bodies {
		h := http.Header{"X": {string(rune('1' + i))}}
		if body == "" {
			all = append(all, newRequest("", "GET", h, nil))
		} else {
			all = append(all, newRequest("", "POST", h, []byte(body)))
		}
	}
	return all
}

func TestWire(t *testing.T) {
	seen := conversation(
		`{"id":1,"method":"initialize"}`,
		`{"method":"notifications/initialized"}`,
		``,
		`{"id":2,"method":"tools/call","params":{"_meta":{"a/b":1}}}`,
		`{"id":2,"method":"tools/call"}`,
		`{"id":"s","result":{}}`,
		`[{"id":9,"method":"tools/call"}]`,
	)
	seen[4].server = "b"
	seen = append(seen,
		&request{server: "local", http: started, body: []byte(`{"env":{"A":"b"}}`)},
		newRequest("local", fakeserver.Line, nil, []byte(`{"id":7,"method":"tools/call"}`)),
		&request{server: "local", http: inputEnded},
		&request{server: "local", http: gone, method: grandchild},
	)
	for _, test := range []struct {
		text string
		err  string // "" when it holds
	}{
		{"next POST initialize\nnext GET\nnext POST tools/call", ""},
		{"next GET\nnext POST initialize", "none after request 3, GET"},
		{"then POST initialize\nthen POST notification\nthen GET", ""},
		{"then POST notification", "came POST initialize"},
		{"next POST batch\nthen START\nthen LINE tools/call", ""},
		{"next GONE\nthen GET", "nothing after request 11"},
		{`all POST tools/call {"body": {"id": 2}}`, ""},
		{`all POST request {"body": {"id": 2}}`, "want 2, have 1"},
		{"all DELETE", "there is none"},
		{"no DELETE", ""},
		{`no GET {"headers": {"x": "3"}}`, "there is one"},
		{`no GET {"headers": {"x": "4"}}`, ""},
		{"count 2 POST tools/call", ""},
		{"count 1 POST tools/call@b", ""},
		{"count 1 POST tools/call@", ""},
		{"count 3 POST tools/call", "there are 2"},
		{`count 1 POST tools/call#2 {"headers": {"x": "5"}}`, ""},
		{"count 1 POST response", ""},
		{"count 6 POST *", ""},
		{"count 8 *", ""},
		{"next LINE tools/call\nnext EOF\nnext GONE grandchild", ""},
		{"no LINE notification", ""},
		{"count 1 START {\"body\": {\"env\": {\"A\": \"b\"}}}", ""},
		{"no *@local {\"body\": {\"env\": \"$any\"}}", ""},
		{"unique POST tools/call /body/id", "both have 2"},
		{"unique POST request /headers/x", ""},
		{"unique GET /headers/x", "want two at least"},
		{"keys POST tools/call /body/params/_meta \"[a-z]+/[a-z]\"", ""},
		{"keys POST tools/call /body/params/_meta \"[a-z]+\"", `"a/b" does not match`},
		{"keys GET /body/params \"[a-z]+\"", "no such object"},
	} {
		checks, err := parseWire(&section{line: 1, text: test.text})
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		faults := strings.Join(judgeWire(checks, seen), "\n")
		if test.err == "" && faults != "" || test.err != "" && !strings.Contains(faults, test.err) {
			t.Errorf("%s: got %q, want %q", test.text, faults, test.err)
		}
	}
}

func TestSchemas(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"n","version":"1"}}`
	for _, test := range []struct {
		name, era string
		body      string
		sound     bool
	}{
		{"a legacy listing", "B", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, true},
		{"a modern listing", "D", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`, true},
		{"one without _meta", "D", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, false},
		{"an id that is null", "A", `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, false},
		{"an id with a fraction", "C", `{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}`, false},
		{"another version of JSON-RPC", "C", `{"jsonrpc":"1.0","id":1,"method":"tools/list"}`, false},
		{"a method that a client does not have", "C", `{"jsonrpc":"2.0","id":1,"method":"tools/made-up"}`, false},
		{"an answer", "C", `{"jsonrpc":"2.0","id":"x","result":{}}`, true},
		{"an error without a message", "C", `{"jsonrpc":"2.0","id":"x","error":{"code":1}}`, false},
		{"a batch", "A", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, false},
		{"no JSON", "A", `{`, false},
		{"no UTF-8", "A", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", false},
	} {
		faults, err := judgeSchemas(revisions[test.era], conversation(test.body))
		if err != nil {
			t.Fatal(err)
		}
		if (len(faults) == 0) != test.sound {
			t.Errorf("%s: %v", test.name, faults)
		}
	}
}

// A message of a session that says nothing of its revision belongs to the one that
// has no header for it.
func TestSchemaOfASessionInTheModernEra(t *testing.T) {
	faults, err := judgeSchemas(revisions[modern], conversation(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
	if err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}
}
