package httpmcp

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
)

// Each row is what a server sends for one call, and what comes of it at once.
func TestReplies(t *testing.T) {
	const (
		sse     = "text/event-stream"
		asJSON  = "application/json"
		foreign = `{"jsonrpc":"2.0","id":999999,"result":{"ok":"foreign"}}`
	)
	event := func(data string) string { return "data: " + data + "\n\n" }
	for _, test := range []struct {
		name        string
		rev         *mcpclient.Revision
		status      int
		contentType string
		body        string
		want        string // of the error; "" for the good answer
		delivered   string
		code        int64    // of the JSON-RPC error that is the answer
		heard       []string // by the handler
	}{
		{name: "JSON", contentType: asJSON, body: good},
		{name: "B007 media type in other case and with parameters", contentType: "Application/JSON;charset=UTF-8", body: good},
		{name: "B007 stream type in other case and with parameters", contentType: "TEXT/Event-Stream ; charset=utf-8", body: event(good)},
		{name: "B009 no Content-Type", body: good},
		{name: "B093 a byte order mark before the JSON", contentType: asJSON, body: "\ufeff" + good},
		{name: "B093 a byte order mark before the JSON of an event", contentType: sse, body: event("\ufeff" + good)},
		{name: "B093 a byte order mark and no Content-Type", body: "\ufeff" + good},
		{name: "B093 a byte order mark before an error", status: 400, contentType: asJSON, body: "\ufeff" + `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad"}}`, code: -32602},
		{name: "B009 no Content-Type and no JSON", body: "hello", want: "no Content-Type", delivered: "unknown"},
		{name: "HTML", contentType: "text/html", body: "<html>", want: "neither JSON nor an event stream: text/html", delivered: "unknown"},
		{name: "status 201 with an answer", status: 201, contentType: asJSON, body: good},
		{name: "status 202 without an answer", status: 202, contentType: asJSON, want: "status 202 Accepted without an answer", delivered: "unknown"},
		{name: "JSON of no envelope", contentType: asJSON, body: `{}`, want: "not a JSON-RPC message", delivered: "unknown"},
		{name: "JSON that is a notification", contentType: asJSON, body: `{"jsonrpc":"2.0","method":"notifications/x"}`, want: "holds no answer", delivered: "unknown", heard: []string{"notifications/x"}},

		{name: "B033 lines end in CRLF", contentType: sse, body: "event: message\r\ndata: " + good + "\r\n\r\n"},
		{name: "B035 lines end in CR", contentType: sse, body: "data: " + good + "\r\r"},
		{name: "B037 nine data lines", contentType: sse, body: "data: {\ndata:  \"jsonrpc\":\ndata: \"2.0\",\ndata: \"id\":\ndata: 1,\ndata: \"result\":\ndata: {\"ok\":true}\ndata:\ndata: }\n\n"},
		{name: "B039 priming event with empty data", contentType: sse, body: "id: 0\nretry: 500\ndata: \n\n" + event(good)},
		{name: "B041 odd fields", contentType: sse, body: "data:" + good + "\nevent: message\nfoo: bar\nnocolon\n\n"},
		{name: "B043 byte order mark", contentType: sse, body: "\xef\xbb\xbf" + event(good)},
		{name: "B045 no blank line at the end", contentType: sse, body: "data: " + good + "\n"},
		{name: "B045 no line end at the end", contentType: sse, body: "data: " + good},
		{name: "B045 ends within the answer", rev: modern, contentType: sse, body: "data: " + good[:30], want: "stream ended before the answer", delivered: "unknown"},
		{name: "B047 ends after a comment", contentType: sse, body: ": hi\n\n", want: "stream ended before the answer", delivered: "unknown"},
		{name: "T14 ends after a notification", rev: modern, contentType: sse, body: event(`{"jsonrpc":"2.0","method":"notifications/x"}`), want: "stream ended before the answer", delivered: "unknown", heard: []string{"notifications/x"}},
		{name: "T14 nothing after the head", contentType: sse, want: "stream ended before the answer", delivered: "unknown"},
		{name: "B055 another request's answer first", contentType: sse, body: event(foreign) + event(good) + event(`{"jsonrpc":"2.0","method":"notifications/late"}`)},
		{name: "B057 two answers", contentType: sse, body: event(good) + event(`{"jsonrpc":"2.0","id":1,"result":{"ok":"second"}}`)},
		{name: "notifications come in order", contentType: sse, body: event(`{"jsonrpc":"2.0","method":"a","params":{"n":1}}`) + event(`{"jsonrpc":"2.0","method":"b"}`) + event(good), heard: []string{`a {"n":1}`, "b"}},
		{name: "events of other types are no messages", contentType: sse, body: "event: ping\ndata: 1\n\n" + event(good)},
		{name: "HTM-11 a request where the revision has none", rev: modern, contentType: sse, body: event(`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage"}`) + event(good)},

		{name: "B079 the id as a string, in JSON", contentType: asJSON, body: `{"jsonrpc":"2.0","id":"1","result":{}}`, want: "its id is not the number", delivered: "yes"},
		{name: "B079 the id as a string, in a stream", contentType: sse, body: event(`{"jsonrpc":"2.0","id":"1","result":{}}`), want: "its id is not the number", delivered: "yes"},
		{name: "T18 the id as 1.0", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1.0,"result":{}}`, want: "its id is not the number", delivered: "yes"},
		{name: "T18 a result without id", contentType: asJSON, body: `{"jsonrpc":"2.0","result":{}}`, want: "its id is not the number", delivered: "yes"},
		{name: "T18 a result with id null", contentType: asJSON, body: `{"jsonrpc":"2.0","id":null,"result":{}}`, want: "its id is not the number", delivered: "yes"},
		{name: "T18 a huge id", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1e400,"result":{}}`, want: "holds no answer", delivered: "unknown"},
		{name: "T18 an id that is an array", contentType: asJSON, body: `{"jsonrpc":"2.0","id":[1],"result":{}}`, want: "its id is an array", delivered: "yes"},
		{name: "B055 another request's answer alone, in JSON", contentType: asJSON, body: foreign, want: "holds no answer", delivered: "unknown"},
		{name: "B081 error with id null, status 400", status: 400, contentType: asJSON, body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}}`, code: -32700},
		{name: "B081 error with id null, in a stream", contentType: sse, body: event(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}}`), code: -32700},
		{name: "status 400 and the Python SDK's id", status: 400, contentType: asJSON, body: `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"bad"}}`, code: -32600},
		{name: "B069 status 400 lists versions", status: 400, contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"bad","data":{"supported":["2025-06-18"]}}}`, code: -32602},
		{name: "B075 error with status 200", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`, code: -32601},
		{name: "B077 status 400 of a server of the other era", status: 400, contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no"}}`, code: -32022},
		{name: "status 404 with a JSON-RPC error and no session", status: 404, contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`, code: -32601},
		{name: "B083 result and error", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, want: "both a result and an error", delivered: "yes"},
		{name: "null beside the result", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"result":{"ok":true},"error":null}`},
		{name: "null beside the error", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":5,"message":""}}`, code: 5},
		{name: "B085 batch where the revision has none", contentType: asJSON, body: "[" + good + "]", want: "it is a batch", delivered: "yes"},
		{name: "B085 batch where the revision has none, in a stream", contentType: sse, body: event("[" + good + "]"), want: "it is a batch", delivered: "yes"},
		{name: "B085 batch of notification and answer", rev: batched, contentType: asJSON, body: `[{"jsonrpc":"2.0","method":"a"},` + good + "]", heard: []string{"a"}},
		{name: "B085 batch in a stream", rev: batched, contentType: sse, body: event(` [ {"jsonrpc":"2.0","method":"a"},` + good + "]"), heard: []string{"a"}},
		{name: "B057 batch of two answers", rev: batched, contentType: asJSON, body: "[" + good + `,{"jsonrpc":"2.0","id":1,"result":{}}]`},
		{name: "batch that is broken", rev: batched, contentType: asJSON, body: "[" + good, want: "not valid JSON", delivered: "unknown"},
		{name: "B089 notification with id null", contentType: sse, body: event(`{"jsonrpc":"2.0","id":null,"method":"notifications/message"}`) + event(good)},
		{name: "B093 bytes that are not UTF-8", contentType: asJSON, body: strings.Replace(good, "ok", "\xb0\xa1", 1), want: "not valid JSON: invalid UTF-8", delivered: "unknown"},
		{name: "B093 bytes that are not UTF-8, in a stream", contentType: sse, body: event(strings.Replace(good, "ok", "\xe9", 1)), want: "not valid JSON: invalid UTF-8", delivered: "unknown"},
		{name: "B095 two results", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"result":{},"result":{"ok":true}}`, want: "stands twice in its envelope", delivered: "yes"},
		{name: "T17 two results, one escaped", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"result":{},"r\u0065sult":{"ok":true}}`, want: "stands twice in its envelope", delivered: "yes"},
		{name: "B095 two codes", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"error":{"code":1,"code":2,"message":""}}`, want: "stands twice in its error", delivered: "yes"},
		{name: "T17 member in other case", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"RESULT":{}}`, want: "neither a method nor a result", delivered: "yes"},
		{name: "T21 jsonrpc 1.0", contentType: asJSON, body: `{"jsonrpc":"1.0","id":1,"result":{}}`, want: "not a JSON-RPC message", delivered: "unknown"},
		{name: "T21 jsonrpc missing", contentType: asJSON, body: `{"id":1,"result":{}}`, want: "not a JSON-RPC message", delivered: "unknown"},
		{name: "T21 code is no integer", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"error":{"code":"5","message":""}}`, want: "no integer as code", delivered: "yes"},
		{name: "T21 code has a fraction", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"error":{"code":5.5,"message":""}}`, want: "no integer as code", delivered: "yes"},
		{name: "T21 error is a string", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"error":"no"}`, want: "its error is a string", delivered: "yes"},
		{name: "T21 method is a number", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"method":5}`, want: "its method is not a name", delivered: "yes"},
		{name: "T21 request and response at once", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1,"method":"a","result":{}}`, want: "request and response at once", delivered: "yes"},
		{name: "T21 neither", contentType: asJSON, body: `{"jsonrpc":"2.0","id":1}`, want: "neither a method", delivered: "yes"},
		{name: "unknown members are ignored", contentType: asJSON, body: `{"x":1,"jsonrpc":"2.0","id":1,"result":{"ok":true},"Result":{}}`},
		{name: "B099 body is cut", contentType: asJSON, body: good[:20], want: "not valid JSON: unexpected end", delivered: "unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if test.status == 0 {
					test.status = 200
				}
				if test.rev == nil {
					test.rev = legacy
				}
				r := newRig(t, reply(test.status, test.contentType, test.body))
				h := &listener{}
				began := time.Now()
				resp, err := r.RoundTrip(t.Context(), call(link(test.rev)), h)
				if took := time.Since(began); took > 0 {
					t.Errorf("it took %v", took)
				}
				switch {
				case test.want != "":
					wire := wireError(t, err)
					if !strings.Contains(wire.Reason, test.want) || wire.Delivered != test.delivered {
						t.Errorf("got %q, delivered %s, want %q, %s", wire.Reason, wire.Delivered, test.want, test.delivered)
					}
					if wire.Status != test.status {
						t.Errorf("the error names status %d", wire.Status)
					}
				case test.code != 0:
					if err != nil || resp.Err == nil || resp.Err.Code != test.code || resp.Result != nil || resp.Status != test.status {
						t.Errorf("got %+v, %v, want the error %d", resp, err, test.code)
					}
				default:
					wantGood(t, resp, err)
				}
				if heard := h.all(); !slices.Equal(heard, test.heard) {
					t.Errorf("heard %q, want %q", heard, test.heard)
				}
				if n := len(r.requests()); n != 1 {
					t.Errorf("the server saw %d requests", n)
				}
			})
		})
	}
}

// The whole of an answer is kept as it came.
func TestResultIsTheServersBytes(t *testing.T) {
	const result = `{ "b" :1e3,"a":9007199254740993,"t":"\u003c<\/"}`
	body := `{"jsonrpc":"2.0","id":1,"result":` + result + `}`
	for _, h := range []handler{reply(200, "application/json", body), stream("data: " + body + "\n\n")} {
		r := newRig(t, h)
		resp, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
		if err != nil || string(resp.Result) != result {
			t.Errorf("got %s, %v", resp.Result, err)
		}
	}
}

func TestB031_InformationalRepliesAreIgnored(t *testing.T) {
	r := newRawRig(t, func(conn net.Conn, _ *http.Request, _ string) bool {
		fmt.Fprintf(conn, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"+
			"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(good), good)
		return true
	})
	resp, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
	wantGood(t, resp, err)
}

// Connections that break off, and replies that are no HTTP, fail the call at once
// and leave the next one alone.
func TestBrokenReplies(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for _, test := range []struct{ name, reply, want string }{
		{"B175 no reply", "", "no answer from mcp.test: the connection was closed"},
		{"B099 half of the JSON", head + "Content-Length: 100\r\n\r\n{\"jsonrpc\":", "the answer broke off: the connection was closed"},
		{"B017 Content-Length is too large", head + "Content-Length: 100\r\n\r\n" + good, "the answer broke off: the connection was closed before the end"},
		{"chunk is cut", head + "Transfer-Encoding: chunked\r\n\r\nff\r\n{", "the answer broke off"},
		{"stream breaks off", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:", "the stream broke off before the answer: the connection was closed before the end"},
		{"T12 two Content-Lengths", head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "not valid HTTP"},
		{"T12 no HTTP", "SSH-2.0-OpenSSH_9.6 secret\r\n", "not valid HTTP"},
		{"T12 bad status line", "HTTP/1.1 secret OK\r\n\r\n", "not valid HTTP"},
		{"T12 bad header line", "HTTP/1.1 200 OK\r\nsecret\r\n\r\n", "not valid HTTP"},
		{"T12 unknown transfer encoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: secret\r\n\r\n", "not valid HTTP"},
		{"T12 bad chunk size", head + "Transfer-Encoding: chunked\r\n\r\nsecret\r\n", "the answer broke off"},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := 0
			r := newRawRig(t, func(conn net.Conn, _ *http.Request, _ string) bool {
				if n++; n > 1 {
					fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n%s", head, len(good), good)
					return true
				}
				io.WriteString(conn, test.reply)
				return false
			})
			_, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
			wire := wireError(t, err)
			if !strings.Contains(wire.Reason, test.want) || wire.Delivered != "unknown" {
				t.Errorf("got %q, delivered %s, want %q", wire.Reason, wire.Delivered, test.want)
			}
			if strings.Contains(wire.Reason, "secret") || len(wire.Reason) > 512 {
				t.Errorf("the reason quotes the server: %q", wire.Reason)
			}
			if n := r.runs(); n != 1 {
				t.Errorf("the call was sent %d times", n)
			}
			resp, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
			wantGood(t, resp, err)
		})
	}
}

// A stream that stays open after the answer holds neither the call nor its
// connection.
func TestB051_StreamStaysOpenAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(w http.ResponseWriter, req *http.Request, _ string) {
			stream("data: "+good+"\n\n")(w, req, "")
			w.(http.Flusher).Flush()
			for req.Context().Err() == nil {
				select {
				case <-req.Context().Done():
				case <-time.After(200 * time.Millisecond):
					io.WriteString(w, ": keep\n\n")
					w.(http.Flusher).Flush()
				}
			}
		})
		for range 20 {
			began := time.Now()
			resp, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
			wantGood(t, resp, err)
			if took := time.Since(began); took > 0 {
				t.Fatalf("the call took %v", took)
			}
			time.Sleep(time.Second) // of fake time, for the drain to give up
			synctest.Wait()
			if open := r.pipes.open.Load(); open > 0 {
				t.Fatalf("%d connections are open", open)
			}
		}
	})
}

// A stream that ends behind the answer gives its connection to the next call,
// although the caller ends its context at once.
func TestL07_DrainedConnectionIsUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(w http.ResponseWriter, req *http.Request, _ string) {
			stream("data: "+good+"\n\n")(w, req, "")
			w.(http.Flusher).Flush()
			<-time.After(50 * time.Millisecond)
			io.WriteString(w, ": bye\n\n")
		})
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			resp, err := r.RoundTrip(ctx, call(link(legacy)), &listener{})
			cancel()
			wantGood(t, resp, err)
			time.Sleep(time.Second)
		}
		if n := r.pipes.dials.Load(); n != 1 {
			t.Errorf("%d connections were opened", n)
		}
	})
}

func TestL07_MoreThanTheDrainIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		r := newRig(t, func(w http.ResponseWriter, req *http.Request, _ string) {
			stream("data: "+good+"\n\n")(w, req, "")
			for {
				n, err := io.WriteString(w, strings.Repeat(": more\n", 1000))
				if err != nil {
					return
				}
				sent.Add(int64(n))
			}
		})
		resp, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
		wantGood(t, resp, err)
		synctest.Wait()
		if sent.Load() > 256<<10 || r.pipes.open.Load() > 0 {
			t.Errorf("%d bytes were taken, %d connections are open", sent.Load(), r.pipes.open.Load())
		}
	})
}
