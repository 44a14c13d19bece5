package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// positional returns the check of a command that takes from least to most
// arguments. Its error shows how the command is used and quotes no argument:
// one that a shell has split may be half a credential.
func positional(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return &usageError{fmt.Errorf("too few arguments; usage: %s", cmd.UseLine())}
		case most == 0 && len(args) > 0:
			return &usageError{fmt.Errorf("%s takes flags only, and no argument; usage: %s", cmd.Name(), cmd.UseLine())}
		case len(args) > most:
			return &usageError{fmt.Errorf("too many arguments (%d); quote what belongs together; usage: %s", len(args), cmd.UseLine())}
		}
		return nil
	}
}

// unknownCommand says that there is no command of that name.
func unknownCommand(root *cobra.Command, name string) *usageError {
	problem := fmt.Sprintf("unknown command %q", name)
	if near := root.SuggestionsFor(name); len(near) > 0 {
		problem += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return &usageError{errors.New(problem)}
}

// helpCommand stands for cobra's, which answers an unknown name with success.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Show how a command is used, or a topic",
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			target, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				var topics []string
				for _, c := range root.Commands() {
					if c.IsAdditionalHelpTopicCommand() {
						topics = append(topics, c.Name())
					}
				}
				err := unknownCommand(root, strings.Join(args, " "))
				return &usageError{fmt.Errorf("%w; the topics are %s", err, strings.Join(topics, " and "))}
			}
			target.InitDefaultHelpFlag() // for the list of flags
			return target.Help()
		},
	}
}

// wrap breaks a text of words into lines of at most that many bytes, where its
// spaces are.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
