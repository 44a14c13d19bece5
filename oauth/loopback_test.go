package oauth

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// ask sends a request to the loopback as it is written and returns the answer's status
// and body.
func ask(t *testing.T, b *loopback, method, target, host string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", b.host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", method, target, host)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
	} {
		if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge && resp.StatusCode != http.StatusBadRequest && resp.Header.Get(name) != want {
			t.Errorf("%s %s: %s is %q", method, target, name, resp.Header.Get(name))
		}
	}
	return resp.StatusCode, string(body)
}

// TestT53_Callback: whoever knows the port and not the state gets nothing, and does not
// end the wait.
func TestT53_Callback(t *testing.T) {
	b, err := listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if !strings.HasPrefix(b.uri, "http://127.0.0.1:") || !strings.HasSuffix(b.uri, "/callback") {
		t.Errorf("the redirect URI is %s", b.uri)
	}
	const right = "/callback?state=the-state&code=<script>alert(1)</script>"
	if status, _ := ask(t, b, "GET", "/callback?state=&code=x", b.host); status != 404 {
		t.Error("an empty state was taken before any is expected")
	}
	b.expect("the-state")
	port := b.host[strings.LastIndex(b.host, ":"):]
	for range 20 {
		for name, r := range map[string]struct{ method, target, host string }{
			"another state":      {"GET", "/callback?state=the-statf&code=x", b.host},
			"no state":           {"GET", "/callback?code=x", b.host},
			"the state twice":    {"GET", "/callback?state=the-state&state=the-state", b.host},
			"a longer state":     {"GET", "/callback?state=the-state1", b.host},
			"another path":       {"GET", "/callback/?state=the-state", b.host},
			"the root":           {"GET", "/?state=the-state", b.host},
			"another method":     {"POST", right, b.host},
			"only the head":      {"HEAD", right, b.host},
			"another name":       {"GET", right, "evil.test" + port},
			"localhost":          {"GET", right, "localhost" + port},
			"without the port":   {"GET", right, "127.0.0.1"},
			"the name of a page": {"GET", right, ""},
			"a broken query":     {"GET", "/callback?state=the-state&x=%zz", b.host},
		} {
			if status, body := ask(t, b, r.method, r.target, r.host); status/100 != 4 || strings.Contains(body, "state") {
				t.Fatalf("%s: status %d, %q", name, status, body)
			}
		}
	}
	if status, _ := ask(t, b, "GET", "/callback?state=the-state&x="+strings.Repeat("x", 16<<10), b.host); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a head of 16 KiB got status %d", status)
	}
	select {
	case query := <-b.came:
		t.Fatalf("%v was taken", query)
	default:
	}
	status, body := ask(t, b, "GET", right, b.host)
	if status != 200 || body != callbackPage || !strings.Contains(body, "close this window") {
		t.Errorf("status %d, %q", status, body)
	}
	if query := <-b.came; query.Get("code") != "<script>alert(1)</script>" {
		t.Errorf("got %v", query)
	}
	if status, _ := ask(t, b, "GET", right, b.host); status != 404 {
		t.Error("it was taken twice")
	}
}

// TestT54_Ports: the port is had before anybody hears of it, and one that is taken is
// an error unless any will do.
func TestT54_Ports(t *testing.T) {
	b, err := listen(0)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(b.uri)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	var port int
	fmt.Sscan(u.Port(), &port)
	w.refused(w.client(Config{RedirectPort: port}), "port "+u.Port(), "another program")
	b.Close()
	if _, err := net.Dial("tcp", b.host); err == nil {
		t.Error("the port is open after the sign-in")
	}
	w.signIn(w.client(Config{RedirectPort: port}))
	if got := w.visits[0].Get("redirect_uri"); got != b.uri {
		t.Errorf("the redirect URI is %s, want %s", got, b.uri)
	}
}

// TestAUR_12_TheRegisteredPortIsTaken: another one is registered anew, since the
// redirect URI has to be a registered one.
func TestAUR_12_TheRegisteredPortIsTaken(t *testing.T) {
	w := newWorld(t)
	c := w.client(Config{})
	w.signIn(c)
	taken, err := reopen(w.visits[0].Get("redirect_uri"))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	w.made()
	w.signIn(c)
	w.wantMade(resourceDoc, serverDoc, register, tokens)
	if w.visits[0].Get("redirect_uri") == w.visits[1].Get("redirect_uri") {
		t.Error("the port is not another one")
	}
	for _, uri := range []string{"", "https://127.0.0.1:1/callback", "http://evil.test:1/callback", "http://127.0.0.1/callback", "http://127.0.0.1:1/x"} {
		if b, err := reopen(uri); err == nil {
			b.Close()
			t.Errorf("%q was opened", uri)
		}
	}
}
