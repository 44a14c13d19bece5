package httpmcp

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

// The headers of MCP, in the spelling that http.Header uses.
const (
	headerSession     = "Mcp-Session-Id"
	headerVersion     = "Mcp-Protocol-Version"
	headerMethod      = "Mcp-Method"
	headerName        = "Mcp-Name"
	headerParamPrefix = "Mcp-Param-"
	headerLastEventID = "Last-Event-Id"
)

const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
	acceptBoth = typeJSON + ", " + typeStream
)

// reserved are the headers that no configuration sets, besides all Mcp-*. net/http
// would drop some of them without a word and send the others.
var reserved = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Content-Type": true, "Content-Length": true, "Host": true,
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "Expect": true, headerLastEventID: true,
}

// configuredHeaders are those that every request starts from. Their values, and
// the user of the url, become known to scrub.
func configuredHeaders(entries []mcpclient.Header, u *url.URL, scrub *redact.Scrubber) http.Header {
	h := http.Header{"User-Agent": {"toolhost"}}
	seen := map[string]bool{}
	for _, e := range entries {
		name := http.CanonicalHeaderKey(e.Name)
		if reserved[name] || strings.HasPrefix(name, "Mcp-") {
			continue
		}
		value := e.Value.Reveal("a configured header of every request")
		scrub.Add(value)
		if !seen[name] {
			h.Del(name)
		}
		seen[name] = true
		h.Add(name, value)
	}
	if u != nil && u.User != nil && h["Authorization"] == nil {
		password, _ := u.User.Password()
		r := http.Request{Header: h}
		r.SetBasicAuth(u.User.Username(), password)
		scrub.Add(h.Get("Authorization"))
	}
	return h
}

// linkHeaders are the headers of all requests on one Link. They are the same for
// every call, so they are built once and shared: nobody may write to them.
type linkHeaders struct {
	link *mcpclient.Link
	post http.Header
	get  http.Header // of GET and DELETE
}

func (t *Transport) headersFor(link *mcpclient.Link) *linkHeaders {
	if h := t.headers.Load(); h != nil && h.link == link {
		return h
	}
	get := t.plainHeaders()
	get["Accept"] = []string{typeStream}
	if link.Revision.Session && !link.Session.Empty() {
		get[headerSession] = []string{link.Session.Reveal("the session header of every request")}
	}
	if link.Revision.VersionHeader {
		get[headerVersion] = []string{link.Revision.Name}
	}
	h := &linkHeaders{link: link, get: get, post: forPost(get)}
	t.headers.Store(h)
	return h
}

// plainHeaders are those of a request without a Link's.
func (t *Transport) plainHeaders() http.Header {
	h := maps.Clone(t.configured())
	h["Accept-Encoding"] = []string{"identity"}
	if t.limits.On(limit.Gzip) {
		h["Accept-Encoding"] = []string{"gzip"}
	}
	return h
}

func forPost(h http.Header) http.Header {
	h = maps.Clone(h)
	h["Accept"] = []string{acceptBoth} // on notifications too: some servers insist (B029)
	h["Content-Type"] = []string{typeJSON}
	return h
}

// postHeaders are the headers of one message. method is "" for an answer to the
// server; name and params are those of the request.
func (t *Transport) postHeaders(link *mcpclient.Link, method, name string, params []mcpclient.ParamHeader) http.Header {
	if isHandshake(link, method) {
		// It settles version and session, so it carries neither.
		return forPost(t.plainHeaders())
	}
	h := t.headersFor(link).post
	if !link.Revision.StandardHeaders {
		return h
	}
	h = maps.Clone(h)
	h[headerMethod] = []string{method}
	if name != "" {
		h[headerName] = []string{encodeValue(name)}
	}
	for _, p := range params {
		h[http.CanonicalHeaderKey(headerParamPrefix+p.Name)] = []string{encodeValue(p.Value)}
	}
	return h
}

// isHandshake reports whether method opens the link: its request goes out before
// version and session are settled, and its answer may bring a session.
func isHandshake(link *mcpclient.Link, method string) bool {
	return link.Revision.Handshake && method == "initialize"
}

const (
	sentinelStart = "=?base64?"
	sentinelEnd   = "?="
)

// encodeValue makes a value fit for a header (2026-07-28 streamable-http, "Value
// Encoding"): as it is when it is plain ASCII, else Base64 between two markers. A
// tab, which HTTP allows inside a value, is wrapped too, since proxies rewrite it.
func encodeValue(v string) string {
	looksWrapped := strings.HasPrefix(v, sentinelStart) && strings.HasSuffix(v, sentinelEnd)
	if !looksWrapped && isASCII(v, ' ') && strings.Trim(v, " ") == v {
		return v
	}
	return sentinelStart + base64.StdEncoding.EncodeToString([]byte(v)) + sentinelEnd
}

// isASCII reports whether v is made of ASCII from lowest to the last visible
// character only.
func isASCII(v string, lowest byte) bool {
	for i := range len(v) {
		if v[i] < lowest || v[i] > '~' {
			return false
		}
	}
	return true
}

// maxSession bounds a session id: it is sent back on every request (T11).
const maxSession = 1 << 10

// openedSession is the session that the answer to a handshake opened. Session
// headers on other replies are no reason to change it (B065).
func (t *Transport) openedSession(h http.Header) (redact.Secret, error) {
	id := h.Get(headerSession)
	if id == "" {
		return redact.Secret{}, nil
	}
	if len(id) > maxSession || !isASCII(id, '!') {
		return redact.Secret{}, &mcpclient.WireError{Op: opRead, Delivered: "yes",
			Reason: "the server's session id is not made of at most 1024 visible ASCII characters"}
	}
	t.hide(id)
	return redact.NewSecret(id), nil
}

// hiddenSessions is how many session ids of one server are kept out of texts: the
// one in use, and those that a late reply may still echo. A server can deal them
// out without end.
const hiddenSessions = 4

// hide keeps a session id out of every text from now on.
func (t *Transport) hide(id string) {
	t.scrub.Add(id)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hidden = append(t.hidden, func() { t.scrub.Forget(id) })
	if len(t.hidden) > hiddenSessions {
		t.hidden[0]()
		t.hidden = slices.Delete(t.hidden, 0, 1)
	}
}

// unhide forgets the session ids of a Transport that is closed.
func (t *Transport) unhide() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, forget := range t.hidden {
		forget()
	}
	t.hidden = nil
}
