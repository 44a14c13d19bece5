package oauth

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// A serverMetadata is what an authorization server says of itself (RFC 8414 section 2,
// OpenID Connect Discovery 1.0 section 3), as far as it is acted on.
type serverMetadata struct {
	issuer    string
	authorize string
	token     string
	register  string   // "" for none
	methods   []string // of client authentication at token; nil when it does not say
	scopes    []string
	documents bool // it takes client id metadata documents
	iss       bool // it says that its answers carry iss (RFC 9207)

	// assumed means that nothing was published; the endpoints are those of MCP
	// 2025-03-26, "Fallbacks for Servers without Metadata Discovery".
	assumed bool
}

const (
	oauthWellKnown  = "/.well-known/oauth-authorization-server"
	openIDWellKnown = "/.well-known/openid-configuration"
)

// discoverServer gets the metadata of an authorization server from the first of its
// places that has any (2026-07-28 authorization-server-discovery, "Authorization
// Server Metadata Discovery"). A document that is refused ends the search.
func (c *Client) discoverServer(ctx context.Context, f *fetcher, issuer string, assumed bool) (*serverMetadata, error) {
	const what = "the authorization server's metadata"
	u, err := checkURL(issuer, c.local)
	if err == nil && (u.RawQuery != "" || strings.Contains(issuer, "?")) {
		err = errors.New("the URL has a query")
	}
	if err != nil {
		return nil, refused("the issuer of the authorization server", err.Error())
	}
	places := wellKnownServer(u)
	if assumed {
		// 2025-03-26 basic/authorization, "Server Metadata Discovery", knows this one only.
		places = places[:1]
	}
	for _, place := range places {
		step := at(what, place)
		object, err := f.document(ctx, step, place)
		if errors.Is(err, errAbsent) {
			continue
		} else if err != nil {
			return nil, err
		}
		return c.readServer(step, issuer, object)
	}
	if assumed {
		return &serverMetadata{
			issuer: issuer, authorize: issuer + "/authorize", token: issuer + "/token", register: issuer + "/register",
			assumed: true,
		}, nil
	}
	return nil, refused(what, "there is none at any of the places for the issuer "+c.opts.Scrub.Reason(issuer, shownText))
}

func wellKnownServer(issuer *url.URL) []string {
	root := issuer.Scheme + "://" + issuer.Host
	path := strings.TrimSuffix(issuer.EscapedPath(), "/")
	if path == "" {
		return []string{root + oauthWellKnown, root + openIDWellKnown}
	}
	return []string{root + oauthWellKnown + path, root + openIDWellKnown + path, root + path + openIDWellKnown}
}

func (c *Client) readServer(step, issuer string, object rawjson.Object) (*serverMetadata, error) {
	// Identical, and nothing made alike first (RFC 8414 section 3.3): what comes
	// later compares with this value.
	if rawjson.Text(object.Get("issuer")) != issuer {
		return nil, refused(step, "its issuer is not the one that the MCP server names")
	}
	text := func(name string) string { return rawjson.Text(object.Get(name)) }
	is := func(name string) bool { return string(object.Get(name)) == "true" }
	m := &serverMetadata{
		issuer:    issuer,
		authorize: text("authorization_endpoint"),
		token:     text("token_endpoint"),
		register:  text("registration_endpoint"),
		scopes:    texts(object.Get("scopes_supported")),
		documents: is("client_id_metadata_document_supported"),
		iss:       is("authorization_response_iss_parameter_supported"),
	}
	if methods := object.Opt("token_endpoint_auth_methods_supported"); methods != nil {
		m.methods = append([]string{}, texts(methods)...)
	}
	for _, endpoint := range []struct{ name, url string }{
		{"authorization_endpoint", m.authorize}, {"token_endpoint", m.token}, {"registration_endpoint", m.register},
	} {
		if endpoint.url == "" && endpoint.name == "registration_endpoint" {
			continue
		}
		if _, err := checkURL(endpoint.url, c.local); err != nil {
			return nil, refused(step, "its "+endpoint.name+": "+err.Error())
		}
	}
	// A server that does not say so does not check the verifier, and a code that was
	// intercepted is then as good as a token (T46; 2026-07-28
	// security-considerations, "Authorization Code Protection").
	if !slices.Contains(texts(object.Get("code_challenge_methods_supported")), "S256") {
		return nil, refused(step, "its code_challenge_methods_supported does not list S256, without which a sign-in is not safe")
	}
	return m, nil
}
