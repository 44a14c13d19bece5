package mcpserver

import (
	"context"
	"encoding/json"
)

// A Tool is a tool as its server lists it. Schema holds the very bytes.
type Tool struct {
	Name   string `json:"name"`
	Schema string `json:"schema"`
}

// List asks for every page of the server's tools.
func (c *Client) List(ctx context.Context) ([]Tool, error) {
	var tools []Tool
	for cursor := ""; ; {
		answer, err := c.Call(ctx, "tools/list", "", cursor, "")
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
		if err := json.Unmarshal(answer.Result, &page); err != nil {
			return nil, err
		}
		for _, tool := range page.Tools {
			tools = append(tools, Tool{tool.Name, string(tool.InputSchema)})
		}
		if page.NextCursor == nil {
			return tools, nil
		}
		quoted, err := json.Marshal(*page.NextCursor)
		if err != nil {
			return nil, err
		}
		cursor = `"cursor":` + string(quoted)
	}
}
