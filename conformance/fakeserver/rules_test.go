package fakeserver

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
)

// Each row breaks one rule: it is refused as the specification says and the
// ledger holds a complaint, so that a careless client fails its test.
func TestBrokenRulesAreRefusedAndNoted(t *testing.T) {
	const list = `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{` + meta + `}}}`
	call := func(arguments string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"query","arguments":` + arguments + `,"_meta":{` + meta + `}}}`
	}
	modern := func(method, name string, more ...string) map[string]string {
		h := map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	rows := []struct {
		name    string
		era     Era
		headers map[string]string
		body    string
		status  int
		want    string
	}{
		{"Accept without streams", Legacy, map[string]string{"Accept": "application/json"}, `{"jsonrpc":"2.0","id":7,"method":"ping"}`, 406, "-32000"},
		{"Content-Type of a form", Legacy, map[string]string{"Content-Type": "text/plain"}, `{"jsonrpc":"2.0","id":7,"method":"ping"}`, 415, "-32000"},
		{"no JSON", Legacy, nil, `{oops`, 400, "-32700"},
		{"no jsonrpc", Legacy, nil, `{"id":7,"method":"ping"}`, 400, "-32600"},
		{"id null", Legacy, nil, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, 400, "-32600"},
		{"id 1.5", Legacy, nil, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, 400, "-32600"},
		{"an Origin", Legacy, map[string]string{"Origin": "http://evil.example"}, `{"jsonrpc":"2.0","id":7,"method":"ping"}`, 403, ""},
		{"an id used twice", Legacy, nil, `{"jsonrpc":"2.0","id":"i2","method":"ping"}`, 200, "-32600"},
		{"capabilities left out", Legacy, nil, `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"t","version":"1"}}}`, 200, "-32602"},
		{"a cursor of its own", Legacy, nil, `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"x"}}`, 200, "-32602"},
		{"the version of another session", Legacy, map[string]string{"MCP-Protocol-Version": "2025-06-18"}, `{"jsonrpc":"2.0","id":7,"method":"ping"}`, 200, "result"},
		{"no version header", Legacy, map[string]string{"MCP-Protocol-Version": ""}, `{"jsonrpc":"2.0","id":7,"method":"ping"}`, 200, "result"},

		{"version only in _meta", Modern, map[string]string{"Mcp-Method": "tools/list"}, list, 400, "-32020"},
		{"version only in the header", Modern, modern("tools/list", ""), `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`, 400, "-32602"},
		{"two versions", Modern, map[string]string{"MCP-Protocol-Version": "2025-11-25", "Mcp-Method": "tools/list"}, list, 400, "-32020"},
		{"no capabilities", Modern, modern("tools/list", ""), `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, 400, "-32602"},
		{"no Mcp-Method", Modern, modern("", ""), list, 400, "-32020"},
		{"another Mcp-Method", Modern, modern("tools/call", ""), list, 400, "-32020"},
		{"no Mcp-Name", Modern, modern("tools/call", "", "Mcp-Param-Region", "eu"), call(`{"region":"eu"}`), 400, "-32020"},
		{"Mcp-Param left out", Modern, modern("tools/call", "query"), call(`{"region":"eu"}`), 400, "-32020"},
		{"Mcp-Param of another value", Modern, modern("tools/call", "query", "Mcp-Param-Region", "us"), call(`{"region":"eu"}`), 400, "-32020"},
		{"Mcp-Param of a null", Modern, modern("tools/call", "query", "Mcp-Param-Region", "eu"), call(`{"region":null}`), 400, "-32020"},
		{"broken Base64", Modern, modern("tools/call", "=?base64?***?="), call(`{}`), 400, "-32020"},
		{"a response", Modern, modern("", ""), `{"jsonrpc":"2.0","id":7,"result":{}}`, 400, "-32600"},
		{"notifications/cancelled", Modern, modern("", ""), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, 202, ""},
	}
	query := Tool{Name: "query", Definition: Define("query", "", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}`)}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s, err := Start(Options{Era: row.era, Tools: []Tool{query}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c := newClient(t, s)
			c.open(row.era)
			if row.name == "an id used twice" {
				c.post(context.Background(), row.body, nil)
			}
			if n := len(s.Ledger().Complaints); n != 0 {
				t.Fatalf("complaints before: %v", s.Ledger().Complaints)
			}
			resp, text := c.post(context.Background(), row.body, row.headers)
			if resp.StatusCode != row.status || !strings.Contains(text, row.want) {
				t.Errorf("status %d, %s; want %d, %s", resp.StatusCode, text, row.status, row.want)
			}
			if n := len(s.Ledger().Complaints); n != 1 {
				t.Errorf("%d complaints: %v", n, s.Ledger().Complaints)
			}
		})
	}
}

func TestMirroredHeadersAreDecoded(t *testing.T) {
	query := Tool{Name: "naïve", Definition: Define("naïve", "", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}`)}
	s := StartTest(t, Options{Era: Modern, Tools: []Tool{query}})
	c := newClient(t, s)
	body, headers := c.request(Modern, "tools/call", `"name":"naïve","arguments":{"region":" é ","deep":{"n":42}}`)
	encode := func(text string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?=" }
	headers["Mcp-Name"] = encode("naïve")
	headers["Mcp-Param-Region"] = encode(" é ")
	headers["Mcp-Param-N"] = "42.0"
	if resp, text := c.post(context.Background(), body, headers); resp.StatusCode != 200 {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}
