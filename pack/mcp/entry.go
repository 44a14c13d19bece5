package mcp

import (
	"errors"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
)

// noObject is the seed's sentence for the one configuration that leaves the pack
// unavailable.
const noObject = "the MCP configuration must be a JSON object of servers by name, as the " +
	"`mcpServers` object of an mcp.json file is"

// split returns the configuration's entries in name order, or the error that
// leaves the pack unavailable. Null is no entries.
func split(config pack.Raw, table limit.Table) ([]mcpclient.NamedEntry, error) {
	entries, err := mcpclient.SplitServers(config, table)
	switch {
	case errors.Is(err, rawjson.ErrNotObject):
		return nil, pack.Errorf(pack.KindUnavailable, noObject)
	case err != nil:
		return nil, pack.Errorf(pack.KindUnavailable, "the MCP configuration: %w", err)
	}
	slices.SortFunc(entries, func(a, b mcpclient.NamedEntry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// readEntries judges each entry on its own. One that is refused becomes a server
// that says why, and is logged once.
func readEntries(entries []mcpclient.NamedEntry, host *pack.Host, opts *Options) []*server {
	rules := mcpclient.EntryRules{
		Limits: host.Limits,
		Vars:   bridge.Vars(opts.Env, opts.Home),
		Scrub:  host.Scrub,
	}
	// Every secret of the configuration is known before a word is said.
	parsed := make([]*mcpclient.Entry, len(entries))
	refusals := make([]error, len(entries))
	for i, e := range entries {
		if refusals[i] = e.Refused; e.Refused == nil {
			parsed[i], refusals[i] = mcpclient.ParseEntry(e.Name, e.Raw, rules)
		}
	}
	servers := make([]*server, len(entries))
	for i, e := range entries {
		log := bridge.NewServer(e.Name, host).Logger()
		if refusals[i] != nil {
			reason := host.Scrub.Reason(refusals[i].Error(), bridge.ShownReason)
			log.Warn("the MCP server's entry was refused", "reason", reason)
			servers[i] = refused(e.Name, reason, host)
			continue
		}
		for _, warning := range parsed[i].Warnings {
			log.Warn("the MCP server's entry was taken with a warning", "warning", warning)
		}
		servers[i] = loading(parsed[i], host)
	}
	return servers
}
