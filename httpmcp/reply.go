package httpmcp

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
)

// A replyKind is what the body of a reply to a request holds.
type replyKind int

const (
	unreadable replyKind = iota
	oneJSON
	eventStream
	untyped // no Content-Type at all: taken for JSON when it is (B009)
)

func kindOf(h http.Header) replyKind {
	switch {
	case isType(h, typeJSON):
		return oneJSON
	case isType(h, typeStream):
		return eventStream
	case h.Get("Content-Type") == "":
		return untyped
	}
	return unreadable
}

// isType compares media types as RFC 9110 section 8.3 says: without case and
// without parameters (B007).
func isType(h http.Header, want string) bool {
	got, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(got), want)
}

// checkHead judges the head of any reply.
func (t *Transport) checkHead(resp *http.Response) error {
	fields := 0
	for _, values := range resp.Header {
		fields += len(values)
	}
	if fields > t.limits.Int(limit.ResponseHeaderFields) {
		return t.limits.Exceeded(limit.ResponseHeaderFields, "the header of the server's reply")
	}
	return nil
}

// decoded returns the reply's body without compression. net/http's own
// decompression is off, because nothing bounds what it expands to; the bounds on
// messages apply to what comes out here (L08).
func (t *Transport) decoded(resp *http.Response) (io.Reader, error) {
	coding := strings.TrimSpace(strings.Join(resp.Header["Content-Encoding"], ","))
	switch {
	case coding == "", strings.EqualFold(coding, "identity"):
		return resp.Body, nil
	case t.limits.On(limit.Gzip) && (strings.EqualFold(coding, "gzip") || strings.EqualFold(coding, "x-gzip")):
		return &gunzip{body: resp.Body}, nil
	}
	failure := &mcpclient.WireError{Op: opRead, Status: resp.StatusCode, Delivered: "unknown",
		Reason: "the answer is compressed, which was not asked for: " + t.quote(coding, resp)}
	if strings.EqualFold(coding, "gzip") {
		failure.Reason += "; the limit gzip=1 allows it"
	}
	return nil, failure
}

// A gunzip opens its gzip stream at the first Read, so that the head of a reply
// can be judged before any of its body has come.
type gunzip struct {
	body io.Reader
	zr   *gzip.Reader
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.zr == nil {
		zr, err := gzip.NewReader(g.body)
		if err != nil {
			return 0, err
		}
		g.zr = zr
	}
	return g.zr.Read(p)
}

// withoutMark skips a byte order mark at the beginning of a message. JSON has none,
// but some frameworks write it, and a reader may ignore it (RFC 8259 section 8.1).
func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

const (
	smallBody = 4 << 10

	// trustedSize is how much memory a Content-Length alone is given: a server
	// can say anything, and many may say it at once.
	trustedSize = 2 << 20
)

// readBody reads one JSON body. size is its Content-Length, or -1. What is
// beyond the limit is not read.
func readBody(r io.Reader, size int64, limits limit.Table) ([]byte, error) {
	most := limits.Int(limit.ServerMessage)
	if size > int64(most) {
		return nil, limits.Exceeded(limit.ServerMessage, "the answer")
	}
	first := int64(smallBody)
	if size >= 0 {
		first = min(size+1, trustedSize) // one more, to see the end without growing
	}
	body := make([]byte, 0, first)
	for {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > most:
			return nil, limits.Exceeded(limit.ServerMessage, "the answer")
		case err == io.EOF:
			return body, nil
		case err != nil:
			return nil, err
		}
		if len(body) == cap(body) {
			grown := make([]byte, len(body), min(2*cap(body), most+1))
			copy(grown, body)
			body = grown
		}
	}
}
