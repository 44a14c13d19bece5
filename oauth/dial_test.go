package oauth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/redact"
)

func TestT51_Addresses(t *testing.T) {
	for address, good := range map[string]bool{
		"192.0.2.1:443":               true,
		"[2001:db8::1]:443":           true,
		"10.0.0.5:443":                true,
		"[fd00::1]:443":               true,
		"127.0.0.1:443":               false,
		"127.255.0.1:443":             false,
		"[::1]:443":                   false,
		"[::ffff:127.0.0.1]:443":      false,
		"0.0.0.0:443":                 false,
		"[::]:443":                    false,
		"169.254.169.254:80":          false,
		"[::ffff:169.254.169.254]:80": false,
		"[fe80::1%eth0]:443":          false,
		"[fe80::1]:443":               false,
		"224.0.0.1:443":               false,
		"name:443":                    false,
		"":                            false,
	} {
		if err := checkAddress(address); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestT51_NamesThatLeadHere: what is looked at is what is connected to.
func TestT51_NamesThatLeadHere(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request came through") }))
	defer s.Close()
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "::ffff:127.0.0.1"} {
		conn, err := Dial(t.Context(), "tcp", net.JoinHostPort(host, port))
		if err == nil {
			conn.Close()
			t.Errorf("%s was connected to", host)
		} else if !errors.Is(err, errAddress) {
			t.Errorf("%s: %v", host, err)
		}
	}

	w := newWorld(t)
	w.resource(map[string]any{"resource": serverURL, "authorization_servers": []string{"https://0.0.0.0:" + port}})
	opts := w.options(Config{})
	opts.HTTP = func(local bool) *http.Client {
		if local {
			t.Error("a public server counts as one on this machine")
		}
		real := &http.Transport{DialContext: Dial}
		return &http.Client{Transport: onlyFor{"0.0.0.0", real, w}}
	}
	c, err := New(redact.NewSecret(serverURL), opts)
	if err != nil {
		t.Fatal(err)
	}
	w.refused(c, "this machine's own")
}

// onlyFor sends the requests to one host by one way and all others by another.
type onlyFor struct {
	host        string
	this, other http.RoundTripper
}

func (o onlyFor) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Hostname() == o.host {
		return o.this.RoundTrip(r)
	}
	return o.other.RoundTrip(r)
}

// TestT51_Proxies: the environment's proxy may be on this machine. The environment is
// read once, so it takes a process of its own.
func TestT51_Proxies(t *testing.T) {
	if os.Getenv("HTTPS_PROXY") != "http://127.0.0.1:3128" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestT51_Proxies$", "-test.v")
		cmd.Env = append(os.Environ(), "HTTPS_PROXY=http://127.0.0.1:3128", "HTTP_PROXY=http://[::1]", "NO_PROXY=")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for address, want := range map[string]bool{"127.0.0.1:3128": true, "[::1]:80": true, "127.0.0.1:3129": false, "localhost:3128": false} {
		if got := isProxy(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	if _, err := Dial(context.Background(), "tcp", "127.0.0.1:3128"); errors.Is(err, errAddress) {
		t.Error("the proxy is refused")
	}
}
