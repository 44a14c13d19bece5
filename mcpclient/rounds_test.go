package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// wants is a result that asks for those inputs, members of inputRequests, and has
// that literal as its state; "" for none of either.
func wants(requests, state string) string {
	result := `{"resultType":"input_required"`
	if requests != "" {
		result += `,"inputRequests":{` + requests + `}`
	}
	if state != "" {
		result += `,"requestState":` + state
	}
	return result + "}"
}

// asksFor is one input request in mode form.
func asksFor(key string) string {
	return `"` + key + `":{"method":"elicitation/create","params":{"message":"` + key + `?","requestedSchema":` + nameForm + `}}`
}

// inputOf returns what a request gives as input, the literals, "" for none.
func inputOf(req *Request) (responses, state string) {
	params := rawjson.Members(rawjson.Members(req.Body).Get("params"))
	return string(params.Get("inputResponses")), string(params.Get("requestState"))
}

// callWith calls tool t of a modern server, whose n-th answer is that of the script,
// and the last one of those that follow.
func callWith(t *testing.T, elicit Elicitor, script ...string) (*CallResult, []*Request, error) {
	t.Helper()
	var seen []*Request
	session, _ := connectAs(t, modernName, Options{Elicits: bothModes}, func(_ context.Context, req *Request, _ Handler) (*Response, error) {
		seen = append(seen, req)
		return result(script[min(len(seen), len(script))-1])
	})
	r, err := session.CallTool(t.Context(), "t", []byte(`{"n": 1.0}`), &CallOptions{Elicit: elicit})
	return r, seen, err
}

func TestMRT01_EveryInputIsGathered(t *testing.T) {
	p := &person{script: []ElicitAnswer{accept(`{"name":"Ann"}`), {Action: ElicitDecline}, accept(``), {Action: ElicitCancel}}}
	visit := `"z":{"params":{"mode":"url","message":"Go","url":"https://a.example/"},"method":"elicitation/create"}`
	r, seen, err := callWith(t, p.elicit, wants(asksFor("b")+","+asksFor(`\u0061`)+","+visit+","+asksFor(""), `"s"`), hello)
	if err != nil || string(r.Text()) != `"hello"` || len(seen) != 2 {
		t.Fatalf("%v, %v, %d requests", r, err, len(seen))
	}
	// In the server's order, by its keys as it writes them; MRT-14, ELI-20.
	want := `{"b":{"action":"accept","content":{"name":"Ann"}},"\u0061":{"action":"decline"},"z":{"action":"accept"},"":{"action":"cancel"}}`
	if got, state := inputOf(seen[1]); got != want || state != `"s"` {
		t.Errorf("input %s, state %s, want %s", got, state, want)
	}
	if len(p.asked) != 4 || p.asked[0].Message != "b?" || p.asked[2].URL != "https://a.example/" {
		t.Errorf("asked %+v", p.asked)
	}
}

func TestMRT03_StateGoesBackAsItCame(t *testing.T) {
	for _, state := range []string{
		`""`, `"x"`, `" leading"`, `"{\"not\": json"`, `"\u00e9\/é\ud800"`, `"\"\\\n"`,
		`"` + strings.Repeat("s", 1<<20) + `"`,
	} {
		r, seen, err := callWith(t, (&person{}).elicit, wants(asksFor("a"), state), hello)
		if err != nil || len(seen) != 2 {
			t.Fatalf("%v, %v, %d requests", r, err, len(seen))
		}
		if _, got := inputOf(seen[1]); got != state {
			t.Errorf("state %.40s goes back as %.40s", state, got)
		}
	}
}

// MRT-04, MRT-06 and MRT-08: each request repeats what the caller gave, under its own
// id, with the input of its round and no other.
func TestS2_16_ACallAsksFiveTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		states := []string{`"1"`, "", `"3"`, `""`, ""}
		var script []string
		p := &person{}
		for i, state := range states {
			script = append(script, wants(asksFor(fmt.Sprint("k", i)), state))
			p.script = append(p.script, accept(fmt.Sprintf(`{"name":"Ann %d"}`, i)))
		}
		_, seen, err := callWith(t, p.elicit, append(script, hello)...)
		if err != nil || len(seen) != 6 || len(p.asked) != 5 {
			t.Fatalf("%v after %d requests and %d questions", err, len(seen), len(p.asked))
		}
		for i, req := range seen { // the server checks that ids differ, and _meta
			params := rawjson.Members(rawjson.Members(req.Body).Get("params"))
			if string(params.Get("name")) != `"t"` || string(params.Get("arguments")) != `{"n": 1.0}` || req.Name != "t" || req.Again != nil {
				t.Errorf("request %d: %s", i, req.Body)
			}
			responses, state := inputOf(req)
			want, wantState := "", ""
			if i > 0 {
				want, wantState = fmt.Sprintf(`{"k%d":{"action":"accept","content":{"name":"Ann %d"}}}`, i-1, i-1), states[i-1]
			}
			if responses != want || state != wantState {
				t.Errorf("request %d has the input %s and state %s, want %s and %s", i, responses, state, want, wantState)
			}
		}
	})
}

func TestMRT12_RoundsAreBounded(t *testing.T) {
	for name, script := range map[string]string{"input": wants(asksFor("a"), `"x"`), "state only": wants("", `"x"`)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &person{}
				began := time.Now()
				_, seen, err := callWith(t, p.elicit, script)
				e := ask[*limit.Error](t, err)
				if e.Name != limit.ElicitRounds || !strings.Contains(err.Error(), `tool "t"`) || !strings.Contains(err.Error(), "elicit_rounds (5)") {
					t.Error(err)
				}
				if len(seen) != 6 {
					t.Errorf("%d requests", len(seen))
				}
				// MRT-02: a server that wants nothing but its state is not stormed.
				if took := time.Since(began); name == "state only" && took != 31*statePause || name == "input" && (took != 0 || len(p.asked) != 5) {
					t.Errorf("it took %v and %d questions", took, len(p.asked))
				}
			})
		})
	}
}

func TestL39_QuestionsAtOnceAreBounded(t *testing.T) {
	for n, fails := range map[int]bool{50: false, 51: true} {
		var list []string
		for i := range n {
			list = append(list, asksFor(fmt.Sprint(i)))
		}
		p := &person{}
		_, seen, err := callWith(t, p.elicit, wants(strings.Join(list, ","), ""), hello)
		if !fails {
			if err != nil || len(p.asked) != n {
				t.Errorf("%d: %v after %d questions", n, err, len(p.asked))
			}
			continue
		}
		if e := ask[*limit.Error](t, err); e.Name != limit.ElicitFields || len(seen) != 1 || len(p.asked) != 0 {
			t.Errorf("%d: %v after %d requests and %d questions", n, err, len(seen), len(p.asked))
		}
	}
}

func TestMRT02_OnlyAState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, script := range []string{wants("", `"x"`), `{"resultType":"input_required","inputRequests":{},"requestState":"x"}`, `{"resultType":"input_required","inputRequests":null,"requestState":"x"}`} {
			p := &person{}
			_, seen, err := callWith(t, p.elicit, script, hello)
			if err != nil || len(seen) != 2 || len(p.asked) != 0 {
				t.Fatalf("%v after %d requests and %d questions", err, len(seen), len(p.asked))
			}
			if responses, state := inputOf(seen[1]); responses != "" || state != `"x"` {
				t.Errorf("input %s, state %s", responses, state)
			}
		}
	})
}

// MRT-09: what cannot be had ends the call before anybody is asked anything. MRT-11:
// what is no result that asks for input is malformed.
func TestMRT09_InputThatCannotBeHad(t *testing.T) {
	visit := `"u":{"method":"elicitation/create","params":{"mode":"url","message":"Go","url":"https://a.example/"}}`
	for _, test := range []struct {
		name   string
		modes  map[ElicitMode]bool
		result string
		want   string
		input  bool // an *InputError; else a *WireError
	}{
		{"sampling", bothModes, wants(asksFor("a")+`,"s":{"method":"sampling/createMessage","params":{}}`, ""), `tool "t" asks for input that this client cannot give: sampling/createMessage`, true},
		{"roots and something unknown", bothModes, wants(`"r":{"method":"roots/list"},"x":{"method":"canary"},"y":5,`+asksFor("a"), `"s"`), "roots/list, something unknown", true},
		{"a mode that was not declared", map[ElicitMode]bool{ElicitForm: true}, wants(asksFor("a")+","+visit, ""), "elicitation/create in a mode that was not declared", true},
		{"no mode was declared", nil, wants(asksFor("a"), ""), "elicitation/create in a mode that was not declared", true},
		{"MRT-11 neither", bothModes, wants("", ""), "neither which input nor a state", false},
		{"MRT-11 no request and no state", bothModes, `{"resultType":"input_required","inputRequests":{},"requestState":null}`, "neither which input nor a state", false},
		{"the requests are a list", bothModes, `{"resultType":"input_required","inputRequests":[]}`, "inputRequests is an array", false},
		{"the state is no string", bothModes, `{"resultType":"input_required","requestState":{}}`, "requestState is an object", false},
		{"a key stands twice", bothModes, wants(asksFor("a")+","+asksFor(`\u0061`), ""), "a key stands twice in inputRequests", false},
		{"inputRequests stands twice", bothModes, `{"resultType":"input_required","inputRequests":{},"inputRequests":{}}`, "inputRequests stands twice", false},
		{"requestState stands twice", bothModes, `{"resultType":"input_required","requestState":"a","requestState":"b"}`, "requestState stands twice", false},
		{"a question without a message", bothModes, wants(asksFor("a")+`,"b":{"method":"elicitation/create","params":{}}`, ""), "in inputRequests, message is missing", false},
		{"a question without params", bothModes, wants(`"b":{"method":"elicitation/create"}`, ""), "in inputRequests, params is missing", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &person{}
			session, s := connectAs(t, modernName, Options{Elicits: test.modes}, func(context.Context, *Request, Handler) (*Response, error) {
				return result(test.result)
			})
			_, err := session.CallTool(t.Context(), "t", nil, &CallOptions{Elicit: p.elicit})
			if test.input {
				ask[*InputError](t, err)
			} else if e := ask[*WireError](t, err); e.Delivered != "yes" {
				t.Errorf("%+v", e)
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%v, want %q", err, test.want)
			}
			if n := s.count(methodCall); n != 1 || len(p.asked) != 0 {
				t.Errorf("%d requests and %d questions", n, len(p.asked))
			}
		})
	}
}

// A question that cannot be shown is declined, and the others are put.
func TestELI13_InARound(t *testing.T) {
	p := &person{script: []ElicitAnswer{accept(`{"name":"Ann"}`)}}
	bad := `"x":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"object"}}}}},` +
		`"y":{"method":"elicitation/create","params":{"mode":"url","message":"?","url":"javascript:0"}},`
	_, seen, err := callWith(t, p.elicit, wants(bad+asksFor("a"), ""), hello)
	if err != nil || len(seen) != 2 {
		t.Fatalf("%v after %d requests", err, len(seen))
	}
	want := `{"x":{"action":"decline"},"y":{"action":"decline"},"a":{"action":"accept","content":{"name":"Ann"}}}`
	if got, _ := inputOf(seen[1]); got != want || len(p.asked) != 1 {
		t.Errorf("input %s after %d questions, want %s", got, len(p.asked), want)
	}
}

// MRT-07: eight calls side by side, and one that needs no input. None gets the input
// or the state of another.
func TestMRT07_InputBelongsToOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session, _ := connectAs(t, modernName, Options{Elicits: bothModes}, func(_ context.Context, req *Request, _ Handler) (*Response, error) {
			responses, state := inputOf(req)
			switch {
			case req.Name == "plain" || responses != "":
				return result(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, responses+state))
			default:
				return result(wants(asksFor(req.Name), `"state of `+req.Name+`"`))
			}
		})
		var group sync.WaitGroup
		open := make(chan struct{})
		call := func(name, want string) {
			r, err := session.CallTool(t.Context(), name, nil, &CallOptions{Elicit: func(_ context.Context, e *Elicitation) ElicitAnswer {
				<-open
				return accept(`{"name":"for ` + e.Message + `"}`)
			}})
			if err != nil {
				t.Error(err)
			} else if got := rawjson.Text(r.Text()); got != want {
				t.Errorf("%s got %s, want %s", name, got, want)
			}
		}
		for i := range 8 {
			name := fmt.Sprint("t", i)
			group.Go(func() {
				call(name, `{"`+name+`":{"action":"accept","content":{"name":"for `+name+`?"}}}"state of `+name+`"`)
			})
		}
		synctest.Wait()
		call("plain", "") // while the others are open
		close(open)
		group.Wait()
		call("plain", "")
	})
}

// MRT-08: the headers that mirror arguments go with each request.
func TestMRT08_HeadersAreRepeated(t *testing.T) {
	var seen []string
	session, _ := connectAs(t, modernName, Options{Elicits: bothModes}, func(_ context.Context, req *Request, _ Handler) (*Response, error) {
		if req.Method == methodList {
			return result(`{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}}]}`)
		}
		seen = append(seen, fmt.Sprint(req.Headers))
		if len(seen) == 1 {
			return result(wants(asksFor("k"), ""))
		}
		return result(hello)
	})
	if _, err := session.ListTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := session.CallTool(t.Context(), "t", []byte(`{"a":"x"}`), &CallOptions{Elicit: (&person{}).elicit}); err != nil {
		t.Fatal(err)
	}
	if want := "[{A x}] [{A x}]"; strings.Join(seen, " ") != want {
		t.Errorf("headers %s, want %s", strings.Join(seen, " "), want)
	}
}

// ELI-07: a call that ends while its question is open sends nothing any more.
func TestCallEndsWhileItAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the host cancels")
		session, s := connectAs(t, modernName, Options{Elicits: bothModes}, func(context.Context, *Request, Handler) (*Response, error) {
			return result(wants(asksFor("a")+","+asksFor("b"), ""))
		})
		asked := 0
		_, err := session.CallTool(ctx, "t", nil, &CallOptions{Elicit: func(ctx context.Context, _ *Elicitation) ElicitAnswer {
			asked++
			time.AfterFunc(time.Minute, func() { cancel(why) })
			<-ctx.Done()
			return accept(`{"name":"too late"}`)
		}})
		if !errors.Is(err, why) || s.count(methodCall) != 1 || asked != 1 {
			t.Errorf("%v after %d requests and %d questions", err, s.count(methodCall), asked)
		}
	})
}

// The same while the pause before a retry lasts.
func TestCallEndsInThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), statePause/2)
		defer cancel()
		session, s := connectAs(t, modernName, Options{Elicits: bothModes}, func(context.Context, *Request, Handler) (*Response, error) {
			return result(wants("", `"x"`))
		})
		_, err := session.CallTool(ctx, "t", nil, &CallOptions{Elicit: (&person{}).elicit})
		if !errors.Is(err, context.DeadlineExceeded) || s.count(methodCall) != 1 {
			t.Errorf("%v after %d requests", err, s.count(methodCall))
		}
	})
}

// What proves that the server did not act is worth another sending in each round,
// with the input of that round; what proves nothing is not, in any.
func TestRoundsAreSentTwiceByTheSameRules(t *testing.T) {
	mismatch := refuses(400, codeHeaderMismatch, "a header is missing", "")
	for _, test := range []struct {
		name   string
		second side // answers the first request that has input
		sent   int  // with input
		fails  bool
	}{
		{"the session was lost", always(sessionLost), 2, false},
		{"a header is missing", mismatch, 2, false},
		{"the wire broke", always(notMCP), 1, true},
		{"the server is busy", refuses(200, -32603, "busy", ""), 1, true},
		{"the revision is not spoken any more", refuses(400, codeUnsupportedVersion, "no", `{"supported":["`+legacyName+`"]}`), 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			sent := 0
			discover := says(discovered)
			s := play(t, map[string]side{
				methodDiscover: func(n int, req *Request) (*Response, error) { return discover(n, req) },
				methodList:     says(`{"tools":[]}`),
				methodCall: func(_ int, req *Request) (*Response, error) {
					responses, state := inputOf(req)
					if responses == "" {
						return result(wants(asksFor("a"), `"s"`))
					}
					if responses != `{"a":{"action":"accept","content":{"name":"Ann"}}}` || state != `"s"` || req.Link.Revision.Handshake {
						t.Errorf("input %s, state %s over %s", responses, state, req.Link.Revision.Name)
					}
					if sent++; sent == 1 {
						return test.second(1, req)
					}
					return result(hello)
				},
				methodInitialize: speaksLegacy(legacyName),
			})
			session, err := Connect(t.Context(), s, &Options{Elicits: bothModes})
			if err != nil {
				t.Fatal(err)
			}
			discover = then(discover, fails(400))
			p := &person{script: []ElicitAnswer{accept(`{"name":"Ann"}`)}}
			_, err = session.CallTool(t.Context(), "t", nil, &CallOptions{Elicit: p.elicit})
			if (err != nil) != test.fails || sent != test.sent || len(p.asked) != 1 {
				t.Errorf("%v after %d sendings and %d questions (%s)", err, sent, len(p.asked), s.traced())
			}
		})
	}
}

// The rounds are one call to who takes its progress and log messages, and nothing of
// it comes after the call.
func TestProgressOverRounds(t *testing.T) {
	var got []string
	var last *inbound
	session, _ := connectAs(t, modernName, Options{Elicits: bothModes}, func(_ context.Context, req *Request, h Handler) (*Response, error) {
		last = h.(*inbound)
		h.Notification("notifications/progress", fmt.Appendf(nil, `{"progressToken":%d,"progress":%d}`, req.ID, len(got)))
		h.Notification("notifications/progress", fmt.Appendf(nil, `{"progressToken":%d,"progress":99}`, req.ID-1)) // of the round before
		h.Notification("notifications/message", []byte(`{"level":"info","data":"x"}`))
		if len(got) < 4 {
			return result(wants(asksFor("a"), ""))
		}
		return result(hello)
	})
	_, err := session.CallTool(t.Context(), "t", nil, &CallOptions{
		Elicit:   (&person{}).elicit,
		Progress: func(progress, _ []byte, _ string) { got = append(got, "progress "+string(progress)) },
		Log:      func(level string, _ []byte, _ string) { got = append(got, level) },
	})
	if want := "progress 0, info, progress 2, info"; err != nil || strings.Join(got, ", ") != want {
		t.Errorf("%v, %s, want %s", err, strings.Join(got, ", "), want)
	}
	last.Notification("notifications/message", []byte(`{"level":"late"}`))
	if len(got) != 4 || len(session.calls) != 0 {
		t.Errorf("after the call: %v, %d calls", got, len(session.calls))
	}
}
