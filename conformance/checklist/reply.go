package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// An event is one element of events, when it is no string.
type event struct {
	After   string          `json:"after"`
	Until   string          `json:"until"`
	Times   int             `json:"times"`
	Raw     *string         `json:"raw"`     // bytes of the stream
	Message json.RawMessage `json:"message"` // as it is
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
	Notify  string          `json:"notify"` // the method of a notification
	Ask     string          `json:"ask"`    // the method of a request
	ID      json.RawMessage `json:"id"`     // of ask
	Params  json.RawMessage `json:"params"`
}

// row is the reply of a line.
func (l *serverLine) row() (fakeserver.Row, error) {
	httpMethod, method, err := rowKey(l.On)
	if err != nil {
		return fakeserver.Row{}, err
	}
	reply := fakeserver.Reply{Status: l.Status, Header: l.Header, Hold: l.Hold, Drop: l.Drop, Healthy: l.Healthy}
	if reply.After, err = duration(l.After); err != nil {
		return fakeserver.Row{}, err
	}
	if reply.Until, err = until(l.Until, l.Times); err != nil {
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
		chunk, err := chunkOf(raw)
		if err != nil {
			return fakeserver.Row{}, err
		}
		chunk.Text = unquoted(chunk.Text)
		reply.Chunks = append(reply.Chunks, chunk)
	}
	reply.Body = unquoted(reply.Body)
	return fakeserver.Row{HTTP: httpMethod, Method: method, Nth: l.Nth, Reply: reply}, nil
}

// rowKey reads "tools/call", "POST tools/call", "POST response", "GET", "DELETE".
func rowKey(on string) (httpMethod, method string, err error) {
	httpMethod, method, two := strings.Cut(on, " ")
	if !two && !httpMethods[on] {
		return http.MethodPost, on, nil
	}
	if !httpMethods[httpMethod] || httpMethod == "*" {
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
// newest tools/call. They are quoted in the case, so that it is JSON.
const (
	idPlace   = "%ID%"
	callPlace = "%CALL%"
)

// unquoted takes the quotes off the places of ids.
func unquoted(text string) string {
	return strings.NewReplacer(`"`+idPlace+`"`, idPlace, `"`+callPlace+`"`, callPlace).Replace(text)
}

// chunkOf is one element of events: a string as it is, or an object.
func chunkOf(raw json.RawMessage) (fakeserver.Chunk, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return fakeserver.Chunk{Text: text}, nil
	}
	var e event
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&e)
	if err != nil {
		return fakeserver.Chunk{}, fmt.Errorf("event %.60s: %w", raw, err)
	}
	params := ""
	if e.Params != nil {
		params = `,"params":` + string(e.Params)
	}
	var chunk fakeserver.Chunk
	switch {
	case e.Raw != nil:
		chunk.Text = *e.Raw
	case e.Message != nil:
		chunk = fakeserver.Event(string(e.Message))
	case e.Result != nil:
		chunk = fakeserver.Event(fakeserver.Result(string(e.Result)))
	case e.Error != nil:
		chunk = fakeserver.Event(failure(e.Error))
	case e.Notify != "":
		chunk = fakeserver.Event(`{"jsonrpc":"2.0","method":` + quote(e.Notify) + params + `}`)
	case e.Ask != "":
		if e.ID == nil {
			e.ID = json.RawMessage(`"ask-1"`)
		}
		chunk = fakeserver.Event(`{"jsonrpc":"2.0","id":` + string(e.ID) + `,"method":` + quote(e.Ask) + params + `}`)
	}
	if chunk.After, err = duration(e.After); err != nil {
		return chunk, err
	}
	chunk.Until, err = until(e.Until, e.Times)
	return chunk, err
}

func duration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	return time.ParseDuration(text)
}

// until is the condition that so many requests of that kind have come.
func until(on string, times int) (func(*fakeserver.Ledger) bool, error) {
	if on == "" {
		return nil, nil
	}
	httpMethod, method, err := rowKey(on)
	if err != nil {
		return nil, err
	}
	return func(l *fakeserver.Ledger) bool { return l.Count(httpMethod, method) >= max(times, 1) }, nil
}
