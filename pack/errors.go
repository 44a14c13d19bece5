package pack

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/internal/limit"
)

// A Kind says what went wrong in a way that a program can act on. The set is
// closed: it is the `kind` column of the protocol's error table.
type Kind string

// The kinds of errors.
const (
	KindMessage     Kind = "message"     // a model can read it and act on it
	KindBackend     Kind = "backend"     // the server answered with an error; the text is the server's
	KindTransport   Kind = "transport"   // connection, HTTP status, deadline or a malformed answer
	KindUnavailable Kind = "unavailable" // no such pack or id, closed, not constructed, overloaded
	KindRefused     Kind = "refused"     // approval denied, or a policy of the host
	KindCancelled   Kind = "cancelled"   // the host cancelled it
	KindInternal    Kind = "internal"    // a fault of ours
)

// Delivered says whether the server may have run a call that failed.
type Delivered string

// The values of Delivered. The empty value means that the question does not
// arise, as for a call that was never made.
const (
	DeliveredNo      Delivered = "no"
	DeliveredUnknown Delivered = "unknown"
	DeliveredYes     Delivered = "yes"
)

// An Error is the only kind of error that leaves a pack.
type Error struct {
	Kind      Kind
	Message   string // scrubbed of secrets; says what to do next where one can
	Server    string // the server concerned, if one
	Untrusted bool   // Message comes from outside
	Retryable bool   // the same call may work later, with nothing changed
	Delivered Delivered
	Limit     string // the limit that was hit, if one
	Err       error  // for errors.Is and the log; never shown
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error of that kind. The arguments must hold no secret.
func Errorf(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Message: err.Error(), Err: errors.Unwrap(err)}
}

// AsError returns err as an *Error: itself, or wrapped as what it plainly is. A
// limit that was hit is named. An error of unknown origin becomes Internal with
// a message that shows none of it.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*limit.Error](err); ok {
		return &Error{Kind: KindTransport, Message: e.Error(), Limit: e.Name.String(), Err: err}
	}
	switch {
	case errors.Is(err, context.Canceled):
		return &Error{Kind: KindCancelled, Message: "cancelled", Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Kind: KindTransport, Message: "the deadline passed", Err: err}
	}
	return &Error{Kind: KindInternal, Message: "internal error", Err: err}
}
