package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/redact"
)

// An app is one run of the command line.
type app struct {
	in    io.Reader
	out   io.Writer // answers; for serve nothing but protocol messages
	err   *logSink  // the log, and errors and questions for people
	scrub *redact.Scrubber

	attended bool // a person can be asked: stdin and stderr are terminals
}

// Run does what args say and returns the exit code that exitRows lists. It ends
// early, in an orderly way, when ctx ends.
func Run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	scrub := redact.NewScrubber()
	a := &app{in: in, out: out, err: newLogSink(errOut, scrub), scrub: scrub}
	defer a.err.Close()
	_, typing := terminal(in)
	_, reading := terminal(errOut)
	a.attended = typing && reading

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
			return unknownCommand(cmd, args[0])
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
		exitTopic(),
	)
	root.SetHelpCommand(helpCommand())

	// --version prints what the command does. The flag is made here, since cobra's
	// own takes -v too, which means something else to many.
	build, _ := debug.ReadBuildInfo()
	root.Version = versionLine(build)
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the versions of the program, the protocol and Go")
	return root
}

// report tells people what went wrong and returns the exit code for it. It says
// nothing where the output has said it, or where nobody wants to read on, as in
// "toolhost spec | head".
func (a *app) report(cmd *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	if errors.Is(err, errNotReady) || errors.Is(err, syscall.EPIPE) {
		return exitCode(err)
	}
	fmt.Fprintf(a.err, "toolhost: %s\n", escapeLines(err.Error()))
	if _, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(a.err, "Run \"%s --help\" to see how it is used.\n", cmd.CommandPath())
	}
	return exitCode(err)
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
