package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// A directTool is a tool as its server lists it. Schema holds the very bytes.
type directTool struct {
	Name   string `json:"name"`
	Schema string `json:"schema"`
}

// listDirectly asks an MCP server for its tools without toolhost, in the plainest
// way that works: it is the measure for what toolhost lists.
func listDirectly(ctx context.Context, url string, modern bool) ([]directTool, error) {
	a := &asker{ctx: ctx, url: url, header: http.Header{
		"Accept":       {"application/json, text/event-stream"},
		"Content-Type": {"application/json"},
	}}
	meta := ""
	if modern {
		a.header.Set("Mcp-Protocol-Version", "2026-07-28")
		a.header.Set("Mcp-Method", "tools/list")
		meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"direct","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	} else if err := a.handshake(); err != nil {
		return nil, err
	}
	var tools []directTool
	for cursor := ""; ; {
		params := strings.Trim(meta+","+cursor, ",")
		result, err := a.post(`{"jsonrpc":"2.0","id":"list","method":"tools/list","params":{` + params + `}}`)
		if err != nil {
			return nil, err
		}
		var page struct {
			Tools []struct {
				Name        string
				InputSchema json.RawMessage
			}
			NextCursor *string
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return nil, err
		}
		for _, tool := range page.Tools {
			tools = append(tools, directTool{tool.Name, string(tool.InputSchema)})
		}
		if page.NextCursor == nil || *page.NextCursor == "" {
			return tools, nil
		}
		quoted, err := json.Marshal(*page.NextCursor)
		if err != nil {
			return nil, err
		}
		cursor = `"cursor":` + string(quoted)
	}
}

// asker sends one request at a time.
type asker struct {
	ctx    context.Context
	url    string
	header http.Header
}

func (a *asker) handshake() error {
	_, err := a.post(`{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"direct","version":"1"}}}`)
	if err != nil {
		return err
	}
	a.header.Set("Mcp-Protocol-Version", "2025-11-25")
	_, err = a.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return err
}

// post sends a message and returns the result in the answer, nil for a message
// that wants none.
func (a *asker) post(message string) (json.RawMessage, error) {
	req, err := http.NewRequestWithContext(a.ctx, http.MethodPost, a.url, strings.NewReader(message))
	if err != nil {
		return nil, err
	}
	req.Header = a.header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		a.header.Set("Mcp-Session-Id", id)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return nil, fmt.Errorf("status %d: %s", resp.StatusCode, body)
	}
	if resp.StatusCode == http.StatusAccepted {
		return nil, nil
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body = lastEvent(body)
	}
	var answer struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("%w: %s", err, body)
	}
	if answer.Result == nil {
		return nil, fmt.Errorf("the server answered with an error: %s", answer.Error)
	}
	return answer.Result, nil
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
