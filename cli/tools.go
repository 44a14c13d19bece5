package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/pack"
)

func (a *app) toolsCommand() *cobra.Command {
	c := newConnection()
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tools --config FILE [SERVER [TOOL]]",
		Short: "List servers and their tools, one server's tools, or one tool",
		Long: `Connects to the servers of an mcp.json file, or starts them, and lists their tools
by the names that the servers give them: without arguments each server with the
names of its tools, with SERVER the tools of that server, with TOOL that tool, the
name that a model knows it by, and its input schema.

The exit code is 3 when the server or tool that was named cannot be used;
"toolhost help exit-codes" lists them all.`,
		Example: `  toolhost tools --config mcp.json
  toolhost tools --config mcp.json docs
  toolhost tools --config mcp.json docs search --json`,
		Args: positional(0, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := a.list(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			if asJSON {
				err = l.json(a.out)
			} else {
				err = l.text(a.out)
			}
			if err == nil && l.unusable {
				err = errNotReady
			}
			return err
		},
	}
	c.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// A listing is what `tools` shows: every server, one of them, or one tool of it.
type listing struct {
	depth    int // how many names were given
	servers  []listedServer
	tool     *pack.Tool // the one that was named, with depth 2
	unusable bool       // the server that was named, which the listing says why
}

// A listedServer is a server with what it offers.
type listedServer struct {
	pack.ServerStatus
	note    string // why not all of it is there; "" for nothing
	tools   []pack.Tool
	prompts []pack.Tool
}

// list returns the listing for the names in args.
func (a *app) list(ctx context.Context, c *connection, args []string) (*listing, error) {
	config, err := a.readConfig(ctx, c.config, c.limits)
	if err != nil {
		return nil, err
	}
	l, servers, err := a.connect(ctx, c, config, args[:min(1, len(args))], nil)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	found := &listing{depth: len(args), unusable: len(args) > 0 && servers[0].Status != statusConnected}
	if len(args) == 2 {
		if err := l.unusable(servers[0]); err != nil {
			return nil, err
		}
		if found.tool, err = l.tool(args[0], args[1]); err != nil {
			return nil, err
		}
	}
	missing := l.Missing()
	tools, prompts := l.tools(pack.KindTool), l.tools(pack.KindPrompt)
	for _, s := range servers {
		found.servers = append(found.servers, listedServer{
			ServerStatus: s,
			note:         strings.Join(missing[s.Name], "; "),
			tools:        of(s.Name, tools),
			prompts:      of(s.Name, prompts),
		})
	}
	return found, nil
}

// of returns what one server offers.
func of(server string, tools []pack.Tool) []pack.Tool {
	var own []pack.Tool
	for _, tool := range tools {
		if tool.Server == server {
			own = append(own, tool)
		}
	}
	return own
}
