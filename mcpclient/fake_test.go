package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

// A server plays the other side of a Transport: a function from requests to
// answers. It checks every request for what the revision demands of all of them
// and keeps a trace.
type server struct {
	t      *testing.T
	answer func(ctx context.Context, req *Request, h Handler) (*Response, error)
	notify func(ctx context.Context, n *Notification) error // nil accepts

	// listen plays the n-th stream of the server's own; nil offers none.
	listen func(ctx context.Context, n int, req *Request, l Listener) error

	mu     sync.Mutex
	trace  []string // guarded by mu; "method@revision", and "close" with the session
	bodies []string // guarded by mu
	ids    map[int64]bool
	closed *Link // guarded by mu; what Close was given
}

func (s *server) add(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, event)
}

func (s *server) traced() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.trace, " ")
}

// count returns how often a method was requested.
func (s *server) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, event := range s.trace {
		if strings.HasPrefix(event, method+"@") {
			n++
		}
	}
	return n
}

// last returns the body of the newest request of that method.
func (s *server) last(method string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.bodies) - 1; i >= 0; i-- {
		if strings.Contains(s.bodies[i], `"method":"`+method+`"`) {
			return s.bodies[i]
		}
	}
	s.t.Fatalf("no request %s", method)
	return ""
}

func (s *server) RoundTrip(ctx context.Context, req *Request, h Handler) (*Response, error) {
	s.check(req)
	s.add(req.Method + "@" + req.Link.Revision.Name)
	return s.answer(ctx, req, h)
}

// check holds every request to BAS-01, BAS-03, BAS-15 and LIF-07.
func (s *server) check(req *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, string(req.Body))
	if s.ids == nil {
		s.ids = map[int64]bool{}
	}
	if s.ids[req.ID] || req.ID < 1 {
		s.t.Errorf("id %d is used twice or not positive", req.ID)
	}
	s.ids[req.ID] = true
	object, err := rawjson.Split(req.Body, rawjson.Bounds{})
	if err != nil || bytes.ContainsAny(req.Body, "\r\n") {
		s.t.Errorf("the body is not one JSON object on one line (%v): %s", err, req.Body)
		return
	}
	if string(object.Get("jsonrpc")) != `"2.0"` || string(object.Get("id")) != fmt.Sprint(req.ID) || rawjson.Text(object.Get("method")) != req.Method {
		s.t.Errorf("the envelope is wrong: %s", req.Body)
	}
	params := rawjson.Members(object.Get("params"))
	meta := rawjson.Members(params.Get("_meta"))
	for _, m := range meta {
		if !req.Link.Revision.MetaPerRequest && m.Name() != metaProgress {
			s.t.Errorf("%s carries %s in %s", req.Method, m.Name(), req.Link.Revision.Name)
		}
	}
	if req.Link.Revision.MetaPerRequest &&
		(rawjson.Text(meta.Get(metaVersion)) != req.Link.Revision.Name ||
			rawjson.KindOf(meta.Get(metaCapabilities)) != rawjson.Dict ||
			rawjson.KindOf(meta.Get(metaClient)) != rawjson.Dict) {
		s.t.Errorf("%s lacks the metadata of %s: %s", req.Method, req.Link.Revision.Name, req.Body)
	}
	once := req.Method == "tools/call" || req.Method == "subscriptions/listen" ||
		params.Get("inputResponses") != nil || params.Get("requestState") != nil
	if (req.Again != nil) == once {
		s.t.Errorf("%s: Again is there: %v", req.Method, req.Again != nil)
	}
	if req.NoCancel != (req.Method == "initialize") {
		s.t.Errorf("%s: NoCancel is %v", req.Method, req.NoCancel)
	}
}

func (s *server) Notify(ctx context.Context, n *Notification) error {
	if err := rawjson.Check(n.Body, rawjson.Bounds{}); err != nil {
		s.t.Errorf("%s: %v", n.Method, err)
	}
	s.add(n.Method + "@" + n.Link.Revision.Name)
	if s.notify != nil {
		return s.notify(ctx, n)
	}
	return nil
}

func (s *server) Listen(ctx context.Context, link *Link, req *Request, l Listener) error {
	if (req == nil) != link.Revision.ListenByGet {
		s.t.Errorf("%s is listened to with %v", link.Revision.Name, req)
	}
	if req != nil {
		s.check(req)
	}
	s.add("listen@" + link.Revision.Name)
	if s.listen == nil {
		return ErrNoListen
	}
	return s.listen(ctx, s.count("listen"), req, l)
}

func (s *server) Close(_ context.Context, link *Link) error {
	s.mu.Lock()
	s.closed = link
	s.mu.Unlock()
	session := ""
	if link != nil {
		session = link.Session.Reveal("test")
	}
	s.add("close(" + session + ")")
	return nil
}

// The answers of a server.
func result(text string) (*Response, error) {
	return &Response{Result: []byte(text), Status: 200}, nil
}

func inSession(session, text string) (*Response, error) {
	return &Response{Result: []byte(text), Status: 200, Session: redact.NewSecret(session)}, nil
}

func refusal(status int, code int64, message, data string) (*Response, error) {
	e := &ServerError{Code: code, Message: message}
	if data != "" {
		e.Data = []byte(data)
	}
	return &Response{Err: e, Status: status}, nil
}

func status(code int) (*Response, error) {
	return nil, &WireError{Op: "send", Status: code, Reason: fmt.Sprintf("status %d", code), Delivered: "unknown"}
}

func notMCP() (*Response, error) {
	return nil, &WireError{Op: "read the answer", Status: 200, Reason: "no MCP", Delivered: "unknown", NotMCP: true}
}

func unreachable() (*Response, error) {
	return nil, &WireError{Op: "connect", Reason: "connection refused", Delivered: "no"}
}

func sessionLost() (*Response, error) {
	return nil, &WireError{Op: "send", Status: 404, Reason: "the session is gone", Delivered: "no", SessionLost: true}
}

// initialized answers initialize with that version.
func initialized(version string) (*Response, error) {
	return inSession("session-1", `{"protocolVersion":"`+version+`","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
}

const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`

// connect opens a session with a server of that era which answers other requests
// with answer.
func connect(t *testing.T, version string, answer func(ctx context.Context, req *Request, h Handler) (*Response, error)) (*Session, *server) {
	t.Helper()
	return connectAs(t, version, Options{}, answer)
}

// connectAs is connect with options of the client's.
func connectAs(t *testing.T, version string, opts Options, answer func(ctx context.Context, req *Request, h Handler) (*Response, error)) (*Session, *server) {
	t.Helper()
	s := &server{t: t, answer: func(ctx context.Context, req *Request, h Handler) (*Response, error) {
		switch {
		case req.Method == "initialize":
			return initialized(version)
		case req.Method == "server/discover" && version == latest(false).Name:
			return result(discovered)
		case req.Method == "server/discover":
			return refusal(200, codeMethodNotFound, "unknown method", "")
		default:
			return answer(ctx, req, h)
		}
	}}
	opts.ClientName, opts.ClientVersion = "test", "1.2"
	session, err := Connect(t.Context(), s, &opts)
	if err != nil {
		t.Fatal(err)
	}
	if got := session.Revision().Name; got != version {
		t.Fatalf("connected with %s, want %s", got, version)
	}
	return session, s
}

// paramsOf returns the params of a request as Go values.
func paramsOf(t *testing.T, body string) map[string]any {
	t.Helper()
	var request struct{ Params map[string]any }
	if err := json.Unmarshal([]byte(body), &request); err != nil {
		t.Fatal(err)
	}
	return request.Params
}

func ask[E error](t *testing.T, err error) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("error is %T (%v), want %T", err, err, e)
	}
	return e
}
