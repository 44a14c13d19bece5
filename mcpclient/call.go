package mcpclient

import (
	"context"
	"slices"
)

// CallOptions is what the caller of a tool takes besides its result. Progress and
// Log are called one at a time, never after CallTool has returned, and must not
// block; the bytes they are given are valid JSON and not to be kept.
type CallOptions struct {
	Progress func(progress, total []byte, message string) // nil asks for none; total may be nil
	Log      func(level string, data []byte, logger string)

	// Elicit puts the questions that the server asks in answer to the call, one
	// after the other, on the goroutine of the call; it may take its time. Nil
	// ends such a call with an *InputError.
	Elicit Elicitor
}

// An ArgumentError says that a call cannot be made with these arguments. Nothing
// was sent. Its text names an argument, never its value.
type ArgumentError struct{ Reason string }

func (e *ArgumentError) Error() string { return e.Reason }

// logLevel is the level from which on log messages are asked for, in revisions
// that have a server send none unasked.
const logLevel = "info"

// callReads are the members of a result that are acted on.
var callReads = slices.Concat(resultReads, []string{"content", "structuredContent", "isError"})

// CallTool calls the tool of exactly that name with arguments, a valid JSON
// object, nil for {}. It returns when the server has answered or ctx ends, which
// cancels the call at the server.
//
// The call is sent twice in four cases only, each of which proves that the server
// has not acted on it: its session was lost, it no longer speaks the revision, it
// misses a header that mirrors an argument, or it wants the user to visit a URL
// first, which opts.Elicit saw to. A server that answers with a request for input
// gets the input in a request of its own, which is a part of the same call.
//
// A result is held against the output schema that the newest listing gives the tool;
// validate.go says when, and what becomes of one that does not fit.
//
// The error is a *WireError, a *ServerError, an *InputError, an *ArgumentError,
// a *limit.Error or ctx's cause.
func (s *Session) CallTool(ctx context.Context, name string, arguments []byte, opts *CallOptions) (*CallResult, error) {
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	output, err := s.outputOf(name)
	if err != nil {
		return nil, err
	}
	x := s.newExchange(methodCall, name, callReads, opts)
	x.params, x.arguments = namedParams(name, arguments), arguments
	a, err := x.run(ctx)
	if err != nil {
		return nil, err
	}
	result, err := newCallResult(a.raw, a.object)
	if err != nil {
		return nil, err
	}
	if !result.IsError {
		err = s.checkOutput(name, output, a.object)
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}
