package mcpclient

import (
	"regexp"
	"slices"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// Other clients read members and placeholders that we do not. They change
// nothing here; what their writer may rely on is warned of, since an entry that
// is silently taken for another one is worse than one that is refused.

// foreignMembers maps a member to what is said when it is set.
var foreignMembers = []struct {
	keys []string
	says string
}{
	{[]string{"disabled"}, "has no effect: the server is used; take the entry out to switch it off"},
	{[]string{"disabledTools", "excludeTools", "blockedTools", "disabled_tools", "includeTools", "allowedTools", "enabled_tools"},
		"has no effect: every tool of the server is listed and can be called"},
	{[]string{"oauth", "auth", "authProviderType"}, "has no effect: signing in is not supported here; write the credential into headers"},
	{[]string{"headersHelper", "requestHeadersCommand", "http_headers", "env_http_headers", "bearer_token_env_var", "bearerToken", "bearerTokenEnv"},
		"has no effect: only headers sets headers"},
	{[]string{"envFile"}, "has no effect: only variables of this process are read"},
	{[]string{"timeout", "timeoutMs", "requestTimeoutMs", "request_timeout_ms", "startup_timeout_sec", "tool_timeout_sec"},
		"has no effect: times are set by limits for all servers"},
}

// foreignFields warns of members that other clients act on, and of slips.
func (p *entryParser) foreignFields() {
	for _, m := range p.object {
		name := m.Name()
		for _, row := range foreignMembers {
			if slices.Contains(row.keys, name) && !off(m.Value) && !slices.Contains(p.rules.Reads, name) {
				p.warn("%s %s", name, row.says)
			}
		}
		if name == "enabled" && rawjson.KindOf(m.Value) == rawjson.Bool && off(m.Value) {
			p.warn("enabled %s", foreignMembers[0].says)
		}
		if meant := p.meant(name); meant != "" {
			p.warn("%s has no effect; did you mean %s?", shownKey(name), meant)
		}
	}
}

// off reports whether a value says no more than an absent one.
func off(value []byte) bool {
	switch string(value) {
	case "null", "false", "[]", "{}", `""`:
		return true
	}
	return false
}

// Placeholders of other clients, which stay as they are written. In a header
// they would be sent as a credential.
var (
	placeholdersInURL = []*regexp.Regexp{
		regexp.MustCompile(`\$\{`), // any form that is not ours
		regexp.MustCompile(`\$env:`),
		regexp.MustCompile(`\{(env|file):`),
	}
	placeholdersInHeaders = append(placeholdersInURL[:3:3],
		regexp.MustCompile(`\$[A-Za-z_]`),
		regexp.MustCompile(`%[A-Za-z_][A-Za-z0-9_]*%`),
	)
)

// ours matches the placeholders that are replaced.
var ours = regexp.MustCompile(`\$\{(userHome|env:[A-Za-z0-9_.()-]{1,256})\}`)

// warnPlaceholders warns when a value, as it is written, holds a placeholder
// that is not replaced.
func (p *entryParser) warnPlaceholders(key, written string, forms []*regexp.Regexp) {
	rest := ours.ReplaceAllString(written, "")
	for _, form := range forms {
		if form.MatchString(rest) {
			p.warn("%s holds a placeholder that is not replaced and is sent as it is written; ${env:NAME} and ${userHome} are the ones that are", key)
			return
		}
	}
}
