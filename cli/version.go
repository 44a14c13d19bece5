package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/spec"
)

// version is this program's own; the protocol's is spec.Version.
const version = "0.1.0"

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the program, the protocol and Go",
		Args:  positional(0, 0),
		RunE: func(*cobra.Command, []string) error {
			build, _ := debug.ReadBuildInfo()
			_, err := fmt.Fprintln(a.out, versionLine(build))
			return err
		},
	}
}

// versionLine is "toolhost 0.1.0 (protocol 1, go1.26.8, commit 0123456789ab)".
// The commit is missing from a build outside a checkout.
func versionLine(build *debug.BuildInfo) string {
	line := fmt.Sprintf("toolhost %s (protocol %s", version, spec.Version())
	if build == nil {
		return line + ")"
	}
	line += ", " + build.GoVersion
	facts := map[string]string{}
	for _, s := range build.Settings {
		facts[s.Key] = s.Value
	}
	if commit := facts["vcs.revision"]; commit != "" {
		line += ", commit " + commit[:min(12, len(commit))]
		if facts["vcs.modified"] == "true" {
			line += " with changes"
		}
	}
	return line + ")"
}
