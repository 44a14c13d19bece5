package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// The revisions that a Client speaks.
const (
	Legacy = "2025-11-25"
	Modern = "2026-07-28"
)

// A Client asks an MCP server in the plainest way that works, one request at a
// time.
type Client struct {
	url    string
	modern bool
	header http.Header
}

// An Answer is the result of a request and the form in which it came.
type Answer struct {
	Result json.RawMessage
	Form   string // "json" or "sse"
}

// Open returns a Client that speaks one revision, after a handshake where that has
// one. An error of the handshake is the server's refusal to speak it.
func Open(ctx context.Context, url, revision string) (*Client, error) {
	c := &Client{url: url, modern: revision == Modern, header: http.Header{
		"Accept":       {"application/json, text/event-stream"},
		"Content-Type": {"application/json"},
	}}
	if c.modern {
		c.header.Set("Mcp-Protocol-Version", revision)
		return c, nil
	}
	opened, err := c.post(ctx, `{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"`+revision+`","capabilities":{},"clientInfo":{"name":"direct","version":"1"}}}`)
	if err != nil {
		return nil, err
	}
	var agreed struct{ ProtocolVersion string }
	if err := json.Unmarshal(opened.Result, &agreed); err != nil {
		return nil, err
	}
	if agreed.ProtocolVersion != revision {
		return nil, fmt.Errorf("the server does not speak %s: %s", revision, opened.Result)
	}
	c.header.Set("Mcp-Protocol-Version", revision)
	_, err = c.post(ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c, err
}

// Close ends the session, where there is one.
func (c *Client) Close(ctx context.Context) error {
	if c.header.Get("Mcp-Session-Id") == "" {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.url, nil)
	if err != nil {
		return err
	}
	req.Header = c.header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// clientMeta is what a request of the modern era says of the client.
const clientMeta = `"io.modelcontextprotocol/protocolVersion":"` + Modern + `","io.modelcontextprotocol/clientInfo":{"name":"direct","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`

// Call sends a request. name is what Mcp-Name has to say, "" for methods without
// one; members are those of params but _meta; token, where it is not "", asks for
// progress.
func (c *Client) Call(ctx context.Context, method, name, members, token string) (Answer, error) {
	var meta []string
	if c.modern {
		meta = append(meta, clientMeta)
		c.header.Set("Mcp-Method", method)
		c.header.Del("Mcp-Name")
		if name != "" {
			c.header.Set("Mcp-Name", name)
		}
	}
	if token != "" {
		meta = append(meta, `"progressToken":"`+token+`"`)
	}
	if len(meta) > 0 {
		members = strings.Trim(`"_meta":{`+strings.Join(meta, ",")+`},`+members, ",")
	}
	return c.post(ctx, `{"jsonrpc":"2.0","id":"call","method":"`+method+`","params":{`+members+`}}`)
}

// post sends a message and returns the answer, which is empty for a message that
// wants none.
func (c *Client) post(ctx context.Context, message string) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(message))
	if err != nil {
		return Answer{}, err
	}
	req.Header = c.header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		c.header.Set("Mcp-Session-Id", id)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return Answer{}, err
	}
	if resp.StatusCode/100 != 2 {
		return Answer{}, fmt.Errorf("status %d: %s", resp.StatusCode, body)
	}
	if resp.StatusCode == http.StatusAccepted {
		return Answer{}, nil
	}
	form := "json"
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		form, body = "sse", lastEvent(body)
	}
	var answer struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return Answer{}, fmt.Errorf("%w: %s", err, body)
	}
	if answer.Result == nil {
		return Answer{}, fmt.Errorf("the server answered with an error: %s", answer.Error)
	}
	return Answer{answer.Result, form}, nil
}

// lastEvent returns the data of the last event with data, where the answer is.
func lastEvent(stream []byte) []byte {
	var last []byte
	for line := range bytes.Lines(stream) {
		if data, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data: ")); ok && len(data) > 0 {
			last = data
		}
	}
	return last
}
