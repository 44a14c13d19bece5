package oauth

import (
	"slices"
	"strings"
)

// offlineAccess is the scope of refresh tokens, where an authorization server lists it
// (2026-07-28 basic/authorization, "Refresh Tokens").
const offlineAccess = "offline_access"

// splitScopes reads the text form of a set of scopes (RFC 6749 section 3.3).
func splitScopes(text string) []string {
	var list []string
	for _, scope := range strings.Fields(text) {
		if isScope(scope) && !slices.Contains(list, scope) {
			list = append(list, scope)
		}
	}
	return list
}

// isScope reports whether s is a scope-token.
func isScope(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}

// union returns the scopes of all sets, in the order in which they come first.
func union(sets ...[]string) []string {
	var all []string
	for _, set := range sets {
		for _, scope := range set {
			if !slices.Contains(all, scope) {
				all = append(all, scope)
			}
		}
	}
	return all
}

// within reports whether set holds every scope of part.
func within(part, set []string) bool {
	return !slices.ContainsFunc(part, func(scope string) bool { return !slices.Contains(set, scope) })
}

// choose returns the scopes to ask for, none for the authorization server's own
// choice (2026-07-28 basic/authorization, "Scope Selection Strategy"). challenged are
// those that the server wants now, which count in any case; before are those that were
// asked for already, which a new token must not lose.
func choose(challenged, configured, before []string, resource *resourceMetadata, as *serverMetadata) []string {
	first := configured
	if len(first) == 0 && len(challenged) == 0 {
		first = resource.scopes
	}
	scopes := union(before, first, challenged)
	// Alone it would take the place of what the server grants by default.
	if len(scopes) > 0 && slices.Contains(as.scopes, offlineAccess) {
		scopes = union(scopes, []string{offlineAccess})
	}
	return scopes
}
