package httpmcp

import (
	"context"
	"net/http/httptrace"
	"strings"
)

// An attempt watches the sending of one request, to tell afterwards whether the
// server can have received any of it. It is read by the goroutine that sent.
type attempt struct {
	trace     httptrace.ClientTrace
	connected bool         // a connection was had
	reused    bool         // it had served another request before
	conn      *countedConn // the connection; nil when it is not one of ours
	before    int64        // conn's writes when it was had
	earlier   bool         // something was written before, on another connection
}

// watch returns the context to send with.
func (a *attempt) watch(ctx context.Context) context.Context {
	a.trace.GotConn = a.gotConn
	return httptrace.WithClientTrace(ctx, &a.trace)
}

// again prepares for sending the request once more. unsent says that what was
// sent before was not received.
func (a *attempt) again(unsent bool) {
	a.earlier = a.wrote() && !unsent
	a.connected, a.reused, a.conn = false, false, nil
}

func (a *attempt) gotConn(info httptrace.GotConnInfo) {
	a.earlier = a.wrote()
	a.connected, a.reused = true, info.Reused
	if a.conn = counted(info.Conn); a.conn != nil {
		a.before = a.conn.writes.Load()
		a.conn.kept.Store(info.Reused)
	}
}

// wrote reports whether something may have been written. On a connection that
// HTTP/2 shares, others' writes count too, which errs on the safe side.
func (a *attempt) wrote() bool {
	return a.earlier || a.connected && (a.conn == nil || a.conn.writes.Load() != a.before)
}

// delivered is what WireError.Delivered says when err was all that came back.
func (a *attempt) delivered(err error) string {
	if !a.wrote() || refusedStream(err) {
		return "no"
	}
	return "unknown"
}

// unsent reports whether a call may be sent again: a connection was had, so that
// the server is there, but nothing of the call can have reached it.
func (a *attempt) unsent(err error) bool {
	return a.connected && a.delivered(err) == "no"
}

// refusedStream reports whether HTTP/2 says that the server did not begin to
// process the request (RFC 9113 section 8.7). net/http has no type for that, and
// wraps what it will not send again by itself in this sentence. Not every error
// that it would send again is a refusal, so the cause is looked for as well.
func refusedStream(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return strings.HasPrefix(text, "http2: Transport: cannot retry err [") &&
		(strings.Contains(text, "REFUSED_STREAM") || strings.Contains(text, "graceful shutdown GOAWAY"))
}
