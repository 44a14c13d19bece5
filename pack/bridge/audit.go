package bridge

import (
	"context"
	"log/slog"
	"time"

	"github.com/toolhost/toolhost/pack"
)

// Audit logs one line for a call of a tool that has ended: which tool, what came of
// it, and how long it took (2025-11-25 server/tools, "Security Considerations").
// Neither arguments nor results are in it. began is when the call came in; err is
// what it failed with, nil for a result.
func (s *Server) Audit(tool string, began time.Time, err error) {
	ctx, log := context.Background(), s.Logger()
	if !log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	outcome := "ok"
	if err != nil {
		outcome = string(pack.AsError(err).Kind)
	}
	log.LogAttrs(ctx, slog.LevelInfo, "a tool was called",
		slog.String("tool", s.host.Scrub.Reason(tool, ShownName)),
		slog.String("outcome", outcome),
		slog.Duration("duration", time.Since(began)))
}
