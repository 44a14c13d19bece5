package httpmcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
)

// R03, the part of statuses, and finding 1: what is sent again, and when. The same
// server for a call and for a list.
func TestR03_RepeatsByStatus(t *testing.T) {
	const ms = time.Millisecond
	after := func(value string, status int) handler {
		return func(w http.ResponseWriter, r *http.Request, b string) {
			w.Header().Set("Retry-After", value)
			reply(status, "text/plain", "busy")(w, r, b)
		}
	}
	breaks := func(w http.ResponseWriter, r *http.Request, b string) { panic(http.ErrAbortHandler) }
	for _, test := range []struct {
		name     string
		replies  []handler // then the good answer
		deadline time.Duration
		waits    []time.Duration // before each repeat of the list
		status   int             // of the list's error; 0 for an answer, -1 for no status
	}{
		{name: "an answer"},
		{name: "503 once", replies: []handler{reply(503, "", "")}, waits: []time.Duration{250 * ms}},
		{name: "502 and 504", replies: []handler{reply(502, "", ""), reply(504, "", "")}, waits: []time.Duration{250 * ms, 500 * ms}},
		{name: "503 without end", replies: []handler{reply(503, "", ""), reply(503, "", ""), reply(503, "", "")}, waits: []time.Duration{250 * ms, 500 * ms}, status: 503},
		{name: "the connection breaks once", replies: []handler{breaks}, waits: []time.Duration{250 * ms}},
		{name: "the connection breaks without end", replies: []handler{breaks, breaks, breaks}, waits: []time.Duration{250 * ms, 500 * ms}, status: -1},
		{name: "B011 429 with seconds", replies: []handler{after("2", 429)}, waits: []time.Duration{2 * time.Second}},
		{name: "B011 429 with a date", replies: []handler{after("Sat, 01 Jan 2000 00:00:07 GMT", 429)}, waits: []time.Duration{7 * time.Second}},
		{name: "503 with seconds", replies: []handler{after("3", 503)}, waits: []time.Duration{3 * time.Second}},
		{name: "429 with 0 seconds", replies: []handler{after("0", 429)}, waits: []time.Duration{250 * ms}},
		{name: "429 without a time", replies: []handler{reply(429, "", "")}, status: 429},
		{name: "L36 a wait of a minute", replies: []handler{after("60", 429)}, waits: []time.Duration{time.Minute}},
		{name: "L36 a wait of more than a minute", replies: []handler{after("61", 429)}, status: 429},
		{name: "L36 a wait of a day", replies: []handler{after("86400", 503)}, status: 503},
		{name: "L36 a wait beyond the deadline", deadline: 5 * time.Second, replies: []handler{after("5", 429)}, status: 429},
		{name: "500", replies: []handler{reply(500, "", "")}, status: 500},
		{name: "501", replies: []handler{reply(501, "", "")}, status: 501},
		{name: "400", replies: []handler{reply(400, "", "")}, status: 400},
		{name: "401", replies: []handler{reply(401, "", "")}, status: 401},
		{name: "403", replies: []handler{reply(403, "", "")}, status: 403},
		{name: "404", replies: []handler{reply(404, "", "")}, status: 404},
		{name: "408", replies: []handler{reply(408, "", "")}, status: 408},
	} {
		for _, repeatable := range []bool{true, false} {
			t.Run(fmt.Sprint(test.name, " ", repeatable), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := 0
					var times []time.Time
					r := newRig(t, func(w http.ResponseWriter, req *http.Request, b string) {
						times = append(times, time.Now())
						if n++; n <= len(test.replies) {
							test.replies[n-1](w, req, b)
							return
						}
						id := n
						if !repeatable {
							id = 1
						}
						reply(200, typeJSON, strings.Replace(good, `"id":1`, fmt.Sprintf(`"id":%d`, id), 1))(w, req, b)
					})
					if test.deadline == 0 {
						test.deadline = 5 * time.Minute
					}
					ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
					defer cancel()
					req, waits, status := list(link(legacy)), test.waits, test.status
					if !repeatable {
						req, waits = call(link(legacy)), nil
					}
					resp, err := r.RoundTrip(ctx, req, &listener{})
					switch {
					case len(test.replies) == 0 || repeatable && status == 0:
						wantGood(t, resp, err)
					case repeatable:
						if got := wireError(t, err).Status; got != max(status, 0) {
							t.Errorf("got status %d: %v", got, err)
						}
					default:
						wireError(t, err)
					}
					var got []time.Duration
					for i := 1; i < len(times); i++ {
						got = append(got, times[i].Sub(times[i-1]))
					}
					if !slices.Equal(got, waits) {
						t.Errorf("sent again after %v, want %v", got, waits)
					}
					for i, q := range r.requests() {
						want := req // BAS-03, HTM-07: what is sent again has a new id
						for range i {
							want = want.Again()
						}
						if q.Body != string(want.Body) {
							t.Errorf("sending %d: the server got %q", i+1, q.Body)
						}
					}
				})
			})
		}
	}
}

// What cannot be connected to is left to those who open sessions.
func TestRepeatableIsNotRepeatedWithoutAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		r := newRig(t, hangs, func(o *Options) {
			o.RoundTripper = NewClient(&ClientConfig{Dial: func(context.Context, string, string) (net.Conn, error) {
				dials++
				return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			}}).Transport
		})
		_, err := r.RoundTrip(t.Context(), list(link(legacy)), &listener{})
		if wire := wireError(t, err); dials != 1 || wire.Reason != "cannot connect to mcp.test: connection refused" || wire.Delivered != "no" {
			t.Errorf("%d dials, %+v", dials, wire)
		}
	})
}

func TestRepeatEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(w http.ResponseWriter, req *http.Request, b string) {
			if !strings.Contains(b, methodCancelled) {
				w.Header().Set("Retry-After", "30")
				w.WriteHeader(503)
			}
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		given := errors.New("given up")
		time.AfterFunc(time.Second, func() { cancel(given) })
		began := time.Now()
		_, err := r.RoundTrip(ctx, list(link(legacy)), &listener{})
		if took := time.Since(began); err != given || took != time.Second {
			t.Errorf("got %v after %v", err, took)
		}
	})
}

// The url and its secrets are in no error of go-retryablehttp or net/http.
func TestB175_S1_25_NoURLInErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(http.ResponseWriter, *http.Request, string) { panic(http.ErrAbortHandler) })
		r.url.RawQuery = "token=SECRETQUERY"
		for _, req := range []*mcpclient.Request{call(link(legacy)), list(link(legacy))} {
			_, err := r.RoundTrip(t.Context(), req, &listener{})
			wire := wireError(t, err)
			if got := wire.Reason; got != "no answer from mcp.test: the connection was closed" || wire.Err != nil {
				t.Errorf("got %q, %v", got, wire.Err)
			}
		}
		if strings.Contains(r.logs.String(), "SECRET") {
			t.Error("the log has it")
		}
	})
}
