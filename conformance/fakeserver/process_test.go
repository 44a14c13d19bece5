package fakeserver

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// A screen is the End of a Process that a test looks at.
type screen struct {
	mu   sync.Mutex
	said string
	more chan struct{} // closed and replaced at each word
}

func newScreen() *screen { return &screen{more: make(chan struct{})} }

func (s *screen) add(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said += what
	close(s.more)
	s.more = make(chan struct{})
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said
}

func (s *screen) Stdout(text []byte) { s.add(string(text)) }
func (s *screen) Stderr(text []byte) { s.add("! " + string(text)) }
func (s *screen) Exit(code int)      { s.add(fmt.Sprintf("exit %d\n", code)) }

// wait waits until that has been said.
func (s *screen) wait(t *testing.T, what string) {
	t.Helper()
	over := time.After(10 * time.Second)
	for {
		s.mu.Lock()
		said, more := s.said, s.more
		s.mu.Unlock()
		if strings.Contains(said, what) {
			return
		}
		select {
		case <-more:
		case <-over:
			t.Fatalf("no %q in %q", what, said)
		}
	}
}

// process returns a server as a process, which is closed at the end of the test.
func process(t *testing.T, opts Options) (*Server, *Process, *screen) {
	t.Helper()
	s, end := New(opts), newScreen()
	p := s.Process(end)
	t.Cleanup(func() { p.Close(); s.Close() })
	return s, p, end
}

const (
	opening = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}`
	opened  = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	itsMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"n","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
)

// called is a tools/call as the other side writes it.
func called(id int, tool, rest string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q%s}}`, id, tool, rest)
}

func TestProcess(t *testing.T) {
	for _, test := range []struct {
		name  string
		opts  Options
		lines []string // "> " is taken, "< " is said
		wrong string   // a part of the only complaint; "" for none
	}{
		{"a conversation with a handshake", Options{}, []string{
			"> " + opening, `< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"`, "> " + opened,
			"> " + called(2, "echo", `,"arguments":{"text":"hello"}`), `< {"type":"text","text":"hello"}`,
			`> {"jsonrpc":"2.0","id":3,"method":"made/up"}`, `< {"jsonrpc":"2.0","id":3,"error":{"code":-32601`}, ""},
		{"a request before the handshake", Options{}, []string{
			"> " + called(1, "echo", ""), `< {"jsonrpc":"2.0","id":1,"error":{"code":-32600`}, "before initialize"},
		{"a modern request before the handshake is no offence", Options{}, []string{
			`> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + itsMeta + `}}`, `< {"jsonrpc":"2.0","id":1,"error":{"code":-32600`}, ""},
		{"a modern conversation", Options{Era: Modern}, []string{
			`> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + itsMeta + `}}`, `< "supportedVersions":["2026-07-28"]`,
			"> " + called(2, "echo", `,"arguments":{"text":"hello"},`+itsMeta), `< {"type":"text","text":"hello"}`}, ""},
		{"a modern request without _meta", Options{Era: Modern}, []string{
			"> " + called(2, "echo", ""), `< {"jsonrpc":"2.0","id":2,"error":{"code":-32022`}, ""},
		{"a response in the modern era", Options{Era: Modern}, []string{`> {"jsonrpc":"2.0","id":1,"result":{}}`}, "a client sends no response"},
		{"a server of both eras", Options{Era: Dual}, []string{
			`> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + itsMeta + `}}`, `< "supportedVersions":["2026-07-28"`,
			"> " + opening, `< "protocolVersion":"2025-11-25"`}, ""},
		{"no JSON", Options{}, []string{"> hello", `< {"jsonrpc":"2.0","id":null,"error":{"code":-32700`}, "no JSON object"},
		{"an id that came before", Options{}, []string{
			"> " + opening, "> " + opened, "> " + called(2, "echo", `,"arguments":{"text":"x"}`), "< x",
			"> " + called(2, "echo", `,"arguments":{"text":"x"}`), `< "code":-32600`}, "the id 2 was used before"},
		{"a scripted answer", Options{Script: []Row{
			{HTTP: Line, Method: "ping", Nth: 1, Reply: Reply{Body: Result("{\n\"a\":1}")}},
			{HTTP: Line, Method: "ping", Nth: 2, Reply: Reply{Chunks: []Chunk{{Stderr: "oh"}, {Text: "half"}, {Text: " a line\n"}, Event("{\"id\":\n%ID%}")}}},
			{HTTP: Line, Method: "ping", Nth: 3, Reply: Reply{Hold: true}},
			{HTTP: Line, Method: "ping", Nth: 4, Reply: Reply{Drop: true, Status: 3}}}}, []string{
			`> {"jsonrpc":"2.0","id":1,"method":"ping"}`, "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{ \"a\":1}}\n",
			`> {"jsonrpc":"2.0","id":2,"method":"ping"}`, "< ! ohhalf a line\n{\"id\": 2}\n",
			`> {"jsonrpc":"2.0","id":3,"method":"ping"}`,
			`> {"jsonrpc":"2.0","id":4,"method":"ping"}`, "< exit 3\n"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, p, end := process(t, test.opts)
			for _, line := range test.lines {
				if text, in := strings.CutPrefix(line, "> "); in {
					p.Take([]byte(text))
				} else {
					end.wait(t, strings.TrimPrefix(line, "< "))
				}
			}
			complaints := strings.Join(s.Ledger().Complaints, "\n")
			if (test.wrong == "") != (complaints == "") || !strings.Contains(complaints, test.wrong) {
				t.Errorf("complaints: %q, want %q", complaints, test.wrong)
			}
			if unused := s.Unused(); unused != nil {
				t.Errorf("unused: %q", unused)
			}
		})
	}
}

func TestProcessCancelsByMessage(t *testing.T) {
	for _, test := range []struct {
		name  string
		era   Era
		lines []string
		rest  string // of params
	}{
		{"legacy", Legacy, []string{opening, opened}, ""},
		{"modern", Modern, nil, "," + itsMeta},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, p, end := process(t, Options{Era: test.era})
			for _, line := range test.lines {
				p.Take([]byte(line))
			}
			p.Take([]byte(called(7, "slow", `,"arguments":{"ms":60000}`+test.rest)))
			p.Take([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8,"reason":"another"}}`))
			p.Take([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"enough"}}`))
			if err := s.Wait(within(t), func(l *Ledger) bool { return l.Outcomes("slow", Cancelled) == 1 }); err != nil {
				t.Fatal(err)
			}
			l := s.Ledger()
			if len(l.Cancels) != 2 || l.Cancels[0].Known || !l.Cancels[1].Known || l.Cancels[1].By != ByMessage || l.Cancels[1].Reason != "enough" {
				t.Errorf("cancels: %+v", l.Cancels)
			}
			p.Take([]byte(called(9, "echo", `,"arguments":{"text":"still here"}`+test.rest)))
			end.wait(t, "still here")
			if said := end.text(); strings.Contains(said, `"id":7`) {
				t.Errorf("a cancelled call was answered: %s", said)
			}
			if len(l.Complaints) > 0 {
				t.Errorf("complaints: %q", l.Complaints)
			}
		})
	}
}

func TestProcessIsToldOfChanges(t *testing.T) {
	s, p, end := process(t, Options{})
	p.Take([]byte(opening))
	if n := s.Notify("notifications/tools/list_changed", ""); n != 0 {
		t.Errorf("%d listen before they are open", n)
	}
	p.Take([]byte(opened))
	s.Notify("notifications/tools/list_changed", "")
	end.wait(t, `"method":"notifications/tools/list_changed"`)
	p.Close()
	if n := s.Notify("notifications/tools/list_changed", ""); n != 0 {
		t.Errorf("%d listen after the end", n)
	}

	s, p, end = process(t, Options{Era: Modern})
	p.Take([]byte(`{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + itsMeta + `}}`))
	end.wait(t, `"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":5}`)
	if err := s.Wait(within(t), func(l *Ledger) bool { return l.Listeners == 1 }); err != nil {
		t.Fatal(err)
	}
	p.Take([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`))
	if err := s.Wait(within(t), func(l *Ledger) bool { return l.Listeners == 0 }); err != nil {
		t.Fatal(err)
	}
}

// within is the time that anything may take that is certain to come.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}
