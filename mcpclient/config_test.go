package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

var testVars = Vars{
	Home: "/home/me",
	Env: func(name string) (string, bool) {
		value, ok := map[string]string{"A": "value-a", "B": "value-b", "EMPTY": "", "NESTED": "${env:B}", "ProgramFiles(x86)": `C:\x`, "TOKEN": "tok-123\n"}[name]
		return value, ok
	},
}

func rules() EntryRules { return EntryRules{Vars: testVars} }

// seen shows what became of an entry.
func seen(e *Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", e.URL.Reveal("test"))
	for _, h := range e.Headers {
		fmt.Fprintf(&b, " %s=%s", h.Name, h.Value.Reveal("test"))
	}
	if e.Legacy {
		b.WriteString(" legacy")
	}
	if e.Pin != nil {
		b.WriteString(" " + e.Pin.Name)
	}
	return b.String()
}

func TestS1_10_Entries(t *testing.T) {
	const url = `"url":"https://h.example/mcp"`
	const shown = "https://h.example/mcp"
	for _, test := range []struct {
		name, entry string
		want        string // or
		refused     string
		warning     string
	}{
		{"url alone", `{` + url + `}`, shown, "", ""},
		{"with headers, in order", `{"headers":{"X-B":"2","Authorization":"Bearer t","x-a":"1"},` + url + `}`, shown + " X-B=2 Authorization=Bearer t x-a=1", "", ""},
		{"headers null", `{` + url + `,"headers":null}`, shown, "", ""},
		{"S1-10 sse", `{"type":"sse",` + url + `}`, "", `type "sse" is the legacy transport`, ""},
		{"S1-10 local", `{"command":"npx","args":["x"]}`, "", "local MCP servers (command) are not supported yet", ""},
		{"local in another shape", `{"command":["npx","x"],"type":"stdio"}`, "", "local MCP servers (command) are not supported yet", ""},
		{"S1-10 other types are ignored", `{"type":"carrier-pigeon",` + url + `}`, shown, "", ""},
		{"a type that is no string", `{"type":5,` + url + `}`, shown, "", ""},
		{"T17 exact case: SSE is another type", `{"Type":"sse","type":"SSE",` + url + `}`, shown, "", ""},
		{"no object", `"https://h.example"`, "", "the entry must be an object, not a string", ""},
		{"null", `null`, "", "the entry must be an object, not null", ""},

		{"B193 both", `{"command":"x",` + url + `}`, "", "has both url and command", ""},
		{"B193 neither", `{"headers":{}}`, "", "has neither url nor command", ""},
		{"B193 url empty", `{"url":""}`, "", "neither url nor command: url is empty", ""},
		{"B193 command empty", `{"command":""}`, "", "neither url nor command: command is empty", ""},
		{"B193 url and an empty command", `{"command":"",` + url + `}`, shown, "", ""},
		{"url null", `{"url":null}`, "", "neither url nor command: url is empty", ""},
		{"url a number", `{"url":5}`, "", "url must be a string, not a number", ""},
		{"an alias", `{"serverUrl":"https://h.example"}`, "", "write url instead of serverUrl", ""},
		{"a slip", `{"ulr":"https://h.example"}`, "", `neither url nor command; write url instead of "ulr"`, ""},
		{"a slip in command", `{"comand":"npx"}`, "", `neither url nor command; write command instead of "comand"`, ""},
		{"a slip that leaves the entry usable", `{` + url + `,"Header":{"Authorization":"Bearer t"}}`, shown, "", `"Header" has no effect; did you mean headers?`},
		{"another alias", `{"httpUrl":"https://h.example"}`, "", "write url instead of httpUrl", ""},

		{"T17 url stands twice", `{` + url + `,` + url + `}`, "", `"url" stands twice`, ""},
		{"T17 url stands twice in escapes", `{` + url + `,"\u0075rl":"https://other.example"}`, "", `"url" stands twice`, ""},
		{"B197 keys in another case", `{"URL":"https://other.example","Headers":{"accept":"x"},"header\u017f":5,` + url + `}`, shown, "", `"Headers" has no effect; did you mean headers?`},
		{"B201 fields of other clients", `{` + url + `,"alwaysAllow":["a"],"autoApprove":[],"transportType":"x","_note":{},"name":"n","$schema":"s"}`, shown, "", ""},
		{"B201 disabled", `{` + url + `,"disabled":true}`, shown, "", "disabled has no effect: the server is used"},
		{"B201 disabled: false", `{` + url + `,"disabled":false,"oauth":null,"timeout":"","enabled":true}`, shown, "", ""},
		{"enabled: false", `{` + url + `,"enabled":false}`, shown, "", "enabled has no effect: the server is used"},
		{"B201 sign-in", `{` + url + `,"oauth":{"clientId":"x"}}`, shown, "", "oauth has no effect"},
		{"hidden tools", `{` + url + `,"disabledTools":["rm"]}`, shown, "", "disabledTools has no effect: every tool"},

		{"auto", `{` + url + `,"protocolVersion":"auto"}`, shown, "", ""},
		{"legacy", `{` + url + `,"protocolVersion":"legacy"}`, shown + " legacy", "", ""},
		{"pinned", `{` + url + `,"protocolVersion":"2025-06-18"}`, shown + " 2025-06-18", "", ""},
		{"an unknown revision", `{` + url + `,"protocolVersion":"latest"}`, "", "write auto, legacy or one of 2026-07-28, 2025-11-25", ""},
		{"a revision that is no string", `{` + url + `,"protocolVersion":20251125}`, "", "protocolVersion must be a string, not a number", ""},
	} {
		t.Run(test.name, func(t *testing.T) { checkEntry(t, test.entry, rules(), test.want, test.refused, test.warning) })
	}
}

func checkEntry(t *testing.T, entry string, rules EntryRules, want, refused, warning string) {
	t.Helper()
	e, err := ParseEntry("name", []byte(entry), rules)
	if refused != "" {
		if r := ask[*Refusal](t, err); e != nil || !strings.Contains(r.Reason, refused) {
			t.Errorf("%v (%v), want %q", err, e, refused)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := seen(e); got != want || e.Name != "name" {
		t.Errorf("got  %s, want %s", got, want)
	}
	if got := strings.Join(e.Warnings, "; "); (got == "") != (warning == "") || !strings.Contains(got, warning) {
		t.Errorf("warnings %q, want %q", got, warning)
	}
}

func TestWholeFileAsAnEntry(t *testing.T) {
	entries, err := SplitServers([]byte(`{"servers":{"a":{"url":"https://h.example"}}}`), limit.Table{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ParseEntry(entries[0].Name, entries[0].Raw, rules())
	if err == nil || !strings.Contains(err.Error(), "this looks like a whole mcp.json file: pass the object under servers") {
		t.Error(err)
	}
}

func TestURLs(t *testing.T) {
	for _, test := range []struct{ name, url, want, refused, warning string }{
		{"https", "https://h.example:8443/a/b?q=1", "https://h.example:8443/a/b?q=1", "", ""},
		{"upper case", "HTTPS://H.example", "HTTPS://H.example", "", ""},
		{"userinfo", "https://u:p@h.example/", "https://u:p@h.example/", "", ""},
		{"space around", " https://h.example\t", "https://h.example", "", "url has space around it"},
		{"a fragment", "https://h.example/a#b", "https://h.example/a", "", "url has a fragment"},
		{"relative", "/mcp", "", "url must begin with http:// or https://", ""},
		{"no scheme", "h.example/mcp", "", "url must begin with http:// or https://", ""},
		{"no host", "https:///mcp", "", "url has no host", ""},
		{"only a port", "https://:80/mcp", "", "url has no host", ""},
		{"opaque", "https:h.example", "", "url has no host", ""},
		{"unix", "unix:///run/x.sock", "", "local sockets (unix:) are not supported", ""},
		{"pipe", "pipe:///x", "", "local sockets (pipe:) are not supported", ""},
		{"WebSocket", "wss://h.example", "", "WebSocket (wss:) is not supported", ""},
		{"another scheme", "sk-canary:abc", "", "url must begin with http:// or https://", ""},
		{"a control character", "https://h.example/a\nb", "", "url cannot be read as a URL", ""},
		{"a bad port", "https://h.example:x/", "", "url cannot be read as a URL", ""},
		{"a bad escape", "https://h.example/%zz", "", "url cannot be read as a URL", ""},
		{"nothing but space", "  ", "", "url is empty", ""},

		{"T06 loopback", "http://127.0.0.1:3000/mcp", "http://127.0.0.1:3000/mcp", "", ""},
		{"T06 IPv6 loopback", "http://[::1]/", "http://[::1]/", "", ""},
		{"T06 mapped loopback", "http://[::ffff:127.0.0.1]/", "http://[::ffff:127.0.0.1]/", "", ""},
		{"T06 localhost", "http://LocalHost/", "http://LocalHost/", "", ""},
		{"T06 a private address", "http://10.0.0.5/", "http://10.0.0.5/", "", "url is http and not on this machine"},
		{"T06 a name that begins like localhost", "http://localhost.evil.test/", "http://localhost.evil.test/", "", "url is http and not on this machine"},
		{"T06 a name that begins like an address", "http://127.0.0.1.nip.test/", "http://127.0.0.1.nip.test/", "", "url is http and not on this machine"},
		{"T06 an address in no form that is certain", "http://0x7f000001/", "http://0x7f000001/", "", "url is http and not on this machine"},

		{"B189 a placeholder of others", "https://h.example/${TOKEN}", "https://h.example/${TOKEN}", "", "url holds a placeholder that is not replaced"},
		{"a placeholder of opencode", "https://h.example/{env:T}", "https://h.example/{env:T}", "", "url holds a placeholder that is not replaced"},
		{"percent-encoding and OData are no placeholders", "https://h.example/%AB%CD?$filter=x", "https://h.example/%AB%CD?$filter=x", "", ""},
		{"S1-11 from the environment", "https://${env:A}.example/${userHome}", "https://value-a.example//home/me", "", ""},
		{"S1-11 empty from the environment", "${env:EMPTY}", "", "url is empty", ""},
		{"S1-11 unset", "https://${env:UNSET}/", "", "url: the environment variable UNSET is not set", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkEntry(t, `{"url":`+string(rawjson.Quote(test.url))+`}`, rules(), test.want, test.refused, test.warning)
		})
	}
}

func TestS1_12_Headers(t *testing.T) {
	const url = "https://h.example/mcp"
	for _, test := range []struct{ name, headers, want, refused, warning string }{
		{"an object is wanted", `["a"]`, "", "headers must be an object, not an array", ""},
		{"a value that is no string", `{"X-A":5}`, "", `headers: "X-A" must be a string, not a number`, ""},
		{"null", `{"X-A":null}`, "", `headers: "X-A" must be a string, not null`, ""},
		{"B199 a name with a space", `{"a b":"x"}`, "", `headers: "a"... is no header name`, ""},
		{"B199 an empty name", `{"":"x"}`, "", `headers: "" is no header name`, ""},
		{"a whole header as a name", `{"Authorization: Bearer canary":""}`, "", `headers: "Authorization"... is no header name`, ""},
		{"B199 a line break at the end", `{"X-A":"tok\n"}`, "", `headers: "X-A" holds a line break`, ""},
		{"B199 a line break inside", `{"X-A":"tok\r\nX-B: y"}`, "", `headers: "X-A" holds a line break`, ""},
		{"B199 a line break from the environment", `{"X-A":"${env:TOKEN}"}`, "", `headers: "X-A" holds a line break`, ""},
		{"B199 a lone CR inside", `{"X-A":"tok\rX-B: y"}`, "", `headers: "X-A" holds a line break`, ""},
		{"B199 NUL", `{"X-A":"a\u0000b"}`, "", `headers: "X-A" holds a control character`, ""},
		{"DEL", `{"X-A":"a\u007fb"}`, "", `headers: "X-A" holds a control character`, ""},
		{"B199 not ASCII", `{"X-A":"ü"}`, "", `headers: "X-A" holds a character that is not ASCII`, ""},
		{"invisible space", `{"X-A":"tok\u200b"}`, "", `headers: "X-A" holds a character that is not ASCII`, ""},
		{"a tab inside", `{"X-A":"a\tb"}`, url + " X-A=a\tb", "", ""},
		{"space around", `{"X-A":"  tok "}`, url + " X-A=tok", "", `headers: "X-A" has space around its value`},
		{"empty", `{"X-A":""}`, url + " X-A=", "", `headers: "X-A" is empty`},
		{"T17 twice", `{"X-A":"1","X-A":"2"}`, "", `headers: "X-A" stands twice`, ""},
		{"T17 twice but for case", `{"X-A":"1","x-a":"2"}`, "", `headers: "x-a" stands twice`, ""},
		{"B189 ours are replaced", `{"X-A":"${env:A}${userHome}"}`, url + " X-A=value-a/home/me", "", ""},
		{"B189 ${VAR} passes", `{"X-A":"Bearer ${VAR}"}`, url + " X-A=Bearer ${VAR}", "", `headers: "X-A" holds a placeholder that is not replaced`},
		{"B189 $VAR passes", `{"X-A":"$VAR"}`, url + " X-A=$VAR", "", `headers: "X-A" holds a placeholder`},
		{"B189 %VAR% passes", `{"X-A":"%VAR%"}`, url + " X-A=%VAR%", "", `headers: "X-A" holds a placeholder`},
		{"${input:id} passes", `{"X-A":"${input:key}"}`, url + " X-A=${input:key}", "", `headers: "X-A" holds a placeholder`},
		{"{file:path} passes", `{"X-A":"{file:/x}"}`, url + " X-A={file:/x}", "", `headers: "X-A" holds a placeholder`},
		{"B191 what a variable holds is no placeholder", `{"X-A":"${env:NESTED}"}`, url + " X-A=${env:B}", "", ""},
		{"a price is no placeholder", `{"X-A":"$5 or 5% of 7%"}`, url + " X-A=$5 or 5% of 7%", "", ""},
		{"B189 unset", `{"X-A":"Bearer ${env:UNSET}"}`, "", `headers: "X-A": the environment variable UNSET is not set`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkEntry(t, `{"url":"`+url+`","headers":`+test.headers+`}`, rules(), test.want, test.refused, test.warning)
		})
	}
}

// S1-12, T09, HDR-21: names that the client sets itself, in any case.
func TestS1_12_OwnedHeaders(t *testing.T) {
	cases := func(name string) []string {
		return []string{name, strings.ToLower(name), strings.ToUpper(name), strings.ToLower(name[:2]) + strings.ToUpper(name[2:])}
	}
	entry := func(name string) string {
		return `{"url":"https://h.example/","headers":{"` + name + `":"canary","X-Other":"1"}}`
	}
	strict := rules()
	strict.RefuseOwnedHeaders = true
	for _, name := range []string{"Accept", "Mcp-Session-Id", "Last-Event-Id"} {
		for _, name := range cases(name) {
			checkEntry(t, entry(name), rules(), "", `"`+name+`" is set by the client itself`, "")
		}
	}
	for _, name := range []string{"Content-Type", "Content-Length", "Host", "Connection", "Transfer-Encoding", "TE", "Trailer", "Upgrade",
		"Keep-Alive", "Proxy-Connection", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Param-X", "Mcp-"} {
		for _, name := range cases(name) {
			checkEntry(t, entry(name), rules(), "https://h.example/ X-Other=1", "", `"`+name+`" is set by the client itself; the entry's is not used`)
			checkEntry(t, entry(name), strict, "", `"`+name+`" is set by the client itself; remove it`, "")
		}
	}
	for _, name := range []string{"Authorization", "Cookie", "User-Agent", "Accept-Language", "X-Mcp-Toolsets", "mcp_token"} {
		checkEntry(t, entry(name), strict, "https://h.example/ "+name+"=canary X-Other=1", "", "")
	}
}

func TestS1_11_Expansion(t *testing.T) {
	for _, test := range []struct{ name, text, want, err string }{
		{"nothing", "plain", "plain", ""},
		{"a variable", "a ${env:A} b", "a value-a b", ""},
		{"B191 two in a row", "${env:A}${env:B}", "value-avalue-b", ""},
		{"an empty variable", "[${env:EMPTY}]", "[]", ""},
		{"a name of Windows", "${env:ProgramFiles(x86)}", `C:\x`, ""},
		{"userHome", "${userHome}/x${userHome}", "/home/me/x/home/me", ""},
		{"B191 no second expansion", "${env:NESTED}", "${env:B}", ""},
		{"B191 no name", "${env:}", "${env:}", ""},
		{"B191 a default", "${env:A:-x}", "${env:A:-x}", ""},
		{"B191 not closed", "${env:A", "${env:A", ""},
		{"B191 two dollars", "$${env:A}", "$value-a", ""},
		{"one form in another", "${X:-${env:A}}", "${X:-value-a}", ""},
		{"other forms", "${A} $A %A% ${workspaceFolder} ${ENV:A} ${ env:A} ${env:A } ${userhome} ${", "${A} $A %A% ${workspaceFolder} ${ENV:A} ${ env:A} ${env:A } ${userhome} ${", ""},
		{"unset", "x${env:NO_SUCH}", "", "the environment variable NO_SUCH is not set"},
	} {
		var learned []string
		got, err := testVars.Expand(test.text, func(values ...string) { learned = append(learned, values...) })
		if test.err != "" {
			if err == nil || err.Error() != test.err {
				t.Errorf("%s: %v, want %s", test.name, err, test.err)
			}
			continue
		}
		if err != nil || got != test.want {
			t.Errorf("%s: %q, %v, want %q", test.name, got, err, test.want)
		}
		for _, value := range learned {
			if !strings.Contains(got, value) {
				t.Errorf("%s: learned %q", test.name, value)
			}
		}
	}
	if _, err := (Vars{}).Expand("${env:A}", func(...string) {}); err == nil {
		t.Error("nothing is set without an environment")
	}
	if _, err := (Vars{}).Expand("${userHome}", func(...string) {}); err == nil {
		t.Error("an unknown home directory is not refused")
	}
}

func TestL40_EntryLimits(t *testing.T) {
	headers := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"X-%d":"v"`, i))
		}
		return `{"url":"https://h.example/","headers":{` + strings.Join(list, ",") + `}}`
	}
	value := func(n int) string {
		return `{"url":"https://h.example/","headers":{"X-A":"` + strings.Repeat("v", n) + `"}}`
	}
	for _, test := range []struct {
		name, entry string
		limit       limit.Name
		over        bool
	}{
		{"64 headers", headers(64), 0, false},
		{"65 headers", headers(65), limit.HeaderCount, true},
		{"a value of 16 KiB", value(16 << 10), 0, false},
		{"a longer value", value(16<<10 + 1), limit.HeaderValue, true},
		{"a longer url", `{"url":"https://h.example/` + strings.Repeat("v", 16<<10) + `"}`, limit.HeaderValue, true},
		{"an entry over 64 KiB", `{"url":"https://h.example/","x":"` + strings.Repeat("v", 64<<10) + `"}`, limit.ConfigEntry, true},
	} {
		_, err := ParseEntry("n", []byte(test.entry), rules())
		if !test.over {
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		over, ok := errors.AsType[*limit.Error](err)
		if !ok || over.Name != test.limit || !strings.Contains(err.Error(), test.limit.String()) {
			t.Errorf("%s: %v, want the limit %s", test.name, err, test.limit)
		}
	}
}

func TestSplitServers(t *testing.T) {
	for _, test := range []struct{ name, config, want string }{
		{"S1-02 null", ` null `, ""},
		{"empty", `{}`, ""},
		{"document order", `{"z":{"url":1},"a":5,"\u006d":null}`, `z={"url":1} a=5 m=null`},
		{"B197 a name twice", `{"a":{"x":1},"b":{},"\u0061":{"y":2}}`, `a refused: the name stands twice b={}`},
		{"names that differ in case", `{"a":1,"A":2}`, `a=1 A=2`},
		{"T17 NUL in a name", `{"a\u0000":1,"b":2}`, "a\x00 refused: the name holds a NUL character b=2"},
		{"an empty name", `{"":1}`, "=1"},
		{"an array", `[]`, "error: not an object"},
		{"a string", `"x"`, "error: not an object"},
		{"B195 a comment", `{"a":{} // x` + "\n}", "error: a comma or a closing brace must stand here at byte 8"},
		{"B195 a trailing comma", `{"a":{},}`, "error: a member name must begin here at byte 8"},
		{"not null", `nul`, "error: unexpected end at byte 3"},
		{"nothing", ``, "error: unexpected end at byte 0"},
	} {
		entries, err := SplitServers([]byte(test.config), limit.Table{})
		var got []string
		for _, e := range entries {
			if e.Refused != nil {
				reason, _, _ := strings.Cut(e.Refused.Error(), " in the configuration")
				got = append(got, e.Name+" refused: "+reason)
			} else {
				got = append(got, e.Name+"="+string(e.Raw))
			}
		}
		if err != nil {
			got = append(got, "error: "+err.Error())
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %s, want %s", test.name, strings.Join(got, " "), test.want)
		}
	}
}

func TestL28_TooManyServers(t *testing.T) {
	table, err := limit.Table{}.With("servers=2")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := SplitServers([]byte(`{"d":1,"a":1,"c":1,"b":1}`), table)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		over, _ := errors.AsType[*limit.Error](e.Refused)
		got = append(got, fmt.Sprintf("%s %v", e.Name, over != nil && over.Name == limit.Servers))
	}
	if want := "d true, a false, c true, b false"; strings.Join(got, ", ") != want {
		t.Errorf("refused: %v, want %s", got, want)
	}
}

// S1-25: nothing that can be printed of an entry, or of its refusal, holds a
// value. Every placeholder for a secret here is called canary.
func TestS1_25_NoValueIsShown(t *testing.T) {
	vars := Vars{Home: "/h", Env: func(name string) (string, bool) { return "canary-env-" + name, name != "UNSET" }}
	const good = `"url":"https://canary-user:canary-pass@h.example/p?key=canary-query#canary-fragment"`
	entries := []string{
		`{` + good + `,"headers":{"Authorization":"Bearer canary-1","X-A":"${env:T} canary-2","Accept-Charset":" canary ${X}"},"oauth":{"secret":"canary"},"env":{"K":"canary-3"}}`,
		`{` + good + `,"headers":{"X-A":"canary\n"}}`,
		`{` + good + `,"headers":{"X-A":"canary\u0000"}}`,
		`{` + good + `,"headers":{"X-A":"canaryü"}}`,
		`{` + good + `,"headers":{"X-A":"canary ${env:UNSET}"}}`,
		`{` + good + `,"headers":{"X-A: canary":"canary"}}`,
		`{` + good + `,"headers":{"X-A":{"canary":"canary"}}}`,
		`{` + good + `,"headers":{"accept":"canary"}}`,
		`{` + good + `,"headers":{"Content-Type":"canary"}}`,
		`{` + good + `,"headers":{"X-A":"canary","x-a":"canary"}}`,
		`{` + good + `,"headers":"canary"}`,
		`{` + good + `,"headers":{"X-A":"` + strings.Repeat("canary", 4000) + `"}}`,
		`{` + good + `,"protocolVersion":"canary"}`,
		`{` + good + `,"type":"sse"}`,
		`{` + good + `,"command":"canary","env":{"K":"canary"}}`,
		`{"command":"canary","args":["canary"],"env":{"K":"canary"},"cwd":"canary"}`,
		`{"serverUrl":"https://canary"}`,
		`{"url":"canary"}`,
		`{"url":"canary:canary"}`,
		`{"url":"https://canary:canary@/"}`,
		`{"url":"https://h.example/%zzcanary"}`,
		`{"url":"https://${env:T}@h.example:canary/"}`,
		`{"url":"http://canary@10.0.0.1/?canary"}`,
		`"canary"`,
	}
	verbs := []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"}
	for _, raw := range entries {
		for _, strict := range []bool{false, true} {
			e, err := ParseEntry("name", []byte(raw), EntryRules{Vars: vars, RefuseOwnedHeaders: strict})
			var printed strings.Builder
			for _, verb := range verbs {
				fmt.Fprintf(&printed, verb+"\n", err)
				if e != nil {
					fmt.Fprintf(&printed, verb+"\n"+verb+"\n"+verb+"\n", e, *e, e.Headers)
					fmt.Fprintf(&printed, "%s\n", strings.Join(e.Warnings, "\n"))
				}
			}
			if e != nil {
				text, err := json.Marshal(e)
				fmt.Fprintf(&printed, "%s %v", text, err)
			}
			for _, form := range []string{"canary", "63616e617279", "CANARY"} {
				if strings.Contains(printed.String(), form) {
					t.Errorf("%s shows %s", raw, printed.String())
				}
			}
		}
	}
}

// The secrets of an entry are known to the scrubber before anything is said
// about it, whether it is refused or not.
func TestSecretsAreLearned(t *testing.T) {
	for _, entry := range []string{
		`{"url":"https://h.example/?key=%s","headers":{"Authorization":"Bearer abc"}}`,
		`{"url":"https://h.example/","headers":{"X-Key":"%s"}}`,
		`{"url":"https://h.example/","headers":{"X-Key":"%s\n"}}`,
		`{"command":"x","env":{"KEY":"%s"}}`,
		`{"url":"https://h.example/","headers":{"X-Key":"${env:SECRET}"}}`,
		`{"url":"https://h.example/${env:SECRET}/"}`,
	} {
		const secret = "correct-horse-battery-staple"
		scrub := redact.NewScrubber()
		raw := entry
		if strings.Contains(entry, "%s") {
			raw = fmt.Sprintf(entry, secret)
		}
		e, _ := ParseEntry("n", []byte(raw), EntryRules{Scrub: scrub, Vars: Vars{Env: func(string) (string, bool) { return secret, true }}})
		if e != nil && strings.Contains(e.Shown, secret) {
			t.Errorf("%s: shown as %s", entry, e.Shown)
		}
		if got := scrub.Text("it said: " + secret); strings.Contains(got, secret) {
			t.Errorf("%s: %s", entry, got)
		}
	}

	// A whole value is known, though no part of it is long enough to be.
	scrub := redact.NewScrubber()
	ParseEntry("n", []byte(`{"url":"https://h.example/","headers":{"X-Key":"ab1${env:C}"}}`), EntryRules{Scrub: scrub, Vars: Vars{Env: func(string) (string, bool) { return "cd2", true }}})
	if got := scrub.Text("it said: ab1cd2"); strings.Contains(got, "ab1cd2") {
		t.Error(got)
	}
}

// A value that is longer than a Scrubber takes refuses its entry and leaves the
// Scrubber as it was.
func TestLongValuesDoNotCloseTheScrubber(t *testing.T) {
	scrub := redact.NewScrubber()
	long := strings.Repeat("x", 20<<10)
	rules := EntryRules{Scrub: scrub, Vars: Vars{Env: func(string) (string, bool) { return long, true }}}
	for _, entry := range []string{
		`{"url":"https://h.example/","headers":{"X-A":"` + long + `"}}`,
		`{"url":"https://h.example/","headers":{"X-A":"${env:LONG}"}}`,
		`{"url":"https://h.example/?${env:LONG}"}`,
		`{"command":"x","env":{"A":"` + long + `"}}`,
	} {
		if _, err := ParseEntry("n", []byte(entry), rules); err == nil {
			t.Errorf("%.60s is taken", entry)
		}
	}
	if got := scrub.Text("plain text"); got != "plain text" {
		t.Error(got)
	}
}

// F7: whatever an entry holds, it is refused or usable, and no value is shown.
func FuzzEntry(f *testing.F) {
	f.Add([]byte(`{"url":"https://h.example/${env:A}","headers":{"X-A":"${userHome}","accept":"x"}}`))
	f.Add([]byte(`{"url":"http://[::1]:80/#f","headers":{"x-a":" ${env:B} "},"protocolVersion":"legacy","disabled":true}`))
	f.Add([]byte(`{"command":["x"],"url":""}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if rawjson.Check(raw, rawjson.Bounds{}) != nil {
			return
		}
		e, err := ParseEntry("n", raw, rules())
		if (e == nil) == (err == nil) {
			t.Fatalf("%v and %v", e, err)
		}
		if err != nil {
			ask[*Refusal](t, err)
			return
		}
		if url := e.URL.Reveal("test"); strings.ContainsAny(url, "\r\n\x00#") || !strings.HasPrefix(strings.ToLower(url), "http") {
			t.Fatalf("url %q", url)
		}
		seen := map[string]bool{}
		for _, h := range e.Headers {
			lower := strings.ToLower(h.Name)
			if !isToken(h.Name) || seen[lower] || ownedBy(lower) != notOwned || strings.ContainsAny(h.Value.Reveal("test"), "\r\n\x00") {
				t.Fatalf("header %q: %q", h.Name, h.Value.Reveal("test"))
			}
			seen[lower] = true
		}
	})
}

// F7: an expansion only ever puts known values where their placeholders stood.
func FuzzExpand(f *testing.F) {
	for _, text := range []string{"${env:A}", "$${env:B}${", "${userHome}}", "${env:${env:A}}", "${env:NESTED}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := testVars.Expand(text, func(...string) {})
		if err != nil {
			return
		}
		want := ours.ReplaceAllStringFunc(text, func(form string) string {
			if form == "${userHome}" {
				return testVars.Home
			}
			value, _ := testVars.Env(strings.TrimSuffix(strings.TrimPrefix(form, "${env:"), "}"))
			return value
		})
		if got != want {
			t.Fatalf("%q became %q, want %q", text, got, want)
		}
	})
}
