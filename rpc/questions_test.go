package rpc

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/pack"
)

// everyKind declares all kinds of questions.
const everyKind = `{"approve":true,"elicit":{"form":true,"url":true},"open":true}`

// askTools ask the host one question each and answer what came of it.
var askTools = map[string]tool{
	"approve": asking(func(p *testPack, call *pack.Call) *pack.Question {
		tool := p.Tools()[0]
		return &pack.Question{Kind: pack.AskApproval, Invoke: call.ID, Run: call.Run, Tool: &tool, DefinitionHash: "h1", Arguments: call.Arguments}
	}),
	"form": asking(func(_ *testPack, call *pack.Call) *pack.Question {
		return &pack.Question{Kind: pack.AskForm, Invoke: call.ID, Run: call.Run, Server: "one", Message: "Who are you?", Schema: pack.Raw("{\n\"type\":\"object\"}")}
	}),
	"approve-again": asking(func(p *testPack, call *pack.Call) *pack.Question {
		tool := p.Tools()[0]
		return &pack.Question{Kind: pack.AskApproval, Invoke: call.ID, Tool: &tool, DefinitionHash: "h2", Arguments: call.Arguments, Changed: []string{"title", "inputSchema"}}
	}),
	"form-again": asking(func(_ *testPack, call *pack.Call) *pack.Question {
		return &pack.Question{Kind: pack.AskForm, Invoke: call.ID, Server: "one", Message: "Who are you?", Schema: pack.Raw("{}"), Problem: "name: too short"}
	}),
	"url": asking(func(_ *testPack, call *pack.Call) *pack.Question {
		return &pack.Question{Kind: pack.AskURL, Invoke: call.ID, Server: "one", Message: "Look here.", URL: "https://a.example/x?y=1"}
	}),
	"open": asking(func(*testPack, *pack.Call) *pack.Question {
		return &pack.Question{Kind: pack.AskOpen, Server: "one", URL: "https://id.example:8443/authorize?state=s", Purpose: "sign-in"}
	}),
	"strange": asking(func(*testPack, *pack.Call) *pack.Question { return &pack.Question{Kind: "riddle"} }),
	"broken":  asking(func(_ *testPack, call *pack.Call) *pack.Question { return &pack.Question{Kind: pack.AskApproval} }),
	"late": asking(func(*testPack, *pack.Call) *pack.Question {
		return &pack.Question{Kind: pack.AskForm, Invoke: pack.Raw("12345"), Schema: pack.Raw("{}")}
	}),
}

func asking(question func(*testPack, *pack.Call) *pack.Question) tool {
	return func(ctx context.Context, p *testPack, call *pack.Call) (*pack.Result, error) {
		if p.host.Ask == nil {
			return text("cannot ask"), nil
		}
		a, err := p.host.Ask(ctx, question(p, call))
		if err != nil {
			return nil, err
		}
		return text(fmt.Sprintf("%s,%s,%s,%s", a.Action, a.Reason, a.Content, a.Callback.Reveal("test"))), nil
	}
}

func TestQuestions(t *testing.T) {
	for _, test := range []struct{ name, exchange string }{
		{"approve", `
			--> {"jsonrpc":"2.0","id":"i\u0031","method":"invoke","params":{"tool":"p/approve","arguments":{ "b":1, "a":9007199254740993 },"run":"r"}}
			<-- {"id":1,"method":"approve","params":{"id":"p","invoke":{"$raw":"\"i\\u0031\""},"tool":{"name":"p/echo","kind":"tool"},"definitionHash":"h1","arguments":{"$raw":"{ \"b\":1, \"a\":9007199254740993 }"},"run":"r"}}
			--> {"jsonrpc":"2.0","id":1,"result":{"approved":true,"grease":1}}
			<-- {"id":"i1","result":{"content":"accept,,,"}}
			--> {"jsonrpc":"2.0","id":7,"method":"invoke","params":{"tool":"p/approve"}}
			<-- {"id":2,"method":"approve","params":{"arguments":{},"run":"$absent","changed":"$absent"}}
			--> {"jsonrpc":"2.0","id":2,"result":{"approved":false,"reason":"not today"}}
			<-- {"id":7,"result":{"content":"decline,not today,,"}}`},
		{"elicit", `
			--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/form","run":"r"}}
			<-- {"id":1,"method":"elicit","params":{"id":"p","invoke":1,"server":"one","run":"r","mode":"form","message":"Who are you?","schema":{"$raw":"{\"type\":\"object\"}"},"url":"$absent","problem":"$absent"}}
			--> {"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{ "name":"x" }}}
			<-- {"id":1,"result":{"content":"accept,,{ \"name\":\"x\" },"}}
			--> {"jsonrpc":"2.0","id":2,"method":"invoke","params":{"tool":"p/form"}}
			<-- {"id":2,"method":"elicit"}
			--> {"jsonrpc":"2.0","id":2,"result":{"action":"decline","content":{"ignored":1}}}
			<-- {"id":2,"result":{"content":"decline,,,"}}
			--> {"jsonrpc":"2.0","id":3,"method":"invoke","params":{"tool":"p/url"}}
			<-- {"id":3,"method":"elicit","params":{"mode":"url","message":"Look here.","url":"https://a.example/x?y=1","host":"a.example","warnings":"$absent","schema":"$absent"}}
			--> {"jsonrpc":"2.0","id":3,"result":{"action":"cancel"}}
			<-- {"id":3,"result":{"content":"cancel,,,"}}`},
		{"asked again", `
			--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/approve-again"}}
			<-- {"id":1,"method":"approve","params":{"definitionHash":"h2","changed":["title","inputSchema"]}}
			--> {"jsonrpc":"2.0","id":1,"result":{"approved":true}}
			<-- {"id":1,"result":{"content":"accept,,,"}}
			--> {"jsonrpc":"2.0","id":2,"method":"invoke","params":{"tool":"p/form-again"}}
			<-- {"id":2,"method":"elicit","params":{"schema":{},"problem":"name: too short"}}
			--> {"jsonrpc":"2.0","id":2,"result":{"action":"decline"}}
			<-- {"id":2,"result":{"content":"decline,,,"}}`},
		{"open", `
			--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/open"}}
			<-- {"id":1,"method":"open","params":{"id":"p","server":"one","invoke":"$absent","url":"https://id.example:8443/authorize?state=s","host":"id.example:8443","purpose":"sign-in"}}
			--> {"jsonrpc":"2.0","id":1,"result":{"opened":true,"callback":"http://127.0.0.1/cb?code=c"}}
			<-- {"id":1,"result":{"content":"accept,,,http://127.0.0.1/cb?code=c"}}
			--> {"jsonrpc":"2.0","id":2,"method":"invoke","params":{"tool":"p/open"}}
			<-- {"id":2,"method":"open"}
			--> {"jsonrpc":"2.0","id":2,"result":{"opened":false,"callback":null}}
			<-- {"id":2,"result":{"content":"decline,,,"}}`},
		{"I-05 the two directions have separate ids, and calls go on while a question is open", `
			--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/form"}}
			<-- {"id":1,"method":"elicit"}
			--> {"jsonrpc":"2.0","id":2,"method":"invoke","params":{"tool":"p/form"}}
			<-- {"id":2,"method":"elicit"}
			--> {"jsonrpc":"2.0","id":3,"method":"invoke","params":{"tool":"p/echo"}}
			<-- {"id":3,"result":"$any"}
			--> {"jsonrpc":"2.0","id":2,"result":{"action":"accept"}}
			<-- {"id":2,"result":{"content":"accept,,,"}}
			--> {"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}
			<-- {"id":1,"result":{"content":"decline,,,"}}`},
		{"M-03 answers to nothing, and second ones, are dropped", `
			--> {"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}
			--> {"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}
			--> {"jsonrpc":"2.0","result":{}}
			--> {"jsonrpc":"2.0","id":"c","method":"invoke","params":{"tool":"p/form"}}
			<-- {"id":1,"method":"elicit"}
			--> {"jsonrpc":"2.0","id":"1","result":{"action":"accept"}}
			--> {"jsonrpc":"2.0","id":2,"result":{"action":"accept"}}
			--> {"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}
			--> {"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}
			<-- {"id":"c","result":{"content":"decline,,,"}}`},
		{"M-03 H-06 what is no answer means that nobody chose", `
			--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/form"}}
			<-- {"id":1,"method":"elicit"}
			--> {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}
			<-- {"id":1,"result":{"content":"cancel,the host could not ask,,"}}
			--> {"jsonrpc":"2.0","id":2,"method":"invoke","params":{"tool":"p/form"}}
			<-- {"id":2,"method":"elicit"}
			--> {"jsonrpc":"2.0","id":2,"result":{"action":"maybe"}}
			<-- {"id":2,"result":{"content":{"$contains":"cancel,the host's answer"}}}
			--> {"jsonrpc":"2.0","id":3,"method":"invoke","params":{"tool":"p/approve"}}
			<-- {"id":3,"method":"approve"}
			--> {"jsonrpc":"2.0","id":3,"result":{"approved":"true"}}
			<-- {"id":3,"result":{"content":{"$contains":"cancel,"}}}
			--> {"jsonrpc":"2.0","id":4,"method":"invoke","params":{"tool":"p/open"}}
			<-- {"id":4,"method":"open"}
			--> {"jsonrpc":"2.0","id":4,"result":[true]}
			<-- {"id":4,"result":{"content":{"$contains":"cancel,"}}}
			--> {"jsonrpc":"2.0","id":5,"method":"invoke","params":{"tool":"p/form"}}
			<-- {"id":5,"method":"elicit"}
			--> {"jsonrpc":"2.0","id":5,"result":{"action":"accept"},"error":{"code":1,"message":"both"}}
			<-- {"id":5,"result":{"content":{"$contains":"cancel,"}}}
			--> {"jsonrpc":"2.0","id":6,"method":"invoke","params":{"tool":"p/form"}}
			<-- {"id":6,"method":"elicit"}
			--> {"jsonrpc":"1.0","id":6,"result":{"action":"accept"}}
			<-- {"id":6,"result":{"content":{"$contains":"cancel,"}}}
			--> {"jsonrpc":"2.0","id":7,"method":"invoke","params":{"tool":"p/form"}}
			<-- {"id":7,"method":"elicit"}
			--> {"jsonrpc":"2.0","id":7,"result":{"action":"accept"},"result":{"action":"accept"}}
			<-- {"id":7,"result":{"content":{"$contains":"cancel,"}}}`},
		{"H-05 a cancelled call withdraws its question", `
			--> {"jsonrpc":"2.0","id":5,"method":"invoke","params":{"tool":"p/form"}}
			<-- {"id":1,"method":"elicit"}
			--> {"jsonrpc":"2.0","id":6,"method":"cancel","params":{"id":5}}
			<-- {"id":5,"error":{"code":-32800}}
			<-- {"id":6,"result":{"cancelled":true}}
			<-- {"id":"$absent","method":"CANCEL","params":{"id":1,"reason":"$string"}}
			--> {"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}
			--> {"jsonrpc":"2.0","id":7,"method":"invoke","params":{"tool":"p/echo"}}
			<-- {"id":7,"result":"$any"}`},
		{"H-05 a closed pack withdraws its questions", `
			--> {"jsonrpc":"2.0","id":5,"method":"invoke","params":{"tool":"p/open"}}
			<-- {"id":1,"method":"open"}
			--> {"jsonrpc":"2.0","id":6,"method":"close","params":{"id":"p"}}
			<-- {"id":5,"error":{"code":-32800}}
			<-- {"method":"CANCEL","params":{"id":1}}
			<-- {"id":6,"result":{}}`},
		{"a question that cannot be asked", `
			--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/strange"}}
			<-- {"id":1,"result":{"content":"decline,,,"}}
			--> {"jsonrpc":"2.0","id":2,"method":"invoke","params":{"tool":"p/broken"}}
			<-- {"id":2,"error":{"code":-32603}}
			--> {"jsonrpc":"2.0","id":3,"method":"invoke","params":{"tool":"p/late"}}
			<-- {"id":3,"error":{"code":-32800}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, framing string) {
				h := newHost(t, hostConfig{framing: framing, pack: &testPack{tools: askTools}})
				h.construct(everyKind)
				cancel := "cancel"
				if framing == "lsp" {
					cancel = "$/cancelRequest"
				}
				h.play(strings.ReplaceAll(test.exchange, "CANCEL", cancel))
				h.finish()
				if strings.Contains(h.log.String(), "code=c") {
					t.Error("the log holds the callback")
				}
			})
		})
	}

	t.Run("H-07 ten minutes", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			h := newHost(t, hostConfig{framing: framing, pack: &testPack{tools: askTools}})
			h.construct(everyKind)
			start := time.Now()
			h.play(`
				--> {"jsonrpc":"2.0","id":5,"method":"invoke","params":{"tool":"p/approve"}}
				<-- {"id":1,"method":"approve"}
				<-- {"params":{"id":1,"reason":"no answer within 10m0s"}}
				<-- {"id":5,"result":{"content":"cancel,no answer within 10m0s,,"}}`)
			took(t, start, 10*time.Minute)
			h.finish()
		})
	})

	t.Run("L-14 end-of-file ends questions at once", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			h := newHost(t, hostConfig{framing: framing, pack: &testPack{tools: askTools}})
			h.construct(everyKind)
			h.play(`
				--> {"jsonrpc":"2.0","id":5,"method":"invoke","params":{"tool":"p/approve"}}
				<-- {"id":1,"method":"approve"}`)
			start := time.Now()
			h.finish(`{"id":5,"error":{"code":-32800,"message":"the host cannot be asked any more"}}`)
			took(t, start, 0)
		})
	})

	t.Run("a signal leaves a question its second", func(t *testing.T) {
		bubble(t, func(t *testing.T, framing string) {
			h := newHost(t, hostConfig{framing: framing, pack: &testPack{tools: askTools}})
			h.construct(everyKind)
			h.play(`
				--> {"jsonrpc":"2.0","id":5,"method":"invoke","params":{"tool":"p/approve"}}
				--> {"jsonrpc":"2.0","id":6,"method":"invoke","params":{"tool":"p/approve"}}
				<-- {"id":1,"method":"approve"}
				<-- {"id":2,"method":"approve"}`)
			h.signal()
			synctest.Wait()
			h.play(`
				--> {"jsonrpc":"2.0","id":1,"result":{"approved":true}}
				<-- {"result":{"content":"accept,,,"}}
				<-- {"error":{"code":-32800}}
				<-- {"params":{"id":2,"reason":"$string"}}`)
			h.wait()
		})
	})

	t.Run("H-01 H-10 only what was declared is asked", func(t *testing.T) {
		eachFraming(t, func(t *testing.T, framing string) {
			h := newHost(t, hostConfig{framing: framing, pack: &testPack{tools: askTools}})
			h.construct(`{"approve":false,"elicit":{"form":false,"url":true},"open":null}`)
			h.play(`
				--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/approve"}}
				<-- {"id":1,"result":{"content":"decline,,,"}}
				--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/form"}}
				<-- {"id":1,"result":{"content":"decline,,,"}}
				--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/open"}}
				<-- {"id":1,"result":{"content":"decline,,,"}}
				--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/url"}}
				<-- {"id":1,"method":"elicit","params":{"mode":"url"}}
				--> {"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}
				<-- {"id":1,"result":{"content":"accept,,,"}}`)
			if got := h.pack.built().host.Asks; len(got) != 1 || !got[pack.AskURL] {
				t.Errorf("the pack is told %v", got)
			}
			h.finish()

			h = newHost(t, hostConfig{framing: framing, pack: &testPack{tools: askTools}})
			h.construct("{}")
			h.play(`
				--> {"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"p/open"}}
				<-- {"id":1,"result":{"content":"cannot ask"}}`)
			if h.pack.built().host.Asks != nil {
				t.Errorf("the pack is told %v", h.pack.built().host.Asks)
			}
			h.finish()
		})
	})
}
