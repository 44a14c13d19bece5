package mcp

import (
	"slices"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

// result returns the answer of a tool that the server ran: its text, in the
// escapes it came in, or the error that the server says it is.
func (m *mcp) result(s *server, answer *mcpclient.CallResult) (*pack.Result, error) {
	if answer.IsError {
		return nil, m.backend(s, rawjson.Text(answer.ErrorText()))
	}
	return &pack.Result{Content: answer.Text(), Untrusted: true}, nil
}

// sideMessages passes on what the server says of a call while it runs, to a host
// that asked for it.
func (m *mcp) sideMessages(s *server, call *pack.Call) *mcpclient.CallOptions {
	if call.Progress == nil && call.Log == nil {
		return nil
	}
	opts := &mcpclient.CallOptions{}
	if call.Progress != nil {
		opts.Progress = func(progress, total []byte, text string) {
			call.Progress(pack.Progress{
				Progress: clone(progress),
				Total:    clone(total),
				Message:  m.host.Scrub.Reason(text, shownReason),
			})
		}
	}
	if call.Log != nil {
		opts.Log = func(level string, data []byte, logger string) {
			call.Log(m.logMessage(s, level, data, logger))
		}
	}
	return opts
}

// onNotification passes on the log messages that belong to no call.
func (m *mcp) onNotification(s *server) func(method string, params []byte) {
	if m.host.Message == nil {
		return nil
	}
	return func(method string, params []byte) {
		if method != "notifications/message" {
			return
		}
		p := rawjson.Members(params)
		m.host.Message(m.logMessage(s, rawjson.Text(p.Get("level")), p.Get("data"), rawjson.Text(p.Get("logger"))))
	}
}

// levels are those of RFC 5424, as MCP names them.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// logMessage makes a server's log message fit for the host: a text is the
// message; other data stays JSON, under the name of its logger.
func (m *mcp) logMessage(s *server, level string, data []byte, logger string) pack.Message {
	if !slices.Contains(levels, level) {
		level = "info"
	}
	out := pack.Message{Level: level, Server: s.name}
	if rawjson.KindOf(data) == rawjson.String {
		out.Message = m.host.Scrub.Reason(rawjson.Text(data), shownText)
		return out
	}
	out.Message = m.host.Scrub.Reason(logger, shownName)
	// A secret that is a number may leave no JSON behind when it is taken out.
	if scrubbed := m.host.Scrub.Text(string(data)); rawjson.Check([]byte(scrubbed), rawjson.Bounds{}) == nil {
		out.Data = pack.Raw(scrubbed)
	}
	return out
}

// clone keeps what the session lends.
func clone(raw []byte) pack.Raw { return append(pack.Raw(nil), raw...) }
