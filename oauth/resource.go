package oauth

import (
	"context"
	"errors"
	"net/url"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// A resourceMetadata is what a protected resource says of itself (RFC 9728 section 2),
// as far as it is acted on.
type resourceMetadata struct {
	resource string   // byte for byte as published; what tokens are asked for
	issuers  []string // of its authorization servers, at least one
	scopes   []string // for what it does without asking for more

	// assumed means that nothing was published, as before MCP 2025-06-18: the
	// authorization server is then at the MCP server's own origin.
	assumed bool
}

const resourceWellKnown = "/.well-known/oauth-protected-resource"

// discoverResource finds what the MCP server says of itself: at hint, the
// resource_metadata of its challenge, and only there when there is one; else at the
// well-known place for the path of its URL, and then at that of its origin
// (2026-07-28 authorization-server-discovery, "Protected Resource Metadata Discovery
// Requirements"). A document that is refused ends the search.
func (c *Client) discoverResource(ctx context.Context, f *fetcher, hint string) (*resourceMetadata, error) {
	const what = "the protected resource metadata"
	places := []string{hint}
	if hint == "" {
		places = wellKnownResource(c.server)
	}
	for _, place := range places {
		step := at(what, place)
		if _, err := checkURL(place, c.local); err != nil {
			return nil, refused(step, err.Error())
		}
		object, err := f.document(ctx, step, place)
		if errors.Is(err, errAbsent) && hint == "" {
			continue
		} else if errors.Is(err, errAbsent) {
			return nil, refused(step, "there is none, though the server's challenge names it")
		} else if err != nil {
			return nil, err
		}
		return c.readResource(step, object)
	}
	base := url.URL{Scheme: c.server.Scheme, Host: c.server.Host}
	return &resourceMetadata{resource: canonical(c.server), issuers: []string{base.String()}, assumed: true}, nil
}

func wellKnownResource(server *url.URL) []string {
	root := url.URL{Scheme: server.Scheme, Host: server.Host, Path: resourceWellKnown}
	if server.Path == "" || server.Path == "/" {
		return []string{root.String()}
	}
	return []string{root.String() + server.EscapedPath(), root.String()}
}

func (c *Client) readResource(step string, object rawjson.Object) (*resourceMetadata, error) {
	m := &resourceMetadata{resource: rawjson.Text(object.Get("resource"))}
	if !covers(m.resource, c.server) {
		return nil, refused(step, "its resource is not the MCP server that was asked, so a token for it would be one for somebody else; the url of the entry may be wrong")
	}
	m.issuers = texts(object.Get("authorization_servers"))
	if len(m.issuers) == 0 {
		return nil, refused(step, "it names no authorization server")
	}
	for _, scope := range texts(object.Get("scopes_supported")) {
		if isScope(scope) {
			m.scopes = append(m.scopes, scope)
		}
	}
	return m, nil
}

// texts returns the strings of an array.
func texts(value []byte) []string {
	if rawjson.KindOf(value) != rawjson.Array {
		return nil
	}
	var list []string
	for _, element := range rawjson.Elements(value) {
		if rawjson.KindOf(element) == rawjson.String {
			list = append(list, rawjson.Text(element))
		}
	}
	return list
}

// issuer chooses among a resource's authorization servers (RFC 9728 section 7.6): the
// configured one, else one that has issued something already, else the first.
func (c *Client) issuer(m *resourceMetadata, known func(issuer string) bool) (string, error) {
	configured := c.opts.Issuer
	first := m.issuers[0]
	for _, issuer := range m.issuers {
		switch {
		case issuer == configured:
			return issuer, nil
		case configured == "" && known(issuer):
			return issuer, nil
		}
	}
	if configured != "" {
		// Credentials of one authorization server are worth nothing at another
		// (2026-07-28 client-registration, "Authorization Server Binding").
		return "", refused("", "the MCP server does not name the issuer of the entry's oauth as its authorization server; its credentials are for no other")
	}
	return first, nil
}
