package mcp

import (
	"fmt"
	"strings"
	"testing"
)

func TestS1_10_EachEntryOnItsOwn(t *testing.T) {
	// One configuration holds them all: what is wrong with one is no matter to
	// the others. reason "" means that the server is taken.
	rows := []struct{ name, entry, reason string }{
		{"a remote one", `{"url":"https://mcp.test"}`, ""},
		{"with headers", `{"url":"https://mcp.test","headers":{"X-Key":"v"}}`, ""},
		{"another type", `{"url":"https://mcp.test","type":"http"}`, ""},
		{"a type that nobody knows", `{"url":"https://mcp.test","type":"carrier pigeon"}`, ""},
		{"a type that is no string", `{"url":"https://mcp.test","type":7}`, ""},
		{"B201 fields of other clients", `{"url":"https://mcp.test","alwaysAllow":["x"],"timeout":60,"oauth":{"a":1},"_note":null}`, ""},
		{"the legacy transport", `{"url":"https://mcp.test","type":"sse"}`, "sse"},
		{"B203 a local one", `{"command":"npx","args":["-y","x"],"env":{"A":"b"},"cwd":"/"}`, "local MCP servers (command) are not supported yet"},
		{"a local one with a type", `{"command":"npx","type":"stdio"}`, "local MCP servers (command) are not supported yet"},
		{"B193 both", `{"command":"npx","url":"https://mcp.test"}`, "both url and command"},
		{"B193 neither", `{}`, "neither url nor command"},
		{"no object", `"https://mcp.test"`, "must be an object"},
		{"null", `null`, "must be an object"},
		{"a url that is no string", `{"url":7}`, "url must be a string, not a number"},
		{"an unknown variable", `{"url":"https://${env:NOBODY}.test"}`, "NOBODY"},
		{"S1-12 a header of the client's", `{"url":"https://mcp.test","headers":{"ACCEPT":"x"}}`, "ACCEPT"},
		{"S1-12 the session id", `{"url":"https://mcp.test","headers":{"mcp-session-ID":"x"}}`, "mcp-session-ID"},
		{"S1-12 the event id", `{"url":"https://mcp.test","headers":{"Last-Event-Id":"x"}}`, "Last-Event-Id"},
		{"B199 a header with a line break", `{"url":"https://mcp.test","headers":{"X-Key":"a\nb"}}`, "X-Key"},
	}
	bubble(t, func(t *testing.T, w *world) {
		var entries []string
		for _, row := range rows {
			w.serve(row.name, tool("a"))
			entries = append(entries, fmt.Sprintf("%q:%s", row.name, row.entry))
		}
		w.construct("{" + strings.Join(entries, ",") + "}")
		for _, row := range rows {
			logged := 0
			for _, line := range w.log.lines("the MCP server's entry was refused") {
				if line["server"] != row.name {
					continue
				}
				logged++
				if reason, _ := line["reason"].(string); line["level"] != "WARN" || !strings.Contains(reason, row.reason) {
					t.Errorf("%s: logged %v", row.name, line)
				}
			}
			got := w.status(row.name)
			listed := w.list(fmt.Sprintf(`{"namespace":%q}`, row.name))
			if row.reason == "" {
				if got.Status != "ready" || logged != 0 || listed["status"] != "ready" {
					t.Errorf("%s: %+v, %d warnings", row.name, got, logged)
				}
				continue
			}
			if got.Status != "error" || !strings.Contains(got.Error, row.reason) || logged != 1 {
				t.Errorf("%s: %+v, %d warnings, want one and the reason %q", row.name, got, logged, row.reason)
			}
			if listed["status"] != "error" || listed["reason"] != got.Error || len(listed["tools"].([]any)) != 0 {
				t.Errorf("%s: listed as %v", row.name, listed)
			}
			if n, _, _ := w.servers[row.name].counts(); n != 0 {
				t.Errorf("%s: dialled %d times", row.name, n)
			}
		}
		// The seed's sentence is the whole reason.
		if got := w.status("B203 a local one").Error; got != "local MCP servers (command) are not supported yet" {
			t.Errorf("the local one: %q", got)
		}
	})
}

func TestS1_10_RefusedOnlyOnce(t *testing.T) {
	for _, row := range []struct{ name, config, reason string }{
		{"B197 the name stands twice", `{"docs":{"url":"https://mcp.test"},"git":{"url":"https://mcp.test"},"docs":{"url":"https://other.test"}}`, "twice"},
		{"B197 twice in other escapes", `{"docs":{"url":"https://mcp.test"},"git":{"url":"https://mcp.test"},"d\u006fcs":{"url":"https://other.test"}}`, "twice"},
		{"B197 a member stands twice", `{"docs":{"url":"https://mcp.test","url":"https://other.test"},"git":{"url":"https://mcp.test"}}`, "twice"},
	} {
		t.Run(row.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.serve("git", tool("a"))
				w.construct(row.config)
				if got := w.status("docs"); got.Status != "error" || !strings.Contains(got.Error, row.reason) {
					t.Errorf("got %+v", got)
				}
				if got := w.status("git"); got.Status != "ready" {
					t.Errorf("the other: %+v", got)
				}
				if n := len(w.log.lines("the MCP server's entry was refused")); n != 1 {
					t.Errorf("%d warnings, want 1", n)
				}
			})
		})
	}
}

func TestS1_11_Placeholders(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.env["HOST"] = "mcp.test"
		w.serve("set")
		w.serve("home")
		w.serve("B189 others")
		w.construct(`{
			"set":         {"url":"https://${env:HOST}/${env:HOST}"},
			"home":        {"url":"https://mcp.test/${userHome}"},
			"B189 unset":  {"url":"https://mcp.test/","headers":{"X-Key":"${env:UNSET}"}},
			"B189 others": {"url":"https://mcp.test/","headers":{"X-Key":"${VAR} $VAR %VAR% ${env:} ${workspaceFolder}"}}
		}`)
		for name, want := range map[string]string{
			"set":         "https://mcp.test/mcp.test",
			"home":        "https://mcp.test//home/me",
			"B189 others": "https://mcp.test/",
		} {
			entry := w.entry(name)
			if got := entry.URL.Reveal("test"); got != want {
				t.Errorf("%s: url %q, want %q", name, got, want)
			}
			if name == "B189 others" && entry.Headers[0].Value.Reveal("test") != "${VAR} $VAR %VAR% ${env:} ${workspaceFolder}" {
				t.Errorf("other forms do not pass through unchanged")
			}
		}
		if got := w.status("B189 unset"); got.Status != "error" || !strings.Contains(got.Error, "UNSET") {
			t.Errorf("unset: %+v", got)
		}
	})
}

func TestS1_12_OwnedHeadersAreDroppedWithAWarning(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("docs")
		w.construct(`{"docs":{"url":"https://mcp.test","headers":{"Content-Type":"secret-value","X-Key":"v"}}}`)
		entry := w.entry("docs")
		if len(entry.Headers) != 1 || entry.Headers[0].Name != "X-Key" {
			t.Errorf("the headers are %v", entry.Headers)
		}
		lines := w.log.lines("the MCP server's entry was taken with a warning")
		if len(lines) != 1 || lines[0]["server"] != "docs" || !strings.Contains(lines[0]["warning"].(string), "Content-Type") {
			t.Errorf("warned %v", lines)
		}
		if got := w.status("docs"); got.Status != "ready" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestL28_FurtherServersAreRefusedByNameOrder(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var entries []string
		for i := range 130 {
			name := fmt.Sprintf("s%03d", 129-i) // the file is sorted the other way
			w.serve(name, tool("a"))
			entries = append(entries, fmt.Sprintf(`%q:{"url":"https://mcp.test"}`, name))
		}
		w.construct("{" + strings.Join(entries, ",") + "}")
		for i := range 130 {
			name := fmt.Sprintf("s%03d", i)
			got := w.status(name)
			if i < 128 && got.Status != "ready" {
				t.Errorf("%s: %+v", name, got)
			}
			if i >= 128 && (got.Status != "error" || !strings.Contains(got.Error, "servers (128)")) {
				t.Errorf("%s: %+v, want the limit's error", name, got)
			}
		}
		if n := len(w.log.lines("the MCP server's entry was refused")); n != 2 {
			t.Errorf("%d warnings, want 2", n)
		}
	})
}
