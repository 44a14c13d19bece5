package httpmcp

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

// tlsServer starts a TLS server on loopback and returns its url.
func tlsServer(t *testing.T, cfg *tls.Config, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.TLS = cfg
	server.EnableHTTP2 = len(cfg.NextProtos) > 0
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// T07: each fault of TLS is named by its class, and no byte of the request goes
// out.
func TestT07_TLS(t *testing.T) {
	trusted, pool := certificate(t, "127.0.0.1", time.Hour)
	otherName, otherPool := certificate(t, "other.test", time.Hour)
	expired, expiredPool := certificate(t, "127.0.0.1", -time.Hour)
	for _, test := range []struct {
		name string
		cfg  *tls.Config
		pool *x509.CertPool
		want string // "" for an answer
	}{
		{"good", &tls.Config{Certificates: []tls.Certificate{trusted}}, pool, ""},
		{"TLS 1.2", &tls.Config{Certificates: []tls.Certificate{trusted}, MaxVersion: tls.VersionTLS12}, pool, ""},
		{"self-signed", &tls.Config{Certificates: []tls.Certificate{trusted}}, nil, "TLS: the certificate is signed by an unknown authority"},
		{"wrong name", &tls.Config{Certificates: []tls.Certificate{otherName}}, otherPool, "TLS: the certificate is for another host"},
		{"expired", &tls.Config{Certificates: []tls.Certificate{expired}}, expiredPool, "TLS: the certificate is expired or not yet valid"},
		{"TLS 1.1", &tls.Config{Certificates: []tls.Certificate{trusted}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, pool, "TLS: the server refused the handshake"},
		{"a client certificate is wanted", &tls.Config{Certificates: []tls.Certificate{trusted}, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}, pool, "TLS: the server refused the handshake"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var served atomic.Int64
			url := tlsServer(t, test.cfg, func(w http.ResponseWriter, r *http.Request) {
				served.Add(1)
				reply(200, typeJSON, good)(w, r, "")
			})
			client := NewClient(&ClientConfig{RootCAs: test.pool})
			defer client.CloseIdleConnections()
			tr := New(redact.NewSecret(url), &Options{RoundTripper: client.Transport})
			defer tr.Close(t.Context(), nil)
			resp, err := tr.RoundTrip(t.Context(), call(link(legacy)), &listener{})
			if test.want == "" {
				wantGood(t, resp, err)
				return
			}
			wire := wireError(t, err)
			if want := "cannot connect to " + tr.url.Host + ": " + test.want; wire.Reason != want || wire.Delivered != "no" || wire.Op != "connect" {
				t.Errorf("got  %q, delivered %s, %s\nwant %q", wire.Reason, wire.Delivered, wire.Op, want)
			}
			if served.Load() != 0 {
				t.Error("the request was served")
			}
		})
	}
}

func TestPlainServerBehindHTTPS(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	tr := New(redact.NewSecret("https"+strings.TrimPrefix(server.URL, "http")), nil)
	defer tr.Close(t.Context(), nil)
	for _, req := range []*mcpclient.Request{call(link(legacy)), list(link(legacy))} {
		_, err := tr.RoundTrip(t.Context(), req, &listener{})
		if wire := wireError(t, err); !strings.Contains(wire.Reason, "TLS: the server does not speak it") || wire.Delivered != "no" {
			t.Errorf("got %+v", wire)
		}
	}
}

// HTTP/2 is spoken where the server insists, and calls work over it.
func TestProtocols(t *testing.T) {
	cert, pool := certificate(t, "127.0.0.1", time.Hour)
	for _, test := range []struct {
		name   string
		offers []string
		want   string
	}{
		{"HTTP/1.1 only", []string{"http/1.1"}, "HTTP/1.1"},
		{"HTTP/2 only", []string{"h2"}, "HTTP/2.0"},
		{"the server rather speaks HTTP/2", []string{"h2", "http/1.1"}, "HTTP/2.0"},
		{"the server rather speaks HTTP/1.1", []string{"http/1.1", "h2"}, "HTTP/1.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var proto atomic.Value
			gone := make(chan struct{}, 1)
			url := tlsServer(t, &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: test.offers}, func(w http.ResponseWriter, r *http.Request) {
				proto.Store(r.Proto)
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), "hang") {
					<-r.Context().Done()
					gone <- struct{}{}
					return
				}
				stream("data: "+good+"\n\n")(w, r, "")
			})
			client := NewClient(&ClientConfig{RootCAs: pool})
			defer client.CloseIdleConnections()
			tr := New(redact.NewSecret(url), &Options{RoundTripper: client.Transport})
			defer tr.Close(t.Context(), nil)
			for range 3 {
				resp, err := tr.RoundTrip(t.Context(), call(link(modern)), &listener{})
				wantGood(t, resp, err)
			}
			if got := proto.Load(); got != test.want {
				t.Errorf("got %s", got)
			}
			// Giving up ends the stream at the server, whatever carries it.
			ctx, cancel := withTimer(t, 50*time.Millisecond)
			defer cancel()
			req := call(link(modern))
			req.Body = []byte(`"hang"`)
			if _, err := tr.RoundTrip(ctx, req, &listener{}); err != ctx.Err() {
				t.Errorf("got %v", err)
			}
			<-gone
		})
	}
}

// T08: proxies of the environment are used except for loopback, and their user is
// never shown. net/http reads the environment once, so another process looks.
func TestT08_Proxy(t *testing.T) {
	if mode := os.Getenv("HTTPMCP_TEST_PROXY"); mode != "" {
		var logged lockedBuffer
		tr := New(redact.NewSecret(mode), &Options{Log: textLogger(&logged)})
		_, err := tr.RoundTrip(t.Context(), call(link(legacy)), &listener{})
		tr.Close(t.Context(), nil)
		io.WriteString(os.Stdout, "RESULT "+logged.String()+" "+errText(err)+"\n")
		return
	}
	var proxied atomic.Int64
	var status atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied.Add(1)
		if s := status.Load(); s != 0 {
			w.WriteHeader(int(s))
			return
		}
		reply(200, typeJSON, good)(w, r, "")
	}))
	defer proxy.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reply(200, typeJSON, good)(w, r, "") }))
	defer server.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	host := strings.TrimPrefix(proxy.URL, "http://")
	for _, test := range []struct {
		name, proxy, url string
		status           int64
		proxied          bool
		want             string
	}{
		{name: "used", proxy: host, url: "http://mcp.test/mcp", proxied: true, want: "proxy=" + host},
		{name: "loopback", proxy: host, url: server.URL + "/mcp", want: "RESULT  ok"},
		{name: "it wants a password", proxy: host, url: "http://mcp.test/mcp", status: 407, proxied: true, want: "status 407 Proxy Authentication Required"},
		{name: "it refuses a tunnel", proxy: host, url: "https://mcp.test/mcp", status: 407, proxied: true, want: "cannot connect to mcp.test: the proxy answered with status 407"},
		{name: "it is dead", proxy: closed.Addr().String(), url: "http://mcp.test/mcp", want: "cannot connect to mcp.test: proxy: connection refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			proxied.Store(0)
			status.Store(test.status)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestT08_Proxy$", "-test.v")
			proxyURL := "http://user:PROXYSECRET@" + test.proxy
			cmd.Env = append(os.Environ(), "HTTPMCP_TEST_PROXY="+test.url, "HTTP_PROXY="+proxyURL, "HTTPS_PROXY="+proxyURL, "NO_PROXY=", "no_proxy=")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if !strings.Contains(string(out), test.want) || (proxied.Load() > 0) != test.proxied {
				t.Errorf("%d requests went through the proxy:\n%s", proxied.Load(), out)
			}
			if strings.Contains(string(out), "PROXYSECRET") {
				t.Errorf("the password is shown:\n%s", out)
			}
		})
	}
}
