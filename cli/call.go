package cli

import (
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
		Use:   "call --config FILE NAMESPACE TOOL [JSON|@FILE|-]",
		Short: "Call one tool and print its text",
		Long: `Connects to one server of an mcp.json file, calls one of its tools and prints the
text that a model would get. The arguments are a JSON object: given as it is, in a
file (@FILE) or on stdin (-); without them it is {}.

The text goes to stdout and errors to stderr, and the exit code says what failed:
  2  the command line
  3  the server or the tool is unknown, the server is not ready, or the arguments
     are wrong
  4  the tool itself answered with an error
  5  the connection, the deadline, or a malformed answer
  6  the configuration cannot be used
  7  the call was refused
  8  the call was cancelled
  1  anything else`,
		Example: `  toolhost call --config mcp.json docs search '{"query": "cobra"}'
  toolhost call --config mcp.json docs search @arguments.json`,
		Args: arguments(cobra.RangeArgs(2, 3)),
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

// call runs one tool: args are the namespace, the tool and maybe its arguments.
func (a *app) call(ctx context.Context, c *connection, args []string) (*pack.Result, error) {
	given := "{}"
	if len(args) == 3 {
		given = args[2]
	}
	if c.config == "-" && given == "-" {
		return nil, &usageError{errors.New("stdin cannot be both the configuration and the arguments")}
	}
	arguments, err := a.readArguments(given, c.limits)
	if err != nil {
		return nil, err
	}
	l, _, err := a.connect(ctx, c, args[0], nil)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	params := rawjson.AppendString([]byte(`{"namespace":`), args[0])
	params = rawjson.AppendString(append(params, `,"toolName":`...), args[1])
	params = append(append(append(params, `,"arguments":`...), arguments...), '}')
	return l.invoke(ctx, callDynamicTool, params)
}

// readArguments returns the JSON object that the command line gives.
func (a *app) readArguments(given string, limits limit.Table) ([]byte, error) {
	name, text := "the arguments", []byte(given)
	if file, isFile := strings.CutPrefix(given, "@"); isFile || given == "-" {
		if !isFile {
			file = "-"
		}
		read, err := a.readFile(file, limit.HostLine, limits)
		if err != nil {
			return nil, err
		}
		name, text = file, read
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
