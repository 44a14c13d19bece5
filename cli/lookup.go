package cli

import (
	"strings"

	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
	"github.com/toolhost/toolhost/redact"
)

// unusable returns why a server cannot be used, or nil.
func (l *local) unusable(s pack.ServerStatus) error {
	if s.Status == statusConnected {
		return nil
	}
	return pack.Errorf(pack.KindMessage, "server %s is not connected: %s", bridge.Quote(l.scrub, s.Name), s.Error)
}

// tools returns what the servers offer of that kind, in their order.
func (l *local) tools(kind pack.ToolKind) []pack.Tool {
	var list []pack.Tool
	for _, tool := range l.instance.Tools() {
		if tool.Kind == kind {
			list = append(list, tool)
		}
	}
	return list
}

// tool returns the tool that a server calls by that name.
func (l *local) tool(server, name string) (*pack.Tool, error) {
	var known []string
	for _, tool := range l.tools(pack.KindTool) {
		switch {
		case tool.Server != server:
		case tool.ServerTool == name:
			return &tool, nil
		default:
			known = append(known, tool.ServerTool)
		}
	}
	hint := "it gives none"
	if known != nil {
		hint = nearest(l.scrub, name, known)
	}
	for _, why := range l.Missing()[server] {
		if strings.Contains(why, bridge.Quote(l.scrub, name)) {
			hint = why
		}
	}
	return nil, pack.Errorf(pack.KindMessage, "unknown tool %s of server %s; %s", bridge.Quote(l.scrub, name), bridge.Quote(l.scrub, server), hint)
}

// nearest tells who wrote a name that is not there which ones are.
func nearest(scrub *redact.Scrubber, name string, known []string) string {
	known, alike := bridge.Nearest(name, known)
	if alike > 0 {
		return "did you mean " + bridge.QuoteAll(scrub, known[:min(alike, 3)]) + "?"
	}
	return "known: " + bridge.QuoteAll(scrub, known)
}
