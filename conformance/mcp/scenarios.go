package main

import (
	"slices"
	"strings"
)

// The revisions that scenarios run at.
const (
	rev2503 = "2025-03-26"
	rev2506 = "2025-06-18"
	rev2511 = "2025-11-25"
	rev2607 = "2026-07-28"
)

// A need is a check that must have succeeded.
type need struct {
	id   string
	name string // "" for any check of that id
	n    int    // how many checks of that id, at least
}

// A scenario is one of the suite's, with what a run of it must show.
type scenario struct {
	name  string
	eras  []string
	needs []need
	newer []need // what it must show besides at 2026-07-28

	// skills marks the scenarios about an extension that toolhost does not have.
	// The suite skips all of their checks then.
	skills bool

	// extension marks those that the suite lists without revisions. The ones about
	// sign-in belong to both requirement sets, the ones about skills to none.
	extension bool
}

// A row is a scenario at one revision.
type row struct {
	*scenario
	era string
}

// need returns all that the row must show.
func (r row) need() []need {
	if r.era == rev2607 {
		return slices.Concat(r.needs, r.newer)
	}
	return r.needs
}

// inSet reports whether the requirement set of that revision runs the row, scored
// or not.
func (r row) inSet(set string) bool { return r.era == set && !r.skills }

func (r row) String() string { return r.name + " " + r.era }

// rows returns every scenario at every revision that it exists for.
func rows() []row {
	var all []row
	for i := range scenarios {
		for _, era := range scenarios[i].eras {
			all = append(all, row{&scenarios[i], era})
		}
	}
	return all
}

// ids returns needs for one check each.
func ids(list ...string) []need {
	needs := make([]need, len(list))
	for i, id := range list {
		needs[i] = need{id: id, n: 1}
	}
	return needs
}

// The checks of a sign-in by a browser, which come up wherever it is finished.
var (
	authorized = []string{
		"authorization-request", "pkce-code-challenge-sent", "pkce-s256-method-used",
		"token-request", "pkce-code-verifier-sent", "pkce-verifier-matches-challenge",
	}
	discovered = []string{"prm-pathbased-requested", "authorization-server-metadata"}
	registered = []string{"client-registration"}
	resource   = []string{
		"resource-parameter-in-authorization", "resource-parameter-in-token", "resource-parameter-valid-uri",
		"resource-parameter-consistency", "resource-parameter-matches-prm",
	}
	applicationType = ids("sep-837-application-type-present")
	used            = []string{"valid-bearer-token"}
)

// signIn returns the needs of a sign-in with registration, and those of its scenario.
func signIn(more ...string) []need {
	return ids(slices.Concat(discovered, registered, authorized, used, more)...)
}

// refusal returns the needs of a sign-in that must stop once the browser is back.
func refusal(id string) []need {
	return ids(slices.Concat(discovered, registered, []string{"authorization-request", id})...)
}

// tokenEndpoint are the needs of the scenarios about how a client authenticates there.
var tokenEndpoint = signIn(slices.Concat(resource, []string{"token-endpoint-auth-method"})...)

var (
	both   = []string{rev2511, rev2607}
	newest = []string{rev2607}
)

// scenarios are all of the suite's for clients. What they need was read from the
// suite's source and holds for the reports of a client that passes them.
var scenarios = []scenario{
	{name: "initialize", eras: []string{rev2506, rev2511}, needs: ids("mcp-client-initialization")},
	{name: "tools_call", eras: []string{rev2506, rev2511, rev2607}, needs: ids("tool-add-numbers", "wire-schema-valid")},
	{name: "elicitation-sep1034-client-defaults", eras: []string{rev2511}, needs: ids(
		"client-elicitation-sep1034-string-default", "client-elicitation-sep1034-integer-default",
		"client-elicitation-sep1034-number-default", "client-elicitation-sep1034-enum-default",
		"client-elicitation-sep1034-boolean-default")},
	{name: "sse-retry", eras: []string{rev2511}, needs: ids(
		"client-sse-graceful-reconnect", "client-sse-retry-timing", "client-sse-last-event-id")},
	{name: "request-metadata", eras: newest, needs: ids(
		"sep-2575-http-client-sends-version-header", "sep-2575-client-populates-meta",
		"sep-2575-client-sends-client-info", "sep-2575-http-version-header-matches-meta",
		"sep-2575-client-retry-supported-version")},
	{name: "sep-2322-client-request-state", eras: newest, needs: ids(
		"sep-2322-client-request-state-echoed", "sep-2322-client-jsonrpc-id-different",
		"sep-2322-client-no-state-omitted", "sep-2322-client-parallel-isolation",
		"sep-2322-default-result-type-complete")},
	{name: "http-standard-headers", eras: newest, needs: []need{
		// The methods that a client of tools uses; it may leave the others out.
		{"sep-2243-client-includes-standard-headers", "ClientMcpMethodHeader_tools_list", 1},
		{"sep-2243-client-includes-standard-headers", "ClientMcpMethodHeader_tools_call", 1},
		{"sep-2243-client-includes-standard-headers", "ClientMcpNameHeader_tools_call", 1}}},
	{name: "http-custom-headers", eras: newest, needs: []need{
		{"sep-2243-client-supports-custom-headers", "", 1},
		{"sep-2243-client-mirrors-designated-params", "", 6},
		{"sep-2243-client-encode-values", "", 3},
		{"sep-2243-client-base64-unsafe", "", 7},
		{"sep-2243-client-omit-null", "", 1}}},
	{name: "http-invalid-tool-headers", eras: newest, needs: []need{
		{"sep-2243-client-reject-invalid-tool", "ClientKeepsValidTool", 1},
		{"sep-2243-x-mcp-header-not-empty", "", 1},
		{"sep-2243-x-mcp-header-primitive-only", "", 4},
		{"sep-2243-x-mcp-header-unique", "", 2},
		{"sep-2243-x-mcp-header-charset", "", 4}}},
	{name: "json-schema-ref-no-deref", eras: newest, needs: ids("sep-2106-no-network-ref-deref")},
	{name: "json-schema-2020-12-preservation", eras: both, needs: ids(
		"json-schema-2020-12-client-tool-found", "json-schema-2020-12-client-echo-completed",
		"json-schema-2020-12-client-$schema-preserved", "json-schema-2020-12-client-$defs-preserved",
		"json-schema-2020-12-client-additionalProperties-preserved",
		"sep-2106-client-composition-keywords-preserved", "sep-2106-client-conditional-keywords-preserved",
		"sep-2106-client-anchor-keyword-preserved", "wire-schema-valid")},

	{name: "sep-2640-client-no-prefetch", eras: newest, skills: true, extension: true},
	{name: "sep-2640-client-verify-digest", eras: newest, skills: true, extension: true},
	{name: "sep-2640-client-verify-size", eras: newest, skills: true, extension: true},
	{name: "sep-2640-client-verify-frontmatter", eras: newest, skills: true, extension: true},

	{name: "auth/metadata-default", eras: both, needs: signIn(resource...), newer: applicationType},
	{name: "auth/metadata-var1", eras: both, needs: signIn(resource...), newer: applicationType},
	{name: "auth/metadata-var2", eras: both, needs: signIn(resource...), newer: applicationType},
	{name: "auth/metadata-var3", eras: both, needs: signIn(resource...), newer: applicationType},
	{name: "auth/basic-cimd", eras: both, needs: ids(slices.Concat(discovered, authorized, used, []string{"cimd-client-id-used"})...)},
	{name: "auth/scope-from-www-authenticate", eras: both, needs: signIn("scope-from-www-authenticate"), newer: applicationType},
	{name: "auth/scope-from-scopes-supported", eras: both, needs: signIn("scope-from-scopes-supported"), newer: applicationType},
	{name: "auth/scope-omitted-when-undefined", eras: both, needs: signIn("scope-omitted-when-undefined"), newer: applicationType},
	{name: "auth/scope-step-up", eras: both, needs: signIn("scope-step-up-initial", "scope-step-up-escalation"),
		newer: ids("sep-837-application-type-present", "sep-2350-scope-union-on-reauth")},
	{name: "auth/scope-retry-limit", eras: both, // no token is ever good for anything
		needs: ids(slices.Concat(discovered, registered, authorized, []string{"scope-retry-limit"})...), newer: applicationType},
	{name: "auth/token-endpoint-auth-basic", eras: []string{rev2506, rev2511, rev2607},
		needs: tokenEndpoint, newer: applicationType},
	{name: "auth/token-endpoint-auth-post", eras: []string{rev2506, rev2511, rev2607},
		needs: tokenEndpoint, newer: applicationType},
	{name: "auth/token-endpoint-auth-none", eras: []string{rev2506, rev2511, rev2607},
		needs: tokenEndpoint, newer: applicationType},
	{name: "auth/pre-registration", eras: both, needs: ids(slices.Concat(discovered, authorized, used, []string{"pre-registration-auth"})...)},
	{name: "auth/2025-03-26-oauth-metadata-backcompat", eras: []string{rev2503},
		needs: ids(slices.Concat([]string{"authorization-server-metadata"}, registered, authorized, used)...)},
	{name: "auth/2025-03-26-oauth-endpoint-fallback", eras: []string{rev2503}, // the checks of PKCE need metadata
		needs: ids("client-registration", "authorization-request", "token-request", "valid-bearer-token")},
	{name: "auth/resource-mismatch", eras: newest, needs: ids("prm-pathbased-requested", "resource-mismatch-rejected")},
	{name: "auth/offline-access-scope", eras: newest, needs: ids(slices.Concat(discovered, authorized, used)...)},
	{name: "auth/offline-access-not-supported", eras: newest, needs: signIn("sep-2207-offline-access-not-requested", "sep-837-application-type-present")},
	{name: "auth/authorization-server-migration", eras: newest, needs: signIn("sep-837-application-type-present",
		"sep-2352-reregister-on-as-change", "sep-2352-no-reuse-on-as-change", "sep-2352-no-cross-as-credential-reuse")},
	{name: "auth/iss-supported", eras: newest, needs: signIn("sep-837-application-type-present", "sep-2468-client-compare-iss-supported")},
	{name: "auth/iss-not-advertised", eras: newest, needs: signIn("sep-837-application-type-present", "sep-2468-client-proceed-no-iss")},
	{name: "auth/iss-supported-missing", eras: newest, needs: refusal("sep-2468-client-reject-missing-iss")},
	{name: "auth/iss-wrong-issuer", eras: newest, needs: refusal("sep-2468-client-compare-iss-supported")},
	{name: "auth/iss-unexpected", eras: newest, needs: refusal("sep-2468-client-compare-iss-unadvertised")},
	{name: "auth/iss-normalized", eras: newest, needs: refusal("sep-2468-client-no-normalization")},
	{name: "auth/metadata-issuer-mismatch", eras: newest, needs: ids("prm-pathbased-requested", "authorization-server-metadata", "sep-2468-client-validate-metadata-issuer")},
	{name: "auth/client-credentials-jwt", eras: both, needs: ids("client-credentials-jwt-verified"), extension: true},
	{name: "auth/client-credentials-basic", eras: both, needs: ids("client-credentials-basic-auth"), extension: true},
	{name: "auth/enterprise-managed-authorization", eras: both, needs: ids("complete-flow-token-exchange", "complete-flow-jwt-bearer"), extension: true},
	{name: "auth/dpop", eras: both, extension: true, needs: ids("sep-1932-client-token-request-proof",
		"sep-1932-client-dpop-auth-scheme", "sep-1932-client-fresh-proof")},
	{name: "auth/dpop-nonce", eras: both, extension: true, needs: ids("sep-1932-client-token-request-proof",
		"sep-1932-client-dpop-auth-scheme", "sep-1932-client-fresh-proof", "sep-1932-client-as-nonce", "sep-1932-client-rs-nonce")},
	{name: "auth/wif-jwt-bearer", eras: both, needs: ids("wif-assertion-verified"), extension: true},
}

// signIn reports whether the scenario is one of signing in.
func (s *scenario) signIn() bool { return strings.HasPrefix(s.name, "auth/") }

// listing is the scenario as the suite lists it: its name, and the revisions in
// brackets.
func (s *scenario) listing() string {
	if s.extension {
		return s.name + " [extension]"
	}
	return s.name + " [" + strings.Join(s.eras, ",") + "]"
}
