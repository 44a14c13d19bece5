package httpmcp

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

func TestStatuses(t *testing.T) {
	const rpcError = `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"the text"}}`
	for _, test := range []struct {
		name        string
		link        *mcpclient.Link
		status      int
		contentType string
		body        string
		header      string // one line
		reason      string
		want        mcpclient.WireError // without Op, Reason and Status
	}{
		{name: "B059 404 of a session", link: linkIn("s"), status: 404, body: rpcError, reason: "status 404: the server does not know the session any more",
			want: mcpclient.WireError{Delivered: "no", SessionLost: true}},
		{name: "B061 404 without a session", link: link(legacy), status: 404, body: "404 page not found", contentType: "text/plain", reason: "status 404 Not Found: 404 page not found",
			want: mcpclient.WireError{Delivered: "unknown", NotMCP: true}},
		{name: "404 where sessions are no more", link: &mcpclient.Link{Revision: modern, Session: redact.NewSecret("s")}, status: 404, reason: "status 404 Not Found",
			want: mcpclient.WireError{Delivered: "unknown", NotMCP: true}},
		{name: "400 without a body", status: 400, reason: "status 400 Bad Request", want: mcpclient.WireError{Delivered: "unknown", NotMCP: true}},
		{name: "405", status: 405, reason: "status 405 Method Not Allowed", want: mcpclient.WireError{Delivered: "unknown", NotMCP: true}},
		{name: "401", status: 401, body: rpcError, reason: "status 401 Unauthorized: the text", want: mcpclient.WireError{Delivered: "no"}},
		{name: "403", status: 403, body: rpcError, reason: "status 403 Forbidden: the text", want: mcpclient.WireError{Delivered: "unknown"}},
		{name: "B011 429 with seconds", status: 429, body: rpcError, header: "Retry-After: 2", reason: "status 429 Too Many Requests, try again in 2s: the text",
			want: mcpclient.WireError{Delivered: "unknown", Later: true, RetryAfter: 2 * time.Second}},
		{name: "B011 429 with a date", status: 429, header: "Retry-After: Sat, 01 Jan 2000 00:01:30 GMT", reason: "status 429 Too Many Requests, try again in 1m30s",
			want: mcpclient.WireError{Delivered: "unknown", Later: true, RetryAfter: 90 * time.Second}},
		{name: "503 with a date that is past", status: 503, header: "Retry-After: Sat, 01 Jan 1990 00:00:00 GMT", reason: "status 503 Service Unavailable, try again in 0s", want: mcpclient.WireError{Delivered: "unknown", Later: true}},
		{name: "L36 429 with a wait without end", status: 429, header: "Retry-After: 1000000000000000000000", reason: "status 429 Too Many Requests, try again in 24h0m0s",
			want: mcpclient.WireError{Delivered: "unknown", Later: true, RetryAfter: 24 * time.Hour}},
		{name: "429 with a broken wait", status: 429, header: "Retry-After: soon", reason: "status 429 Too Many Requests", want: mcpclient.WireError{Delivered: "unknown", Later: true}},
		{name: "503 without a wait", status: 503, reason: "status 503 Service Unavailable", want: mcpclient.WireError{Delivered: "unknown"}},
		{name: "a wait with another status", status: 500, header: "Retry-After: 2", reason: "status 500 Internal Server Error", want: mcpclient.WireError{Delivered: "unknown"}},
		{name: "500 with an HTML page", status: 500, contentType: "text/html; charset=utf-8", body: "<html>no</html>", reason: "status 500 Internal Server Error", want: mcpclient.WireError{Delivered: "unknown"}},
		{name: "500 with a JSON-RPC error", status: 500, body: rpcError, reason: "status 500 Internal Server Error: the text", want: mcpclient.WireError{Delivered: "unknown"}},
		{name: "501", status: 501, reason: "status 501 Not Implemented", want: mcpclient.WireError{Delivered: "unknown", NotMCP: true}},
		{name: "a status of nobody", status: 599, body: "x", contentType: "text/plain", reason: "status 599: x", want: mcpclient.WireError{Delivered: "unknown"}},
		{name: "B177 text that forges a log line", status: 500, contentType: "text/plain", body: "a\nlevel=ERROR msg=\"b\"\x1b[2J\u202e", reason: "status 500 Internal Server Error: " + redact.Escape("a\nlevel=ERROR msg=\"b\"\x1b[2J\u202e"), want: mcpclient.WireError{Delivered: "unknown"}},
		{name: "B015 compressed error", status: 500, header: "Content-Encoding: gzip", body: "\x1f\x8b\x08", reason: "status 500 Internal Server Error", want: mcpclient.WireError{Delivered: "unknown"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // whose clock begins at 2000-01-01 00:00:00 UTC
				if test.link == nil {
					test.link = link(legacy)
				}
				if test.contentType == "" {
					test.contentType = "application/json"
				}
				r := newRig(t, func(w http.ResponseWriter, req *http.Request, body string) {
					if name, value, ok := strings.Cut(test.header, ": "); ok {
						w.Header().Set(name, value)
					}
					reply(test.status, test.contentType, test.body)(w, req, body)
				})
				_, err := r.RoundTrip(t.Context(), call(test.link), &listener{})
				got := *wireError(t, err)
				if got.Reason != test.reason {
					t.Errorf("got  %q\nwant %q", got.Reason, test.reason)
				}
				test.want.Op, test.want.Reason, test.want.Status = "send", got.Reason, test.status
				if got != test.want {
					t.Errorf("got  %+v\nwant %+v", got, test.want)
				}
				if n := r.runs(); n != 1 {
					t.Errorf("the call was sent %d times", n)
				}
			})
		})
	}
}

// T01: nothing is ever sent to where a redirect points.
func TestT01_L10_S1_23_RedirectsAreNotFollowed(t *testing.T) {
	followed := 0
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed++ }))
	defer sink.Close()
	var status int
	var location string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" {
			followed++
		}
		w.Header()["Location"] = []string{location}
		w.WriteHeader(status)
	}))
	defer server.Close()
	client := NewClient(&ClientConfig{})
	defer client.CloseIdleConnections()
	host := strings.TrimPrefix(server.URL, "http://")
	sinkHost := strings.TrimPrefix(sink.URL, "http://")

	for _, target := range []struct{ name, location, shown, hidden string }{
		{"B019 trailing slash", "/mcp/", server.URL + "/mcp/", ""},
		{"same origin in full", server.URL + "/moved?token=SECRETQUERY", server.URL + "/moved", "SECRETQUERY"},
		{"userinfo added", "http://user:SECRETUSER@" + host + "/mcp/x", server.URL + "/mcp/x", "SECRETUSER"},
		{"another port", sink.URL + "/SECRETPATH?a=SECRETQUERY", sink.URL, "SECRET"},
		{"without scheme", "//" + sinkHost + "/SECRETPATH", sink.URL, "SECRET"},
		{"another scheme", "https://" + host + "/SECRETPATH", "https://" + host, "SECRET"},
		{"subdomain", "http://sub.localhost/SECRETPATH", "http://sub.localhost", "SECRET"},
		{"no url", "http://[::1/SECRETPATH", "a place that is no url", "SECRET"},
		{"nowhere", "", "a place that it does not name", ""},
		{"forged lines", "http://a.test\u2028b/SECRETPATH", "", "SECRET"},
	} {
		for _, code := range []int{300, 301, 302, 303, 304, 305, 307, 308} {
			t.Run(fmt.Sprint(target.name, " ", code), func(t *testing.T) {
				status, location, followed = code, target.location, 0
				tr := New(redact.NewSecret(server.URL+"/mcp"), &Options{
					Headers: []mcpclient.Header{{Name: "X-Api-Key", Value: redact.NewSecret("SECRETKEY")}}, RoundTripper: client.Transport})
				check := func(what string, err error) {
					wire := wireError(t, err)
					if !strings.Contains(wire.Reason, target.shown) || !strings.Contains(wire.Reason, fmt.Sprint("status ", code)) {
						t.Errorf("%s: the reason does not say where to: %q", what, wire.Reason)
					}
					if strings.Contains(wire.Reason, "SECRETKEY") || target.hidden != "" && strings.Contains(wire.Reason, target.hidden) {
						t.Errorf("%s: the reason says too much: %q", what, wire.Reason)
					}
					if strings.ContainsAny(wire.Reason, "\n\u2028") {
						t.Errorf("%s: the reason has several lines: %q", what, wire.Reason)
					}
				}
				_, err := tr.RoundTrip(t.Context(), call(link(legacy)), &listener{})
				check("POST", err)
				if wire := wireError(t, err); !wire.Final || wire.Status != code {
					t.Errorf("got %+v, want a final error of status %d", wire, code)
				}
				_, err = tr.RoundTrip(t.Context(), list(link(legacy)), &listener{})
				check("repeatable POST", err)
				check("notification", tr.Notify(t.Context(), &mcpclient.Notification{Link: link(legacy), Method: "notifications/initialized", Body: []byte("{}")}))
				check("GET", tr.Listen(t.Context(), link(legacy), nil, &listener{}))
				if err := tr.Close(t.Context(), linkIn("s")); err == nil {
					t.Error("DELETE: no error")
				}
				if followed != 0 {
					t.Errorf("%d requests went to the target", followed)
				}
			})
		}
	}
}

// T04: a server that echoes what it was sent, in any shape, leaks nothing.
func TestT04_S1_25_EchoedSecrets(t *testing.T) {
	const (
		key     = "canary-key-5f3a9b1c7d"
		bearer  = "canary-bearer-0a1b2c3d4e"
		session = "canary-session-77aa88bb99"
		query   = "canary-query-123abc456def"
		pass    = "canary-pass-fedcba987654"
		cookie  = "canary-cookie-13579bdf2468"
	)
	canaries := []string{key, bearer, session, query, pass, cookie}
	shapes := map[string]func(everything string) (contentType, body string){
		"text":   func(s string) (string, string) { return "text/plain", s },
		"HTML":   func(s string) (string, string) { return "text/html", "<pre>" + s },
		"JSON":   func(s string) (string, string) { return "application/json", fmt.Sprintf(`{"error":%q}`, s) },
		"base64": func(s string) (string, string) { return "text/plain", base64.StdEncoding.EncodeToString([]byte(s)) },
		"JSON-RPC": func(s string) (string, string) {
			return "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":%q}}`, s)
		},
		"type":      func(s string) (string, string) { return s, "x" },
		"two lines": func(s string) (string, string) { return "text/plain", "x\n" + s },
	}
	for name, shape := range shapes {
		for _, status := range []int{200, 400, 401, 403, 404, 429, 500, 503} {
			t.Run(fmt.Sprint(name, " ", status), func(t *testing.T) {
				r := newRig(t, func(w http.ResponseWriter, req *http.Request, _ string) {
					w.Header().Set("Set-Cookie", "sid="+cookie)
					all := fmt.Sprint(req.Header["X-Api-Key"], req.Header["Authorization"], req.Header["Mcp-Session-Id"], req.URL, cookie)
					contentType, body := shape(all)
					reply(status, contentType, body)(w, req, "")
				})
				headers := []mcpclient.Header{{Name: "x-api-key", Value: redact.NewSecret(key)}, {Name: "Authorization", Value: redact.NewSecret("Bearer " + bearer)}}
				tr := New(redact.NewSecret("http://user:"+pass+"@mcp.test/mcp?token="+query), &Options{Headers: headers, Scrub: r.scrub, RoundTripper: r.calls})
				defer tr.Close(t.Context(), nil)
				r.scrub.Add(session)
				l := linkIn(session)
				if status == 404 {
					l = link(legacy)
				}
				_, err := tr.RoundTrip(t.Context(), call(l), &listener{})
				if err == nil {
					return // a JSON-RPC error, which is the session's to scrub
				}
				for _, canary := range canaries {
					if strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), base64.StdEncoding.EncodeToString([]byte(canary))) {
						t.Errorf("%s leaks: %v", canary, err)
					}
				}
				if len(err.Error()) > shownBody+200 {
					t.Errorf("the reason has %d bytes", len(err.Error()))
				}
				if got := r.requests()[0].Header; got.Get("X-Api-Key") != key || got.Get("Cookie") != "" {
					t.Errorf("the server saw %v", got)
				}
			})
		}
	}
}

func TestT05_CookiesAreNotKept(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, req *http.Request, body string) {
		w.Header().Set("Set-Cookie", "sid=tracked; Path=/")
		reply(200, "application/json", good)(w, req, body)
	})
	for range 3 {
		for _, req := range []*mcpclient.Request{call(link(legacy)), list(link(legacy))} {
			resp, err := r.RoundTrip(t.Context(), req, &listener{})
			wantGood(t, resp, err)
		}
	}
	for _, q := range r.requests() {
		if q.Header["Cookie"] != nil {
			t.Errorf("a cookie came back: %v", q.Header["Cookie"])
		}
	}
}

// T11: a session id that comes with a failing reply is as secret as one in use.
func TestT11_SessionOfAFailingReply(t *testing.T) {
	const id = "session-of-a-failing-reply"
	r := newRig(t, func(w http.ResponseWriter, req *http.Request, body string) {
		w.Header().Set("Mcp-Session-Id", id)
		reply(500, "text/plain", "your session "+id+" broke")(w, req, body)
	})
	_, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
	if wire := wireError(t, err); strings.Contains(wire.Reason, id) || !strings.Contains(wire.Reason, "broke") {
		t.Errorf("got %q", wire.Reason)
	}
}

func TestL06_ErrorBodyIsReadInPart(t *testing.T) {
	var taken atomic.Int64
	r := newRig(t, func(w http.ResponseWriter, req *http.Request, _ string) {
		reply(500, "text/plain", "begin ")(w, req, "")
		for {
			n, err := io.WriteString(w, strings.Repeat("x", 32<<10))
			if err != nil {
				return
			}
			taken.Add(int64(n))
		}
	})
	_, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
	reason := wireError(t, err).Reason
	if !strings.HasPrefix(reason, "status 500 Internal Server Error: begin xxx") || len(reason) > shownBody+100 {
		t.Errorf("got %d bytes: %.80q", len(reason), reason)
	}
	if most := 4 * r.limits.Int(limit.ErrorBody); taken.Load() > int64(most) {
		t.Errorf("%d bytes were taken", taken.Load())
	}
}

// The status of an error is told although its body does not end.
func TestT13_ErrorBodyThatDrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(w http.ResponseWriter, req *http.Request, _ string) {
			reply(503, "text/plain", "busy")(w, req, "")
			w.(http.Flusher).Flush()
			<-req.Context().Done()
		})
		began := time.Now()
		_, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
		if got := wireError(t, err).Reason; got != "status 503 Service Unavailable: busy" {
			t.Errorf("got %q", got)
		}
		if took := time.Since(began); took != errorBodyTime {
			t.Errorf("it took %v", took)
		}
	})
}
