package fakeserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Row replaces the reply to one request.
type Row struct {
	HTTP   string // "POST" when empty
	Method string // JSON-RPC method; "" for GET, DELETE and responses
	Nth    int    // which request of this kind, from 1; 0 for all that no other row takes
	Reply  Reply
}

// A Reply is what goes out instead of the healthy reply. In Body and Chunks the
// text %ID% stands for the id of the request, as it was written, and %CALL% for
// that of the newest tools/call, for what is said on another stream.
type Reply struct {
	After  time.Duration      // wait before anything else
	Until  func(*Ledger) bool // then wait until it holds of the ledger; nil for at once
	Status int                // 0 for 200
	Header map[string]string  // as it is spelt; Content-Type defaults to JSON for a Body, event-stream for Chunks
	Body   string
	Chunks []Chunk // written one by one, each flushed; see Event
	Hold   bool    // after the last chunk keep the stream open until the client or Close ends it

	Drop    bool             // close the connection, or end the Process with Status: without a reply, or in the middle of Chunks
	Healthy bool             // answer as the healthy server does, after Chunks if there are any
	Func    http.HandlerFunc // anything else; the body of the request can be read again
}

// A Chunk is a piece of a stream, or of what a Process writes.
type Chunk struct {
	After   time.Duration      // wait before it is written
	Until   func(*Ledger) bool // then wait until it holds of the ledger; nil for at once
	Text    string             // as it is
	Message string             // as an event, or a line of stdout
	Stderr  string             // as it is, to stderr; a Process has one
}

// Event returns a chunk with one event, or line, that carries message, which may
// have several lines.
func Event(message string) Chunk { return Chunk{Message: message} }

// eventText writes a message as an event: one data field for each of its lines.
func eventText(message string) string {
	message = strings.ReplaceAll(message, "\r\n", "\n")
	message = strings.ReplaceAll(message, "\r", "\n")
	return "event: message\ndata: " + strings.ReplaceAll(message, "\n", "\ndata: ") + "\n\n"
}

// Result returns a JSON-RPC response to the request with result, for a Body or
// an Event.
func Result(result string) string {
	return `{"jsonrpc":"2.0","id":%ID%,"result":` + result + `}`
}

// Fault returns a JSON-RPC error response to the request.
func Fault(code int, message string) string {
	return `{"jsonrpc":"2.0","id":%ID%,"error":{"code":` + strconv.Itoa(code) + `,"message":` + quote(message) + `}}`
}

func (r Row) String() string {
	which := "every"
	if r.Nth > 0 {
		which = "number " + strconv.Itoa(r.Nth)
	}
	return fmt.Sprintf("%s %q, %s", r.HTTP, r.Method, which)
}

// script holds the rows and which of them have been used.
type script struct {
	rows []Row
	mu   sync.Mutex
	used []bool // by row; guarded by mu
}

func newScript(rows []Row) *script {
	s := &script{rows: make([]Row, len(rows)), used: make([]bool, len(rows))}
	for i, row := range rows {
		if row.HTTP == "" {
			row.HTTP = http.MethodPost
		}
		s.rows[i] = row
	}
	return s
}

// take returns the row for the nth request of its kind, or nil. A row with that
// number goes before one for all.
func (s *script) take(httpMethod, method string, nth int) *Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := -1
	for i, row := range s.rows {
		if row.HTTP != httpMethod || row.Method != method {
			continue
		}
		if row.Nth == nth {
			found = i
			break
		}
		if row.Nth == 0 && found < 0 {
			found = i
		}
	}
	if found < 0 {
		return nil
	}
	s.used[found] = true
	return &s.rows[found]
}

func (s *script) unused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for i, used := range s.used {
		if !used {
			names = append(names, s.rows[i].String())
		}
	}
	return names
}

// play writes the reply.
func (r *Reply) play(x *exchange) {
	if !x.pause(r.After) || !x.await(r.Until) {
		return
	}
	switch {
	case r.Healthy && len(r.Chunks) == 0:
		x.serve()
		return
	case r.Func != nil:
		r.Func(x.w, x.r)
		return
	case r.Drop && len(r.Chunks) == 0:
		x.drop(r)
		return
	}
	if x.process == nil {
		x.head(r)
	}
	switch {
	case len(r.Chunks) > 0:
	case x.process != nil && r.Body == "":
		return // it says nothing
	default:
		io.WriteString(x.w, x.fill(r.Body))
		return
	}
	for _, chunk := range r.Chunks {
		if !x.pause(chunk.After) || !x.await(chunk.Until) {
			return
		}
		chunk.write(x)
	}
	switch {
	case r.Healthy:
		x.serve()
	case r.Hold:
		x.hold()
	}
	if r.Drop {
		x.drop(r)
	}
}

func (c *Chunk) write(x *exchange) {
	switch {
	case c.Stderr != "" && x.process != nil:
		x.process.stderr(c.Stderr)
	case c.Message != "":
		x.event(x.fill(c.Message))
	default:
		x.chunk(x.fill(c.Text))
	}
}

// drop ends the connection, or the process.
func (x *exchange) drop(r *Reply) {
	if x.process != nil {
		x.process.exit(r.Status)
		return
	}
	panic(http.ErrAbortHandler)
}

// head writes the status and the headers of a scripted reply.
func (x *exchange) head(r *Reply) {
	header := x.w.Header()
	switch {
	case len(r.Chunks) > 0:
		header.Set("Content-Type", "text/event-stream")
	case r.Body != "":
		header.Set("Content-Type", "application/json")
	}
	for name, value := range r.Header {
		// In the spelling of the row. The usual one stays as a name without values,
		// so that net/http does not add its own.
		header[http.CanonicalHeaderKey(name)] = nil
		header[name] = []string{value}
	}
	status := r.Status
	if status == 0 {
		status = http.StatusOK
	}
	x.w.WriteHeader(status)
}

// fill puts the ids of requests in their places.
func (x *exchange) fill(text string) string {
	if strings.Contains(text, "%CALL%") {
		text = strings.ReplaceAll(text, "%CALL%", x.s.book.newestCall())
	}
	id := "null"
	if len(x.msg.ID) > 0 {
		id = string(x.msg.ID)
	}
	return strings.ReplaceAll(text, "%ID%", id)
}

// pause waits and reports whether the reply is still wanted.
func (x *exchange) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.r.Context().Done():
	case <-x.s.ctx.Done():
	}
	return false
}

// await waits until cond holds of the ledger and reports whether the reply is
// still wanted.
func (x *exchange) await(cond func(*Ledger) bool) bool {
	if cond == nil {
		return true
	}
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(x.s.ctx, cancel)()
	return x.s.Wait(ctx, cond) == nil
}

// hold waits until the client or Close ends the request.
func (x *exchange) hold() {
	select {
	case <-x.r.Context().Done():
	case <-x.s.ctx.Done():
	}
}
