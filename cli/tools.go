package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/rawjson"
)

func (a *app) toolsCommand() *cobra.Command {
	c := newConnection()
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tools --config FILE [NAMESPACE [TOOL]]",
		Short: "List servers and their tools, one server's tools, or one tool",
		Long: `Connects to the servers of an mcp.json file and lists what a model would see:
without arguments each server with the names of its tools, with NAMESPACE the
tools of that server, with TOOL that tool and its input schema.

The exit code is 3 when the server or tool that was named cannot be used;
"toolhost help exit-codes" lists them all.`,
		Example: `  toolhost tools --config mcp.json
  toolhost tools --config mcp.json docs
  toolhost tools --config mcp.json docs search --json`,
		Args: positional(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, notReady, err := a.dynamicTools(cmd.Context(), c, args)
			switch {
			case err != nil:
				return err
			case asJSON:
				_, err = fmt.Fprintln(a.out, text)
			default:
				err = printTools(a.out, []byte(text), len(args))
			}
			if err == nil && notReady {
				err = errNotReady
			}
			return err
		},
	}
	c.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the JSON that get_dynamic_tools answers")
	return cmd
}

// dynamicTools returns the JSON text of get_dynamic_tools for the names in args,
// and whether the one server that they name is not ready, which the text says.
func (a *app) dynamicTools(ctx context.Context, c *connection, args []string) (text string, notReady bool, err error) {
	query := map[string]string{}
	for i, name := range args {
		query[[]string{"namespace", "toolName"}[i]] = name
	}
	arguments, err := json.Marshal(query)
	if err != nil {
		return "", false, err
	}
	config, err := a.readConfig(ctx, c.config, c.limits)
	if err != nil {
		return "", false, err
	}
	l, servers, err := a.connect(ctx, c, config, args[:min(1, len(args))], nil)
	if err != nil {
		return "", false, err
	}
	defer l.Close()
	var unusable error
	if len(args) > 0 {
		unusable = c.unusable(servers, args[0])
	}
	if unusable != nil && len(args) == 2 {
		return "", false, unusable
	}
	result, err := l.invoke(ctx, getDynamicTools, arguments)
	if err != nil {
		return "", false, err
	}
	return rawjson.Text(result.Content), unusable != nil, nil
}

// printTools writes one of the three documents of get_dynamic_tools for people:
// of all servers (depth 0), of one server's tools, or of one tool.
func printTools(out io.Writer, document []byte, depth int) error {
	w := &bytes.Buffer{}
	object := rawjson.Members(document)
	switch depth {
	case 0:
		for _, raw := range rawjson.Elements(object.Get("namespaces")) {
			server := rawjson.Members(raw)
			printServer(w, server)
			for _, tool := range rawjson.Elements(server.Get("tools")) {
				fmt.Fprintf(w, "  %s\n", shownName(rawjson.Text(tool)))
			}
		}
	case 1:
		if rawjson.Text(object.Get("status")) != statusReady || object.Get("note") != nil {
			printServer(w, object)
		}
		for _, raw := range rawjson.Elements(object.Get("tools")) {
			tool := rawjson.Members(raw)
			fmt.Fprintf(w, "%s\n  %s\n", shownName(rawjson.Text(tool.Get("name"))), shownText(rawjson.Text(tool.Get("description"))))
		}
	default:
		fmt.Fprintf(w, "%s\n%s\n\n", shownName(rawjson.Text(object.Get("name"))), escapeLines(rawjson.Text(object.Get("description"))))
		schema := &bytes.Buffer{}
		if err := json.Indent(schema, object.Get("inputSchema"), "", "  "); err != nil {
			return err
		}
		fmt.Fprintln(w, escapeLines(schema.String()))
	}
	_, err := w.WriteTo(out)
	return err
}

// printServer writes the line of a namespace: its name, its status, and why it is
// in error or its list is not whole.
func printServer(w io.Writer, server rawjson.Object) {
	line := shownName(rawjson.Text(server.Get("namespace"))) + "  " + rawjson.Text(server.Get("status"))
	why := rawjson.Text(server.Get("reason")) + rawjson.Text(server.Get("note")) // never both (G-02, G-06)
	fmt.Fprintln(w, join(line, shownText(why)))
}
