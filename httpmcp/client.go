package httpmcp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
)

// ClientConfig says how an HTTP client connects. The zero value works.
type ClientConfig struct {
	Limits limit.Table

	// RootCAs are the certificate authorities to trust; nil for the system's.
	RootCAs *x509.CertPool

	// Dial opens connections; nil for the network. Tests use pipes.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

const (
	// idleTime is how long a quiet connection is kept. Node's and uvicorn's
	// servers close theirs after five seconds: a call that is sent just as they
	// do is lost, and whether it ran cannot be known (B013). Opening a connection
	// costs little compared to that.
	idleTime = 4 * time.Second

	// dialTime bounds the opening of a connection, and the TLS handshake again:
	// no server that is there needs longer, and a call's own deadline may be far.
	dialTime = 30 * time.Second

	// pingAfter and pingTime find a dead HTTP/2 connection, which HTTP/1.1 leaves
	// to TCP (T13).
	pingAfter = 15 * time.Second
	pingTime  = 15 * time.Second

	// headerTime is for a caller who set no deadline. It is longer than the longest
	// call that the limits allow.
	headerTime = 61 * time.Minute

	bufferSize = 32 << 10
)

// NewClient returns an HTTP client that follows no redirect, keeps no cookie,
// decompresses nothing by itself and logs nothing. Its RoundTripper fits
// Options.RoundTripper.
//
// HTTP/1.1 is what it would rather speak, since one connection a call is two to
// five times cheaper than HTTP/2 frames (measured); a server behind TLS that
// chooses HTTP/2 gets it.
func NewClient(cfg *ClientConfig) *http.Client {
	return &http.Client{
		Transport:     newRoundTripper(cfg, true),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// newRoundTripper returns the http.Transport of NewClient. Calls wait for one of
// limit.ConnectionsPerServer connections; what must never wait behind calls
// (answers, cancels, the end of a session) uses one that is not counted.
func newRoundTripper(cfg *ClientConfig, counted bool) *http.Transport {
	dial := cfg.Dial
	if dial == nil {
		dial = dialNetwork
	}
	perServer := cfg.Limits.Int(limit.ConnectionsPerServer)
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, // which leaves out localhost and loopback addresses
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			// net/http lets a dial go on when its request has given up.
			ctx, cancel := context.WithTimeout(ctx, dialTime)
			defer cancel()
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &countedConn{Conn: conn}, nil
		},
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
			if answer.StatusCode != http.StatusOK {
				return &proxyError{answer.StatusCode}
			}
			return nil
		},
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			RootCAs:    cfg.RootCAs,
			NextProtos: []string{"http/1.1", "h2"},
			// Quiet connections are closed early, so make opening one again cheap.
			ClientSessionCache: tls.NewLRUClientSessionCache(0),
		},
		TLSHandshakeTimeout: dialTime,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTime},

		DisableCompression:     true, // Go's own has no bound on what it expands to
		MaxResponseHeaderBytes: int64(cfg.Limits.Int(limit.ResponseHeaders)),
		MaxIdleConnsPerHost:    perServer,
		IdleConnTimeout:        idleTime,
		ReadBufferSize:         bufferSize,
		WriteBufferSize:        bufferSize,

		ResponseHeaderTimeout: headerTime,
	}
	if counted {
		t.MaxConnsPerHost = perServer
	}
	// A custom dialer turns HTTP/2 off unless it is asked for.
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(true)
	return t
}

func dialNetwork(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
}

// A proxyError is the refusal of a proxy to open a tunnel.
type proxyError struct{ status int }

func (e *proxyError) Error() string { return fmt.Sprintf("proxy: status %d", e.status) }

// A countedConn knows whether anything was written to it, which is the only
// proof that a request was not received.
type countedConn struct {
	net.Conn
	writes atomic.Int64 // that may have reached the other side
	kept   atomic.Bool  // the next write is the first of a request on a kept connection
}

// Write writes nothing to a kept connection that the server has closed meanwhile:
// what has not been written can be sent again, what has been is lost (B013). net/http
// notices the close on its own, but a busy machine may be late with that.
func (c *countedConn) Write(p []byte) (int, error) {
	if c.kept.Swap(false) && endedByPeer(c.Conn) {
		return 0, io.ErrClosedPipe
	}
	c.writes.Add(1) // before: from here on it may be under way
	n, err := c.Conn.Write(p)
	if n == 0 && err != nil {
		c.writes.Add(-1)
	}
	return n, err
}

// counted finds the countedConn below TLS, or nil.
func counted(conn net.Conn) *countedConn {
	for {
		switch c := conn.(type) {
		case *countedConn:
			return c
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

// keptConnections remembers that a server, or a proxy before it, drops kept
// connections while requests are on them (B013). A call that this happens to is
// lost, so that calls are then sent on fresh connections for a while.
type keptConnections struct {
	dropped atomic.Int64 // when it last happened, in Unix nanoseconds; 0 for never
}

// distrust is how long kept connections are not used for calls after a drop. A
// server that was only started again is not held to it for ever.
const distrust = 5 * time.Minute

// note takes an attempt that failed.
func (k *keptConnections) note(a *attempt) {
	if a.reused {
		k.dropped.Store(time.Now().UnixNano())
	}
}

// shun closes by's kept connections if they are not to be trusted.
func (k *keptConnections) shun(by http.RoundTripper) {
	last := k.dropped.Load()
	if last == 0 || time.Since(time.Unix(0, last)) > distrust {
		return
	}
	if c, ok := by.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Resources is what the Transports of a process share: the connections that all
// their calls together may use (limit.ConnectionsTotal).
type Resources struct {
	calls   chan struct{} // holds one token for each call under way
	proxied sync.Map      // the hosts whose proxy was reported
}

// NewResources returns the Resources of a process.
func NewResources(limits limit.Table) *Resources {
	return &Resources{calls: make(chan struct{}, limits.Int(limit.ConnectionsTotal))}
}

// acquire waits for a place among the calls.
func (r *Resources) acquire(ctx context.Context) error {
	if r == nil {
		return nil
	}
	select {
	case r.calls <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *Resources) release() {
	if r != nil {
		<-r.calls
	}
}
