package mcptools

import (
	"context"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/pack/bridge"
)

// promptsOf gives the server's prompts their names in c and returns their entries
// (S2-17). Of two that have the same name the first keeps it.
func (c *catalog) promptsOf(s *server, st *state) []pack.Tool {
	var list []pack.Tool
	for i := range st.prompts {
		prompt := &st.prompts[i]
		name := "prompt/" + modelName(s.name+"_"+prompt.Name)
		if other, ok := c.byName[name]; ok {
			c.clash(name, s, prompt.Name, "servers %s and %s both give a prompt the name %s; that of %s, which comes first, is kept",
				other.server.say.Quoted(), s.say.Quoted(), s.pack.quote(name), other.server.say.Quoted())
			continue
		}
		c.byName[name] = target{server: s, prompt: prompt}
		list = append(list, pack.Tool{
			Name:        name,
			Kind:        pack.KindPrompt,
			Title:       prompt.Title,
			Description: prompt.Description,
			InputSchema: promptSchema(prompt),
			Untrusted:   true,
			Server:      s.name,
			ServerTool:  prompt.Name,
		})
	}
	return list
}

// promptSchema describes a prompt's arguments, which are strings, as a JSON Schema.
func promptSchema(prompt *mcpclient.Prompt) pack.Raw {
	if len(prompt.Arguments) == 0 {
		return noArguments
	}
	schema := []byte(`{"type":"object","properties":{`)
	var required []byte
	for i, argument := range prompt.Arguments {
		if i > 0 {
			schema = append(schema, ',')
		}
		schema = append(rawjson.AppendString(schema, argument.Name), `:{"type":"string"`...)
		if argument.Title != "" {
			schema = rawjson.AppendString(append(schema, `,"title":`...), argument.Title)
		}
		if argument.Description != "" {
			schema = rawjson.AppendString(append(schema, `,"description":`...), argument.Description)
		}
		schema = append(schema, '}')
		if argument.Required {
			if required != nil {
				required = append(required, ',')
			}
			required = rawjson.AppendString(required, argument.Name)
		}
	}
	schema = append(schema, '}')
	if required != nil {
		schema = append(append(append(schema, `,"required":[`...), required...), ']')
	}
	return append(schema, '}')
}

// getPrompt answers a prompt: its messages with their roles, and their text.
func (s *server) getPrompt(ctx context.Context, l *link, prompt *mcpclient.Prompt, call *pack.Call, opts *mcpclient.CallOptions) (*pack.Result, error) {
	given := rawjson.Members(call.Arguments)
	for _, m := range given {
		if kind := rawjson.KindOf(m.Value); kind != rawjson.String {
			return nil, bridge.Message("the argument %s must be a string, not %s: a prompt takes nothing else", s.pack.quote(m.Name()), kind)
		}
	}
	for _, argument := range prompt.Arguments {
		if argument.Required && given.Get(argument.Name) == nil {
			return nil, bridge.Message("the prompt needs the argument %s", s.pack.quote(argument.Name))
		}
	}
	result, err := l.session.GetPrompt(ctx, prompt.Name, call.Arguments, opts)
	if err != nil {
		return nil, err
	}
	structured := append([]byte(`{"messages":`), result.Messages...)
	if result.Description != "" {
		structured = rawjson.AppendString(append(structured, `,"description":`...), result.Description)
	}
	return &pack.Result{Content: result.Text(), Untrusted: true, Structured: append(structured, '}')}, nil
}

// listResources answers resource/list: one page, as the server wrote it.
func (p *mcptools) listResources(ctx context.Context, call *pack.Call) (*pack.Result, error) {
	s, err := p.namedServer(call, "server")
	if err != nil {
		return nil, err
	}
	cursor, err := bridge.StringArgument(rawjson.Members(call.Arguments), "cursor")
	if err != nil {
		return nil, err
	}
	return s.request(ctx, call, func(ctx context.Context, l *link, _ *mcpclient.CallOptions) (*pack.Result, error) {
		page, err := l.session.ListResources(ctx, cursor)
		if err != nil {
			return nil, err
		}
		structured := append([]byte(`{"resources":`), page.Resources...)
		if page.NextCursor != nil {
			structured = append(append(structured, `,"nextCursor":`...), page.NextCursor...)
		}
		structured = append(structured, '}')
		return &pack.Result{Content: rawjson.Quote(string(structured)), Untrusted: true, Structured: structured}, nil
	})
}

// readResource answers resource/read: the contents as blocks, and their text.
func (p *mcptools) readResource(ctx context.Context, call *pack.Call) (*pack.Result, error) {
	s, err := p.namedServer(call, "server")
	if err != nil {
		return nil, err
	}
	uri, err := bridge.StringArgument(rawjson.Members(call.Arguments), "uri")
	if err != nil {
		return nil, err
	}
	if uri == nil {
		return nil, bridge.Message("the argument %q must be the uri of a resource, as %s gives it", "uri", resourceList)
	}
	return s.request(ctx, call, func(ctx context.Context, l *link, opts *mcpclient.CallOptions) (*pack.Result, error) {
		result, err := l.session.ReadResource(ctx, *uri, opts)
		if err != nil {
			return nil, err
		}
		return &pack.Result{Content: result.Text(), Untrusted: true, Blocks: resourceBlocks(result.Contents)}, nil
	})
}

// resourceBlocks turns resource contents into MCP content blocks.
func resourceBlocks(contents []byte) pack.Raw {
	blocks := []byte{'['}
	for i, content := range rawjson.Elements(contents) {
		if i > 0 {
			blocks = append(blocks, ',')
		}
		blocks = append(append(append(blocks, `{"type":"resource","resource":`...), content...), '}')
	}
	return append(blocks, ']')
}
