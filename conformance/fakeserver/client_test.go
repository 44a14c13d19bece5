package fakeserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// client is a bare MCP client: it sends what a test says and nothing else.
type client struct {
	t       testing.TB
	url     string
	http    *http.Client
	headers map[string]string // on every request
	nextID  int
}

func newClient(t testing.TB, s *Server) *client {
	c := &client{t: t, url: s.URL(), http: &http.Client{Transport: &http.Transport{}}, headers: map[string]string{}}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// open does what the era asks before the first call.
func (c *client) open(era Era) {
	c.t.Helper()
	if era == Modern {
		return
	}
	resp, _ := c.post(context.Background(), `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil)
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.headers["Mcp-Session-Id"] = id
	}
	c.headers["MCP-Protocol-Version"] = "2025-11-25"
	if resp, _ := c.post(context.Background(), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil); resp.StatusCode != http.StatusAccepted {
		c.t.Errorf("notifications/initialized: status %d", resp.StatusCode)
	}
}

const meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`

// request builds a request of the era, with the headers it needs.
func (c *client) request(era Era, method, params string) (body string, headers map[string]string) {
	c.nextID++
	if era != Modern {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, c.nextID, method, params), nil
	}
	headers = map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	var named struct{ Name string }
	if json.Unmarshal([]byte("{"+params+"}"), &named) == nil && method == "tools/call" {
		headers["Mcp-Name"] = named.Name
	}
	if strings.Contains(params, `"_meta":{`) {
		params = strings.Replace(params, `"_meta":{`, `"_meta":{`+meta+`,`, 1)
	} else {
		params = strings.TrimSuffix(`"_meta":{`+meta+`},`+params, ",")
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, c.nextID, method, params), headers
}

// call sends a request of the era and returns the whole reply.
func (c *client) call(era Era, method, params string) (*http.Response, string) {
	c.t.Helper()
	body, headers := c.request(era, method, params)
	return c.post(context.Background(), body, headers)
}

func (c *client) start(ctx context.Context, method, body string, headers map[string]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method == "POST" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, set := range []map[string]string{c.headers, headers} {
		for name, value := range set {
			req.Header.Set(name, value)
			if value == "" {
				req.Header.Del(name)
			}
		}
	}
	return c.http.Do(req)
}

func (c *client) post(ctx context.Context, body string, headers map[string]string) (*http.Response, string) {
	c.t.Helper()
	resp, err := c.start(ctx, "POST", body, headers)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp, string(text)
}

// waitFor fails the test when the ledger does not come to show cond.
func waitFor(t testing.TB, s *Server, what string, cond func(*Ledger) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Wait(ctx, cond); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}
