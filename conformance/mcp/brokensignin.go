package main

import "slices"

// The scenarios of signing in by a browser, by how they end.
var (
	signsIn = []string{
		"auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3", "auth/basic-cimd",
		"auth/scope-from-www-authenticate", "auth/scope-from-scopes-supported", "auth/scope-omitted-when-undefined",
		"auth/scope-step-up", "auth/scope-retry-limit",
		"auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-post", "auth/token-endpoint-auth-none",
		"auth/pre-registration", "auth/2025-03-26-oauth-metadata-backcompat",
		"auth/offline-access-scope", "auth/offline-access-not-supported", "auth/authorization-server-migration",
		"auth/iss-supported", "auth/iss-not-advertised",
	}
	signsInBlindly = []string{"auth/2025-03-26-oauth-endpoint-fallback"} // without metadata there is no check of PKCE
	comesBackWrong = []string{"auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized"}
)

// brokenSignIn are the breakages of package oauth. They are tried on the scenarios of
// signing in alone, as the others are on all but these: neither can break the other's,
// and every build costs a run of each scenario.
var brokenSignIn = []breakage{
	{
		rule: "the verifier of PKCE is not sent",
		file: "oauth/signin.go",
		old:  "\t\t\"code_verifier\": {v.verifier},\n",
		new:  "",
		red:  signsIn,
	},
	{
		rule: "no state is sent",
		file: "oauth/flow.go",
		old:  "config.AuthCodeURL(v.state,",
		new:  "config.AuthCodeURL(v.state[:0],",
		red:  slices.Concat(signsIn, signsInBlindly, comesBackWrong),
	},
	{
		rule: "the issuer of an answer is not compared",
		file: "oauth/flow.go",
		old:  "case len(iss) > 1, len(iss) == 1 && iss[0] != as.issuer:",
		new:  "case len(iss) > 1:",
		red:  []string{"auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized"},
	},
	{
		rule: "the issuer of an answer is compared only where the server says that there is one",
		file: "oauth/flow.go",
		old:  "case len(iss) > 1, len(iss) == 1 && iss[0] != as.issuer:",
		new:  "case len(iss) > 1, len(iss) == 1 && iss[0] != as.issuer && as.iss:",
		red:  []string{"auth/iss-unexpected"},
	},
	{
		rule: "issuers are made alike before they are compared",
		file: "oauth/flow.go",
		old:  "len(iss) == 1 && iss[0] != as.issuer:",
		new:  "len(iss) == 1 && strings.TrimSuffix(iss[0], \"/\") != as.issuer:",
		red:  []string{"auth/iss-normalized"},
	},
	{
		rule: "an answer without the issuer that it should name is taken",
		file: "oauth/flow.go",
		old:  "case len(iss) == 0 && as.iss:",
		new:  "case len(iss) == 0 && as.iss && as.issuer == \"\":",
		red:  []string{"auth/iss-supported-missing"},
	},
	{
		rule: "metadata of another issuer is taken",
		file: "oauth/server.go",
		old:  "if rawjson.Text(object.Get(\"issuer\")) != issuer {",
		new:  "if rawjson.Text(object.Get(\"issuer\")) == \"\" {",
		red:  []string{"auth/metadata-issuer-mismatch"},
	},
	{
		rule: "metadata of another resource is taken",
		file: "oauth/resource.go",
		old:  "if !covers(m.resource, c.server) {",
		new:  "if m.resource == \"\" {",
		red:  []string{"auth/resource-mismatch"},
	},
	{
		rule: "resource is the server's url, whatever is published",
		file: "oauth/signin.go",
		old:  "Resource: resource.resource, TokenEndpoint",
		new:  "Resource: canonical(c.server), TokenEndpoint",
		red:  []string{"auth/metadata-var2"},
	},
	{
		rule: "resource is left out of token requests",
		file: "oauth/token.go",
		old:  "form.Set(\"resource\", g.Resource)",
		new:  "",
		red: []string{
			"auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3",
			"auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-post", "auth/token-endpoint-auth-none",
		},
	},
	{
		rule: "the scopes of a challenge are ignored",
		file: "oauth/scope.go",
		old:  "scopes := union(before, first, challenged)",
		new:  "scopes := union(before, first)",
		red:  []string{"auth/scope-from-www-authenticate", "auth/scope-step-up", "auth/scope-retry-limit"},
	},
	{
		rule: "the scopes that the server publishes are ignored",
		file: "oauth/scope.go",
		old:  "first = resource.scopes",
		new:  "first = nil",
		red:  []string{"auth/scope-from-scopes-supported"},
	},
	{
		rule: "a new sign-in loses the scopes of the one before",
		file: "oauth/scope.go",
		old:  "scopes := union(before, first, challenged)",
		new:  "scopes := union(first, challenged)",
		red:  []string{"auth/scope-step-up 2026-07-28"},
	},
	{
		rule: "offline_access is asked for where it is not offered",
		file: "oauth/scope.go",
		old:  "if len(scopes) > 0 && slices.Contains(as.scopes, offlineAccess) {",
		new:  "if len(scopes) > 0 || slices.Contains(as.scopes, offlineAccess) {",
		red:  []string{"auth/offline-access-not-supported"},
	},
	{
		rule: "clients are not kept apart by issuer",
		file: "oauth/register.go",
		old:  "if earlier, ok := known[as.issuer]; ok && c.opts.ClientID",
		new:  "var earlier Registration\n\tfor _, earlier = range known {\n\t}\n\tif c.opts.ClientID",
		red:  []string{"auth/authorization-server-migration"},
	},
	{
		rule: "a secret that belongs into the form is left out",
		file: "oauth/token.go",
		old:  "if g.Client.Method == methodPost {",
		new:  "if g.Client.Method == \"\" {",
		red:  []string{"auth/token-endpoint-auth-post"},
	},
	{
		rule: "a client that is registered already is registered again",
		file: "oauth/register.go",
		old:  "case c.opts.ClientID != \"\":",
		new:  "case c.opts.ClientID != \"\" && as.register != \"\":",
		red:  []string{"auth/pre-registration"},
	},
	{
		rule: "no client id document is used",
		file: "oauth/register.go",
		old:  "return c.opts.MetadataURL != \"\" && as.documents",
		new:  "return false",
		red:  []string{"auth/basic-cimd"},
	},
	{
		rule: "there is no sign-in without metadata",
		file: "oauth/server.go",
		old:  "if assumed {\n\t\treturn &serverMetadata{",
		new:  "if assumed && issuer == \"\" {\n\t\treturn &serverMetadata{",
		red:  signsInBlindly,
	},
}
