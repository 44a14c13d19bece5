package oauth

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
)

// maxURL bounds a URL that a document names, in bytes (T50).
const maxURL = 8 << 10

// checkURL judges a URL that we are to ask or to hand to the user's browser: by
// parsing, never by how it looks. local says that the MCP server itself is on this
// machine; only then may a URL lead here, since a public server could otherwise have
// us ask what listens here (T51). The error does not quote the URL.
func checkURL(raw string, local bool) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, errors.New("the URL is longer than 8 KiB")
	}
	for i := range len(raw) {
		// Go's parser takes some of these; a browser or a shell may read them otherwise.
		if c := raw[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"'<>\\^`{|}", c) >= 0 {
			return nil, errors.New("the URL holds a character that no URL may hold")
		}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Opaque != "":
		return nil, errors.New("it is no URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("the URL is neither https nor http")
	case u.Hostname() == "":
		return nil, errors.New("the URL names no host")
	case u.User != nil:
		return nil, errors.New("the URL holds user information")
	case strings.Contains(raw, "#"):
		return nil, errors.New("the URL has a fragment")
	}
	here := onThisMachine(u.Hostname())
	switch {
	case here && !local:
		return nil, errors.New("the URL leads to this machine, and the MCP server is on another")
	case u.Scheme == "http" && !here:
		return nil, errors.New("the URL is http, and only https is safe to sign in with")
	case metadataAddress(u.Hostname()):
		return nil, errors.New("the URL leads to a link-local address")
	}
	return u, nil
}

// onThisMachine reports whether a host is this machine. An address is decided as an
// address: a name that only looks like one, as 127.0.0.1.example, is a name (T06).
func onThisMachine(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// metadataAddress reports whether a host is a link-local address, where clouds give
// every process of a machine its credentials.
func metadataAddress(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLinkLocalUnicast()
}

// origin is scheme, host and port, for comparison: without case, and with the port
// that the scheme implies.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// canonical is the MCP server's own URL as an identifier of it (2026-07-28
// basic/authorization, "Canonical Server URI"): no user information, query or
// fragment, which may hold secrets, and no slash alone as its path.
func canonical(server *url.URL) string {
	u := url.URL{Scheme: server.Scheme, Host: strings.ToLower(server.Host), Path: server.Path, RawPath: server.RawPath}
	if u.Path == "/" {
		u.Path, u.RawPath = "", ""
	}
	return u.String()
}

// covers reports whether a protected resource is the MCP server, or the origin or a
// folder that it is in (RFC 9728 section 3.3; the MCP specification lets a resource
// be less specific than the endpoint). A path counts by whole segments: /mcp does not
// cover /mcp-evil.
func covers(resource string, server *url.URL) bool {
	u, err := url.Parse(resource)
	if err != nil || u.User != nil || strings.Contains(resource, "#") || origin(u) != origin(server) {
		return false
	}
	if u.RawQuery != "" && u.RawQuery != server.RawQuery {
		return false
	}
	folder := strings.TrimSuffix(u.EscapedPath(), "/")
	path := server.EscapedPath()
	return path == folder || strings.HasPrefix(path, folder+"/")
}
