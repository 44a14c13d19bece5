package httpmcp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Every error is named by its class, and by nothing that it quotes.
func TestCause(t *testing.T) {
	dial := func(err error) error {
		return &url.Error{Op: "Post", URL: "http://SECRET", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", err)}}
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{dial(syscall.ECONNREFUSED), "connection refused"},
		{dial(syscall.Errno(10061)), "connection refused"}, // as Windows says it
		{dial(syscall.ECONNRESET), "the connection was reset"},
		{dial(syscall.EPIPE), "the connection was closed"},
		{dial(syscall.EHOSTUNREACH), "the host cannot be reached"},
		{dial(syscall.ENETUNREACH), "the network cannot be reached"},
		{dial(syscall.ETIMEDOUT), "timed out"},
		{dial(syscall.EACCES), "the connection failed"},
		{context.DeadlineExceeded, "timed out"},
		{os.ErrDeadlineExceeded, "timed out"},
		{&net.DNSError{Err: "no such host", Name: "SECRET", IsNotFound: true}, "the host name is not known"},
		{&net.DNSError{Err: "timeout", Name: "SECRET", IsTimeout: true}, "looking up the host name timed out"},
		{&net.DNSError{Err: "SERVFAIL", Name: "SECRET"}, "looking up the host name failed"},
		{&net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED}, "proxy: connection refused"},
		{&proxyError{502}, "the proxy answered with status 502"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "TLS: the certificate is signed by an unknown authority"},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}}, "TLS: the certificate is not valid"},
		{&tls.CertificateVerificationError{Err: errors.New("SECRET")}, "TLS: the certificate is not valid"},
		{errors.New("tls: SECRET"), "TLS: the handshake failed"},
		{io.EOF, "the connection was closed"},
		{&net.OpError{Op: "read", Err: net.ErrClosed}, "the connection was closed"},
		{io.ErrUnexpectedEOF, "the connection was closed before the end"},
		{errors.New("http: server closed idle connection"), "the connection was closed"},
		{errors.New("net/http: HTTP/1.x transport connection broken: SECRET"), "the connection broke"},
		{errors.New("invalid byte in chunk length"), "the reply is not valid HTTP"},
		{errors.New(`http: bad trailer key "SECRET"`), "the reply is not valid HTTP"},
		{errors.New("http2: client connection lost"), "HTTP/2: the connection was lost"},
		{errors.New(`net/http: invalid header field value for "SECRET"`), "a header of the request is not valid"},
		{errors.New("SECRET"), "the connection failed"},
		{nil, "the connection failed"},
	} {
		if test.err == nil {
			test.err = errors.New("")
		}
		if got := cause(test.err); got != test.want || strings.Contains(got, "SECRET") {
			t.Errorf("%v: got %q, want %q", test.err, got, test.want)
		}
	}
}
