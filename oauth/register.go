package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

// The methods of client authentication at the token endpoint that we have (RFC 7591
// section 2, OpenID Connect Core section 9).
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
)

// A Registration is a client as one authorization server knows it.
type Registration struct {
	ClientID    string
	Secret      redact.Secret // empty for a public client
	Method      string        // how it authenticates at the token endpoint
	RedirectURI string        // the one that it is registered with; "" where any port will do
}

// client returns who we are to the authorization server, in the order of 2026-07-28
// client-registration: registered in advance, by a client id metadata document, by
// an earlier dynamic registration with this issuer, by a new one. back is the
// listener whose address the browser is sent to, which is open before anybody hears
// of it (RFC 8252 section 7.3).
func (c *Client) client(ctx context.Context, f *fetcher, as *serverMetadata, known map[string]Registration) (client Registration, back *loopback, err error) {
	if earlier, ok := known[as.issuer]; ok && c.opts.ClientID == "" && !c.byDocument(as) && c.opts.RedirectPort == 0 {
		// Its redirect URI is registered to the letter, so it takes the same port.
		if back, err = reopen(earlier.RedirectURI); err == nil {
			return earlier, back, nil
		}
	}
	if back, err = listen(c.opts.RedirectPort); err != nil {
		return Registration{}, nil, err
	}
	switch {
	case c.opts.ClientID != "":
		client = Registration{ClientID: c.opts.ClientID, Secret: c.opts.ClientSecret}
		client.Method, err = as.method(!client.Secret.Empty())
	case c.byDocument(as):
		client = Registration{ClientID: c.opts.MetadataURL, Method: methodNone}
	case as.register != "":
		client, err = c.register(ctx, f, as, back.uri)
	default:
		err = refused("", "the authorization server registers no clients by itself; register one there, and write its clientId into the entry's oauth")
	}
	if err != nil {
		back.Close()
		return Registration{}, nil, err
	}
	return client, back, nil
}

// byDocument reports whether we are known by the document at a URL (2026-07-28
// client-registration, "Client ID Metadata Documents").
func (c *Client) byDocument(as *serverMetadata) bool {
	return c.opts.MetadataURL != "" && as.documents
}

// method returns how a client with or without a secret authenticates.
func (as *serverMetadata) method(secret bool) (string, error) {
	offered := as.methods
	if offered == nil {
		offered = []string{methodBasic} // RFC 8414 section 2: the default
	}
	preferred := []string{methodBasic, methodPost}
	if !secret {
		return methodNone, nil // there is no other way without one
	}
	for _, method := range preferred {
		if slices.Contains(offered, method) {
			return method, nil
		}
	}
	if slices.Contains(offered, methodNone) {
		return methodNone, nil
	}
	return "", refused("the authorization server's metadata", "it offers no way of client authentication that is supported: client_secret_basic, client_secret_post or none")
}

// asked is the method to register with: a program on the user's machine keeps no
// secrets from its user, so none where that is offered (RFC 8252 section 8.4).
func (as *serverMetadata) asked() (string, error) {
	if slices.Contains(as.methods, methodNone) {
		return methodNone, nil
	}
	return as.method(true)
}

// clientMetadata is what a client says of itself (RFC 7591 section 2).
type clientMetadata struct {
	Name            string   `json:"client_name"`
	RedirectURIs    []string `json:"redirect_uris"`
	GrantTypes      []string `json:"grant_types"`
	ResponseTypes   []string `json:"response_types"`
	Method          string   `json:"token_endpoint_auth_method"`
	ApplicationType string   `json:"application_type"`
}

// register registers us (RFC 7591).
func (c *Client) register(ctx context.Context, f *fetcher, as *serverMetadata, redirectURI string) (Registration, error) {
	step := at("the registration endpoint", as.register)
	method, err := as.asked()
	if err != nil {
		return Registration{}, err
	}
	body, err := json.Marshal(clientMetadata{
		Name:            c.opts.ClientName,
		RedirectURIs:    []string{redirectURI},
		GrantTypes:      []string{"authorization_code", "refresh_token"},
		ResponseTypes:   []string{"code"},
		Method:          method,
		ApplicationType: "native", // OpenID Connect Registration 1.0: else "web", which takes no loopback URI
	})
	if err != nil {
		return Registration{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, as.register, bytes.NewReader(body))
	if err != nil {
		return Registration{}, refused(step, "it is at no valid URL")
	}
	request.GetBody = nil // net/http sends nothing twice by itself
	request.Header.Set("Content-Type", "application/json")
	a, err := f.do(ctx, step, request, limit.SignInDocument)
	switch {
	case err != nil:
		return Registration{}, err
	case a.status/100 == 5 || a.status == http.StatusTooManyRequests:
		return Registration{}, &Error{Step: step, Reason: statusText(a.status), SignIn: true, Err: errStatus}
	case a.status/100 != 2 && a.object != nil:
		return Registration{}, refused(step, "the registration was refused: "+saidIn(c.opts.Scrub, a.object))
	case a.status/100 != 2:
		return Registration{}, refused(step, "the registration was refused: "+statusText(a.status))
	case a.object == nil:
		return Registration{}, refused(step, "the answer is "+a.wrong.Error())
	}
	secret := rawjson.Text(a.object.Get("client_secret"))
	if len(secret) > maxToken {
		return Registration{}, refused(step, "its client_secret is longer than 16 KiB")
	}
	c.hideForGood(redact.NewSecret(secret))
	client := Registration{
		ClientID:    rawjson.Text(a.object.Get("client_id")),
		Secret:      redact.NewSecret(secret),
		Method:      rawjson.Text(a.object.Get("token_endpoint_auth_method")),
		RedirectURI: redirectURI,
	}
	if client.Method == "" {
		client.Method = method
	}
	if secret == "" && a.object.Get("token_endpoint_auth_method") == nil {
		client.Method = methodNone
	}
	switch {
	case client.ClientID == "":
		return Registration{}, refused(step, "the answer holds no client_id")
	case client.Method != methodNone && client.Method != methodBasic && client.Method != methodPost:
		return Registration{}, refused(step, "it wants a way of client authentication that is not supported")
	case client.Method != methodNone && secret == "":
		return Registration{}, refused(step, "the answer holds no client_secret, and wants us to authenticate with one")
	}
	return client, nil
}
