package cli

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/rpc"
)

func (a *app) serveCommand() *cobra.Command {
	s := newSettings(slog.LevelWarn)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Speak the protocol on stdin and stdout; what a host program spawns",
		Long: `Speaks the host protocol on stdin and stdout until stdin ends, and then ends itself
with exit code 0. The log goes to stderr. "toolhost spec" prints the protocol.

SIGTERM and an interrupt end it like the end of stdin; a second one at once.`,
		Args: positional(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd.Context(), s)
		},
	}
	s.register(cmd)
	return cmd
}

// serve returns when the host has ended the conversation, or ctx has.
func (a *app) serve(ctx context.Context, s *settings) error {
	registry, err := packs()
	if err != nil {
		return err
	}
	log := a.logger(s)
	if err := forbidCores(); err != nil {
		log.Warn("a crash may leave a core file, which may hold secrets", "reason", err)
	}
	in, releaseIn := fastInput(a.in)
	defer releaseIn()
	out, releaseOut := fastOutput(a.out)
	defer releaseOut()
	return rpc.Serve(ctx, in, out, registry, &rpc.Options{
		Version: version,
		Limits:  s.limits,
		Log:     log,
		Scrub:   a.scrub,
	})
}
