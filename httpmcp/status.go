package httpmcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/mcpclient/envelope"
	"github.com/toolhost/toolhost/redact"
)

const (
	// shownBody is how much of a server's text an error shows (L06).
	shownBody = 512

	// errorBodyTime is how long the body of an error is waited for: the status
	// alone says what matters.
	errorBodyTime = 2 * time.Second
)

// A statusFact says what a status means to a carrier of MCP. Absent: it may mean
// anything.
type statusFact struct {
	bare     bool // an answer of HTTP, not of MCP: a JSON-RPC error in it is text
	notActed bool // the request was not acted on
	notMCP   bool // without a JSON-RPC error in it, this is no MCP of our revision
}

// statusFacts are for requests without the special rules of redirects and lost
// sessions, which come first.
var statusFacts = map[int]statusFact{
	http.StatusBadRequest:           {notMCP: true},
	http.StatusUnauthorized:         {bare: true, notActed: true},
	http.StatusForbidden:            {bare: true},
	http.StatusNotFound:             {notMCP: true},
	http.StatusMethodNotAllowed:     {notMCP: true},
	http.StatusNotAcceptable:        {notMCP: true},
	http.StatusProxyAuthRequired:    {bare: true, notActed: true},
	http.StatusGone:                 {notMCP: true},
	http.StatusUnsupportedMediaType: {notMCP: true},
	http.StatusUnprocessableEntity:  {notMCP: true},
	http.StatusTooManyRequests:      {bare: true},
	http.StatusNotImplemented:       {notMCP: true},
}

// refused turns a reply that is no success into what it means. A JSON-RPC error
// that a 4xx carries is the server's answer.
func (t *Transport) refused(resp *http.Response, link *mcpclient.Link) (*mcpclient.Response, error) {
	status := resp.StatusCode
	if status/100 == 3 {
		return nil, t.redirected(resp)
	}
	text, m := t.errorBody(resp)
	failure := &mcpclient.WireError{Op: "send", Status: status, Delivered: "unknown"}
	fact := statusFacts[status]
	switch {
	case status == http.StatusNotFound && link.Revision.Session && !link.Session.Empty():
		failure.SessionLost, failure.Delivered = true, "no"
		failure.Reason = "status 404: the server does not know the session any more"
		return nil, failure
	case m != nil && status/100 == 4 && !fact.bare:
		// Whatever its id: it is the body of this request's reply. One may have
		// none (B081), and the Python SDK writes "server-error" there.
		return &mcpclient.Response{Err: m.Err, Status: status}, nil
	}
	if fact.notActed {
		failure.Delivered = "no"
	}
	failure.NotMCP = fact.notMCP && m == nil
	failure.Reason = statusText(status)
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		wait, asked := retryAfter(resp.Header)
		// 429 speaks of the rate of requests, which passes by itself (RFC 6585
		// section 4). 503 means a passing overload too (RFC 9110 section 15.6.4),
		// but is also what gateways say of a server that died of the request, so
		// it counts only from one that knows when it is back.
		failure.Later = asked || status == http.StatusTooManyRequests
		if asked {
			failure.RetryAfter = wait
			failure.Reason += fmt.Sprintf(", try again in %v", wait.Round(time.Second))
		}
	}
	if text = t.quote(text, resp); text != "" {
		failure.Reason += ": " + text
	}
	return nil, failure
}

// statusText is a status as errors show it: "status 503 Service Unavailable".
func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s", status, http.StatusText(status)))
}

// redirected is the error of a redirect, which is never followed: it would carry
// the configured headers, and the request, to where the server says (T01). The
// target is named as far as it helps to correct the url (B019).
func (t *Transport) redirected(resp *http.Response) error {
	to := "a place that it does not name"
	if location := resp.Header.Get("Location"); location != "" {
		to = "a place that is no url"
		if target, err := t.url.Parse(location); err == nil {
			to = target.Scheme + "://" + target.Host
			if target.Scheme == t.url.Scheme && target.Host == t.url.Host {
				to = redact.URL(target.String())
			}
		}
	}
	return &mcpclient.WireError{
		Op: "send", Status: resp.StatusCode, Delivered: "unknown", Final: true,
		Reason: t.scrub.Reason(fmt.Sprintf("status %d redirects to %s, and redirects are never followed; if that is the right place, put it into the url", resp.StatusCode, to), shownBody),
	}
}

// errorBody reads what it may of an error's body. It returns the text to show,
// unscrubbed, and the JSON-RPC error, nil for none.
func (t *Transport) errorBody(resp *http.Response) (string, *envelope.Message) {
	coded, err := t.decoded(resp)
	if err != nil {
		return "", nil // compressed: of no use
	}
	// Closing the body ends a Read that waits for a server that does not go on.
	timer := time.AfterFunc(errorBodyTime, func() { resp.Body.Close() })
	defer timer.Stop()
	body, _ := io.ReadAll(io.LimitReader(coded, int64(t.limits.Int(limit.ErrorBody))))
	body = withoutMark(body)
	if m, err := envelope.Parse(body, t.bounds()); err == nil && m.Err != nil {
		return m.Err.Message, &m
	}
	if isType(resp.Header, "text/html") {
		return "", nil // of no use to a reader of one line
	}
	return string(body), nil
}

// quote makes the server's text fit to be shown. The values of its cookies are
// secrets that the scrubber need not keep for ever, since we never send them.
func (t *Transport) quote(text string, resp *http.Response) string {
	secrets := []string{resp.Header.Get(headerSession)}
	for _, c := range resp.Cookies() {
		secrets = append(secrets, c.Value)
	}
	for _, secret := range secrets {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, redact.Placeholder)
		}
	}
	return t.scrub.Reason(strings.TrimSpace(text), shownBody)
}

// shown makes a reason of our own words fit to be shown: it names a host, and a
// host is what a user wrote.
func (t *Transport) shown(reason string) string { return t.scrub.Reason(reason, shownBody) }

// maxRetryAfter keeps a hostile Retry-After from overflowing anything.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads both forms of Retry-After (RFC 9110 section 10.2.3).
func retryAfter(h http.Header) (time.Duration, bool) {
	value := h.Get("Retry-After")
	if value == "" {
		return 0, false
	}
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(time.Until(at), 0), maxRetryAfter), true
	}
	return 0, false
}
