package cli

import (
	"context"
	"os"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
)

// entryWarnings returns what is odd about each entry that can be used, by name.
// It judges them as the pack does, whose own warnings go to the log.
func (a *app) entryWarnings(config []byte, limits limit.Table) map[string][]string {
	entries, err := mcpclient.SplitServers(config, limits)
	if err != nil {
		return nil // construct says it
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // ${userHome} then refuses its entry
	}
	rules := mcpclient.EntryRules{
		Limits: limits,
		Vars:   mcpclient.Vars{Env: os.LookupEnv, Home: home},
		Scrub:  a.scrub,
	}
	warnings := map[string][]string{}
	for _, e := range entries {
		if e.Refused != nil {
			continue
		}
		if entry, err := mcpclient.ParseEntry(e.Name, e.Raw, rules); err == nil {
			warnings[e.Name] = entry.Warnings
		}
	}
	// Only now is every secret of the configuration known.
	for _, list := range warnings {
		for i, text := range list {
			list[i] = a.scrub.Text(text)
		}
	}
	return warnings
}

// addNotes adds why the list of tools of a server that is ready is not whole.
func (l *local) addNotes(ctx context.Context, warnings map[string][]string) error {
	result, err := l.invoke(ctx, getDynamicTools, []byte(`{}`))
	if err != nil {
		return err
	}
	document := rawjson.Members([]byte(rawjson.Text(result.Content)))
	for _, raw := range rawjson.Elements(document.Get("namespaces")) {
		server := rawjson.Members(raw)
		if note := rawjson.Text(server.Get("note")); note != "" {
			name := rawjson.Text(server.Get("namespace"))
			warnings[name] = append(warnings[name], note)
		}
	}
	return nil
}
