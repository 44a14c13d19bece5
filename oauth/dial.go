package oauth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// errAddress says that a name led to where no authorization server is.
var errAddress = errors.New("the address is this machine's, or a link-local one")

// Dial opens the connections for an MCP server that is on another machine. It looks at
// the address that is connected to, whatever name led there: a public server must not
// have us ask what listens on this machine, or what a cloud tells each of its own
// (T51). Private networks are let through, since companies have both servers there.
//
// A proxy of the environment is let through too: where it then connects to, it decides.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{KeepAlive: 30 * time.Second}
	if !isProxy(address) {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return checkAddress(address) }
	}
	return dialer.DialContext(ctx, network, address)
}

// checkAddress judges an address with its port, as the system is about to connect to it.
func checkAddress(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return errAddress
	}
	switch addr := at.Addr().Unmap().WithZone(""); {
	case addr.IsLoopback(), addr.IsUnspecified(), addr.IsLinkLocalUnicast(), addr.IsMulticast():
		return errAddress
	}
	return nil
}

// isProxy reports whether an address is that of a proxy of the environment.
func isProxy(address string) bool {
	for _, scheme := range []string{"https", "http"} {
		// A host that no exception is for.
		proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: scheme, Host: "proxied.invalid"}})
		if err != nil || proxy == nil {
			continue
		}
		port := proxy.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[proxy.Scheme]
		}
		if address == net.JoinHostPort(proxy.Hostname(), port) {
			return true
		}
	}
	return false
}
