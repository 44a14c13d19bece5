package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/pack"
)

func (a *app) checkCommand() *cobra.Command {
	c := newConnection()
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check --config FILE",
		Short: "Connect to every server of an mcp.json file and say how it went",
		Long: `Connects to every server of an mcp.json file, and shows which are connected, with
the number of their tools, and why the others are not. Local servers are started,
so check only files that you trust, and stopped again. A warning says what is odd
about an entry, or why not all that a server offers is there.

The exit code is 0 when all servers are connected, else 3; "toolhost help
exit-codes" lists them all.`,
		Example: `  toolhost check --config mcp.json
  toolhost check --config mcp.json --json | jq .servers`,
		Args: positional(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.check(cmd.Context(), c, a.checkView(asJSON))
		},
	}
	c.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object at the end")
	return cmd
}

// check shows how each server starts and returns errNotReady unless all are connected.
func (a *app) check(ctx context.Context, c *connection, view checkView) error {
	config, err := a.readConfig(ctx, c.config, c.limits)
	if err != nil {
		return err
	}
	l, servers, err := a.connect(ctx, c, config, nil, func(l *local, servers []pack.ServerStatus) {
		view.show(withWarnings(servers, l.Warnings()))
	})
	if err != nil {
		return err
	}
	defer l.Close()
	warnings := l.Warnings()
	for server, missing := range l.Missing() {
		warnings[server] = append(warnings[server], missing...)
	}
	if err := view.end(withWarnings(servers, warnings)); err != nil {
		return err
	}
	if slices.ContainsFunc(servers, notReady) {
		return errNotReady
	}
	return nil
}
