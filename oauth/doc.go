// Package oauth signs a user in to a remote MCP server and keeps the tokens of it,
// as the authorization pages of MCP 2026-07-28 say, which also serve the revisions
// before: finding the authorization server, registering with it, the user's visit
// there by a browser, the token, its renewal, and more scopes when a server wants
// them.
//
// A Client stands for one server of one configuration. SignIn is what the user asks
// for; Token and Refused are for the carrier of every request. Nothing here opens a
// browser: the URL is handed to a Prompt, which asks whoever can.
//
// # What is never done
//
// No redirect is followed, whatever the endpoint: the HTTP client that is handed in
// must not. Nothing of a server's own headers is known here. Every URL that a
// document names is https, or http on this machine for a server on this machine, and
// the addresses that names lead to are looked at when they are connected to.
// What one authorization server has issued is never shown to another: it is kept by
// issuer, and a grant carries the endpoint that it may be renewed at. A sign-in that
// was refused stays refused, without another request, until the user asks again.
//
// # What is never said
//
// No error, log line or verb holds a code, verifier, state, token, secret or pasted
// callback: each is a redact.Secret or local to one function, and known to the
// redact.Scrubber before it is sent. Of an authorization server's words only a
// registered error code and its description are shown, scrubbed, escaped and cut.
//
// golang.org/x/oauth2 makes the verifier, the challenge and the URL of the visit. Its
// token requests are not used: their error quotes the whole answer, and renewal
// leaves no room for resource (RFC 8707).
//
// # Goroutines
//
// While a sign-in waits for the user there are a listener on 127.0.0.1 and a question
// to the Prompt; SignIn waits for both to end. Nothing else runs behind a caller.
//
// Errors are *Error, *limit.Error, or the cause of the context.
package oauth
