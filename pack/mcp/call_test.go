package mcp

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

// callA is what the tests of this file call: the tool a of the server docs.
const callA = `{"namespace":"docs","toolName":"a"}`

type callFunc = func(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (string, error)

// answering is a server that answers each call with that result.
func answering(result string) callFunc {
	return func(context.Context, *mcpclient.Request, mcpclient.Handler) (string, error) { return result, nil }
}

// failing is a server whose carrier fails each call.
func failing(err error) callFunc {
	return func(context.Context, *mcpclient.Request, mcpclient.Handler) (string, error) { return "", err }
}

// hanging is a server that answers no call.
func hanging(ctx context.Context, _ *mcpclient.Request, _ mcpclient.Handler) (string, error) {
	<-ctx.Done()
	return "", context.Cause(ctx)
}

// docs adds the server docs with the tool a and connects.
func (w *world) docs(call callFunc) *fakeServer {
	w.t.Helper()
	f := w.serve("docs", tool("a"))
	f.call = call
	w.dial()
	return f
}

func TestS1_05_CallsTheTool(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.docs(answering(`{"content":[{"type":"text","text":"ok"}]}`))
		for _, row := range []struct{ name, member, want string }{
			{"no arguments", ``, `{}`},
			{"null", `,"arguments":null`, `{}`},
			{"none", `,"arguments":{}`, `{}`},
			{"to the letter", `,"arguments":{ "z":1.0,"a":12345678901234567890,"n":null,"a":"<\u003c\/>" }`,
				`{ "z":1.0,"a":12345678901234567890,"n":null,"a":"<\u003c\/>" }`},
			{"on one line", ",\"arguments\":{\r\n\t\"a\": 1\n}", "{\t\"a\": 1}"},
			{"other members are not passed on", `,"arguments":{"a":1},"_meta":{"x":1},"name":"b"`, `{"a":1}`},
		} {
			result, err := w.invoke("call_dynamic_tool", `{"namespace":"docs","toolName":"a"`+row.member+`}`)
			if err != nil || string(result.Content) != `"ok"` {
				t.Fatalf("%s: %v, %v", row.name, result, err)
			}
			bodies := f.sent("tools/call")
			body := bodies[len(bodies)-1]
			if !strings.Contains(body, `"name":"a"`) || !strings.Contains(body, `"arguments":`+row.want+`,`) && !strings.Contains(body, `"arguments":`+row.want+`}`) {
				t.Errorf("%s: sent %s", row.name, body)
			}
		}
	})
}

func TestS1_18_FiveMinutes(t *testing.T) {
	for _, row := range []struct {
		name    string
		timeout time.Duration
		want    time.Duration
		limit   string
	}{
		{"L33 the pack's own", 0, 5 * time.Minute, "call_time"},
		{"the host's may be shorter", 2 * time.Second, 2 * time.Second, ""},
		{"the host's cannot be longer", time.Hour, 5 * time.Minute, "call_time"},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.docs(hanging)
				before := time.Now()
				_, err := w.pack.Invoke(t.Context(), &pack.Call{Tool: "call_dynamic_tool", Arguments: pack.Raw(callA), Timeout: row.timeout})
				if took := time.Since(before); took != row.want {
					t.Errorf("took %v, want %v", took, row.want)
				}
				e := wantError(t, err, pack.KindTransport, `"docs"`, "deadline")
				if e.Limit != row.limit || e.Delivered != pack.DeliveredUnknown || e.Retryable || !e.Untrusted {
					t.Errorf("got %+v", e)
				}
			})
		})
	}
	bubble(t, func(t *testing.T, w *world) {
		w.docs(func(context.Context, *mcpclient.Request, mcpclient.Handler) (string, error) {
			time.Sleep(5*time.Minute - time.Millisecond)
			return `{"content":[{"type":"text","text":"just in time"}]}`, nil
		})
		result, err := w.invoke("call_dynamic_tool", callA)
		if err != nil || string(result.Content) != `"just in time"` {
			t.Errorf("an answer just before the deadline: %v, %v", result, err)
		}
	})
}

func TestS1_21_DroppingACallEndsItsRequest(t *testing.T) {
	for _, row := range []struct {
		name string
		drop func(cancel context.CancelFunc)
		kind pack.Kind
	}{
		{"the host cancels", func(cancel context.CancelFunc) { cancel() }, pack.KindCancelled},
		{"the deadline", func(context.CancelFunc) { time.Sleep(5 * time.Minute) }, pack.KindTransport},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				told := make(chan error, 1)
				f := w.docs(func(ctx context.Context, req *mcpclient.Request, h mcpclient.Handler) (string, error) {
					if req.NoCancel {
						t.Error("the call is marked as not to be cancelled")
					}
					<-ctx.Done()
					told <- ctx.Err()
					return "", context.Cause(ctx)
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				failed := make(chan error, 1)
				go func() {
					_, err := w.pack.Invoke(ctx, &pack.Call{Tool: "call_dynamic_tool", Arguments: pack.Raw(callA)})
					failed <- err
				}()
				synctest.Wait()
				if n := len(f.sent("tools/call")); n != 1 {
					t.Fatalf("%d calls are under way", n)
				}
				row.drop(cancel)
				e := wantError(t, <-failed, row.kind)
				if e.Delivered != pack.DeliveredUnknown || e.Server != "docs" || !e.Untrusted {
					t.Errorf("got %+v", e)
				}
				<-told
			})
		})
	}
}

func TestS1_22_NoCapabilities(t *testing.T) {
	for _, row := range []struct{ name, pin, method, want string }{
		{"with a handshake", "2025-11-25", "initialize", `"capabilities":{}`},
		{"without", "2026-07-28", "tools/list", `"io.modelcontextprotocol/clientCapabilities":{}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				f := w.serve("docs", tool("a"))
				f.call = answering(`{"content":[]}`)
				w.construct(`{"docs":{"url":"https://mcp.test","protocolVersion":"` + row.pin + `"}}`)
				if _, err := w.invoke("call_dynamic_tool", callA); err != nil {
					t.Fatal(err)
				}
				bodies := f.sent(row.method)
				if row.method == "tools/list" {
					bodies = append(bodies, f.sent("tools/call")...)
				}
				if len(bodies) == 0 {
					t.Fatalf("no %s was sent", row.method)
				}
				for _, body := range bodies {
					if !strings.Contains(body, row.want) {
						t.Errorf("%s does not declare %s", body, row.want)
					}
				}
			})
		})
	}
}

func TestClientInfo(t *testing.T) {
	for _, row := range []struct{ name, host, version, want string }{
		{"the host's own words", "my agent", "1.2", `{"name":"my agent","version":"1.2"}`},
		{"a host that says nothing", "", "", `{"name":"toolhost","version":`},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.host.Name, w.host.Version = row.host, row.version
				f := w.serve("docs")
				w.construct(`{"docs":{"url":"https://mcp.test","protocolVersion":"2025-11-25"}}`)
				if bodies := f.sent("initialize"); len(bodies) != 1 || !strings.Contains(bodies[0], `"clientInfo":`+row.want) {
					t.Errorf("sent %s", bodies)
				}
			})
		})
	}
}
