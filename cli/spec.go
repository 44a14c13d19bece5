package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/spec"
)

func (a *app) specCommand() *cobra.Command {
	var list, openRPC bool
	cmd := &cobra.Command{
		Use:   "spec [NAME]",
		Short: "Print the protocol that this build speaks",
		Long: `Prints the text of the host protocol, or one of the files that belong to it: the
tables of methods and errors, the JSON Schema of each message, the vectors.`,
		Example: `  toolhost spec | less
  toolhost spec --list
  toolhost spec schema/invoke.params.json`,
		Args: positional(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case list && openRPC, len(args) > 0 && (list || openRPC):
				return &usageError{errors.New("--list, --openrpc and NAME exclude each other")}
			case list:
				return a.listSpec()
			case openRPC:
				_, err := a.out.Write(spec.OpenRPC())
				return err
			case len(args) == 1:
				return a.printSpec(args[0])
			}
			return a.printSpec("protocol.md")
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the names that can be printed")
	cmd.Flags().BoolVar(&openRPC, "openrpc", false, "print an OpenRPC document of the methods")
	return cmd
}

// listSpec prints the name of each file of the protocol.
func (a *app) listSpec() error {
	return fs.WalkDir(spec.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			_, err = fmt.Fprintln(a.out, name)
		}
		return err
	})
}

// printSpec prints one file of the protocol. The ending may be left out.
func (a *app) printSpec(name string) error {
	for _, ending := range []string{"", ".md", ".json", ".jsonl"} {
		text, err := fs.ReadFile(spec.FS, name+ending)
		if err == nil {
			_, err = a.out.Write(text)
			return err
		}
	}
	return &usageError{fmt.Errorf("the protocol has no file %q; \"toolhost spec --list\" lists them", name)}
}
