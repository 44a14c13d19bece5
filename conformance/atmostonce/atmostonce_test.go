package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// Each row spoils one thing of a call in order.
func TestViolations(t *testing.T) {
	ok := trial{outcome: "ok", nonce: "n", text: "n", may: 1, sent: 1, ran: 1}
	lost := trial{outcome: "unknown", kind: "transport", may: 1, sent: 1}
	for _, test := range []struct {
		name  string
		trial trial
		spoil func(*trial)
		want  string
	}{
		{"a success", ok, func(*trial) {}, ""},
		{"a loss that did not run", lost, func(*trial) {}, ""},
		{"a loss that ran", lost, func(t *trial) { t.ran = 1 }, ""},
		{"a refusal that was sent again", ok, func(t *trial) { t.may, t.sent = 2, 2 }, ""},
		{"not delivered", lost, func(t *trial) { t.outcome = "no" }, ""},
		{"cancelled", lost, func(t *trial) { t.kind = "cancelled" }, ""},

		{"ran twice", ok, func(t *trial) { t.ran = 2 }, "it ran twice"},
		{"ran twice and was lost", lost, func(t *trial) { t.ran = 2 }, "it ran twice"},
		{"sent twice", lost, func(t *trial) { t.sent = 2 }, "it was sent 2 times"},
		{"a success that did not run", ok, func(t *trial) { t.ran = 0 }, "did not run"},
		{"another's answer", ok, func(t *trial) { t.text = "m" }, "of another call"},
		{"not delivered, and ran", lost, func(t *trial) { t.outcome, t.ran = "no", 1 }, "although it was not delivered"},
		{"delivered, and did not run", lost, func(t *trial) { t.outcome = "yes" }, "did not run although"},
		{"an error that does not say", lost, func(t *trial) { t.outcome = "none" }, "does not say"},
		{"an error of another kind", lost, func(t *trial) { t.kind = "message" }, `kind "message"`},
		{"a long wait", lost, func(t *trial) { t.took = time.Minute }, "too long"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := test.trial
			test.spoil(&tr)
			got := strings.Join(tr.violations(), "; ")
			if !strings.Contains(got, test.want) || test.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestPrintFailsWhenACallWentWrong(t *testing.T) {
	var out bytes.Buffer
	good := trial{cause: "a", outcome: "ok", nonce: "n", text: "n", may: 1, sent: 1, ran: 1}
	if err := print(&out, []trial{good, good}, false, 0); err != nil || !strings.Contains(out.String(), "2 passed, 0 failed") {
		t.Errorf("%v: %s", err, &out)
	}
	bad := good
	bad.ran = 2
	if err := print(&out, []trial{good, bad}, false, 0); err == nil || !strings.Contains(out.String(), "but: it ran twice") {
		t.Errorf("%v: %s", err, &out)
	}
}

// The proxy hands on just the bytes that it should, and breaks the connection then.
func TestProxyCuts(t *testing.T) {
	const asked, answered = `with "nonce":"N1" in the request`, "the reply"
	for _, test := range []struct {
		side      side
		at        int
		got, back string // by the server and by the client
	}{
		{request, 0, "", ""},
		{request, 7, asked[:7], ""},
		{request, len(asked), asked, ""},
		{reply, 0, asked, ""},
		{reply, 3, asked, answered[:3]},
		{reply, len(answered), asked, answered},
		{reply, 99, asked, answered},
		{accept, 0, "", ""},
	} {
		for _, w := range []way{closing, stalling, reset} {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan string, 1)
			go func() {
				conn, err := ln.Accept()
				if err != nil {
					got <- ""
					return
				}
				defer conn.Close()
				buf := make([]byte, len(asked))
				n, _ := io.ReadFull(conn, buf)
				got <- string(buf[:n])
				if n == len(buf) {
					io.WriteString(conn, answered)
				}
			}()
			p, err := newProxy(ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			p.arm(&cut{nonce: "N1", side: test.side, at: test.at, way: w})
			var back []byte
			conn, err := net.Dial("tcp", p.addr())
			if err == nil {
				io.WriteString(conn, asked)
				back, _ = io.ReadAll(conn)
				conn.Close()
			} else if test.side != accept || w != reset { // which may come before Dial returns
				t.Fatal(err)
			}
			if test.side == accept {
				ln.Close()
			}
			// A reset may overtake the bytes before it.
			if server := <-got; server != test.got && !(w == reset && strings.HasPrefix(test.got, server)) {
				t.Errorf("%s of the %s at %d: the server got %q, want %q", w, test.side, test.at, server, test.got)
			}
			if string(back) != test.back && !(w == reset && strings.HasPrefix(test.back, string(back))) {
				t.Errorf("%s of the %s at %d: the client got %q, want %q", w, test.side, test.at, back, test.back)
			}
			if n := p.sent("N1"); n != 1 && test.side != accept {
				t.Errorf("%s of the %s at %d: the call was sent %d times", w, test.side, test.at, n)
			}
			p.close()
			ln.Close()
		}
	}
}

// The gateway answers in place of the tool or behind it.
func TestServerPlans(t *testing.T) {
	s, err := newServer(fakeserver.Options{NoSessions: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.set("before", plan{status: 503, header: map[string]string{"Retry-After": "1"}})
	s.set("after", plan{status: 408, ran: true})
	for _, test := range []struct {
		nonce  string
		status int
		ran    int
	}{{"before", 503, 0}, {"after", 408, 1}, {"none", 200, 1}, {"before", 200, 1}} {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x","nonce":"` + test.nonce + `"}}}`
		req, err := http.NewRequest(http.MethodPost, "http://"+s.addr()+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		before := len(s.fake.Ledger().RunsOf(test.nonce))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if ran := len(s.fake.Ledger().RunsOf(test.nonce)) - before; resp.StatusCode != test.status || ran != test.ran {
			t.Errorf("%s: status %d, ran %d times; want %d, %d", test.nonce, resp.StatusCode, ran, test.status, test.ran)
		}
	}
}

func TestOffsets(t *testing.T) {
	seen := map[int]int{}
	for first := range 7 {
		for n := range entries {
			list := setup{step: 7, first: first}.offsets(50, n)
			if list[0] != 0 || list[len(list)-1] != 50 || len(list) > 7 {
				t.Errorf("first %d, entry %d: %v", first, n, list)
			}
			for _, at := range list[1 : len(list)-1] {
				seen[at]++
			}
		}
	}
	for at := 1; at < 50; at++ {
		if seen[at] != 1 {
			t.Errorf("byte %d is cut %d times by the samples together", at, seen[at])
		}
	}
	if all := (setup{step: 1}).offsets(50, 1); len(all) != 51 {
		t.Errorf("%d of 51 offsets", len(all))
	}
}
