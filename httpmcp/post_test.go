package httpmcp

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

const okHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

func writeGood(conn net.Conn) {
	fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n%s", okHead, len(good), good)
}

// R03, the part of connections: how often a call reaches the server, and what is
// said of it, by where its connection breaks.
func TestR03_SendsByCause(t *testing.T) {
	for _, test := range []struct {
		name      string
		dial      func(n int, conn net.Conn) (net.Conn, error)
		serve     func(n int, conn net.Conn) bool // of the n-th request
		reason    string                          // "" for an answer
		delivered string
		sends     int
	}{
		{name: "no connection", dial: func(int, net.Conn) (net.Conn, error) { return nil, syscall.ECONNREFUSED },
			reason: "cannot connect to mcp.test: connection refused", delivered: "no"},
		{name: "nothing could be written, once", dial: func(n int, conn net.Conn) (net.Conn, error) {
			if n == 1 {
				return &mute{Conn: conn}, nil
			}
			return conn, nil
		}, sends: 1},
		{name: "nothing could ever be written", dial: func(_ int, conn net.Conn) (net.Conn, error) { return &mute{Conn: conn}, nil },
			reason: "no answer from mcp.test: the connection was reset", delivered: "no"},
		{name: "a part could be written", dial: func(_ int, conn net.Conn) (net.Conn, error) { return &mute{Conn: conn, most: 10}, nil },
			reason: "no answer from mcp.test: the connection was ", delivered: "unknown"},
		{name: "closed when the request was read", serve: func(int, net.Conn) bool { return false },
			reason: "no answer from mcp.test: the connection was closed", delivered: "unknown", sends: 1},
		{name: "closed within the head of the reply", serve: func(_ int, conn net.Conn) bool { io.WriteString(conn, okHead); return false },
			reason: "no answer from mcp.test: the connection was closed before the end", delivered: "unknown", sends: 1},
	} {
		for _, key := range []string{"", "Idempotency-Key", "X-Idempotency-Key"} {
			t.Run(test.name+" "+key, func(t *testing.T) {
				var r *rig
				var dials atomic.Int64
				client := NewClient(&ClientConfig{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					n := int(dials.Add(1))
					if test.dial == nil {
						return r.pipes.dial(ctx, network, address)
					}
					conn, err := r.pipes.dial(ctx, network, address)
					if err != nil {
						return nil, err
					}
					broken, err := test.dial(n, conn)
					if err != nil {
						conn.Close()
					}
					return broken, err
				}})
				defer client.CloseIdleConnections()
				r = newRawRig(t, func(conn net.Conn, _ *http.Request, _ string) bool {
					if test.serve != nil {
						return test.serve(1, conn)
					}
					writeGood(conn)
					return true
				}, func(o *Options) {
					o.RoundTripper = client.Transport
					if key != "" {
						o.Headers = []mcpclient.Header{{Name: key, Value: redact.NewSecret("1")}}
					}
				})
				resp, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
				if test.reason == "" {
					wantGood(t, resp, err)
				} else if wire := wireError(t, err); !strings.HasPrefix(wire.Reason, test.reason) || wire.Delivered != test.delivered {
					t.Errorf("got %q, delivered %s", wire.Reason, wire.Delivered)
				}
				if n := r.runs(); n != test.sends {
					t.Errorf("the server saw the call %d times, want %d", n, test.sends)
				}
			})
		}
	}
}

// A mute connection takes most bytes and is then reset.
type mute struct {
	net.Conn
	most int
}

func (m *mute) Write(p []byte) (int, error) {
	n := 0
	if m.most > 0 {
		n, _ = m.Conn.Write(p[:min(m.most, len(p))])
		m.most -= n
	}
	if n < len(p) {
		return n, &net.OpError{Op: "write", Err: syscall.ECONNRESET}
	}
	return n, nil
}

// R02: the connection is cut at every byte of the request and of the reply. A call
// runs at most once, and what is said of it is true.
func TestR02_CutAtEveryOffset(t *testing.T) {
	replies := map[string]string{
		"JSON":   fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", okHead, len(good), good),
		"chunks": okHead + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(good), good),
		"stream": "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" +
			fmt.Sprintf("%x\r\ndata: %s\n\n\r\n0\r\n\r\n", len(good)+8, good),
	}
	check := func(t *testing.T, r *rig, what string) {
		t.Helper()
		resp, err := r.RoundTrip(t.Context(), call(link(modern)), &listener{})
		n := r.runs()
		if err == nil {
			if string(resp.Result) != `{"ok":true}` || n != 1 {
				t.Errorf("%s: answered %s, ran %d times", what, resp.Result, n)
			}
			return
		}
		if wire := wireError(t, err); wire.Delivered != "unknown" && n > 0 || n > 1 {
			t.Errorf("%s: %+v, ran %d times", what, wire, n)
		}
	}
	for name, text := range replies {
		t.Run(name, func(t *testing.T) {
			for cut := range len(text) + 1 {
				synctest.Test(t, func(t *testing.T) {
					r := newRawRig(t, func(conn net.Conn, _ *http.Request, _ string) bool {
						io.WriteString(conn, text[:cut])
						return false
					})
					check(t, r, fmt.Sprintf("the reply cut at %d", cut))
				})
			}
		})
	}
	t.Run("request", func(t *testing.T) {
		for cut := range 600 {
			synctest.Test(t, func(t *testing.T) {
				var r *rig
				client := NewClient(&ClientConfig{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := r.pipes.dial(ctx, network, address)
					return &mute{Conn: conn, most: cut}, err
				}})
				defer client.CloseIdleConnections()
				r = newRawRig(t, func(conn net.Conn, _ *http.Request, _ string) bool { writeGood(conn); return true },
					func(o *Options) { o.RoundTripper = client.Transport })
				check(t, r, fmt.Sprintf("the request cut at %d", cut))
			})
		}
	})
}

// 4d: with an Idempotency-Key, net/http itself sends a POST again that breaks on
// a kept connection. Ours must not, in any of the ways a request goes out.
func TestR02_IdempotencyKeyDoesNotSendACallTwice(t *testing.T) {
	for _, key := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		t.Run(key, func(t *testing.T) {
			n := 0
			r := newRawRig(t, func(conn net.Conn, _ *http.Request, _ string) bool {
				if n++; n == 1 {
					writeGood(conn) // and keep the connection
					return true
				}
				return false // the second request is read, and then the connection breaks
			}, func(o *Options) {
				o.Headers = []mcpclient.Header{{Name: key, Value: redact.NewSecret("1")}}
			})
			resp, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
			wantGood(t, resp, err)
			_, err = r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
			if wire := wireError(t, err); wire.Delivered != "unknown" {
				t.Errorf("got %+v", wire)
			}
			if runs := r.runs(); runs != 2 {
				t.Errorf("the server saw %d calls, want 2", runs)
			}
		})
	}
}

// B013: a proxy drops the connection while it is quiet. The next call runs once.
func TestB013_QuietConnectionIsDropped(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration // the server drops a quiet connection
		pause time.Duration // between calls
		dials int64
	}{
		{"long before the next call", 300 * time.Millisecond, time.Second, 5},
		{"just before the next call", 300 * time.Millisecond, 301 * time.Millisecond, 5},
		{"never", time.Hour, time.Second, 1},
		{"as Node's server does after five seconds", 5 * time.Second, 5 * time.Second, 5},
		{"our own patience is the shorter", 5 * time.Second, 4999 * time.Millisecond, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRawRig(t, func(conn net.Conn, _ *http.Request, _ string) bool {
					conn.SetReadDeadline(time.Now().Add(test.after))
					writeGood(conn)
					return true
				})
				for range 5 {
					resp, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
					wantGood(t, resp, err)
					time.Sleep(test.pause)
					synctest.Wait()
				}
				if n := r.runs(); n != 5 {
					t.Errorf("5 calls ran %d times", n)
				}
				if n := r.pipes.dials.Load(); n != test.dials {
					t.Errorf("%d connections, want %d", n, test.dials)
				}
			})
		})
	}
}

// B013 as a proxy does it that does not even read what comes on a connection it
// is about to drop. What is repeatable finds that out, and no call is lost.
func TestB013_KeptConnectionIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRawRig(t, func(conn net.Conn, _ *http.Request, _ string) bool {
			writeGood(conn)
			<-time.After(300 * time.Millisecond)
			return false
		})
		for _, req := range []*mcpclient.Request{handshake(legacy), list(link(legacy)), call(link(legacy)), call(link(legacy)), call(link(legacy))} {
			resp, err := r.RoundTrip(t.Context(), req, &listener{})
			wantGood(t, resp, err)
		}
		if n := r.runs(); n != 3 {
			t.Errorf("3 calls ran %d times", n)
		}
	})
}

// The distrust ends: connections are kept again.
func TestB013_DistrustEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r := newRawRig(t, func(conn net.Conn, _ *http.Request, _ string) bool {
			if n++; n == 2 {
				return false // the second request breaks on a kept connection
			}
			writeGood(conn)
			return true
		})
		dials := func(calls int) int64 {
			before := r.pipes.dials.Load()
			for range calls {
				resp, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
				wantGood(t, resp, err)
			}
			return r.pipes.dials.Load() - before
		}
		if n := dials(1); n != 1 {
			t.Errorf("%d connections for the first call", n)
		}
		if _, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{}); wireError(t, err).Delivered != "unknown" {
			t.Errorf("got %v", err)
		}
		if n := dials(5); n != 5 {
			t.Errorf("%d connections for 5 calls after the drop", n)
		}
		time.Sleep(distrust + time.Second)
		if n := dials(5); n != 1 {
			t.Errorf("%d connections for 5 calls after the distrust", n)
		}
	})
}

// R02 over HTTP/2: a refused stream was not processed, a reset one may have been.
func TestR03_HTTP2(t *testing.T) {
	const refusedStreamCode, internalErrorCode, protocolErrorCode, cancelCode = 7, 2, 1, 8
	for _, test := range []struct {
		name      string
		reset     uint32
		goAway    bool
		sends     int64
		delivered string
	}{
		{name: "REFUSED_STREAM", reset: refusedStreamCode, sends: maxSends, delivered: "no"},
		{name: "GOAWAY below the stream", goAway: true, sends: maxSends, delivered: "no"},
		{name: "INTERNAL_ERROR", reset: internalErrorCode, sends: 1, delivered: "unknown"},
		{name: "PROTOCOL_ERROR", reset: protocolErrorCode, sends: 1, delivered: "unknown"},
		{name: "CANCEL", reset: cancelCode, sends: 1, delivered: "unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cert, pool := certificate(t, "127.0.0.1", time.Hour)
			ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			var sends atomic.Int64
			go func() {
				for {
					conn, err := ln.Accept()
					if err != nil {
						return
					}
					go refuseHTTP2(conn, &sends, test.reset, test.goAway)
				}
			}()
			client := NewClient(&ClientConfig{RootCAs: pool})
			defer client.CloseIdleConnections()
			tr := New(redact.NewSecret("https://"+ln.Addr().String()+"/mcp"), &Options{RoundTripper: client.Transport})
			defer tr.Close(t.Context(), nil)
			_, err = tr.RoundTrip(t.Context(), call(link(legacy)), &listener{})
			wire := wireError(t, err)
			if wire.Delivered != test.delivered || !strings.Contains(wire.Reason, "HTTP/2") {
				t.Errorf("got %q, delivered %s", wire.Reason, wire.Delivered)
			}
			if n := sends.Load(); n != test.sends {
				t.Errorf("sent %d times, want %d", n, test.sends)
			}
		})
	}
}

// T13: an HTTP/2 connection whose other side is gone is found by its pings.
func TestT13_DeadHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cert, pool := certificate(t, "mcp.test", 24*time.Hour)
		pipes := newPipes()
		defer pipes.Close()
		go func() {
			for {
				conn, err := pipes.Accept()
				if err != nil {
					return
				}
				go func() { // settings, and then nothing is said any more
					server := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
					defer conn.Close()
					go server.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) // while it reads: a pipe has no room
					io.Copy(io.Discard, server)
				}()
			}
		}()
		client := NewClient(&ClientConfig{RootCAs: pool, Dial: pipes.dial})
		defer client.CloseIdleConnections()
		tr := New(redact.NewSecret("https://mcp.test/mcp"), &Options{RoundTripper: client.Transport})
		defer tr.Close(t.Context(), nil)
		began := time.Now()
		_, err := tr.RoundTrip(t.Context(), call(link(modern)), &listener{})
		wire := wireError(t, err)
		if took := time.Since(began); took != pingAfter+pingTime || wire.Delivered != "unknown" || !strings.Contains(wire.Reason, "HTTP/2: the connection was lost") {
			t.Errorf("after %v got %+v", took, wire)
		}
	})
}

// refuseHTTP2 speaks as much HTTP/2 as it takes to refuse a request.
func refuseHTTP2(conn net.Conn, sends *atomic.Int64, reset uint32, goAway bool) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	if _, err := io.CopyN(io.Discard, in, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	frame := func(kind byte, stream uint32, payload ...byte) {
		head := append([]byte{0, 0, byte(len(payload)), kind, 0}, binary.BigEndian.AppendUint32(nil, stream)...)
		conn.Write(append(head, payload...))
	}
	frame(4, 0) // SETTINGS
	for {
		var head [9]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		length := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, in, length); err != nil {
			return
		}
		if kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:]); kind == 0 && flags&1 != 0 { // the end of the body
			sends.Add(1)
			if goAway {
				frame(7, 0, 0, 0, 0, 0, 0, 0, 0, 0) // no stream was processed, and no error
				return
			}
			frame(3, stream, binary.BigEndian.AppendUint32(nil, reset)...)
		}
	}
}

// L29: calls beyond the limit wait for a connection; what is not a call does not.
func TestL29_ConnectionsPerServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var running, most atomic.Int64
		h := func(w http.ResponseWriter, r *http.Request, body string) {
			if strings.Contains(body, "tools/call") {
				now := running.Add(1)
				if now > most.Load() {
					most.Store(now)
				}
				<-release
				running.Add(-1)
			}
			reply(200, typeJSON, good)(w, r, body)
		}
		pipes := newPipes()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			h(w, r, string(body))
		})}
		go server.Serve(pipes)
		defer server.Close()
		var o Options
		withLimits(t, "connections_per_server=4")(&o)
		tr := New(redact.NewSecret("http://mcp.test/mcp"), &o)
		tr.connect(&ClientConfig{Limits: o.Limits, Dial: pipes.dial})

		errs := make(chan error)
		for range 10 {
			go func() {
				_, err := tr.RoundTrip(t.Context(), call(link(legacy)), &listener{})
				errs <- err
			}()
		}
		synctest.Wait()
		if n := running.Load(); n != 4 {
			t.Errorf("%d calls run, want 4", n)
		}
		if err := tr.Notify(t.Context(), &mcpclient.Notification{Link: link(legacy), Method: "n", Body: []byte("{}")}); err != nil {
			t.Errorf("a notification: %v", err)
		}
		// One that waits can give up, and nothing is sent for it.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := tr.RoundTrip(ctx, call(link(legacy)), &listener{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that waited too long: %v", err)
		}
		close(release)
		for range 10 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if most.Load() != 4 {
			t.Errorf("%d ran at once", most.Load())
		}
		if err := tr.Close(t.Context(), linkIn("s")); err != nil {
			t.Error(err)
		}
	})
}

func TestL29_ConnectionsTotal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o Options
		withLimits(t, "connections_total=3")(&o)
		shared := NewResources(o.Limits)
		release := make(chan struct{})
		var running atomic.Int64
		wait := func(w http.ResponseWriter, r *http.Request, body string) {
			running.Add(1)
			<-release
			running.Add(-1)
			reply(200, typeJSON, good)(w, r, body)
		}
		a := newRig(t, wait, func(o *Options) { o.Resources = shared })
		b := newRig(t, wait, func(o *Options) { o.Resources = shared })
		errs := make(chan error)
		for range 5 {
			for _, r := range []*rig{a, b} {
				go func() {
					_, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
					errs <- err
				}()
			}
		}
		synctest.Wait()
		if n := running.Load(); n != 3 {
			t.Errorf("%d calls run, want 3", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.RoundTrip(ctx, call(link(legacy)), &listener{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that waited too long: %v", err)
		}
		close(release)
		for range 10 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if len(shared.calls) != 0 {
			t.Errorf("%d places are still taken", len(shared.calls))
		}
	})
}

// B149: one slow call holds up no other. B151: 500 calls, few connections.
func TestB149_B151_CallsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(w http.ResponseWriter, req *http.Request, body string) {
			if strings.Contains(body, `"id":2,`) {
				<-time.After(3 * time.Second)
			}
			reply(200, typeJSON, strings.Replace(good, `"id":1`, `"id":`+idOf(body), 1))(w, req, body)
		})
		slow := make(chan time.Duration)
		began := time.Now()
		go func() {
			req := call(link(legacy))
			req.ID, req.Body = 2, []byte(strings.Replace(string(req.Body), `"id":1`, `"id":2`, 1))
			resp, err := r.RoundTrip(t.Context(), req, &listener{})
			wantGood(t, resp, err)
			slow <- time.Since(began)
		}()
		synctest.Wait()
		for range 500 {
			resp, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
			wantGood(t, resp, err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the others took %v", took)
		}
		if took := <-slow; took != 3*time.Second {
			t.Errorf("the slow one took %v", took)
		}
		if n := r.pipes.dials.Load(); n > 3 {
			t.Errorf("%d connections were opened", n)
		}
	})
}

// T19: answers in any order, doubled and for others: each caller gets its own.
func TestT19_EachCallerGetsItsOwnAnswer(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, req *http.Request, body string) {
		id := idOf(body)
		var events strings.Builder
		for _, other := range []string{"7" + id, "-" + id, `"x"`, id, id, "8" + id} {
			fmt.Fprintf(&events, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"for\":\"%s\"}}\n\n", other, strings.Trim(other, `"`))
		}
		stream(events.String())(w, req, body)
	})
	errs := make(chan error)
	for id := range int64(200) {
		go func() {
			req := call(link(legacy))
			req.ID = id + 1
			req.Body = []byte(strings.Replace(string(req.Body), `"id":1`, fmt.Sprintf(`"id":%d`, req.ID), 1))
			resp, err := r.RoundTrip(t.Context(), req, &listener{})
			if err == nil && string(resp.Result) != fmt.Sprintf(`{"for":"%d"}`, req.ID) {
				err = fmt.Errorf("call %d got %s", req.ID, resp.Result)
			}
			errs <- err
		}()
	}
	for range 200 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestURLsThatCannotBeUsed(t *testing.T) {
	for _, test := range []struct{ url, want string }{
		{"http://user:SECRET@host:bad port/", "the url is not valid"},
		{"ftp://host/SECRET", "the url must begin with http:// or https://"},
		{"", "the url must begin with http:// or https://"},
		{"/SECRET", "the url must begin with http:// or https://"},
		{"http:///SECRET", "the url names no host"},
	} {
		tr := New(redact.NewSecret(test.url), nil)
		_, err := tr.RoundTrip(t.Context(), call(link(legacy)), &listener{})
		for _, err := range []error{err, tr.Notify(t.Context(), &mcpclient.Notification{Link: link(legacy)}), tr.Listen(t.Context(), link(legacy), nil, nil)} {
			if wire := wireError(t, err); wire.Reason != test.want || wire.Delivered != "no" || !wire.Final {
				t.Errorf("%q: got %+v", test.url, wire)
			}
		}
		if err := tr.Close(t.Context(), linkIn("s")); err != nil {
			t.Error(err)
		}
	}
}

// L02, L08, L09 and the bounds of JSON, each crossed at its default.
func TestLimits(t *testing.T) {
	endless := func(head, pattern string) handler {
		return func(w http.ResponseWriter, r *http.Request, _ string) {
			reply(200, typeJSON, head)(w, r, "")
			more := strings.Repeat(pattern, 64<<10/len(pattern))
			for {
				if _, err := io.WriteString(w, more); err != nil {
					return
				}
			}
		}
	}
	wide := func(pattern string, n int, open, end string) string {
		return `{"jsonrpc":"2.0","id":1,"result":` + open + strings.TrimSuffix(strings.Repeat(pattern, n), ",") + end + `}`
	}
	for _, test := range []struct {
		name  string
		h     handler
		opts  []func(*Options)
		want  limit.Name
		other string // the reason, where no limit is hit
	}{
		{name: "L02 a body without end", h: endless(`{"jsonrpc":"2.0","id":1,"result":"`, "x"), want: limit.ServerMessage},
		{name: "L02 a Content-Length beyond it", h: func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Content-Length", "16777217")
			reply(200, typeJSON, "{")(w, r, "")
			w.(http.Flusher).Flush()
		}, want: limit.ServerMessage},
		{name: "L03 an event without end", h: func(w http.ResponseWriter, r *http.Request, _ string) {
			w.Header().Set("Content-Type", typeStream)
			more := strings.Repeat("x", 64<<10)
			for {
				if _, err := io.WriteString(w, more); err != nil {
					return
				}
			}
		}, want: limit.SSEEvent},
		{name: "L09 headers of 300 KiB", h: func(w http.ResponseWriter, r *http.Request, b string) {
			w.Header().Set("X-Big", strings.Repeat("x", 300<<10))
			reply(200, typeJSON, good)(w, r, b)
		}, want: limit.ResponseHeaders},
		{name: "L09 201 header fields", h: func(w http.ResponseWriter, r *http.Request, b string) {
			for i := range 198 { // and Content-Type, Content-Length, Date
				w.Header().Add(fmt.Sprint("X-", i/2), "x")
			}
			reply(200, typeJSON, good)(w, r, b)
		}, want: limit.ResponseHeaderFields},
		{name: "B097 100,000 arrays", h: reply(200, typeJSON, wide("[", 100_000, "", strings.Repeat("]", 100_000))), want: limit.JSONDepth},
		{name: "L12 100,001 members", h: reply(200, typeJSON, wide(`"a":1,`, 100_001, "{", "}")), want: limit.JSONKeys},
		{name: "L12 1,000,001 items", h: reply(200, typeJSON, wide(`1,`, 1_000_001, "[", "]")), want: limit.JSONItems},
		{name: "a number of 1,025 digits", h: reply(200, typeJSON, wide("1", 1_025, "", "")), other: "too many digits"},
		{name: "B183 L08 a gzip bomb, allowed", h: gzipped(wide(" ", 20<<20, "", "1"), nil), opts: []func(*Options){withLimits(t, "gzip=1")}, want: limit.ServerMessage},
		{name: "B015 L08 gzip, refused", h: gzipped(good, nil), other: "the answer is compressed, which was not asked for: gzip; the limit gzip=1 allows it"},
		{name: "L08 gzip twice, refused", h: gzipped(good, http.Header{"Content-Encoding": {"gzip, gzip"}}), opts: []func(*Options){withLimits(t, "gzip=1")}, other: "the answer is compressed, which was not asked for: gzip, gzip"},
		{name: "L08 another coding, refused", h: gzipped(good, http.Header{"Content-Encoding": {"br"}}), opts: []func(*Options){withLimits(t, "gzip=1")}, other: "the answer is compressed, which was not asked for: br"},
		{name: "B017 gzip is cut", h: gzipped(good[:40], nil), opts: []func(*Options){withLimits(t, "gzip=1"), func(*Options) {}}, other: "not valid JSON"},
		{name: "B015 gzip that is none", h: func(w http.ResponseWriter, r *http.Request, b string) {
			w.Header().Set("Content-Encoding", "gzip")
			reply(200, typeJSON, "SECRET garbage")(w, r, b)
		}, opts: []func(*Options){withLimits(t, "gzip=1")}, other: "the answer broke off: the compressed answer is damaged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, test.h, test.opts...)
			_, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
			if test.other != "" {
				if wire := wireError(t, err); !strings.Contains(wire.Reason, test.other) {
					t.Errorf("got %q", wire.Reason)
				}
				return
			}
			wantLimit(t, err, test.want)
		})
	}
}

func TestL08_GzipWhereAllowed(t *testing.T) {
	for name, h := range map[string]handler{
		"JSON":   gzipped(good, nil),
		"stream": gzipped("data: "+good+"\n\n", http.Header{"Content-Type": {typeStream}, "Content-Encoding": {"x-gzip"}}),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, h, withLimits(t, "gzip=1"))
			resp, err := r.RoundTrip(t.Context(), call(link(legacy)), &listener{})
			wantGood(t, resp, err)
			if got := r.requests()[0].Header.Get("Accept-Encoding"); got != "gzip" {
				t.Errorf("asked for %q", got)
			}
		})
	}
}
