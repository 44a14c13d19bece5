package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/toolhost/toolhost/pack"
)

// text writes the listing for people.
func (l *listing) text(out io.Writer) error {
	w := &bytes.Buffer{}
	for i := range l.servers {
		s := &l.servers[i]
		switch l.depth {
		case 0:
			s.head(w)
			for _, tool := range s.tools {
				fmt.Fprintf(w, "  %s\n", shownName(tool.ServerTool))
			}
		case 1:
			if s.Status != statusConnected || s.note != "" || len(s.tools) == 0 {
				s.head(w)
			}
			for _, tool := range s.tools {
				fmt.Fprintf(w, "%s\n  %s\n", shownName(tool.ServerTool), shownText(tool.Description))
			}
			if len(s.prompts) > 0 {
				var names []string
				for _, prompt := range s.prompts {
					names = append(names, shownName(prompt.ServerTool))
				}
				fmt.Fprintf(w, "\nprompts: %s\n", strings.Join(names, ", "))
			}
		default:
			if err := printTool(w, l.tool); err != nil {
				return err
			}
		}
	}
	_, err := w.WriteTo(out)
	return err
}

// head writes the line of a server: its name, its status, and why it is not
// connected or its list is not whole.
func (s *listedServer) head(w io.Writer) {
	line := shownName(s.Name) + "  " + s.Status
	for _, why := range []string{s.Error, s.note} {
		line = join(line, shownText(why))
	}
	fmt.Fprintln(w, line)
}

// printTool writes all about one tool.
func printTool(w io.Writer, tool *pack.Tool) error {
	note := ""
	if tool.NeedsApproval {
		note = "; the user is asked before it runs"
	}
	fmt.Fprintf(w, "%s  (for a model %s%s)\n%s\n\n", shownName(tool.ServerTool), tool.Name, note, escapeLines(tool.Description))
	schema := &bytes.Buffer{}
	if err := json.Indent(schema, tool.InputSchema, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, escapeLines(schema.String()))
	return err
}

// A toolJSON is a tool in the output of `tools --json`.
type toolJSON struct {
	Namespace     string          `json:"namespace,omitempty"` // with one tool alone
	Name          string          `json:"name"`                // the server's
	ModelName     string          `json:"modelName"`
	Description   string          `json:"description"`
	InputSchema   json.RawMessage `json:"inputSchema"`
	NeedsApproval bool            `json:"needsApproval,omitempty"`
}

// A namespaceJSON is a server in it. Tools are names where all servers are listed.
type namespaceJSON struct {
	Namespace string   `json:"namespace"`
	Status    string   `json:"status"`
	Reason    string   `json:"reason,omitempty"`
	Note      string   `json:"note,omitempty"`
	Tools     any      `json:"tools"`
	Prompts   []string `json:"prompts,omitempty"`
}

func newToolJSON(tool *pack.Tool) toolJSON {
	return toolJSON{
		Name:          tool.ServerTool,
		ModelName:     tool.Name,
		Description:   tool.Description,
		InputSchema:   json.RawMessage(tool.InputSchema),
		NeedsApproval: tool.NeedsApproval,
	}
}

func (l *listing) namespace(s *listedServer) namespaceJSON {
	row := namespaceJSON{Namespace: s.Name, Status: s.Status, Reason: s.Error, Note: s.note}
	for _, prompt := range s.prompts {
		row.Prompts = append(row.Prompts, prompt.ServerTool)
	}
	names, tools := []string{}, []toolJSON{}
	for _, tool := range s.tools {
		names, tools = append(names, tool.ServerTool), append(tools, newToolJSON(&tool))
	}
	row.Tools = tools
	if l.depth == 0 {
		row.Tools = names
	}
	return row
}

// json writes the listing as one JSON object.
func (l *listing) json(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	switch l.depth {
	case 0:
		all := struct {
			Namespaces []namespaceJSON `json:"namespaces"`
		}{[]namespaceJSON{}}
		for i := range l.servers {
			all.Namespaces = append(all.Namespaces, l.namespace(&l.servers[i]))
		}
		return encoder.Encode(all)
	case 1:
		return encoder.Encode(l.namespace(&l.servers[0]))
	}
	tool := newToolJSON(l.tool)
	tool.Namespace = l.servers[0].Name
	return encoder.Encode(tool)
}
