package mcp

import (
	"errors"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
)

func TestS1_20_BackendAndTransportErrors(t *testing.T) {
	wire := func(e mcpclient.WireError) callFunc { return failing(&e) }
	for _, row := range []struct {
		name      string
		call      callFunc
		kind      pack.Kind
		message   string
		delivered pack.Delivered
		retryable bool
		limit     string
	}{
		{"isError", answering(`{"isError":true,"content":[{"type":"text","text":"no such\nfile"},{"type":"text","text":"a.txt"}]}`),
			pack.KindBackend, "no such\nfile\n\na.txt", pack.DeliveredYes, false, ""},
		{"isError with structured content only", answering(`{"isError":true,"content":[],"structuredContent":{"code":7}}`),
			pack.KindBackend, `{"code":7}`, pack.DeliveredYes, false, ""},
		{"isError without a word", answering(`{"isError":true,"content":[]}`),
			pack.KindBackend, "the tool failed and gave no reason", pack.DeliveredYes, false, ""},
		{"a JSON-RPC error", failing(&mcpclient.ServerError{Code: -32602, Message: "path is missing"}),
			pack.KindBackend, "path is missing", pack.DeliveredYes, false, ""},
		{"not sent", wire(mcpclient.WireError{Op: "connect", Reason: "connection refused", Delivered: "no"}),
			pack.KindTransport, `server "docs": connection refused`, pack.DeliveredNo, true, ""},
		{"not sent and of no use to try again", wire(mcpclient.WireError{Op: "send", Reason: "status 401", Status: 401, Delivered: "no", Final: true}),
			pack.KindTransport, `server "docs": status 401`, pack.DeliveredNo, false, ""},
		{"not acted on, but a refused credential stays refused", wire(mcpclient.WireError{Op: "send", Reason: "status 401", Status: 401, Delivered: "no"}),
			pack.KindTransport, `server "docs": status 401`, pack.DeliveredNo, false, ""},
		{"E-04 turned away for now, and perhaps acted on", wire(mcpclient.WireError{Op: "send", Reason: "status 429, try again in 2s", Status: 429, Delivered: "unknown", Later: true}),
			pack.KindTransport, `server "docs": status 429, try again in 2s`, pack.DeliveredUnknown, true, ""},
		{"the stream broke", wire(mcpclient.WireError{Op: "read the answer", Reason: "the stream ended without an answer", Delivered: "unknown"}),
			pack.KindTransport, `server "docs": the stream ended without an answer`, pack.DeliveredUnknown, false, ""},
		{"L02 an answer that is too long", failing(limit.Table{}.Exceeded(limit.ServerMessage, "the answer")),
			pack.KindTransport, `server "docs": the answer exceeds the limit server_message (16MiB)`, pack.DeliveredUnknown, false, "server_message"},
		{"a malformed answer", answering(`{"content":7}`),
			pack.KindTransport, "", pack.DeliveredYes, false, ""},
		{"a fault of ours", failing(errors.New("detail")),
			pack.KindInternal, `server "docs": internal error`, pack.DeliveredUnknown, false, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				f := w.docs(row.call)
				e := w.refusal(row.kind, "call_dynamic_tool", callA)
				if row.message != "" && e.Message != row.message {
					t.Errorf("got %q, want %q", e.Message, row.message)
				}
				if e.Server != "docs" || e.Delivered != row.delivered || e.Retryable != row.retryable || e.Limit != row.limit || !e.Untrusted {
					t.Errorf("got %+v", e)
				}
				if n := len(f.sent("tools/call")); n != 1 {
					t.Errorf("the call was sent %d times", n)
				}
				if got := w.status("docs"); got.Status != "ready" {
					t.Errorf("S1-17: %+v", got)
				}
			})
		})
	}
	bubble(t, func(t *testing.T, w *world) {
		w.docs(answering(`{"isError":true,"content":[{"type":"text","text":"` + strings.Repeat("é", 200_000) + `"}]}`))
		if e := w.refusal(pack.KindBackend, "call_dynamic_tool", callA); len(e.Message) > bridge.ShownText+100 {
			t.Errorf("an error of %d bytes", len(e.Message))
		}
	})
}

func TestInputThatThisClientCannotGive(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.docs(answering(`{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"form","message":"?"}}}}`))
		e := w.refusal(pack.KindBackend, "call_dynamic_tool", callA, `"docs"`, "elicitation/create")
		if e.Delivered != pack.DeliveredYes {
			t.Errorf("got %+v", e)
		}
	})
}
