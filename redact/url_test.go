package redact

import (
	"slices"
	"strings"
	"testing"
)

func TestURL(t *testing.T) {
	for _, test := range []struct{ raw, want string }{
		{"https://example.com", "https://example.com"},
		{"HTTPS://Example.com:8443/mcp/", "https://Example.com:8443/mcp/"},
		{"https://user:SECRET@example.com/mcp?token=SECRET#SECRET", "https://example.com/mcp"},
		{"https://SECRET@example.com", "https://example.com"},
		{"https://example.com?SECRET", "https://example.com"},
		{"http://[::1]:8080/a@b", "http://[::1]:8080/a@b"},
		{"https://example.com/@scope/name", "https://example.com/@scope/name"},
		{"https://example.com:443/@scope/name", "https://example.com:443/@scope/name"},
		{"https://example.com/a%20b/é", "https://example.com/a%20b/%C3%A9"},
		{"https://example.com/key/4f9c2a774f9c2a774f9c2a77/mcp", "https://example.com/key/[redacted]/mcp"},
		{"https://example.com/550e8400-e29b-41d4-a716-446655440000", "https://example.com/[redacted]"},
		{"https://example.com/%34f9c2a774f9c2a774f9c2a77/x", "https://example.com/[redacted]/x"},
		{"https://example.com/2026-07-28/basic/streamable-http-transport", "https://example.com/2026-07-28/basic/streamable-http-transport"},
		// What a parser's own error would quote:
		{"https://user:SECRET@exa mple.com", "an invalid URL"}, {"https://user:SEC%zzRET@example.com", "an invalid URL"},
		{"://SECRET", "an invalid URL"}, {"SECRET", "an invalid URL"}, {"", "an invalid URL"}, {"/path/SECRET", "an invalid URL"},
		{"mailto:SECRET@example.com", "an invalid URL"}, {"https:///SECRET", "an invalid URL"}, {"https://a\nb/", "an invalid URL"},
		// A password that should have been escaped:
		{"https://user:12/SECRET@example.com/", "an invalid URL"}, {"https://user:12#SECRET@example.com/", "an invalid URL"},
		{"https://user:12?SECRET@example.com/", "an invalid URL"}, {"https://user:SE#CRET@example.com/", "an invalid URL"},
		{"https://exam\u202eple.com/", `https://exam\u{202e}ple.com/`},
	} {
		if got := URL(test.raw); got != test.want {
			t.Errorf("%q: got %q, want %q", test.raw, got, test.want)
		}
	}
}

func TestURLSecrets(t *testing.T) {
	for _, test := range []struct {
		raw  string
		want []string
	}{
		{"https://example.com/mcp", nil},
		{"https://u%40x:p%2Fw@example.com/", []string{"u%40x", "u@x", "p%2Fw", "p/w", "u%40x:p%2Fw", "u@x:p/w"}},
		{"https://TOKEN@example.com/", []string{"TOKEN"}},
		{"https://u:a@b@example.com/", []string{"u", "a@b", "u:a@b"}},
		{"https://example.com/?a=SECRET+%C3%A9&b=abc&c=abcd;d=&e", []string{"SECRET+%C3%A9", "SECRET é", "abcd"}},
		{"https://example.com/?a=b=SECRET&debug", []string{"b=SECRET"}},
		{"https://example.com/?4f9c2a774f9c2a774f9c2a77", []string{"4f9c2a774f9c2a774f9c2a77"}},
		{"https://example.com/a#access_token=SECRET&x=y", []string{"access_token=SECRET&x=y", "SECRET"}},
		{"https://example.com/v1/4f9c2a774f9c2a774f9c2a7%37/mcp", []string{"4f9c2a774f9c2a774f9c2a7%37", "4f9c2a774f9c2a774f9c2a77"}},
		{"https://[::1]:8080/a@b?k=SECRET", []string{"SECRET"}},
		// No parser takes these.
		{"https://u:p%zzw@exa mple.com/?k=SEC%zz", []string{"u", "p%zzw", "u:p%zzw", "SEC%zz"}},
		{"u:SECRET@host?key=value", []string{"u", "SECRET", "u:SECRET", "value"}},
		{"https://u:12/SE#CR?ET@host/x", []string{"12/SE#CR?ET", "u:12/SE#CR?ET", "CR?ET@host/x"}},
		{"", nil}, {"@", nil}, {"://", nil}, {":@", nil}, {"?#", nil},
	} {
		if got := URLSecrets(test.raw); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.raw, got, test.want)
		}
	}
}

func TestLooksLikeToken(t *testing.T) {
	for _, token := range []string{
		"4f9c2a774f9c2a774f9c2a77", "550e8400-e29b-41d4-a716-446655440000", "AbCdEfGhIjKlMnOpQrStUvWx",
		"qwlkjxhzpovnmtyrwgbisdfu", "xoxb-1234567890123-abcdefGHIJKL", "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
		"12345678901234567890123", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "dGhpcyBpcyBzZWNyZXQ+/w==",
	} {
		if !looksLikeToken(token) {
			t.Errorf("%s is no token", token)
		}
	}
	for _, name := range []string{
		"", "short", "4f9c2a774f9c2a774f9", "my-long-descriptive-path-segment", "getDynamicToolsForNamespace", "correct-horse-battery-staple",
		"2026-07-28-streamable-http-transport", "internationalization", "model_context_protocol_server_v2", "release-1.27.1-rc.2-linux-amd64",
		"MODEL_CONTEXT_PROTOCOL", "文書管理システムの長い名前", "SomeVeryLongServiceName",
	} {
		if looksLikeToken(name) {
			t.Errorf("%s is a token", name)
		}
	}
}

// FuzzURL: whatever the text, no query and no fragment is shown, and no userinfo
// in front of it; and the password there is found when nothing can be taken for
// a part of it.
func FuzzURL(f *testing.F) {
	for _, raw := range []string{"https://u:p@h:1/a/b?c=d#e", "https://u:12/34@h", "http://[::1]/x", "%zz", "a:b@c"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		URLSecrets(raw)
		shown := URL(raw)
		if strings.ContainsAny(shown, "?#\n") {
			t.Fatalf("%q is shown as %q", raw, shown)
		}
		// A userinfo that a caller escaped as it should be never shows.
		with := "https://CANARYuser:CANARYpass@" + raw
		if shown := URL(with); strings.Contains(shown, "CANARY") && !strings.Contains(raw, "CANARY") {
			t.Fatalf("%q is shown as %q", with, shown)
		}
		secrets := URLSecrets(with)
		if !strings.ContainsAny(raw, "@:") && !slices.Contains(secrets, "CANARYpass") {
			t.Fatalf("%q: %q", with, secrets)
		}
	})
}
