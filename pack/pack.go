package pack

import (
	"context"
	"time"
)

// Raw is one valid JSON value, as the bytes it came in. A nil Raw is an absent
// value.
type Raw []byte

// An Info describes a pack. It is a constant of the package that implements it.
type Info struct {
	Name        string // fully qualified, as in "runvil/mcp"
	ID          string // the id that construct uses when the host names none
	Description string // one line, for people
	Prelude     string // text for the model's prompt; "" for none

	// New builds the pack under id. It does no I/O: background work is started
	// on host.Runtime. config is null when the host gave none. An error of type
	// *Error is shown as it is; any other is wrapped as unavailable.
	New func(id string, config Raw, host *Host) (Pack, error)
}

// A Pack is a constructed pack. All methods may be called from any goroutine.
type Pack interface {
	// Tools returns the tools that can be invoked now. It does no I/O.
	Tools() []Tool

	// Invoke runs one tool. It returns when the tool has answered, when ctx
	// ends (with an error of kind Cancelled, or Transport after a deadline), or
	// when the call cannot be made. Exactly one of the results is non-nil. A
	// non-nil error is an *Error.
	Invoke(ctx context.Context, call *Call) (*Result, error)

	// Close stops the pack's background work and ends its sessions, until ctx
	// ends. Calls in flight have been cancelled before. It is called once.
	Close(ctx context.Context) error
}

// A Readier is a Pack that has servers to report. A pack without it is ready as
// soon as it is constructed.
type Readier interface {
	// Ready waits until the pack says that its tools can be used and returns
	// the state of its servers. It may be called at the start of every turn.
	Ready(ctx context.Context) ([]ServerStatus, error)
}

// A ServerStatus is the state of one server of a pack, as `ready` and `status`
// carry it.
type ServerStatus struct {
	Name        string
	Status      string // one of the pack's own set, listed in the protocol
	ToolCount   int
	Error       string // the reason, scrubbed of secrets; "" for none
	NeedsSignIn bool
}

// A Kind of Tool says who uses it.
type ToolKind string

// The kinds of tools.
const (
	KindTool     ToolKind = "tool"     // for the model
	KindCommand  ToolKind = "command"  // for the user
	KindPrompt   ToolKind = "prompt"   // for the user
	KindResource ToolKind = "resource" // for the host
)

// A Tool is one thing that can be invoked. Zero fields mean absent or false.
type Tool struct {
	Name          string // without the pack id
	Kind          ToolKind
	Title         string
	Description   string
	InputSchema   Raw
	OutputSchema  Raw
	Annotations   Raw
	Untrusted     bool // its output comes from outside
	NeedsApproval bool
	CodeMode      bool
	Server        string // the server it comes from, if one
	ServerTool    string // its name there
}

// A Call is one invocation of a tool.
type Call struct {
	ID        Raw           // the host's id of the invoke, for Question.Invoke
	Tool      string        // the tool's name without the pack id
	Arguments Raw           // an object
	Run       string        // which run of the host the call belongs to; "" for a run of its own
	Timeout   time.Duration // 0 for the pack's own; can only shorten it

	// Progress receives the progress of the call, in order, from one goroutine
	// at a time, never after Invoke has returned. It must not block. Nil when
	// the host did not ask.
	Progress func(Progress)

	// Log receives log messages of the server that belong to this call, under
	// the same rules. Nil when the host did not ask.
	Log func(Message)
}

// Progress is how far a call has come. Numbers are the server's own bytes.
type Progress struct {
	Progress Raw
	Total    Raw    // nil when the server gave none
	Message  string // scrubbed of secrets
}

// A Message is a log message for the host.
type Message struct {
	Level   string // debug, info, notice, warning, error, critical, alert, emergency
	Server  string
	Message string
	Data    Raw
}

// A Result is a tool's answer.
type Result struct {
	Content    Raw  // a JSON string: the text, still in the escapes it came in
	Untrusted  bool // the text comes from outside
	Structured Raw  // any JSON; nil when the pack offers none
	Blocks     Raw  // an array of typed content blocks; nil when the pack offers none
}
