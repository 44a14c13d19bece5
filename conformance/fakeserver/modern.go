package fakeserver

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The members of _meta that every request carries (2026-07-28 basic, _meta).
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// metaOf returns the members of params._meta; nil if there is none.
func metaOf(params json.RawMessage) map[string]json.RawMessage {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	return p.Meta
}

// serveModern answers a request of revision 2026-07-28.
func (x *exchange) serveModern() {
	switch {
	case x.process == nil && x.r.Method != http.MethodPost:
		x.notAllowed("POST")
	case x.msg.Method == "":
		x.complain("a client sends no response in this revision")
		x.fault(http.StatusBadRequest, codeInvalidRequest, "Invalid Request")
	case !x.isRequest():
		switch {
		case x.msg.Method != "notifications/cancelled":
		case x.process != nil:
			x.cancelMessage()
		default:
			x.complain("over HTTP a request is cancelled by closing its stream in this revision")
		}
		x.accepted()
	case x.msg.Method == "initialize":
		// A legacy client: the answer names what the server speaks (versioning,
		// backward compatibility).
		x.badVersion()
	case !x.checkMeta() || !x.checkHeaders():
	case x.msg.Method == "server/discover":
		x.result(`"supportedVersions":` + list(x.s.opts.Versions) + `,"capabilities":` + x.s.opts.Capabilities + `,"ttlMs":60000,"cacheScope":"private"` + x.s.instructions())
	case x.msg.Method == "tools/list":
		x.listTools()
	case x.msg.Method == "tools/call":
		x.callTool()
	case x.msg.Method == "subscriptions/listen":
		x.subscribe()
	default:
		x.fault(http.StatusNotFound, codeNoMethod, "Method not found")
	}
}

// checkMeta checks the version in header and _meta and the required members.
func (x *exchange) checkMeta() bool {
	meta := metaOf(x.msg.Params)
	header := x.r.Header.Get("Mcp-Protocol-Version")
	if x.process != nil { // which has no headers: the body says it alone
		_ = json.Unmarshal(meta[metaVersion], &header)
	}
	if meta[metaVersion] == nil && !slices.Contains(x.s.opts.Versions, header) {
		// What a legacy client sends is no offence, it is only not served here.
		x.badVersion()
		return false
	}
	var version string
	var capabilities, client map[string]json.RawMessage
	switch {
	case header == "" && x.process == nil:
		x.mismatch("MCP-Protocol-Version header is required")
	case json.Unmarshal(meta[metaVersion], &version) != nil || version == "":
		x.complain("_meta has no %s", metaVersion)
		x.fault(http.StatusBadRequest, codeInvalidParams, "Invalid params: _meta."+metaVersion)
	case header != version:
		x.mismatch("MCP-Protocol-Version header value " + strconv.Quote(header) + " does not match body value " + strconv.Quote(version))
	case !slices.Contains(x.s.opts.Versions, version):
		x.badVersion()
	case json.Unmarshal(meta[metaCapabilities], &capabilities) != nil || capabilities == nil:
		x.complain("_meta has no object %s", metaCapabilities)
		x.fault(http.StatusBadRequest, codeInvalidParams, "Invalid params: _meta."+metaCapabilities)
	default:
		if json.Unmarshal(meta[metaClient], &client) != nil || client["name"] == nil || client["version"] == nil {
			x.complain("_meta should name the client in %s", metaClient)
		}
		return true
	}
	return false
}

// checkHeaders checks the headers that mirror the body (streamable-http, standard
// request headers and custom headers).
func (x *exchange) checkHeaders() bool {
	if x.process != nil {
		return true
	}
	if got := x.r.Header.Get("Mcp-Method"); got != x.msg.Method {
		x.mismatch("Mcp-Method header value " + strconv.Quote(got) + " does not match body value " + strconv.Quote(x.msg.Method))
		return false
	}
	if x.msg.Method != "tools/call" {
		return true
	}
	var params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(x.msg.Params, &params) != nil {
		return true // callTool refuses it
	}
	if got, ok := decodeHeader(x.r.Header.Get("Mcp-Name")); !ok || got != params.Name {
		x.mismatch("Mcp-Name header value " + strconv.Quote(got) + " does not match body value " + strconv.Quote(params.Name))
		return false
	}
	tool := x.s.tool(params.Name)
	if tool == nil {
		return true
	}
	want := map[string]string{}
	mirrored(tool.schema(), params.Arguments, want)
	for name, value := range want {
		got, ok := decodeHeader(x.r.Header.Get("Mcp-Param-" + name))
		if len(x.r.Header.Values("Mcp-Param-"+name)) != 1 || !ok || !sameValue(got, value) {
			x.mismatch("Mcp-Param-" + name + " header does not match the argument")
			return false
		}
	}
	for name := range x.r.Header {
		param, ok := strings.CutPrefix(name, "Mcp-Param-")
		if ok && !slices.ContainsFunc(keys(want), func(k string) bool { return strings.EqualFold(k, param) }) {
			x.mismatch(name + " header has no argument")
			return false
		}
	}
	return true
}

// mirrored adds to want the headers that a call must carry: each property with
// x-mcp-header, reached through properties alone, whose argument is there and not
// null.
func mirrored(schema, arguments json.RawMessage, want map[string]string) {
	var s struct {
		Header     string                     `json:"x-mcp-header"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return
	}
	if s.Header != "" && string(arguments) != "null" {
		value := string(arguments)
		if text := ""; json.Unmarshal(arguments, &text) == nil {
			value = text
		}
		want[s.Header] = value
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(arguments, &values) != nil {
		return
	}
	for name, property := range s.Properties {
		if value, ok := values[name]; ok {
			mirrored(property, value, want)
		}
	}
}

// decodeHeader undoes the Base64 form of a mirrored value (value encoding). It
// reports whether the value is legal.
func decodeHeader(value string) (string, bool) {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if inner, end := strings.CutSuffix(inner, "?="); ok && end {
		raw, err := base64.StdEncoding.DecodeString(inner)
		return string(raw), err == nil
	}
	return value, !strings.ContainsFunc(value, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') })
}

// sameValue compares as the specification asks: numbers by value, the rest by
// character.
func sameValue(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

func (x *exchange) mismatch(text string) {
	x.complain("%s", text)
	x.fault(http.StatusBadRequest, codeHeaderMismatch, "Header mismatch: "+text)
}

// badVersion answers with UnsupportedProtocolVersionError, which lists what the
// server speaks.
func (x *exchange) badVersion() {
	requested := x.r.Header.Get("Mcp-Protocol-Version")
	var params struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(x.msg.Params, &params) == nil && params.ProtocolVersion != "" {
		requested = params.ProtocolVersion
	}
	x.fault(http.StatusBadRequest, codeVersion, "Unsupported protocol version",
		`{"supported":`+list(x.s.opts.Versions)+`,"requested":`+quote(requested)+`}`)
}

// list returns words as a JSON array.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quote(word)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

func keys(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	return names
}
