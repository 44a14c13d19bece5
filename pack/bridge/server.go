package bridge

import (
	"log/slog"
	"slices"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

// A Server speaks about one server of a pack, to the host that the pack was built
// for. Its methods may be called from any goroutine.
type Server struct {
	name string // to the letter, as configured
	host *pack.Host
}

// NewServer returns the Server of that configured name.
func NewServer(name string, host *pack.Host) *Server { return &Server{name, host} }

// Quoted is the server's name as a message shows it.
func (s *Server) Quoted() string { return Quote(s.host.Scrub, s.name) }

// Logger returns the log for what concerns the server.
func (s *Server) Logger() *slog.Logger {
	return s.host.Log.With("server", s.host.Scrub.Reason(s.name, ShownName))
}

// CallOptions pass on what the server says of a call while it runs, to a host that
// asked for it. Nil when it did not.
func (s *Server) CallOptions(call *pack.Call) *mcpclient.CallOptions {
	if call.Progress == nil && call.Log == nil {
		return nil
	}
	opts := &mcpclient.CallOptions{}
	if call.Progress != nil {
		opts.Progress = func(progress, total []byte, text string) {
			call.Progress(pack.Progress{
				Progress: clone(progress),
				Total:    clone(total),
				Message:  s.host.Scrub.Reason(text, ShownReason),
			})
		}
	}
	if call.Log != nil {
		opts.Log = func(level string, data []byte, logger string) {
			call.Log(s.logMessage(level, data, logger))
		}
	}
	return opts
}

// OnNotification passes on the log messages that belong to no call. It is nil for
// a host that does not take them.
func (s *Server) OnNotification() func(method string, params []byte) {
	if s.host.Message == nil {
		return nil
	}
	return func(method string, params []byte) {
		if method != "notifications/message" {
			return
		}
		p := rawjson.Members(params)
		s.host.Message(s.logMessage(rawjson.Text(p.Get("level")), p.Get("data"), rawjson.Text(p.Get("logger"))))
	}
}

// levels are those of RFC 5424, as MCP names them.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// logMessage makes a server's log message fit for the host: a text is the
// message; other data stays JSON, under the name of its logger.
func (s *Server) logMessage(level string, data []byte, logger string) pack.Message {
	if !slices.Contains(levels, level) {
		level = "info"
	}
	out := pack.Message{Level: level, Server: s.name}
	if rawjson.KindOf(data) == rawjson.String {
		out.Message = s.host.Scrub.Reason(rawjson.Text(data), ShownText)
		return out
	}
	out.Message = s.host.Scrub.Reason(logger, ShownName)
	// A secret that is a number may leave no JSON behind when it is taken out.
	if scrubbed := s.host.Scrub.Text(string(data)); rawjson.Check([]byte(scrubbed), rawjson.Bounds{}) == nil {
		out.Data = pack.Raw(scrubbed)
	}
	return out
}

// clone keeps what the session lends.
func clone(raw []byte) pack.Raw { return append(pack.Raw(nil), raw...) }
