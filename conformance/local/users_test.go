package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
	"github.com/toolhost/toolhost/spec/speccheck"
)

// roleLocalAsking, as its argument, makes the test binary a local server with one
// tool, ask, each call of which asks the user a question in the caller's own words.
const roleLocalAsking = "local-asking"

// localAsking speaks as servers with a handshake do. A call with "with":2 asks only
// when another such call is in flight, and is answered only when both questions are,
// so that the two are sure to be at once.
func localAsking() {
	type message struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Arguments struct {
				Who  string
				With int
			}
		}
		Result struct{ Action string }
	}
	asked, calls := map[string]message{}, 0 // calls by the id of their question
	var held []message
	var answers []string // of calls that came together
	ask := func(m message) {
		calls++
		id := fmt.Sprintf(`"q%d"`, calls)
		asked[id] = m
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"message":%q,"requestedSchema":{"type":"object","properties":{}}}}`+"\n", id, m.Params.Arguments.Who)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		switch call := asked[string(m.ID)]; {
		case m.Method == "" && call.ID != nil:
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s %d"}]}}`, call.ID, m.Result.Action, os.Getpid())
			if answers = append(answers, answer); len(answers) == max(call.Params.Arguments.With, 1) {
				fmt.Println(strings.Join(answers, "\n"))
				answers = nil
			}
		case m.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"asking","version":"1"}}}`+"\n", m.ID)
		case m.Method == "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}}`+"\n", m.ID)
		case m.Method == "tools/call" && m.Params.Arguments.With == 2:
			if held = append(held, m); len(held) == 2 {
				ask(held[0])
				ask(held[1])
				held = nil
			}
		case m.Method == "tools/call":
			ask(m)
		case m.ID != nil:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", m.ID)
		}
	}
}

func TestMain(m *testing.M) {
	if os.Args[len(os.Args)-1] == roleLocalAsking {
		localAsking()
		return
	}
	dir, err := os.MkdirTemp("", "toolhost-local-test-")
	if err != nil {
		panic(err)
	}
	built = sync.OnceValues(func() (string, error) { return child.Build(context.Background(), dir) })
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// built returns the path of the binary, built once.
var built func() (string, error)

// patience is far more than anything here takes. It turns a hang into a failure.
const patience = time.Minute

// hosting starts the built child for a host that answers as it is told.
func hosting(t *testing.T, opts child.Options) *child.Child {
	t.Helper()
	checker, err := speccheck.New()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	opts.Check = checker.Trace
	c, err := child.Start(binary, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(patience); err != nil {
			t.Error(err)
		}
		for _, stray := range c.Strays() {
			t.Errorf("a message that should not have come: %.500s", stray)
		}
	})
	return c
}

// must returns the result of a request.
func must(t *testing.T, c *child.Child, method, params string) json.RawMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	reply, err := c.Call(ctx, method, params)
	if err != nil || reply.Error != nil {
		t.Fatalf("%s: %v, %v", method, err, reply.Error)
	}
	return reply.Result
}

func askingEntry(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"command":%q,"args":[%q]}`, self, roleLocalAsking)
}

// TestS2_10_S2_12_CrossedQuestions puts a thousand questions of one process, which two
// packs share, to two users: one is asked only when nobody else's call is in flight,
// and never about the other's.
func TestS2_10_S2_12_CrossedQuestions(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := 0
	c := hosting(t, child.Options{Answer: func(method string, params json.RawMessage) string {
		var q struct{ ID, Run, Message string }
		if err := json.Unmarshal(params, &q); err != nil || method != "elicit" {
			t.Errorf("%s %s: %v", method, params, err)
		}
		// The pack, the run, and what the server was told by whoever called it.
		if q.Run != "run of "+q.ID || q.Message != q.ID {
			t.Errorf("the user of %s, run %q, is asked the question of %s", q.ID, q.Run, q.Message)
		}
		mu.Lock()
		defer mu.Unlock()
		asked++
		return `{"action":"accept","content":{}}`
	}})
	entry := askingEntry(t)
	for _, id := range []string{"one", "two"} {
		must(t, c, "construct", fmt.Sprintf(`{"pack":"tanstack/mcp","id":%q,"config":{"servers":{"s":%s}},"host":{"capabilities":{"elicit":{"form":true}}}}`, id, entry))
	}
	for _, id := range []string{"one", "two"} {
		must(t, c, "ready", fmt.Sprintf(`{"id":%q}`, id))
	}
	processes := map[string]bool{}
	// round makes one call for each id at once and returns what became of their
	// questions.
	round := func(ids ...string) (actions []string) {
		results := make([]json.RawMessage, len(ids))
		var all sync.WaitGroup
		for i, id := range ids {
			all.Go(func() {
				results[i] = must(t, c, "invoke", fmt.Sprintf(`{"tool":"%s/s_ask","run":"run of %s","arguments":{"who":%q,"with":%d}}`, id, id, id, len(ids)))
			})
		}
		all.Wait()
		for _, result := range results {
			var r struct{ Content string }
			if err := json.Unmarshal(result, &r); err != nil {
				t.Fatal(err)
			}
			action, process, _ := strings.Cut(r.Content, " ")
			actions, processes[process] = append(actions, action), true
		}
		return actions
	}
	accepted, declined := 0, 0
	for i := range 300 {
		want := map[string][]string{"alone": {"accept"}, "crossed": {"decline", "decline"}, "of one run": {"accept", "accept"}}
		got := map[string][]string{"alone": round([]string{"one", "two"}[i%2]), "crossed": round("one", "two")}
		if i%6 == 0 {
			got["of one run"] = round("two", "two")
		}
		for what, actions := range got {
			if !slices.Equal(actions, want[what]) {
				t.Fatalf("round %d, %s: %q, want %q", i, what, actions, want[what])
			}
			for _, action := range actions {
				if action == "accept" {
					accepted++
				} else {
					declined++
				}
			}
		}
	}
	if accepted != 400 || declined != 600 || asked != accepted {
		t.Errorf("%d questions were accepted, %d declined, and %d put to a user", accepted, declined, asked)
	}
	if len(processes) != 1 {
		t.Errorf("two packs with the same entry have %d processes", len(processes))
	}
}

// TestS2_08_S2_09_FiftyServers starts fifty local servers, of which five never answer
// and five crash: the others can be used while ready still waits.
func TestS2_08_S2_09_FiftyServers(t *testing.T) {
	t.Parallel()
	const good, mute, crashing = 40, 5, 5
	var servers []string
	entry := askingEntry(t)
	for i := range good {
		servers = append(servers, fmt.Sprintf(`"good%d":%s`, i, entry))
	}
	for i := range mute {
		servers = append(servers, fmt.Sprintf(`"mute%d":{"command":"sleep","args":["1000"],"timeoutMs":20000}`, i))
	}
	for i := range crashing {
		servers = append(servers, fmt.Sprintf(`"crash%d":{"command":"false"}`, i))
	}
	var mu sync.Mutex
	connected, listed := map[string]bool{}, map[string]bool{}
	all := make(chan struct{})
	c := hosting(t, child.Options{
		Answer: func(string, json.RawMessage) string { return `{"action":"accept","content":{}}` },
		Notify: func(method string, params json.RawMessage) {
			var p struct {
				Servers []struct{ Name, Status string }
				Tools   []struct{ Kind, Server string }
			}
			if err := json.Unmarshal(params, &p); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(connected) == good && len(listed) == good {
				return
			}
			for _, s := range p.Servers {
				if s.Status == "connected" {
					connected[s.Name] = true
				}
			}
			for _, tool := range p.Tools {
				if tool.Kind == "tool" {
					listed[tool.Server] = true
				}
			}
			if len(connected) == good && len(listed) == good {
				close(all)
			}
		},
	})
	must(t, c, "construct", `{"pack":"tanstack/mcp","config":{"servers":{`+strings.Join(servers, ",")+`}},"host":{"capabilities":{"elicit":{"form":true},"status":true,"changed":true}}}`)
	_, ready, err := c.Send("ready", `{"id":"mcp"}`)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-all:
	case reply := <-ready:
		t.Fatalf("ready resolved before the good servers were announced: %s", reply.Result)
	}
	for i := range good {
		must(t, c, "invoke", `{"tool":"mcp/good`+strconv.Itoa(i)+`_ask","arguments":{"who":"me"}}`)
	}
	select {
	case <-ready:
		t.Error("ready did not wait for the servers that never answer")
	default:
	}
	reply, err := c.Await(t.Context(), ready)
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		Servers []struct{ Name, Status string }
		Tools   []struct{ Kind string }
	}
	if err := reply.Decode(&state); err != nil {
		t.Fatal(err)
	}
	statuses := map[string]int{}
	for _, s := range state.Servers {
		statuses[strings.TrimRight(s.Name, "0123456789")+" "+s.Status]++
	}
	if want := map[string]int{"good connected": good, "mute failed": mute, "crash failed": crashing}; fmt.Sprint(statuses) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", statuses, want)
	}
}
