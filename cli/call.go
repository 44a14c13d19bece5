package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack"
)

func (a *app) callCommand() *cobra.Command {
	c := newConnection()
	cmd := &cobra.Command{
		Use:   "call --config FILE SERVER TOOL [JSON|@FILE|-]",
		Short: "Call one tool and print its text",
		Long: `Connects to one server of an mcp.json file, or starts it, calls one of its tools,
by the server's own name for it, and prints the text that a model would get. The
arguments are a JSON object: given as it is, in a file (@FILE) or on stdin (-);
without them it is {}.

You are not asked whether the tool may run, needsApproval or not: you have typed
the call. What the server asks while it runs is put to you, on a terminal; without
one it cannot ask. Pages that it wants visited are never opened for you.

The text goes to stdout and errors to stderr. The exit code says whether the tool
failed (4), the connection (5), or what was asked for (3); "toolhost help
exit-codes" lists them all.`,
		Example: `  toolhost call --config mcp.json docs search '{"query": "cobra"}'
  toolhost call --config mcp.json docs search @arguments.json`,
		Args: positional(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			result, err := a.call(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			return a.printText(rawjson.Text(result.Content))
		},
	}
	c.register(cmd)
	return cmd
}

// call runs one tool: args are the server, the tool and maybe its arguments.
func (a *app) call(ctx context.Context, c *connection, args []string) (*pack.Result, error) {
	given := "{}"
	if len(args) == 3 {
		given = args[2]
	}
	if c.config == "-" && given == "-" {
		return nil, &usageError{errors.New("stdin cannot be both the configuration and the arguments")}
	}
	config, err := a.readConfig(ctx, c.config, c.limits)
	if err != nil {
		return nil, err
	}
	arguments, err := a.readArguments(ctx, given, c.limits)
	if err != nil {
		return nil, err
	}
	l, servers, err := a.connect(ctx, c, config, args[:1], nil)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if err := l.unusable(servers[0]); err != nil {
		return nil, err
	}
	tool, err := l.tool(args[0], args[1])
	if err != nil {
		return nil, err
	}
	return l.invoke(ctx, tool, arguments)
}

// readArguments returns the JSON object that the command line gives. The error is
// a *usageError, or says that ctx has ended.
func (a *app) readArguments(ctx context.Context, given string, limits limit.Table) ([]byte, error) {
	name, text := "the arguments", []byte(given)
	if file, isFile := strings.CutPrefix(given, "@"); isFile || given == "-" {
		if !isFile {
			file = "-"
		}
		read, err := a.readFile(ctx, file, limit.HostLine, limits)
		if err != nil && ctx.Err() == nil {
			err = &usageError{fmt.Errorf("the arguments: %w", err)}
		}
		if err != nil {
			return nil, err
		}
		name, text = file, read
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, &usageError{errors.New("the arguments are empty; leave them out or write {}")}
	}
	if err := rawjson.Check(text, rawjson.Bounds{Depth: limits.Int(limit.JSONDepth)}); err != nil {
		return nil, &usageError{jsonError(name, text, err)}
	}
	if kind := rawjson.KindOf(text); kind != rawjson.Dict {
		return nil, &usageError{fmt.Errorf("the arguments must be a JSON object, as {\"name\": \"value\"}, not %s", kind)}
	}
	return text, nil
}

// printText writes a tool's text: as it came to a file or a pipe, escaped to a
// terminal, on which a server must not move the cursor.
func (a *app) printText(text string) error {
	if _, person := terminal(a.out); person {
		text = escapeLines(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := fmt.Fprint(a.out, text)
	return err
}
