package fakeserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// The error codes that this server sends.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeServer         = -32000 // what servers on the TypeScript SDK send where HTTP says it all
	codeHeaderMismatch = -32020 // 2026-07-28 streamable-http, server validation
	codeVersion        = -32022 // 2026-07-28 versioning, UnsupportedProtocolVersionError
)

// message is a JSON-RPC message. The raw members are the client's own bytes.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// exchange is one HTTP request and its reply, or one line of a Process.
type exchange struct {
	s        *Server
	process  *Process // nil over HTTP
	w        http.ResponseWriter
	r        *http.Request
	body     []byte
	msg      message
	parseErr error    // why the message is no JSON object
	modern   bool     // the reply follows 2026-07-28
	session  *session // legacy, after the handshake; nil without sessions

	mu    sync.Mutex
	begun bool // the reply is a stream that has begun; guarded by mu
	ended bool // the handler has returned, w may not be used; guarded by mu
}

// parse reads the message and lets the body be read once more.
func (x *exchange) parse() {
	x.r.Body = io.NopCloser(bytes.NewReader(x.body))
	if x.r.Method == http.MethodPost || x.process != nil {
		x.parseErr = json.Unmarshal(x.body, &x.msg)
	}
}

// serve answers as a healthy server does: what both eras demand of a request is
// checked here, the rest by the era.
func (x *exchange) serve() {
	if x.process != nil {
		x.serveLine()
		return
	}
	if x.r.URL.Path != "/mcp" {
		http.NotFound(x.w, x.r)
		return
	}
	for name, value := range x.s.opts.Require {
		if x.r.Header.Get(name) != value {
			x.w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(x.w, "unauthorized", http.StatusUnauthorized)
			return
		}
	}
	if x.r.Header.Get("Origin") != "" {
		x.complain("it carries an Origin")
		http.Error(x.w, "forbidden origin", http.StatusForbidden)
		return
	}
	if x.r.Method == http.MethodPost && !x.checkPost() {
		return
	}
	x.modern = x.isModern()
	if x.modern {
		x.serveModern()
	} else {
		x.serveLegacy()
	}
}

// isModern chooses the era: a dual server goes by how the client opens, and a
// message that says nothing about it is legacy.
func (x *exchange) isModern() bool {
	if x.s.opts.Era != Dual {
		return x.s.opts.Era == Modern
	}
	if x.process != nil {
		return x.process.handshake() == nil && x.msg.Method != "initialize"
	}
	return metaOf(x.msg.Params)[metaVersion] != nil
}

// checkPost checks what both eras demand of a POST.
func (x *exchange) checkPost() bool {
	accept := strings.Join(x.r.Header.Values("Accept"), ",")
	contentType, _, _ := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	switch {
	case !strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream"):
		x.complain("Accept is %q, not both application/json and text/event-stream", accept)
		x.fault(http.StatusNotAcceptable, codeServer, "Not Acceptable: Client must accept both application/json and text/event-stream")
	case contentType != "application/json":
		x.complain("Content-Type is %q", contentType)
		x.fault(http.StatusUnsupportedMediaType, codeServer, "Unsupported Media Type: Content-Type must be application/json")
	default:
		return x.checkMessage()
	}
	return false
}

// checkMessage checks what every carrier demands of a message.
func (x *exchange) checkMessage() bool {
	switch {
	case x.parseErr != nil:
		x.complain("it is no JSON object: %v", x.parseErr)
		x.fault(http.StatusBadRequest, codeParse, "Parse error")
	case x.msg.JSONRPC != "2.0":
		x.complain("jsonrpc is %q", x.msg.JSONRPC)
		x.fault(http.StatusBadRequest, codeInvalidRequest, "Invalid Request")
	case x.msg.ID != nil && !legalID(x.msg.ID):
		x.complain("the id is %s, no string or integer", x.msg.ID)
		x.fault(http.StatusBadRequest, codeInvalidRequest, "Invalid Request")
	default:
		return true
	}
	return false
}

// legalID reports whether a JSON value is a string or an integer.
func legalID(id json.RawMessage) bool {
	if id[0] == '"' {
		return true
	}
	_, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil
}

// isRequest reports whether the message wants an answer.
func (x *exchange) isRequest() bool { return x.msg.Method != "" && len(x.msg.ID) > 0 }

// complain notes a rule that the client broke.
func (x *exchange) complain(format string, args ...any) {
	what := x.r.Method
	if x.msg.Method != "" {
		what += " " + x.msg.Method
	}
	text := what + ": " + fmt.Sprintf(format, args...)
	x.s.book.change(func(l *Ledger) { l.Complaints = append(l.Complaints, text) })
}

// accepted answers a notification or a response.
func (x *exchange) accepted() { x.w.WriteHeader(http.StatusAccepted) }

// fault answers with an HTTP status and a JSON-RPC error.
func (x *exchange) fault(status, code int, text string, data ...string) {
	if x.process != nil && !x.isRequest() && x.parseErr == nil {
		return // nothing answers a notification or a response
	}
	x.write(status, x.fill(Fault(code, text)), data)
}

func (x *exchange) write(status int, body string, data []string) {
	if len(data) > 0 { // inside "error":{...}
		body = strings.TrimSuffix(body, "}}") + `,"data":` + data[0] + "}}"
	}
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(status)
	io.WriteString(x.w, body)
}

// refuse answers a request with a JSON-RPC error and status 200, in the form that
// was asked for.
func (x *exchange) refuse(code int, text string) { x.answer(x.fill(Fault(code, text))) }

// result answers a request. members are the members of the result, without the
// braces.
func (x *exchange) result(members string) {
	if x.modern {
		members = `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":` + x.s.info() + `},` + members
	}
	x.answer(x.fill(Result("{" + strings.TrimSuffix(members, ",") + "}")))
}

// answer sends the response to a request: on the stream if one has begun or is
// the rule, else as one JSON object.
func (x *exchange) answer(response string) {
	if x.s.opts.Answer == SSE || x.streaming() {
		x.event(response)
		return
	}
	x.w.Header().Set("Content-Type", "application/json")
	io.WriteString(x.w, response)
}

// notify sends a message ahead of the answer, where the form of answers has room
// for it.
func (x *exchange) notify(message string) {
	if x.s.opts.Answer != JSON {
		x.event(message)
	}
}

// streaming reports whether the reply is a stream that has begun.
func (x *exchange) streaming() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.begun
}

// event writes one event, after the head of the stream if it is the first. It
// does nothing once the request is over.
func (x *exchange) event(message string) {
	if x.process != nil {
		x.process.line(message)
		return
	}
	x.chunk(eventText(message))
}

// chunk writes text to the stream as it is.
func (x *exchange) chunk(text string) {
	if x.process != nil {
		x.process.stdout([]byte(text))
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return
	}
	if !x.begun {
		x.begun = true
		x.s.book.change(func(l *Ledger) { l.Streams++ })
		header := x.w.Header()
		if header.Get("Content-Type") == "" {
			header.Set("Content-Type", "text/event-stream")
			header.Set("Cache-Control", "no-cache")
			header.Set("X-Accel-Buffering", "no")
		}
	}
	io.WriteString(x.w, text)
	if f, ok := x.w.(http.Flusher); ok {
		f.Flush()
	}
}

// end closes the books on the request; w is not used after it.
func (x *exchange) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = true
	x.s.book.change(func(l *Ledger) {
		l.Open--
		if x.begun {
			l.Streams--
		}
	})
}

// info is the serverInfo of every revision.
func (s *Server) info() string { return `{"name":` + quote(s.opts.Name) + `,"version":"1.0.0"}` }

// quote returns text as a JSON string.
func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
