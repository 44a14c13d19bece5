package pack

import (
	"context"
	"log/slog"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/redact"
)

// A Host is what the process around a pack offers it. It is given to Info.New
// and may be kept. The zero value of an ability means that the host lacks it.
type Host struct {
	Name    string // the host program's own words, for logs and the MCP clientInfo
	Version string

	// Runtime runs background work. A wire host always has one; a Go program
	// that embeds a pack may not, and then packs that need one are unavailable.
	Runtime Runtime

	Log    *slog.Logger     // never nil; its output is scrubbed
	Scrub  *redact.Scrubber // never nil; a pack registers its secrets here before it uses them
	Limits limit.Table

	// Status and Changed tell the host that a server's state or the tools
	// changed. They never block. Nil when the host did not declare them.
	Status  func([]ServerStatus)
	Changed func()

	// Message carries a log message that belongs to no call. It never blocks.
	// Nil when the host did not declare log.
	Message func(Message)

	// Ask puts a question to the host's user and waits for the answer, which
	// may take minutes: a deadline of the caller's own stands still meanwhile.
	// When ctx ends the question is withdrawn. A question of a kind that the
	// host did not declare is declined unasked. The error is an *Error: ctx
	// ended, or the host is gone. Nil when the host declared no kind.
	Ask  func(ctx context.Context, q *Question) (*Answer, error)
	Asks map[QuestionKind]bool // the kinds that the host declared
}

// A Runtime starts background work that ends with the process.
type Runtime interface {
	// Go runs task on a goroutine of its own. Its context ends when the process
	// shuts down. A panic in task is contained and logged.
	Go(task func(ctx context.Context))
}
