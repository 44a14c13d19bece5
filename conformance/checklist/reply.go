package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// An event is one element of events, when it is no string.
type event struct {
	After   string          `json:"after"`
	Until   string          `json:"until"`
	Times   int             `json:"times"`
	Repeat  int             `json:"repeat"`  // so often; in a message, "%N%" is the number
	Raw     *string         `json:"raw"`     // bytes of the stream
	Stderr  string          `json:"stderr"`  // bytes of a local server's stderr
	Message json.RawMessage `json:"message"` // as it is
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
	Notify  string          `json:"notify"` // the method of a notification
	Ask     string          `json:"ask"`    // the method of a request
	ID      json.RawMessage `json:"id"`     // of ask
	Params  json.RawMessage `json:"params"`
}

// row is the reply of a line, of a local server or a remote one.
func (l *serverLine) row(local bool) (fakeserver.Row, error) {
	httpMethod, method, err := rowKey(l.On, local)
	if err != nil {
		return fakeserver.Row{}, err
	}
	reply := fakeserver.Reply{Status: l.Status, Header: l.Header, Hold: l.Hold, Drop: l.Drop, Healthy: l.Healthy}
	if reply.After, err = duration(l.After); err != nil {
		return fakeserver.Row{}, err
	}
	if reply.Until, err = until(l.Until, l.Times, local); err != nil {
		return fakeserver.Row{}, err
	}
	switch {
	case l.Body != nil:
		reply.Body = string(l.Body)
		if text := ""; json.Unmarshal(l.Body, &text) == nil {
			reply.Body = text
		}
	case l.Result != nil:
		reply.Body = fakeserver.Result(string(l.Result))
	case l.Error != nil:
		reply.Body = failure(l.Error)
	}
	for _, raw := range l.Events {
		chunks, err := chunksOf(raw, local)
		if err != nil {
			return fakeserver.Row{}, err
		}
		reply.Chunks = append(reply.Chunks, chunks...)
	}
	reply.Body = unquoted(reply.Body)
	return fakeserver.Row{HTTP: httpMethod, Method: method, Nth: l.Nth, Reply: reply}, nil
}

// rowKey reads "tools/call", "POST tools/call", "POST response", "GET", "DELETE",
// "LINE response".
func rowKey(on string, local bool) (httpMethod, method string, err error) {
	httpMethod, method, two := strings.Cut(on, " ")
	if !two && !httpMethods[on] {
		if local {
			return fakeserver.Line, on, nil
		}
		return http.MethodPost, on, nil
	}
	if !httpMethods[httpMethod] || httpMethod == "*" || happenings[httpMethod] {
		return "", "", fmt.Errorf("%q is no HTTP method", httpMethod)
	}
	if method == kindResponse {
		method = ""
	}
	return httpMethod, method, nil
}

// failure is a response with that error object.
func failure(object json.RawMessage) string {
	return `{"jsonrpc":"2.0","id":` + idPlace + `,"error":` + string(object) + `}`
}

// idPlace stands in JSON for the id of the request, and callPlace for that of the
// newest tools/call. They are quoted in the case, so that it is JSON. numberPlace is
// the number of an event that is repeated.
const (
	idPlace     = "%ID%"
	callPlace   = "%CALL%"
	numberPlace = "%N%"
)

// unquoted takes the quotes off the places of ids.
func unquoted(text string) string {
	return strings.NewReplacer(`"`+idPlace+`"`, idPlace, `"`+callPlace+`"`, callPlace).Replace(text)
}

// chunksOf is one element of events: a string as it is, or an object.
func chunksOf(raw json.RawMessage, local bool) ([]fakeserver.Chunk, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []fakeserver.Chunk{{Text: unquoted(text)}}, nil
	}
	var e event
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&e)
	if err != nil {
		return nil, fmt.Errorf("event %.60s: %w", raw, err)
	}
	chunk, err := e.chunk()
	if err != nil {
		return nil, err
	}
	if chunk.Until, err = until(e.Until, e.Times, local); err != nil {
		return nil, err
	}
	if e.Repeat == 0 {
		return []fakeserver.Chunk{chunk}, nil
	}
	if chunk.Message == "" {
		chunk.Text, chunk.Stderr = strings.Repeat(chunk.Text, e.Repeat), strings.Repeat(chunk.Stderr, e.Repeat)
		return []fakeserver.Chunk{chunk}, nil
	}
	chunks := make([]fakeserver.Chunk, e.Repeat)
	for i := range chunks {
		chunks[i] = chunk
		chunks[i].Message = strings.ReplaceAll(chunk.Message, numberPlace, strconv.Itoa(i+1))
	}
	return chunks, nil
}

// chunk is what an event writes.
func (e *event) chunk() (chunk fakeserver.Chunk, err error) {
	params := ""
	if e.Params != nil {
		params = `,"params":` + string(e.Params)
	}
	switch {
	case e.Raw != nil:
		chunk.Text = unquoted(*e.Raw)
	case e.Stderr != "":
		chunk.Stderr = e.Stderr
	case e.Message != nil:
		chunk.Message = string(e.Message)
	case e.Result != nil:
		chunk.Message = fakeserver.Result(string(e.Result))
	case e.Error != nil:
		chunk.Message = failure(e.Error)
	case e.Notify != "":
		chunk.Message = `{"jsonrpc":"2.0","method":` + quote(e.Notify) + params + `}`
	case e.Ask != "":
		if e.ID == nil {
			e.ID = json.RawMessage(`"ask-1"`)
		}
		chunk.Message = `{"jsonrpc":"2.0","id":` + string(e.ID) + `,"method":` + quote(e.Ask) + params + `}`
	}
	chunk.Message = unquoted(chunk.Message)
	chunk.After, err = duration(e.After)
	return chunk, err
}

func duration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	return time.ParseDuration(text)
}

// until is the condition that so many requests of that kind have come.
func until(on string, times int, local bool) (func(*fakeserver.Ledger) bool, error) {
	if on == "" {
		return nil, nil
	}
	httpMethod, method, err := rowKey(on, local)
	if err != nil {
		return nil, err
	}
	return func(l *fakeserver.Ledger) bool { return l.Count(httpMethod, method) >= max(times, 1) }, nil
}
