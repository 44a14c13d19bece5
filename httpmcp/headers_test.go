package httpmcp

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

func TestEncodeValue(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		// The specification's own examples.
		{"plain", "us-west1", "us-west1"},
		{"not ASCII", "Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
		{"spaces at the ends", " padded ", "=?base64?IHBhZGRlZCA=?="},
		{"line end", "line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
		{"HDR-08 looks encoded", "=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},

		{"empty", "", ""},
		{"space inside", "a b", "a b"},
		{"all visible ASCII", "!\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~", "!\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~"},
		{"only the beginning of the marks", "=?base64?x", "=?base64?x"},
		{"only the end of the marks", "x?=", "x?="},
		{"the marks in capitals", "=?BASE64?x?=", "=?BASE64?x?="},
		{"B185 CR LF", "a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="},
		{"NUL", "\x00", "=?base64?AA==?="},
		{"DEL", "\x7f", "=?base64?fw==?="},
		{"tab inside", "a\tb", "=?base64?YQli?="},
		{"emoji", "😀", "=?base64?8J+YgA==?="},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := encodeValue(test.value); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzEncodeValue(f *testing.F) {
	f.Add("=?base64?x?=")
	f.Add(" a")
	f.Add("a\r\nb")
	f.Fuzz(func(t *testing.T, value string) {
		got := encodeValue(value)
		for i := range len(got) {
			if got[i] < 0x20 || got[i] > 0x7e {
				t.Fatalf("%q became %q", value, got)
			}
		}
		if strings.TrimSpace(got) != got {
			t.Fatalf("%q became %q", value, got)
		}
		back := got
		if inner, ok := strings.CutPrefix(got, sentinelStart); ok {
			if inner, ok = strings.CutSuffix(inner, sentinelEnd); ok {
				raw, err := base64.StdEncoding.DecodeString(inner)
				if err != nil {
					t.Fatalf("%q became %q", value, got)
				}
				back = string(raw)
			}
		}
		if back != value {
			t.Fatalf("%q became %q, which is read as %q", value, got, back)
		}
	})
}

// The headers of every kind of request, as the server sees them.
func TestHeaders(t *testing.T) {
	session := linkIn("session-1")
	both, stream := []string{acceptBoth}, []string{typeStream}
	for _, test := range []struct {
		name string
		send func(*rig) error
		want http.Header
	}{
		{"handshake: neither version nor session", func(r *rig) error {
			_, err := r.RoundTrip(t.Context(), handshake(legacy), &listener{})
			return err
		}, http.Header{"Accept": both, "Content-Type": {typeJSON}}},
		{"LIF-09 call in a session", func(r *rig) error {
			_, err := r.RoundTrip(t.Context(), call(session), &listener{})
			return err
		}, http.Header{"Accept": both, "Content-Type": {typeJSON}, headerSession: {"session-1"}, headerVersion: {legacy.Name}}},
		{"B029 notification", func(r *rig) error {
			return r.Notify(t.Context(), &mcpclient.Notification{Link: session, Method: "notifications/initialized", Body: []byte("{}")})
		}, http.Header{"Accept": both, "Content-Type": {typeJSON}, headerSession: {"session-1"}, headerVersion: {legacy.Name}}},
		{"HTL-03 GET", func(r *rig) error {
			r.Listen(t.Context(), session, nil, &listener{})
			return nil
		}, http.Header{"Accept": stream, headerSession: {"session-1"}, headerVersion: {legacy.Name}}},
		{"DELETE", func(r *rig) error { return r.Close(t.Context(), session) },
			http.Header{"Accept": stream, headerSession: {"session-1"}, headerVersion: {legacy.Name}}},
		{"call of the oldest revision: no version", func(r *rig) error {
			_, err := r.RoundTrip(t.Context(), call(link(batched)), &listener{})
			return err
		}, http.Header{"Accept": both, "Content-Type": {typeJSON}}},
		{"HDR-01 self-contained call, its session ignored", func(r *rig) error {
			req := call(&mcpclient.Link{Revision: modern, Session: redact.NewSecret("s")})
			req.Name = "größe"
			req.Headers = []mcpclient.ParamHeader{{Name: "Region", Value: "us"}, {Name: "count", Value: " 1"}}
			_, err := r.RoundTrip(t.Context(), req, &listener{})
			return err
		}, http.Header{"Accept": both, "Content-Type": {typeJSON}, headerVersion: {modern.Name}, headerMethod: {"tools/call"},
			headerName: {"=?base64?Z3LDtsOfZQ==?="}, "Mcp-Param-Region": {"us"}, "Mcp-Param-Count": {"=?base64?IDE=?="}}},
		{"HDR-01 self-contained list: no name", func(r *rig) error {
			_, err := r.RoundTrip(t.Context(), list(link(modern)), &listener{})
			return err
		}, http.Header{"Accept": both, "Content-Type": {typeJSON}, headerVersion: {modern.Name}, headerMethod: {"tools/list"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, reply(200, typeJSON, good))
			if err := test.send(r); err != nil {
				t.Fatal(err)
			}
			got := r.requests()[0].Header
			test.want["Accept-Encoding"], test.want["User-Agent"] = []string{"identity"}, []string{"toolhost"}
			delete(got, "Content-Length")
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %v\nwant %v", got, test.want)
			}
		})
	}
}

// Configured headers go on every request, but never in place of ours, nor as a
// header that only we may send.
func TestHDR21_ConfiguredHeaders(t *testing.T) {
	var headers []mcpclient.Header
	for _, name := range []string{"Accept", "content-type", "Content-Length", "HOST", "connection", "TE", "trailer", "Transfer-Encoding", "upgrade",
		"Accept-Encoding", "mcp-session-id", "LAST-EVENT-ID", "Mcp-Protocol-Version", "mcp-anything", "Expect"} {
		headers = append(headers, mcpclient.Header{Name: name, Value: redact.NewSecret("evil")})
	}
	headers = append(headers,
		mcpclient.Header{Name: "x-api-key", Value: redact.NewSecret("k1")},
		mcpclient.Header{Name: "X-Api-Key", Value: redact.NewSecret("k2")},
		mcpclient.Header{Name: "user-agent", Value: redact.NewSecret("mine")})
	r := newRig(t, reply(200, typeJSON, good), func(o *Options) { o.Headers = headers })
	r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
	r.RoundTrip(t.Context(), list(link(legacy)), &listener{})
	r.Notify(t.Context(), &mcpclient.Notification{Link: link(legacy), Method: "n", Body: []byte("{}")})
	r.Listen(t.Context(), link(legacy), nil, &listener{})
	for _, q := range r.requests() {
		for name, values := range q.Header {
			if strings.Contains(strings.Join(values, " "), "evil") {
				t.Errorf("%s %s: %q", q.Method, name, values)
			}
		}
		if got := q.Header["X-Api-Key"]; !reflect.DeepEqual(got, []string{"k1", "k2"}) || q.Header.Get("User-Agent") != "mine" {
			t.Errorf("%s: %v", q.Method, q.Header)
		}
	}
}

func TestUserOfTheURLIsSentAsAuthorization(t *testing.T) {
	for _, test := range []struct {
		name    string
		headers []mcpclient.Header
		want    string
	}{
		{"alone", nil, "Basic dTpw"},
		{"a configured header wins", []mcpclient.Header{{Name: "authorization", Value: redact.NewSecret("Bearer x")}}, "Bearer x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, reply(200, typeJSON, good))
			tr := New(redact.NewSecret("http://u:p@mcp.test/mcp"), &Options{RoundTripper: r.calls, Headers: test.headers})
			defer tr.Close(t.Context(), nil)
			for _, req := range []*mcpclient.Request{call(link(legacy)), list(link(legacy))} {
				resp, err := tr.RoundTrip(t.Context(), req, &listener{})
				wantGood(t, resp, err)
			}
			for _, q := range r.requests() {
				if got := q.Header.Get("Authorization"); got != test.want {
					t.Errorf("got %q", got)
				}
			}
		})
	}
}

// A server that opens a session with every handshake, or one with a huge id, must
// not fill the Scrubber of the process, which would then show nothing any more.
func TestT11_SessionsDoNotFillTheScrubber(t *testing.T) {
	ids := []string{strings.Repeat("y", 20<<10)}
	for i := range 10 {
		ids = append(ids, fmt.Sprintf("session-%02d-of-this-server", i))
	}
	n := 0
	r := newRig(t, func(w http.ResponseWriter, req *http.Request, b string) {
		w.Header().Set("Mcp-Session-Id", ids[n])
		reply(200, typeJSON, good)(w, req, b)
	})
	for n = range ids {
		r.RoundTrip(t.Context(), handshake(legacy), &listener{})
	}
	hidden := 0
	for _, id := range ids {
		if !strings.Contains(r.scrub.Text("id "+id), id) {
			hidden++
		}
	}
	if last := ids[len(ids)-1]; hidden != hiddenSessions || strings.Contains(r.scrub.Text(last), last) {
		t.Errorf("%d session ids are hidden, want the newest %d", hidden, hiddenSessions)
	}
	r.Close(t.Context(), nil)
	if got := r.scrub.Text(ids[5]); got != ids[5] {
		t.Errorf("after Close: %s", got)
	}
}

// T11 and B065: only the reply to the handshake opens a session, and only with an
// id that can be sent back.
func TestT11_B065_Session(t *testing.T) {
	kilobyte := strings.Repeat("x", 1<<10)
	for _, test := range []struct {
		name, id string
		req      *mcpclient.Request
		want     string
		err      bool
	}{
		{"handshake", "session-1", handshake(legacy), "session-1", false},
		{"no session", "", handshake(legacy), "", false},
		{"1 KiB", kilobyte, handshake(legacy), kilobyte, false},
		{"1 KiB and 1", kilobyte + "x", handshake(legacy), "", true},
		{"space", "a b", handshake(legacy), "", true},
		{"not ASCII", "sé", handshake(legacy), "", true},
		{"B065 on a later reply", "s-2", call(linkIn("s-1")), "", false},
		{"on a list", "s-2", list(link(legacy)), "", false},
		{"HTM-06 where there are no sessions", "s-2", call(link(modern)), "", false},
	} {
		for _, contentType := range []string{typeJSON, typeStream} {
			t.Run(test.name+" "+contentType, func(t *testing.T) {
				body := good
				if contentType == typeStream {
					body = "data: " + good + "\n\n"
				}
				r := newRig(t, func(w http.ResponseWriter, req *http.Request, b string) {
					w.Header()["Mcp-Session-Id"] = []string{test.id}
					reply(200, contentType, body)(w, req, b)
				})
				resp, err := r.RoundTrip(t.Context(), test.req, &listener{})
				if test.err {
					if wire := wireError(t, err); strings.Contains(wire.Reason, test.id) {
						t.Errorf("the id is shown: %q", wire.Reason)
					}
					return
				}
				wantGood(t, resp, err)
				if got := resp.Session.Reveal("test"); got != test.want {
					t.Errorf("got session %q", got)
				}
				if test.want != "" && strings.Contains(r.scrub.Text("x "+test.want+" y"), test.want) {
					t.Error("the scrubber does not know the session")
				}
			})
		}
	}
}
