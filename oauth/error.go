package oauth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"syscall"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

// An Error says why there is no token. Its text is safe to show.
type Error struct {
	Step   string // what was being done or read, such as "the token endpoint"; "" where Reason says it all
	Reason string

	// SignIn means that only the user changes anything, by asking to sign in. Else
	// the same may work later, as when an endpoint could not be reached.
	SignIn bool

	Err error // for errors.Is; never shown
}

func (e *Error) Error() string {
	if e.Step == "" {
		return e.Reason
	}
	return e.Step + ": " + e.Reason
}

func (e *Error) Unwrap() error { return e.Err }

// wanted is the error for a server that waits for its user.
func wanted(reason string) *Error { return &Error{Reason: reason, SignIn: true} }

// refused is the error for what a document or an answer says, which stays so.
func refused(step, reason string) *Error { return &Error{Step: step, Reason: reason, SignIn: true} }

// unreachable is the error of a request without an answer. The error's own text is
// not used: it may quote the url, or bytes of the other side.
func unreachable(step string, err error) *Error {
	return &Error{Step: step, Reason: cause(err), Err: err}
}

func cause(err error) string {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var verify *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errAddress):
		return "the host name leads to an address of this machine's own, or a link-local one, where no public server has business"
	case errors.As(err, &dns):
		return "the host name could not be looked up"
	case errors.As(err, &authority), errors.As(err, &name), errors.As(err, &verify):
		return "TLS: the certificate is not valid for this host"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	}
	return "the connection failed"
}

// codes are the error codes that are shown, of RFC 6749 sections 4.1.2.1 and 5.2,
// RFC 7591 section 3.2.2, RFC 8707 section 2, and OpenID Connect Core section 3.1.2.6.
var codes = []string{
	"access_denied", "account_selection_required", "consent_required", "interaction_required",
	"invalid_client", "invalid_client_metadata", "invalid_grant", "invalid_redirect_uri", "invalid_request",
	"invalid_scope", "invalid_software_statement", "invalid_target", "login_required", "server_error",
	"temporarily_unavailable", "unapproved_software_statement", "unauthorized_client",
	"unsupported_grant_type", "unsupported_response_type",
}

// shownText is how much of a server's own words an error shows, in bytes.
const shownText = 200

// said is what an authorization server gives as its reason, fit to be shown. Error
// answers of many servers echo the form that they were sent.
func said(scrub *redact.Scrubber, code, description string) string {
	if !slices.Contains(codes, code) {
		code = "an error without a registered code"
	}
	if description = scrub.Reason(description, shownText); description != "" {
		return code + ": " + description
	}
	return code
}

// saidIn reads the same from a JSON answer.
func saidIn(scrub *redact.Scrubber, answer rawjson.Object) string {
	return said(scrub, rawjson.Text(answer.Get("error")), rawjson.Text(answer.Get("error_description")))
}
