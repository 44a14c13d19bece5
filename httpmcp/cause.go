package httpmcp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
)

// sendError is the error of a request that got no reply.
func (t *Transport) sendError(err error, a *attempt) error {
	if isRedirect(err) {
		return err
	}
	if headerTooBig(err) {
		return t.limits.Exceeded(limit.ResponseHeaders, "the header of the server's reply")
	}
	op, what := "send", "no answer from "
	if !a.connected {
		op, what = "connect", "cannot connect to "
	}
	return &mcpclient.WireError{Op: op, Reason: t.shown(what + t.url.Host + ": " + cause(err)), Delivered: a.delivered(err)}
}

// readError is the error of a reply whose body broke off. A limit stays a limit.
func (t *Transport) readError(err error) error {
	var over *limit.Error
	if errors.As(err, &over) {
		return over
	}
	return &mcpclient.WireError{Op: opRead, Reason: "the answer broke off: " + cause(err), Delivered: "unknown"}
}

const opRead = "read the answer"

// headerTooBig knows net/http's two sentences for a header beyond
// Transport.MaxResponseHeaderBytes; it has no type for them.
func headerTooBig(err error) bool {
	text := err.Error()
	return strings.Contains(text, "server response headers exceeded") ||
		strings.Contains(text, "response header list larger than advertised limit")
}

// cause names the class of an error of net/http or below it. The error's own text
// is never used: it may quote the url with its secrets, the server's bytes, or a
// certificate.
func cause(err error) string {
	var op *net.OpError
	prefix := ""
	if errors.As(err, &op) && op.Op == "proxyconnect" {
		prefix = "proxy: "
	}
	for _, class := range causes {
		if name := class(err); name != "" {
			return prefix + name
		}
	}
	return prefix + "the connection failed"
}

// causes are tried in order: the first that knows the error names it.
var causes = []func(error) string{
	func(err error) string {
		var proxy *proxyError
		if errors.As(err, &proxy) {
			return fmt.Sprintf("the proxy answered with status %d", proxy.status)
		}
		return ""
	},
	dnsCause,
	tlsCause,
	errnoCause,
	func(err error) string {
		var timeout interface{ Timeout() bool }
		if errors.As(err, &timeout) && timeout.Timeout() {
			return "timed out"
		}
		return ""
	},
	func(err error) string {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return "the connection was closed before the end"
		}
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
			return "the connection was closed"
		}
		return ""
	},
	sentenceCause,
}

func dnsCause(err error) string {
	var dns *net.DNSError
	switch {
	case !errors.As(err, &dns):
		return ""
	case dns.IsNotFound:
		return "the host name is not known"
	case dns.IsTimeout:
		return "looking up the host name timed out"
	default:
		return "looking up the host name failed"
	}
}

func tlsCause(err error) string {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &unknown):
		return "TLS: the certificate is signed by an unknown authority"
	case errors.As(err, &name):
		return "TLS: the certificate is for another host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "TLS: the certificate is expired or not yet valid"
	case errors.As(err, &invalid), errors.As(err, &verify):
		return "TLS: the certificate is not valid"
	case errors.As(err, &record):
		return "TLS: the server does not speak it; is it an http:// url?"
	}
	return ""
}

// errnos are the classes of the system's errors; the second number is that of
// Windows, whose sockets have their own.
var errnos = []struct {
	unix    syscall.Errno
	windows syscall.Errno
	name    string
}{
	{syscall.ECONNREFUSED, 10061, "connection refused"},
	{syscall.ECONNRESET, 10054, "the connection was reset"},
	{syscall.ECONNABORTED, 10053, "the connection was aborted"},
	{syscall.EPIPE, 10058, "the connection was closed"},
	{syscall.ETIMEDOUT, 10060, "timed out"},
	{syscall.EHOSTUNREACH, 10065, "the host cannot be reached"},
	{syscall.ENETUNREACH, 10051, "the network cannot be reached"},
}

func errnoCause(err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return ""
	}
	for _, e := range errnos {
		if errno == e.unix || errno == e.windows {
			return e.name
		}
	}
	return ""
}

// sentences are those of net/http and crypto/tls that have no type. Only our
// words are shown.
var sentences = []struct{ has, name string }{
	{"server closed idle connection", "the connection was closed"},
	{"malformed HTTP", "the reply is not valid HTTP"},
	{"malformed MIME header", "the reply is not valid HTTP"},
	{"chunk", "the reply is not valid HTTP"},
	{"trailer", "the reply is not valid HTTP"},
	{"http: invalid header", "a header of the request is not valid"},
	{"Content-Length", "the reply is not valid HTTP"},
	{"transfer encoding", "the reply is not valid HTTP"},
	{"too many 1xx", "the reply is not valid HTTP"},
	{"HTTP response to HTTPS client", "TLS: the server does not speak it; is it an http:// url?"},
	{"remote error: tls: ", "TLS: the server refused the handshake"},
	{"tls: ", "TLS: the handshake failed"},
	{"client connection lost", "HTTP/2: the connection was lost"},
	{"GOAWAY", "HTTP/2: the server is closing the connection"},
	{"REFUSED_STREAM", "HTTP/2: the server refused the stream"},
	{"stream error", "HTTP/2: the server reset the stream"},
	{"gzip: ", "the compressed answer is damaged"},
	{"transport connection broken", "the connection broke"}, // last: it wraps others
}

func sentenceCause(err error) string {
	text := err.Error()
	for _, s := range sentences {
		if strings.Contains(text, s.has) {
			return s.name
		}
	}
	return ""
}
