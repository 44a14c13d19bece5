package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

func TestS1_19_Text(t *testing.T) {
	for _, row := range []struct{ name, result, want string }{
		{"texts are joined with blank lines", `{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}`, "one\n\ntwo"},
		{"an embedded text resource", `{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"inside"}}]}`, "inside"},
		{"an image", `{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}`, "[image omitted: image/png]"},
		{"audio", `{"content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}`, "[audio omitted: audio/wav]"},
		{"a binary resource", `{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/pdf","blob":"AAAA"}}]}`, "[resource omitted: application/pdf]"},
		{"a resource link", `{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}`, "[resource: file:///a]"},
		{"all at once, in order", `{"content":[{"type":"text","text":"see"},{"type":"image","data":"","mimeType":"image/png"},{"type":"resource_link","uri":"x:y","name":"n"}]}`, "see\n\n[image omitted: image/png]\n\n[resource: x:y]"},
		{"no blocks but structured content", `{"content":[],"structuredContent":{"b":1.0,"a":[12345678901234567890]}}`, `{"b":1.0,"a":[12345678901234567890]}`},
		{"blocks go before structured content", `{"content":[{"type":"text","text":"t"}],"structuredContent":{"a":1}}`, "t"},
		{"nothing at all", `{"content":[]}`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.docs(answering(row.result))
				result, err := w.invoke("call_dynamic_tool", callA)
				if err != nil {
					t.Fatal(err)
				}
				if got := text(t, result.Content); got != row.want {
					t.Errorf("got %q, want %q", got, row.want)
				}
				if !result.Untrusted {
					t.Error("S1-24: the result is not marked untrusted")
				}
			})
		})
	}
	bubble(t, func(t *testing.T, w *world) {
		const literal = `"<b>\u003c\/ é \u2028\ud83d\ude00 \\n\t"`
		w.docs(answering(`{"content":[{"type":"text","text":` + literal + `}]}`))
		result, _ := w.invoke("call_dynamic_tool", callA)
		if string(result.Content) != literal {
			t.Errorf("got %s, want the escapes it came in: %s", result.Content, literal)
		}
	})
}

func TestProgressAndLogReachTheHost(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var progress []pack.Progress
		var messages []pack.Message
		w.host.Scrub.Add("hunter2-hunter2")
		f := w.docs(func(_ context.Context, req *mcpclient.Request, h mcpclient.Handler) (string, error) {
			notify := func(method, params string) {
				raw := []byte(params)
				h.Notification(method, raw)
				clear(raw) // what is lent is not to be kept
			}
			var body struct {
				Params struct {
					Meta struct {
						ProgressToken json.RawMessage `json:"progressToken"`
					} `json:"_meta"`
				}
			}
			if err := json.Unmarshal(req.Body, &body); err != nil {
				t.Error(err)
			}
			if body.Params.Meta.ProgressToken != nil {
				token := string(body.Params.Meta.ProgressToken)
				notify("notifications/progress", `{"progressToken":`+token+`,"progress":1.50,"total":12345678901234567890,"message":"half\n\u001b[31m hunter2-hunter2"}`)
				notify("notifications/progress", `{"progressToken":`+token+`,"progress":2}`)
			}
			notify("notifications/message", `{"level":"warning","logger":"db","data":"slow\nhunter2-hunter2"}`)
			notify("notifications/message", `{"level":"loud","logger":"db","data":{"key":"hunter2-hunter2","n":1.0}}`)
			return `{"content":[]}`, nil
		})
		_, err := w.pack.Invoke(t.Context(), &pack.Call{
			Tool: "call_dynamic_tool", Arguments: pack.Raw(callA),
			Progress: func(p pack.Progress) { progress = append(progress, p) },
			Log:      func(m pack.Message) { messages = append(messages, m) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(progress) != 2 || string(progress[0].Progress) != "1.50" || string(progress[0].Total) != "12345678901234567890" ||
			string(progress[1].Progress) != "2" || progress[1].Total != nil || progress[1].Message != "" {
			t.Errorf("progress %s", progress)
		}
		if len(messages) != 2 || messages[0].Level != "warning" || messages[0].Server != "docs" || messages[0].Data != nil ||
			messages[1].Level != "info" || messages[1].Message != "db" || messages[1].Data == nil {
			t.Errorf("messages %+v", messages)
		}
		shown := fmt.Sprintf("%s %+v", progress, messages)
		for _, m := range messages {
			shown += string(m.Data)
		}
		if strings.Contains(shown, "hunter2") || strings.ContainsAny(shown, "\n\x1b") {
			t.Errorf("told %q", shown)
		}

		// A host that did not ask is not told, and no token goes out.
		progress, messages = nil, nil
		if _, err := w.invoke("call_dynamic_tool", callA); err != nil {
			t.Fatal(err)
		}
		bodies := f.sent("tools/call")
		if len(progress)+len(messages) != 0 || strings.Contains(bodies[1], "progressToken") {
			t.Errorf("told %v %v after %s", progress, messages, bodies[1])
		}
	})
}

func TestLogMessagesOfNoCallReachTheHost(t *testing.T) {
	for _, declared := range []bool{true, false} {
		bubble(t, func(t *testing.T, w *world) {
			var got []pack.Message
			if declared {
				w.host.Message = func(m pack.Message) { got = append(got, m) }
			}
			f := w.serve("docs", tool("a"))
			f.list = func(_ context.Context, h mcpclient.Handler) error {
				h.Notification("notifications/message", []byte(`{"level":"error","data":"the index is old"}`))
				h.Notification("notifications/resources/list_changed", nil)
				return nil
			}
			w.dial()
			if !declared {
				if got := w.status("docs"); got.Status != "ready" {
					t.Errorf("a host that declared no log: %+v", got)
				}
				return
			}
			if len(got) != 1 || got[0].Level != "error" || got[0].Server != "docs" || got[0].Message != "the index is old" {
				t.Errorf("told %+v", got)
			}
		})
	}
}
