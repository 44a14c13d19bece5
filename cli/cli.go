package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
)

// An app is one run of the command line.
type app struct {
	in    io.Reader
	out   io.Writer // answers; for serve nothing but protocol messages
	err   *logSink  // the log, and errors for people
	scrub *redact.Scrubber
}

// Run does what args say and returns the exit code: 0 when all went well, 2 when
// args make no sense, and otherwise what exitCodes says. It ends early, in an
// orderly way, when ctx ends.
func Run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	scrub := redact.NewScrubber()
	a := &app{in: in, out: out, err: newLogSink(errOut, scrub), scrub: scrub}
	defer a.err.Close()

	root := a.root()
	root.SetArgs(append([]string{}, args...)) // not nil, for which cobra reads os.Args
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(a.err)
	cmd, err := root.ExecuteContextC(ctx)
	return a.report(cmd, err)
}

// root returns the whole command tree. Run alone it serves, unless a person sits
// at the keyboard.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "toolhost",
		Short: "Use MCP servers from any program, over the stdin and stdout of one child process",
		Long: `toolhost is a child process through which a program uses MCP servers. The
program spawns "toolhost serve" and speaks JSON-RPC with it on stdin and stdout.
Without arguments it serves too, when stdin is no terminal.

Start with "toolhost demo", which shows the messages, and "toolhost check", which
tries the servers of an mcp.json file.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			problem := fmt.Sprintf("unknown command %q", args[0])
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				problem += "; did you mean " + strings.Join(near, " or ") + "?"
			}
			return &usageError{errors.New(problem)}
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, person := terminal(a.in); person {
				return cmd.Help()
			}
			return a.serve(cmd.Context(), newSettings(slog.LevelWarn))
		},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(
		a.serveCommand(),
		a.demoCommand(),
		a.checkCommand(),
		a.toolsCommand(),
		a.callCommand(),
		a.specCommand(),
		a.versionCommand(),
		limitsTopic(),
	)
	return root
}

// A usageError says that the arguments make no sense. Only these errors point to
// the help.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// arguments makes cobra's own checks of positional arguments usage errors.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &usageError{err}
		}
		return nil
	}
}

// errShown ends a command with exit code 1 whose output has said why already.
var errShown = errors.New("failed")

// exitCodes are the exit codes of failures by the kind of the pack's error.
// Every other failure is 1.
var exitCodes = map[pack.Kind]int{
	pack.KindMessage:     3,
	pack.KindBackend:     4,
	pack.KindTransport:   5,
	pack.KindUnavailable: 6,
	pack.KindRefused:     7,
	pack.KindCancelled:   8,
}

// report tells people what went wrong and returns the exit code for it.
func (a *app) report(cmd *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	if errors.Is(err, errShown) {
		return 1
	}
	fmt.Fprintf(a.err, "toolhost: %s\n", escapeLines(err.Error()))
	if _, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(a.err, "Run \"%s --help\" to see how it is used.\n", cmd.CommandPath())
		return 2
	}
	if e, ok := errors.AsType[*pack.Error](err); ok && exitCodes[e.Kind] != 0 {
		return exitCodes[e.Kind]
	}
	return 1
}

// terminal returns the size of the terminal that f is, and whether it is one.
func terminal(f any) (size terminalSize, ok bool) {
	if file, isFile := f.(*os.File); isFile {
		return sizeOf(file)
	}
	return terminalSize{}, false
}

// A terminalSize is what fits a terminal; 0 where the terminal does not say.
type terminalSize struct{ columns, rows int }
