package oauth

import (
	"net/url"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/redact"
)

// TestT50_URLs: what a document may name, and what never reaches a browser or a shell.
func TestT50_URLs(t *testing.T) {
	const (
		both  = "both"  // for any server
		local = "local" // only for a server on this machine
		never = "never"
	)
	for raw, may := range map[string]string{
		"https://as.test":                                both,
		"https://as.test:8443/a/b?x=y&z":                 both,
		"https://xn--bcher-kva.test/":                    both,
		"https://10.0.0.5/authorize":                     both,
		"https://127.0.0.1.evil.test/":                   both, // a name, whatever it looks like
		"http://127.0.0.1:1/a":                           local,
		"http://[::1]:1/a":                               local,
		"http://localhost/a":                             local,
		"http://LOCALHOST/a":                             local,
		"http://[::ffff:127.0.0.1]/a":                    local,
		"https://127.0.0.1/a":                            local,
		"http://127.255.0.3/":                            local,
		"http://as.test":                                 never,
		"http://10.0.0.5/":                               never,
		"http://localhost.evil.test/":                    never,
		"http://127.0.0.1.evil.test/":                    never,
		"http://0x7f000001/":                             never,
		"http://2130706433/":                             never,
		"http://127.1/":                                  never,
		"https://169.254.169.254/latest/":                never,
		"https://[fe80::1]/":                             never,
		"https://[::ffff:169.254.169.254]/":              never,
		"https://user@as.test/":                          never,
		"https://user:password@as.test/":                 never,
		"https://as.test/#fragment":                      never,
		"https://as.test/#":                              never,
		"file:///etc/passwd":                             never,
		"vscode://as.test/":                              never,
		"javascript:alert(1)":                            never,
		"javascript://as.test/%0aalert(1)":               never,
		"data:text/html,x":                               never,
		"https:as.test":                                  never,
		"https:///path":                                  never,
		"https://:443/":                                  never,
		"//as.test/":                                     never,
		"as.test":                                        never,
		"--flag":                                         never,
		"":                                               never,
		"https://as.test/ x":                             never,
		"https://as.test/\nx":                            never,
		"https://as.test/\tx":                            never,
		"https://as.test/\x00":                           never,
		"https://as.test/`id`":                           never,
		"https://as.test/$(id)":                          both, // no shell is ever near it
		"https://as.test/'x":                             never,
		"https://as.test/\"x":                            never,
		"https://as.test/<x>":                            never,
		"https://as.test/|x":                             never,
		"https://as.test\\@evil.test/":                   never,
		"https://as.test/größe":                          never,
		"https://as.test/%zz":                            never,
		"https://as.test:port/":                          never,
		"https://as.test/" + strings.Repeat("x", maxURL): never,
	} {
		_, err := checkURL(raw, true)
		if got, want := err == nil, may == both || may == local; got != want {
			t.Errorf("%.80q from a server on this machine: %v, want %v", raw, err, want)
		}
		_, err = checkURL(raw, false)
		if got, want := err == nil, may == both; got != want {
			t.Errorf("%.80q from a public server: %v, want %v", raw, err, want)
		}
		if err != nil && len(raw) > 6 && strings.Contains(err.Error(), raw) {
			t.Errorf("the error quotes the URL: %v", err)
		}
	}
}

// TestAUD_05_Resources: a token is only good for the server that was asked (T49).
func TestAUD_05_Resources(t *testing.T) {
	for _, row := range []struct {
		server, resource string
		want             bool
	}{
		{"https://mcp.test/mcp", "https://mcp.test/mcp", true},
		{"https://mcp.test/mcp", "https://mcp.test", true},
		{"https://mcp.test/mcp", "https://mcp.test/", true},
		{"https://mcp.test/a/b", "https://mcp.test/a", true},
		{"https://mcp.test/a/b", "https://mcp.test/a/", true},
		{"https://mcp.test/mcp", "HTTPS://MCP.test:443/mcp", true},
		{"https://mcp.test/mcp?tenant=1", "https://mcp.test/mcp", true},
		{"https://mcp.test", "https://mcp.test/", true},
		{"https://mcp.test/mcp", "https://mcp.test/mcp-evil", false},
		{"https://mcp.test/mcp-evil", "https://mcp.test/mcp", false},
		{"https://mcp.test/mcp", "https://mcp.test/other", false},
		{"https://mcp.test/mcp", "https://mcp.test/mcp/more", false},
		{"https://mcp.test/mcp", "https://mcp.test/MCP", false},
		{"https://mcp.test/mcp", "https://mcp.test:8443/mcp", false},
		{"https://mcp.test/mcp", "http://mcp.test/mcp", false},
		{"https://mcp.test/mcp", "https://evil.test/mcp", false},
		{"https://mcp.test/mcp", "https://mcp.test.evil.test/mcp", false},
		{"https://mcp.test/mcp", "https://mcp.test/mcp#x", false},
		{"https://mcp.test/mcp", "https://mcp.test/mcp?tenant=2", false},
		{"https://mcp.test/mcp", "https://user@mcp.test/mcp", false},
		{"https://mcp.test/mcp", "/mcp", false},
		{"https://mcp.test/mcp", "", false},
	} {
		u, err := url.Parse(row.server)
		if err != nil {
			t.Fatal(err)
		}
		if got := covers(row.resource, u); got != row.want {
			t.Errorf("%q covers %q: %v, want %v", row.resource, row.server, got, row.want)
		}
	}
}

func TestServersThatAreNotSignedInTo(t *testing.T) {
	w := newWorld(t)
	for raw, config := range map[string]Config{
		"http://mcp.test/mcp":          {},
		"http://127.0.0.1.evil.test/":  {},
		"mcp.test":                     {},
		"https://mcp.test/mcp":         {MetadataURL: "https://app.test/"},
		"https://mcp.test/mcp?x=1":     {MetadataURL: "http://app.test/client.json"},
		"https://mcp.test/mcp?x=1&y=2": {MetadataURL: "client.json"},
	} {
		if _, err := New(redact.NewSecret(raw), w.options(config)); err == nil {
			t.Errorf("%s with %+v was taken", raw, config)
		} else if strings.Contains(err.Error(), "mcp.test") {
			t.Errorf("the error quotes the url: %v", err)
		}
	}
	for _, raw := range []string{"http://localhost:1/mcp", "http://[::1]/", "https://10.0.0.1/"} {
		if _, err := New(redact.NewSecret(raw), w.options(Config{})); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// TestCanonicalServer: no secret of a url gets into a resource or the name of a file.
func TestCanonicalServer(t *testing.T) {
	for raw, want := range map[string]string{
		"https://MCP.test/Mcp":                  "https://mcp.test/Mcp",
		"https://mcp.test/":                     "https://mcp.test",
		"https://mcp.test":                      "https://mcp.test",
		"https://mcp.test/mcp/":                 "https://mcp.test/mcp/",
		"https://user:secret@mcp.test/a?key=#x": "https://mcp.test/a",
		"https://mcp.test:8443/a%2Fb":           "https://mcp.test:8443/a%2Fb",
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := canonical(u); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

// FuzzCheckURL: whatever is let through can be asked safely.
func FuzzCheckURL(f *testing.F) {
	for _, seed := range []string{"https://as.test/a?b=c", "http://127.0.0.1:1/", "javascript:x", "https://a@b/", "https://[fe80::1%25x]/"} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, raw string, local bool) {
		u, err := checkURL(raw, local)
		if err != nil {
			return
		}
		again, err := url.Parse(u.String())
		if err != nil || again.Host != u.Host || u.User != nil || u.Fragment != "" {
			t.Errorf("%q was read as %v", raw, u)
		}
		if here := onThisMachine(u.Hostname()); u.Scheme == "http" && !here || here && !local {
			t.Errorf("%q was let through", raw)
		}
	})
}
