package mcpclient

import (
	"net/netip"
	"net/url"
	"strings"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

// url reads the address of a remote entry. No message quotes it: userinfo, query
// and even the path may hold a token.
func (p *entryParser) url() error {
	value := p.object.Get("url")
	raw, err := p.text("url", value)
	if err != nil {
		return err
	}
	if len(raw) > p.rules.Limits.Int(limit.HeaderValue) {
		return exceeded(p.rules.Limits, limit.HeaderValue, "url")
	}
	p.secret(redact.URLSecrets(raw)...)
	text := strings.Trim(raw, " \t")
	if text == "" {
		return refuse("url is empty")
	}
	u, err := url.Parse(text)
	if err != nil {
		// The error quotes the URL.
		return refuse("url cannot be read as a URL; write it as https://host/path")
	}
	switch u.Scheme {
	case "http", "https":
	case "unix", "pipe":
		return refuse("url: local sockets (%s:) are not supported; write an http or https URL", u.Scheme)
	case "ws", "wss":
		return refuse("url: WebSocket (%s:) is not supported; write an http or https URL", u.Scheme)
	default:
		return refuse("url must begin with http:// or https://")
	}
	if u.Hostname() == "" {
		return refuse("url has no host; write it as https://host/path")
	}
	if text != raw {
		p.warn("url has space around it, which is not used")
	}
	if strings.Contains(text, "#") {
		p.warn("url has a fragment, which is not sent")
		text, _, _ = strings.Cut(text, "#")
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		p.warn("url is http and not on this machine: what is sent, credentials too, can be read on the way; use https")
	}
	p.warnPlaceholders("url", rawjson.Text(value), placeholdersInURL)
	p.entry.URL = redact.NewSecret(text)
	p.entry.Shown = redact.URL(text)
	if p.rules.Scrub != nil {
		p.entry.Shown = p.rules.Scrub.Text(p.entry.Shown) // a variable's value may be any part of it
	}
	return nil
}

// loopback reports whether a host is this machine. An address is decided as an
// address: a name that only looks like one, as 127.0.0.1.example, is a name.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
