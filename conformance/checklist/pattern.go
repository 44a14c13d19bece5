package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/spec/speccheck"
)

// A request is one HTTP request as it came to the fake server, one line that a local
// server was given (LINE), or something that happened to one: see happenings.
type request struct {
	server string // the name of the server; "" for the first
	http   string // GET, POST, DELETE, LINE, or one of happenings
	method string // of JSON-RPC; "" for none
	kind   string // request, notification, response or batch; "" without a message
	header http.Header
	body   []byte
}

// The kinds of messages, which stand where a pattern may have a method.
const (
	kindRequest      = "request"
	kindNotification = "notification"
	kindResponse     = "response"
	kindBatch        = "batch"
)

func newRequest(server, httpMethod string, header http.Header, body []byte) *request {
	r := &request{server: server, http: httpMethod, header: header.Clone(), body: body}
	if httpMethod != http.MethodPost && httpMethod != fakeserver.Line {
		return r
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")):
		r.kind = kindBatch
	case json.Unmarshal(body, &m) != nil:
	case m.Method == "":
		r.kind = kindResponse
	case m.ID == nil:
		r.method, r.kind = m.Method, kindNotification
	default:
		r.method, r.kind = m.Method, kindRequest
	}
	return r
}

// String is the request as failures show it.
func (r *request) String() string {
	what := r.method
	if what == "" {
		what = r.kind
	}
	text := strings.TrimSpace(r.http + " " + what)
	if r.server != "" {
		text += " @" + r.server
	}
	return text
}

// json is the request as matchers see it: header names in lower case, a header
// that stands more than once as an array.
func (r *request) json() []byte {
	headers := map[string]any{}
	for name, values := range r.header {
		headers[strings.ToLower(name)] = values[0]
		if len(values) > 1 {
			headers[strings.ToLower(name)] = values
		}
	}
	head, err := json.Marshal(headers)
	if err != nil {
		panic(err) // strings can be encoded
	}
	text := `{"headers":` + string(head)
	if json.Valid(r.body) {
		text += `,"body":` + string(r.body)
	} else if len(r.body) > 0 {
		text += `,"text":` + quote(string(r.body))
	}
	return []byte(text + "}")
}

// usual are the headers that say nothing in a listing.
var usual = map[string]bool{"Accept": true, "Accept-Encoding": true, "Content-Length": true, "Content-Type": true, "User-Agent": true}

// short is the request as listings show it.
func (r *request) short() []byte {
	c := *r
	if r.http == started {
		c.body = nil // it is about the machine
	}
	c.header = http.Header{}
	for name, values := range r.header {
		if !usual[name] {
			c.header[name] = values
		}
	}
	return c.json()
}

// A pattern says which requests are meant: POST tools/call, GET, * request@b,
// POST tools/list#2.
type pattern struct {
	http   string // "*" for any
	what   string // a method, a kind, or "" for any
	server string // "*" for any
	nth    int    // only that one of those that fit; 0 for all
}

var httpMethods = map[string]bool{
	"GET": true, "POST": true, "DELETE": true, fakeserver.Line: true, "*": true,
	closed: true, started: true, inputEnded: true, terminated: true, gone: true,
}

// What happens to a server, in the place of an HTTP method.
const (
	closed     = "CLOSE" // the client put an end to the request before it was answered
	started    = "START" // a process: its environment and arguments are the body
	inputEnded = "EOF"   // its stdin was closed
	terminated = "TERM"  // it got SIGTERM
	gone       = "GONE"  // it is no more
)

// happenings are what "*" does not mean.
var happenings = map[string]bool{closed: true, started: true, inputEnded: true, terminated: true, gone: true}

// pattern takes a pattern: the HTTP method, then a method or kind if there is one,
// then "@server" and "#n" in the same word.
func (w *words) pattern() (pattern, error) {
	p := pattern{server: "*"}
	word, _, err := w.take()
	if err != nil {
		return p, err
	}
	p.http = p.cut(word)
	if !httpMethods[p.http] {
		return p, fmt.Errorf("%q is no HTTP method; a pattern is as POST tools/call, GET or * request", word)
	}
	word, isJSON, err := w.peek()
	if err != nil || isJSON || word == "" || strings.HasPrefix(word, "/") {
		return p, err
	}
	if !strings.Contains(word, "/") && !isPlainMethod[word] && !strings.ContainsAny(word, "@#") {
		return p, nil
	}
	w.take()
	if p.what = p.cut(word); p.what == "*" {
		p.what = ""
	}
	return p, nil
}

// isPlainMethod are the words without a slash that may stand for a method.
var isPlainMethod = map[string]bool{
	"initialize": true, "ping": true, "*": true,
	kindRequest: true, kindNotification: true, kindResponse: true, kindBatch: true,
	grandchild: true,
}

// cut takes "@server" and "#n" off a word.
func (p *pattern) cut(word string) string {
	word, nth, ok := strings.Cut(word, "#")
	if n, err := strconv.Atoi(nth); ok && err == nil {
		p.nth = n
	}
	word, server, ok := strings.Cut(word, "@")
	if ok {
		p.server = server
	}
	return word
}

// fits reports whether a request is of that kind, whichever of them it is.
func (p *pattern) fits(r *request) bool {
	if p.http != "*" && p.http != r.http || p.http == "*" && happenings[r.http] {
		return false
	}
	if p.server != "*" && p.server != r.server {
		return false
	}
	return p.what == "" || p.what == r.method || p.what == r.kind
}

// among returns the indexes of the requests that are meant.
func (p *pattern) among(all []*request) []int {
	var fit []int
	for i, r := range all {
		if p.fits(r) {
			fit = append(fit, i)
		}
	}
	switch {
	case p.nth == 0:
		return fit
	case p.nth > len(fit):
		return nil
	}
	return fit[p.nth-1 : p.nth]
}

func (p *pattern) String() string {
	text := strings.TrimSpace(p.http + " " + p.what)
	if p.server != "*" {
		text += "@" + p.server
	}
	if p.nth > 0 {
		text += "#" + strconv.Itoa(p.nth)
	}
	return text
}

// match holds a JSON text against a matcher; "" matches all.
func match(matcher string, text []byte) error {
	if matcher == "" {
		return nil
	}
	return speccheck.Match([]byte(matcher), text)
}
