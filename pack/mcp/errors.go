package mcp

import (
	"github.com/toolhost/toolhost/pack/bridge"
)

func (m *mcp) quote(name string) string { return bridge.Quote(m.host.Scrub, name) }

func (m *mcp) quoteAll(names []string) string { return bridge.QuoteAll(m.host.Scrub, names) }

func (m *mcp) unknownNamespace(name string) error {
	if len(m.servers) == 0 {
		return bridge.Message("unknown namespace %s; no MCP server is configured", m.quote(name))
	}
	names := make([]string, len(m.servers))
	for i, s := range m.servers {
		names[i] = s.name
	}
	names, _ = bridge.Nearest(name, names)
	return bridge.Message("unknown namespace %s; known: %s", m.quote(name), m.quoteAll(names))
}

func (m *mcp) unknownTool(s *server, c *catalog, name string) error {
	names, alike := bridge.Nearest(name, c.tools)
	hint := "it has none;"
	switch {
	case alike > 0:
		hint = "did you mean " + m.quoteAll(names[:min(alike, 3)]) + "?"
	case len(names) > 0:
		hint = "it has " + m.quoteAll(names) + ";"
	}
	e := bridge.Message("unknown tool %s in namespace %s; %s call %s with that namespace to see its tools",
		m.quote(name), s.say.Quoted(), hint, getTool)
	e.Server = s.name
	return e
}

// notReady is the answer to what needs a server that is ready.
func (m *mcp) notReady(s *server, st *state) error {
	e := bridge.Message("the server of namespace %s is loading; try again in a few seconds", s.say.Quoted())
	switch {
	case s.entry == nil:
		e = bridge.Message("the server of namespace %s is in error: %s; its entry in the configuration must be corrected", s.say.Quoted(), st.reason)
	case st.status == statusError:
		e = bridge.Message("the server of namespace %s is in error: %s; it is tried again in the background", s.say.Quoted(), st.reason)
	}
	e.Server, e.Retryable = s.name, s.entry != nil
	return e
}
