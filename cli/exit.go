package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/pack"
)

// The exit codes that a cause outside the packs has. The others stand in
// exitRows alone.
const (
	exitOther       = 1
	exitUsage       = 2
	exitNotReady    = 3
	exitConfig      = 6
	exitInterrupted = 8
)

// exitRows are the exit codes of every command. One cause has one code, whatever
// the command; kinds are those of the pack errors that have it.
var exitRows = []struct {
	code  int
	kinds []pack.Kind
	means string
}{
	{0, nil, "all went well; serve: the host ended the conversation"},
	{exitOther, nil, "anything else, such as output that cannot be written"},
	{exitUsage, nil, "the command line, or arguments of a call that cannot be read"},
	{exitNotReady, []pack.Kind{pack.KindMessage}, "a server that was asked for is unknown or not connected, its tool is unknown, or the arguments are not what the tool takes"},
	{4, []pack.Kind{pack.KindBackend}, "the tool itself answered with an error"},
	{5, []pack.Kind{pack.KindTransport}, "a call failed: the connection, the deadline, or a malformed answer"},
	{exitConfig, []pack.Kind{pack.KindUnavailable}, "the configuration cannot be read or used"},
	{7, []pack.Kind{pack.KindRefused}, "the call was refused"},
	{exitInterrupted, []pack.Kind{pack.KindCancelled}, "it was interrupted; serve ends with 0 then"},
}

// errNotReady ends a command whose output has said already which servers are not
// connected, and why.
var errNotReady = errors.New("not every server is connected")

// A usageError says that the command line makes no sense. Only these errors point
// to the help.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// A configError says that the configuration as a whole cannot be used. What is
// wrong with one entry is said by its server.
type configError struct{ err error }

func (e *configError) Error() string { return e.err.Error() }
func (e *configError) Unwrap() error { return e.err }

// exitCode returns the code of exitRows for the error that ended a command.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*configError](err); ok {
		return exitConfig
	}
	if errors.Is(err, errNotReady) {
		return exitNotReady
	}
	if e, ok := errors.AsType[*pack.Error](err); ok {
		for _, row := range exitRows {
			for _, kind := range row.kinds {
				if kind == e.Kind {
					return row.code
				}
			}
		}
	}
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	return exitOther
}

// interrupted is the error of a command that a signal ended.
func interrupted() error { return pack.Errorf(pack.KindCancelled, "interrupted") }

// exitTopic is the help topic that lists the exit codes.
func exitTopic() *cobra.Command {
	var text strings.Builder
	text.WriteString("One cause has one exit code, whatever the command:\n\n")
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range exitRows {
		fmt.Fprintf(w, "%d\t%s\n", row.code, strings.Join(wrap(row.means, 76), "\n\t"))
	}
	w.Flush()
	text.WriteString("\nA second interrupt ends the process at once, with 130, and a second SIGTERM\nwith 143.")
	return &cobra.Command{Use: "exit-codes", Short: "The exit codes of all commands", Long: text.String()}
}
