package fakeserver

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
)

// The revisions of each era, newest first.
var (
	legacyVersions = [...]string{"2025-11-25", "2025-06-18", "2025-03-26"}
	modernVersions = [...]string{"2026-07-28"}
)

// firstWithHeader is the first revision in which the client repeats the version
// in a header (2025-06-18 transports, protocol version header).
const firstWithHeader = "2025-06-18"

func versionsOf(era Era) []string {
	switch era {
	case Modern:
		return modernVersions[:]
	case Dual:
		return append(modernVersions[:], legacyVersions[:]...)
	default:
		return legacyVersions[:]
	}
}

// session is one session of a legacy client.
type session struct {
	id      string
	version string

	mu    sync.Mutex
	ready bool            // notifications/initialized has come; guarded by mu
	ids   map[string]bool // ids of requests so far; guarded by mu
	early map[string]bool // ids whose cancel overtook them; guarded by mu
}

// errCancelled is the cause of a run's end when the client cancelled it.
var errCancelled = errors.New("cancelled by the client")

// serveLegacy answers a request of a revision up to 2025-11-25.
func (x *exchange) serveLegacy() {
	switch x.r.Method {
	case http.MethodPost:
		if x.isRequest() && x.msg.Method == "initialize" {
			x.initialize()
			return
		}
		if x.findSession() {
			x.legacyMessage()
		}
	case http.MethodGet:
		if !x.s.opts.Listen {
			x.notAllowed("POST, DELETE")
		} else if x.findSession() {
			x.listen("", "")
		}
	case http.MethodDelete:
		if x.s.opts.NoSessions {
			x.notAllowed("POST")
		} else if x.findSession() {
			x.endSession()
		}
	default:
		x.notAllowed("GET, POST, DELETE")
	}
}

func (x *exchange) notAllowed(allow string) {
	x.w.Header().Set("Allow", allow)
	http.Error(x.w, "method not allowed", http.StatusMethodNotAllowed)
}

// initialize is the handshake (2025-11-25 lifecycle): it settles the version and
// assigns a session.
func (x *exchange) initialize() {
	var params struct {
		ProtocolVersion string
		Capabilities    map[string]json.RawMessage
		ClientInfo      struct{ Name, Version string }
	}
	err := json.Unmarshal(x.msg.Params, &params)
	if err != nil || params.ProtocolVersion == "" || params.Capabilities == nil || params.ClientInfo.Name == "" || params.ClientInfo.Version == "" {
		x.complain("protocolVersion, capabilities and clientInfo must be there")
		x.refuse(codeInvalidParams, "Invalid params")
		return
	}
	if x.r.Header.Get("Mcp-Session-Id") != "" {
		x.complain("it carries a session id")
	}
	version := params.ProtocolVersion
	legacy := slices.DeleteFunc(slices.Clone(x.s.opts.Versions), func(v string) bool { return slices.Contains(modernVersions[:], v) })
	if len(legacy) == 0 {
		x.badVersion()
		return
	}
	if !slices.Contains(legacy, version) {
		version = legacy[0]
	}
	se := &session{id: randomID(), version: version, ids: map[string]bool{}, early: map[string]bool{}}
	switch {
	case x.process != nil:
		x.process.open(se)
	case !x.s.opts.NoSessions:
		x.s.mu.Lock()
		x.s.sessions[se.id] = se
		n := len(x.s.sessions)
		x.s.mu.Unlock()
		x.s.book.change(func(l *Ledger) { l.Sessions = n })
		x.w.Header().Set("Mcp-Session-Id", se.id)
	}
	x.result(`"protocolVersion":` + quote(version) + `,"capabilities":` + x.s.opts.Capabilities + `,"serverInfo":` + x.s.info() + x.s.instructions())
}

// findSession finds the session that a request after the handshake belongs to,
// or answers as the specification says: 400 without an id, 404 for one that is
// not known.
func (x *exchange) findSession() bool {
	version := x.r.Header.Get("Mcp-Protocol-Version")
	if version != "" && !slices.Contains(x.s.opts.Versions, version) {
		x.fault(http.StatusBadRequest, codeServer, "Bad Request: Unsupported protocol version")
		return false
	}
	if x.s.opts.NoSessions {
		return true
	}
	id := x.r.Header.Get("Mcp-Session-Id")
	if id == "" {
		x.fault(http.StatusBadRequest, codeServer, "Bad Request: Mcp-Session-Id header is required")
		return false
	}
	x.s.mu.Lock()
	x.session = x.s.sessions[id]
	x.s.mu.Unlock()
	if x.session == nil {
		x.fault(http.StatusNotFound, codeServer, "Session not found")
		return false
	}
	if version != x.session.version && (version != "" || x.session.version >= firstWithHeader) {
		x.complain("MCP-Protocol-Version is %q in a session of %s", version, x.session.version)
	}
	return true
}

func (x *exchange) endSession() {
	x.s.mu.Lock()
	delete(x.s.sessions, x.session.id)
	n := len(x.s.sessions)
	x.s.mu.Unlock()
	x.s.book.change(func(l *Ledger) { l.Sessions = n })
	x.w.WriteHeader(http.StatusNoContent)
}

// legacyMessage answers a message inside a session.
func (x *exchange) legacyMessage() {
	switch {
	case x.msg.Method == "notifications/initialized":
		if x.session != nil {
			x.session.mu.Lock()
			x.session.ready = true
			x.session.mu.Unlock()
		}
		if x.process != nil {
			x.process.listen()
		}
		x.accepted()
	case x.msg.Method == "":
		x.s.answered(&x.msg)
		x.accepted()
	case x.msg.Method == "notifications/cancelled":
		x.cancelMessage()
		x.accepted()
	case !x.isRequest():
		x.accepted()
	case !x.inOrder():
		x.refuse(codeInvalidRequest, "Invalid Request")
	case x.msg.Method == "ping":
		x.result("")
	case x.msg.Method == "tools/list":
		x.listTools()
	case x.msg.Method == "tools/call":
		x.callTool()
	default:
		x.refuse(codeNoMethod, "Method not found")
	}
}

// inOrder checks that the handshake is complete and the id new in its session.
func (x *exchange) inOrder() bool {
	if x.session == nil {
		return true
	}
	x.session.mu.Lock()
	defer x.session.mu.Unlock()
	id := string(x.msg.ID)
	if x.session.ids[id] {
		x.complain("the id %s was used before in this session", id)
		return false
	}
	x.session.ids[id] = true
	if !x.session.ready && x.msg.Method != "ping" {
		x.complain("it came before notifications/initialized")
		return false
	}
	return true
}

// cancelMessage ends the run that notifications/cancelled names. It may have come
// on another connection ahead of its request, which then ends as soon as it comes.
func (x *exchange) cancelMessage() {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
		Reason    string          `json:"reason"`
	}
	if err := json.Unmarshal(x.msg.Params, &params); err != nil || params.RequestID == nil {
		x.complain("params.requestId must be there")
		return
	}
	if x.process != nil {
		x.process.cancel(string(params.RequestID), params.Reason)
		return
	}
	key := runKey{x.sessionID(), string(params.RequestID)}
	x.s.mu.Lock()
	cancel := x.s.running[key]
	early := cancel == nil && x.session != nil && x.session.cancelEarly(key.id)
	x.s.mu.Unlock()
	x.s.book.change(func(l *Ledger) {
		l.Cancels = append(l.Cancels, Cancel{ID: key.id, By: ByMessage, Reason: params.Reason, Known: cancel != nil, Early: early})
	})
	if cancel != nil {
		cancel(errCancelled)
	}
}

// cancelEarly notes a cancel for a request that does not run yet, or no longer,
// and reports whether it has not even come.
func (se *session) cancelEarly(id string) bool {
	se.mu.Lock()
	defer se.mu.Unlock()
	se.early[id] = true
	return !se.ids[id]
}

func (se *session) cancelledEarly(id string) bool {
	se.mu.Lock()
	defer se.mu.Unlock()
	return se.early[id]
}

func (x *exchange) sessionID() string {
	if x.session == nil {
		return ""
	}
	return x.session.id
}

// instructions is the member "instructions" with its comma, if there are any.
func (s *Server) instructions() string {
	if s.opts.Instructions == "" {
		return ""
	}
	return `,"instructions":` + quote(s.opts.Instructions)
}
