// Package httpmcp carries MCP over Streamable HTTP, in both eras: that of
// sessions, GET streams and resumption, and that of self-contained POSTs. Which
// of these a server has is asked of the mcpclient.Revision row.
//
// It follows no redirect, keeps no cookie, asks for no compression unless the
// limit gzip is on, and prints neither a header's value nor what net/http says in
// an error: reasons are built from our own words and from scrubbed, escaped and
// cut text of the server.
//
// # What is sent again
//
// A call is sent again only when nothing of it can have reached the server:
// nothing was written to the connection, or HTTP/2 says that the stream was
// refused. Requests that have an Again are also sent again, a few times,
// after a broken connection and after 502, 503, 504, and 429 with Retry-After.
//
// Any message is sent once more when the server has refused its token by 401, or by 403
// with insufficient_scope, and the Authorizer has another: such a refusal proves that
// the server has not acted on it.
//
// What a failed call may have done is in WireError.Delivered:
//
//	no       no connection was had, nothing was written, the HTTP/2 stream was
//	         refused, status 401 or 407, or status 404 for a session
//	yes      a whole answer came, but one that breaks the protocol's rules
//	unknown  everything else: broken connections and streams, other statuses
//
// # Goroutines
//
// RoundTrip, Notify and Listen read on the goroutine of their caller. What
// outlives a call has a goroutine of its own, bounded in time, which Close waits
// for: the cancel of an abandoned request, the answer to a request of the server,
// and the draining of an answered stream so that its connection can be used again.
//
// Errors are *mcpclient.WireError, *limit.Error, or the cause of the context.
package httpmcp
