package fakeserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var eras = []struct {
	name string
	era  Era
}{{"legacy", Legacy}, {"modern", Modern}}

func TestBuiltinToolsInBothErasAndForms(t *testing.T) {
	rows := []struct{ tool, arguments, want string }{
		{"echo", `{"text":"a\u003cb \"é\""}`, `"text":"a\u003cb \"é\""`},
		{"echo", `{"text":1}`, `"isError":true`},
		{"add", `{"a":1,"b":2.5}`, `"text":"3.5"`},
		{"slow", `{"ms":4}`, `"text":"slept 4 ms"`},
		{"fail", `{"text":"no luck"}`, `"text":"no luck"}],"isError":true`},
		{"image", `{}`, `"mimeType":"image/png"`},
		{"structured", `{}`, `"content":[],"structuredContent":{"temperature":21.50,`},
		{"links", `{}`, `"type":"resource_link"`},
		{"big", `{"bytes":5}`, `"text":"the q"`},
		{"raw_args", `{"z":1, "a":12345678901234567890}`, `{\"z\":1, \"a\":12345678901234567890}`},
	}
	for _, e := range eras {
		for _, answer := range []Answer{Auto, JSON, SSE} {
			t.Run(fmt.Sprintf("%s %d", e.name, answer), func(t *testing.T) {
				s := StartTest(t, Options{Era: e.era, Answer: answer})
				c := newClient(t, s)
				c.open(e.era)
				for _, row := range rows {
					resp, text := c.call(e.era, "tools/call", `"name":"`+row.tool+`","arguments":`+row.arguments)
					if resp.StatusCode != 200 || !strings.Contains(text, row.want) {
						t.Errorf("%s: status %d, %s; want %s", row.tool, resp.StatusCode, text, row.want)
					}
					stream := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
					if stream != (answer == SSE) {
						t.Errorf("%s: Content-Type %q", row.tool, resp.Header.Get("Content-Type"))
					}
					if modern := strings.Contains(text, `"resultType":"complete"`); modern != (e.era == Modern) {
						t.Errorf("%s: resultType: %s", row.tool, text)
					}
				}
				if resp, text := c.call(e.era, "tools/call", `"name":"nothing"`); !strings.Contains(text, `"code":-32602`) {
					t.Errorf("unknown tool: status %d, %s", resp.StatusCode, text)
				}
				l := s.Ledger()
				if len(l.Runs) != len(rows) || l.Outcomes("", Failed) != 2 || l.Outcomes("", Answered) != len(rows)-2 {
					t.Errorf("runs: %+v", l.Runs)
				}
				waitFor(t, s, "the last request to end", func(l *Ledger) bool { return l.Open == 0 && l.Streams == 0 })
			})
		}
	}
}

func TestProgressGoesAheadOfTheAnswer(t *testing.T) {
	for _, e := range eras {
		t.Run(e.name, func(t *testing.T) {
			s := StartTest(t, Options{Era: e.era})
			c := newClient(t, s)
			c.open(e.era)
			resp, text := c.call(e.era, "tools/call", `"name":"slow","arguments":{"ms":4},"_meta":{"progressToken":"p7"}`)
			if resp.Header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("Content-Type %q", resp.Header.Get("Content-Type"))
			}
			if n := strings.Count(text, `"progressToken":"p7"`); n != 4 {
				t.Errorf("%d progress notifications: %s", n, text)
			}
			if strings.Index(text, "slept") < strings.LastIndex(text, "notifications/progress") {
				t.Errorf("the answer is not last: %s", text)
			}
		})
	}
}

func TestCancelEndsTheRun(t *testing.T) {
	t.Run("legacy: by message, and a lost connection means nothing", func(t *testing.T) {
		s := StartTest(t, Options{})
		c := newClient(t, s)
		c.open(Legacy)
		body, _ := c.request(Legacy, "tools/call", `"name":"slow","arguments":{"ms":600000,"nonce":"n1"}`)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := c.start(ctx, "POST", body, nil); err == nil {
				resp.Body.Close()
			}
		}()
		waitFor(t, s, "the run", func(l *Ledger) bool { return len(l.Runs) == 1 })
		cancel()
		<-done
		if got := s.Ledger().RunsOf("n1"); len(got) != 1 || got[0].Outcome != Running {
			t.Errorf("after the connection was lost: %+v", got)
		}
		c.post(context.Background(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"why"}}`, nil)
		c.post(context.Background(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, nil)
		waitFor(t, s, "the cancel", func(l *Ledger) bool { return l.Outcomes("slow", Cancelled) == 1 })
		want := []Cancel{{ID: "1", By: ByMessage, Reason: "why", Known: true}, {ID: "99", By: ByMessage, Early: true}}
		if got := s.Ledger().Cancels; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("cancels: %+v", got)
		}
	})
	t.Run("legacy: a cancel that overtakes its request", func(t *testing.T) {
		s := StartTest(t, Options{Answer: SSE})
		c := newClient(t, s)
		c.open(Legacy)
		c.post(context.Background(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, nil)
		body, _ := c.request(Legacy, "tools/call", `"name":"slow","arguments":{"ms":600000}`)
		if resp, err := c.start(context.Background(), "POST", body, nil); err == nil {
			resp.Body.Close()
			t.Errorf("a cancelled request was answered: %v", resp)
		}
		if got := s.Ledger().Outcomes("slow", Cancelled); got != 1 {
			t.Errorf("runs: %+v", s.Ledger().Runs)
		}
	})
	t.Run("modern: by closing the stream", func(t *testing.T) {
		s := StartTest(t, Options{Era: Modern})
		c := newClient(t, s)
		body, headers := c.request(Modern, "tools/call", `"name":"slow","arguments":{"ms":600000}`)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := c.start(ctx, "POST", body, headers); err == nil {
				resp.Body.Close()
			}
		}()
		waitFor(t, s, "the run", func(l *Ledger) bool { return len(l.Runs) == 1 })
		cancel()
		<-done
		waitFor(t, s, "the cancel", func(l *Ledger) bool { return l.Outcomes("slow", Cancelled) == 1 })
		if got := s.Ledger().Cancels; len(got) != 1 || got[0] != (Cancel{ID: "1", By: ByStream, Known: true}) {
			t.Errorf("cancels: %+v", got)
		}
	})
	t.Run("close stops what still runs", func(t *testing.T) {
		s := StartTest(t, Options{})
		c := newClient(t, s)
		c.open(Legacy)
		body, _ := c.request(Legacy, "tools/call", `"name":"slow","arguments":{"ms":600000}`)
		done := make(chan error)
		go func() {
			_, err := c.start(context.Background(), "POST", body, nil)
			done <- err
		}()
		waitFor(t, s, "the run", func(l *Ledger) bool { return len(l.Runs) == 1 })
		s.Close()
		if err := <-done; err == nil {
			t.Error("a stopped run was answered")
		}
		if got := s.Ledger().Outcomes("slow", Stopped); got != 1 {
			t.Errorf("runs: %+v", s.Ledger().Runs)
		}
	})
}

func TestPagesOfTools(t *testing.T) {
	for _, e := range eras {
		t.Run(e.name, func(t *testing.T) {
			s := StartTest(t, Options{Era: e.era, Tools: Filler(7), PageSize: 3})
			c := newClient(t, s)
			c.open(e.era)
			var names []string
			params := ""
			for range 3 {
				_, text := c.call(e.era, "tools/list", params)
				var reply struct {
					Result struct {
						Tools      []struct{ Name string }
						NextCursor string
					}
				}
				if err := json.Unmarshal([]byte(text), &reply); err != nil {
					t.Fatal(err)
				}
				for _, tool := range reply.Result.Tools {
					names = append(names, tool.Name)
				}
				params = `"cursor":"` + reply.Result.NextCursor + `"`
			}
			if len(names) != 7 || names[6] != "filler_00007" || params != `"cursor":""` {
				t.Errorf("names %v, then %s", names, params)
			}
		})
	}
}

func TestLegacySessions(t *testing.T) {
	s := StartTest(t, Options{Versions: []string{"2025-06-18"}})
	c := newClient(t, s)
	if resp, text := c.call(Legacy, "tools/list", ""); resp.StatusCode != 400 || !strings.Contains(text, "Mcp-Session-Id") {
		t.Errorf("without a session: %d %s", resp.StatusCode, text)
	}
	resp, text := c.post(context.Background(), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil)
	if !strings.Contains(text, `"protocolVersion":"2025-06-18"`) || !strings.Contains(text, `"serverInfo":{"name":"fakeserver"`) {
		t.Errorf("initialize: %s", text)
	}
	c.headers["Mcp-Session-Id"] = resp.Header.Get("Mcp-Session-Id")
	c.headers["MCP-Protocol-Version"] = "2025-06-18"
	c.post(context.Background(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
	if resp, text := c.call(Legacy, "ping", ""); resp.StatusCode != 200 || !strings.Contains(text, `"result":{}`) {
		t.Errorf("ping: %d %s", resp.StatusCode, text)
	}
	if resp, text := c.call(Legacy, "no/such", ""); resp.StatusCode != 200 || !strings.Contains(text, `-32601`) {
		t.Errorf("unknown method: %d %s", resp.StatusCode, text)
	}
	resp, err := c.start(context.Background(), "GET", "", nil)
	if err != nil || resp.StatusCode != 405 {
		t.Errorf("GET: %v %v", resp, err)
	}
	if n := s.Ledger().Sessions; n != 1 {
		t.Errorf("%d sessions", n)
	}
	resp, err = c.start(context.Background(), "DELETE", "", nil)
	if err != nil || resp.StatusCode != 204 || s.Ledger().Sessions != 0 {
		t.Errorf("DELETE: %v %v", resp, err)
	}
	if resp, _ := c.call(Legacy, "tools/list", ""); resp.StatusCode != 404 {
		t.Errorf("after DELETE: %d", resp.StatusCode)
	}
	delete(c.headers, "Mcp-Session-Id")
	delete(c.headers, "MCP-Protocol-Version")
}

func TestDropSessions(t *testing.T) {
	s := StartTest(t, Options{})
	c := newClient(t, s)
	c.open(Legacy)
	s.DropSessions()
	if resp, _ := c.call(Legacy, "tools/list", ""); resp.StatusCode != 404 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestDualServesBothEras(t *testing.T) {
	s := StartTest(t, Options{Era: Dual})
	c := newClient(t, s)
	if resp, text := c.call(Modern, "server/discover", ""); resp.StatusCode != 200 || !strings.Contains(text, `"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"]`) {
		t.Errorf("discover: %d %s", resp.StatusCode, text)
	}
	c.open(Legacy)
	if resp, text := c.call(Legacy, "tools/list", ""); resp.StatusCode != 200 || strings.Contains(text, "resultType") {
		t.Errorf("legacy list: %d %s", resp.StatusCode, text)
	}
}

func TestEachEraRefusesTheOther(t *testing.T) {
	t.Run("legacy server, modern request", func(t *testing.T) {
		s := StartTest(t, Options{})
		resp, text := newClient(t, s).call(Modern, "server/discover", "")
		if resp.StatusCode != 400 || strings.Contains(text, "-3202") {
			t.Errorf("%d %s", resp.StatusCode, text)
		}
	})
	t.Run("modern server, initialize", func(t *testing.T) {
		s := StartTest(t, Options{Era: Modern})
		resp, text := newClient(t, s).post(context.Background(), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil)
		if resp.StatusCode != 400 || !strings.Contains(text, `"data":{"supported":["2026-07-28"],"requested":"2025-11-25"}`) {
			t.Errorf("%d %s", resp.StatusCode, text)
		}
		if resp.Header.Get("Mcp-Session-Id") != "" {
			t.Error("a modern server gave a session")
		}
	})
	t.Run("modern server, another modern version", func(t *testing.T) {
		s := StartTest(t, Options{Era: Modern, Versions: []string{"2030-01-01"}})
		resp, text := newClient(t, s).call(Modern, "tools/list", "")
		if resp.StatusCode != 400 || !strings.Contains(text, `"code":-32022`) || !strings.Contains(text, `["2030-01-01"]`) {
			t.Errorf("%d %s", resp.StatusCode, text)
		}
	})
}

func TestScript(t *testing.T) {
	s := StartTest(t, Options{
		Era: Modern,
		Script: []Row{
			{Method: "tools/list", Nth: 1, Reply: Reply{Status: 503, Header: map[string]string{"Retry-After": "1"}, Body: "busy"}},
			{Method: "tools/list", Nth: 2, Reply: Reply{Body: Result(`{"tools":[]}`)}},
			{Method: "tools/list", Nth: 3, Reply: Reply{Chunks: []Chunk{{Text: ": hi\n\n"}, Event(`{"method":"x"}`), Event(Result("{\n}"))}}},
			{Method: "tools/list", Nth: 4, Reply: Reply{Drop: true}},
			{Method: "tools/list", Nth: 5, Reply: Reply{Healthy: true}},
			{Method: "tools/list", Reply: Reply{Func: func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }}},
		},
	})
	c := newClient(t, s)
	if resp, text := c.call(Modern, "tools/list", ""); resp.StatusCode != 503 || text != "busy" || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("1: %v %s", resp, text)
	}
	if _, text := c.call(Modern, "tools/list", ""); text != `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}` {
		t.Errorf("2: %s", text)
	}
	want := ": hi\n\nevent: message\ndata: {\"method\":\"x\"}\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\ndata: }}\n\n"
	if resp, text := c.call(Modern, "tools/list", ""); resp.Header.Get("Content-Type") != "text/event-stream" || text != want {
		t.Errorf("3: %q", text)
	}
	body, headers := c.request(Modern, "tools/list", "")
	if resp, err := c.start(context.Background(), "POST", body, headers); err == nil {
		t.Errorf("4: %v", resp)
	}
	if _, text := c.call(Modern, "tools/list", ""); !strings.Contains(text, `"name":"echo"`) {
		t.Errorf("5: %s", text)
	}
	for range 2 {
		if _, text := c.call(Modern, "tools/list", ""); !strings.Contains(text, `"method":"tools/list"`) {
			t.Errorf("6: %s", text)
		}
	}
	if n := s.Ledger().Count("POST", "tools/list"); n != 7 {
		t.Errorf("%d requests", n)
	}
}

// A reply can wait for what it needs, and say something before the healthy answer;
// another stream can answer a call.
func TestScriptWaitsAndGoesOn(t *testing.T) {
	answered := func(l *Ledger) bool { return l.Count("POST", "") > 0 }
	s := StartTest(t, Options{Era: Modern, Capabilities: `{"tools":{},"logging":{}}`, Script: []Row{
		{Method: "tools/call", Reply: Reply{Healthy: true, Chunks: []Chunk{Event(`{"jsonrpc":"2.0","id":"q","method":"ping"}`), {Until: answered, Text: ": thanks\n\n"}}}},
		{Reply: Reply{Status: 202}}, // the answer, which no client of this era would send
		{HTTP: "GET", Reply: Reply{Until: answered, Chunks: []Chunk{Event(`{"jsonrpc":"2.0","id":%CALL%,"result":{}}`)}}},
	}})
	c := newClient(t, s)
	if _, text := c.call(Modern, "server/discover", ""); !strings.Contains(text, `"capabilities":{"tools":{},"logging":{}}`) {
		t.Errorf("%s", text)
	}
	body, headers := c.request(Modern, "tools/call", `"name":"echo","arguments":{"text":"hi"}`)
	resp, err := c.start(context.Background(), "POST", body, headers)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	if !scanTo(lines, `"id":"q"`) {
		t.Fatal("no question")
	}
	c.post(context.Background(), `{"jsonrpc":"2.0","id":"q","result":{}}`, nil)
	if !scanTo(lines, ": thanks") || !scanTo(lines, `"text":"hi"`) {
		t.Error("the healthy answer did not follow")
	}
	got, err := c.start(context.Background(), "GET", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if text, err := io.ReadAll(got.Body); err != nil || !strings.Contains(string(text), `"id":2,"result"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// A fake that is asked too little or too much must fail its test.
func TestVerifyReportsUnusedRowsAndStrangers(t *testing.T) {
	s, err := Start(Options{Era: Modern, ScriptOnly: true, Script: []Row{{HTTP: "GET", Nth: 2, Reply: Reply{Body: "x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if resp, _ := newClient(t, s).call(Modern, "tools/list", ""); resp.StatusCode != 500 {
		t.Errorf("status %d", resp.StatusCode)
	}
	var heard errorList
	s.Verify(&heard)
	want := errorList{
		`fakeserver: row never used: GET "", number 2`,
		`fakeserver: the client broke a rule: POST tools/list: no row of the script answers it (nth 1)`,
	}
	if fmt.Sprint(heard) != fmt.Sprint(want) {
		t.Errorf("got %q", heard)
	}
}

type errorList []string

func (l *errorList) Helper()                   {}
func (l *errorList) Cleanup(func())            {}
func (l *errorList) Fatalf(f string, a ...any) { l.Errorf(f, a...) }
func (l *errorList) Errorf(f string, a ...any) { *l = append(*l, fmt.Sprintf(f, a...)) }

func TestListening(t *testing.T) {
	for _, e := range eras {
		t.Run(e.name, func(t *testing.T) {
			s := StartTest(t, Options{Era: e.era, Listen: true})
			c := newClient(t, s)
			c.open(e.era)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			method, body, headers := "GET", "", map[string]string(nil)
			if e.era == Modern {
				method = "POST"
				body, headers = c.request(Modern, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
			}
			resp, err := c.start(ctx, method, body, headers)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			lines := bufio.NewScanner(resp.Body)
			if e.era == Modern && !scanTo(lines, `"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"notifications":{"toolsListChanged":true}}`) {
				t.Error("no acknowledgment")
			}
			waitFor(t, s, "the listener", func(l *Ledger) bool { return l.Listeners == 1 })
			if n := s.Notify("notifications/tools/list_changed", ""); n != 1 {
				t.Errorf("%d listeners", n)
			}
			if !scanTo(lines, "notifications/tools/list_changed") {
				t.Error("no notification")
			}
			cancel()
			waitFor(t, s, "the end of the stream", func(l *Ledger) bool { return l.Streams == 0 && l.Listeners == 0 })
			if n := s.Notify("notifications/tools/list_changed", ""); n != 0 {
				t.Errorf("%d listeners after the end", n)
			}
		})
	}
}

func scanTo(lines *bufio.Scanner, text string) bool {
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return true
		}
	}
	return false
}

func TestRequiredHeader(t *testing.T) {
	s := StartTest(t, Options{Require: map[string]string{"Authorization": "Bearer good"}})
	c := newClient(t, s)
	if resp, _ := c.call(Legacy, "ping", ""); resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("without: %v", resp)
	}
	c.headers["Authorization"] = "Bearer good"
	c.open(Legacy)
}

// Over Pipe everything happens in fake time: ten minutes of a slow tool and of a
// scripted pause pass at once.
func TestPipeInFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Era: Modern, Script: []Row{{Method: "tools/list", Reply: Reply{After: 10 * time.Minute, Healthy: true}}}})
		defer s.Close()
		c := &client{t: t, url: "http://server/mcp", http: &http.Client{Transport: &http.Transport{DialContext: s.Pipe()}}, headers: map[string]string{}}
		defer c.http.CloseIdleConnections()
		begin := time.Now()
		if _, text := c.call(Modern, "tools/call", `"name":"slow","arguments":{"ms":600000}`); !strings.Contains(text, "slept") {
			t.Error(text)
		}
		if _, text := c.call(Modern, "tools/list", ""); !strings.Contains(text, "echo") {
			t.Error(text)
		}
		if d := time.Since(begin); d != 20*time.Minute {
			t.Errorf("took %v", d)
		}
		s.Verify(t)
	})
}

func TestCloseTwiceAndWaitGivesUp(t *testing.T) {
	s := StartTest(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Wait(ctx, func(*Ledger) bool { return false }); err != context.Canceled {
		t.Errorf("Wait: %v", err)
	}
	s.Close()
	s.Close()
}
