package mcpclient

import (
	"context"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/redact"
)

// A Transport carries messages between one Session and one server. The carrier
// knows how bytes travel (headers, streams, pipes) and what a Revision row says
// about that; it knows no method of MCP beyond what the row and the Request say.
//
// All methods may be called from any goroutine, many at once.
type Transport interface {
	// RoundTrip sends a request and returns its answer, which may carry a
	// JSON-RPC error. Notifications that come before the answer go to h, one at
	// a time, on the calling goroutine; requests of the server on goroutines of
	// their own, since the answer may wait for theirs. The error is a
	// *WireError, a *limit.Error, or ctx's cause.
	//
	// When ctx ends, RoundTrip returns at once. A request that the server may
	// have begun is then cancelled as the revision says: by closing its
	// response stream, or by notifications/cancelled sent behind the caller's
	// back on a context of its own. A request with NoCancel is left alone, and so
	// is one whose ctx ends with a *WireError as its cause: that is the server's
	// own word that it has ended the request.
	RoundTrip(ctx context.Context, req *Request, h Handler) (*Response, error)

	// Notify sends a notification and returns when the server has taken it.
	Notify(ctx context.Context, n *Notification) error

	// Listen opens the stream on which the server speaks of its own accord and
	// gives what comes to l until ctx ends or the stream does; req is the
	// subscription of revisions that subscribe, nil for the others. It returns
	// ErrNoListen where the server offers no such stream, and nil when the server
	// has ended it in order.
	Listen(ctx context.Context, link *Link, req *Request, l Listener) error

	// Close ends the link at the server (if it has a session) and releases what
	// the carrier holds. Calls in flight end. It is called once, and the
	// Transport is not used again.
	Close(ctx context.Context, link *Link) error
}

// A Link is what a handshake has settled and every later message carries. It is
// immutable; a lost session is replaced by a new Link.
type Link struct {
	Revision *Revision
	Session  redact.Secret // Mcp-Session-Id, empty where there is none
}

// A Request is one JSON-RPC request, ready to send.
type Request struct {
	Link    *Link // for the handshake itself: a Link with the revision it offers
	ID      int64 // unique among the requests of this Session
	Method  string
	Name    string        // what Mcp-Name mirrors: the name or uri of the call; "" for none
	Headers []ParamHeader // Mcp-Param-* of the call's arguments, for revisions that mirror them
	Body    []byte        // the whole message, one JSON object on one line

	// Again returns the same request under a new id, since no id is used twice.
	// The carrier may send it by itself when the first sending came to nothing.
	// Nil for a request with side effects, such as a call.
	Again func() *Request

	// NoCancel marks the requests that the specification forbids to cancel.
	NoCancel bool
}

// A ParamHeader is one argument to mirror into a header, value not yet encoded.
type ParamHeader struct {
	Name  string // the part after "Mcp-Param-"
	Value string
}

// A Notification is one JSON-RPC notification, ready to send.
type Notification struct {
	Link   *Link
	Method string
	Body   []byte
}

// A Response is the answer to one request. Exactly one of Result and Err is set.
type Response struct {
	Result  []byte // valid JSON, as it came
	Err     *ServerError
	Status  int           // the HTTP status, 0 for other carriers
	Session redact.Secret // the session that the answer to the handshake opened
}

// A Handler takes the messages that a server sends besides the answer. Params
// are valid JSON, or nil; they must not be kept after the call returns.
type Handler interface {
	Notification(method string, params []byte)

	// Request answers a request of the server. The carrier sends the answer
	// where the revision has a way to, and drops it elsewhere. Exactly one of
	// the results is non-nil.
	Request(ctx context.Context, method string, params []byte) (result []byte, err *ServerError)
}

// A Listener is the Handler of a stream on which the server speaks of its own
// accord.
type Listener interface {
	Handler

	// Opened says that the server has accepted the stream. A carrier that opens
	// a broken stream again calls it each time: what the server said in between
	// may be lost.
	Opened()
}

// A ServerError is a JSON-RPC error that the server sent. Message is untrusted
// and unscrubbed.
type ServerError struct {
	Code    int64
	Message string
	Data    []byte // valid JSON; nil for none
}

func (e *ServerError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// A WireError says that no answer could be had.
type WireError struct {
	Op     string // what was done: "connect", "send", "read the answer"
	Status int    // the HTTP status, 0 for none
	Reason string // safe to show: built from our own words, or scrubbed and cut

	// Delivered says whether the server may have acted on the request:
	// "no", "unknown" or "yes", as in the protocol's data.delivered.
	Delivered string

	// SessionLost means that the server no longer knows the Link's session. The
	// request was not acted on; the session must be opened anew.
	SessionLost bool

	// NotMCP means that the server answered, but not as this revision's
	// specification says, so it may speak another (the era is then in question).
	NotMCP bool

	// Final means that trying again changes nothing until someone acts, as for
	// a redirect or a refused credential.
	Final bool

	// Later means that the server turned the request away for now and said that it
	// may come again. That does not say whether it has acted on it.
	Later      bool
	RetryAfter time.Duration // what the server asked us to wait, 0 for nothing
	Err        error         // for errors.Is; never shown
}

func (e *WireError) Error() string { return e.Reason }

func (e *WireError) Unwrap() error { return e.Err }

// ErrNoListen is returned by Listen where the server offers no such stream.
var ErrNoListen = &WireError{Op: "listen", Reason: "the server offers no stream of its own", Final: true}
