// Package rpc is the host protocol on two byte streams: what a host program
// writes to the child's stdin and reads from its stdout. It drives a
// pack.Registry and knows no pack.
//
// Serve is the whole of it; Background is the pack.Runtime that it gives to packs.
// One message takes this way:
//
//	framing.go, lsp.go   cut one message out of the bytes
//	stream.go            checks and splits it in one pass: response, request, neither
//	server.go            takes it on the reader, in order, by its row of methods.go
//	requests.go          reads its params and starts it
//	inflight.go          holds the request until it is answered, which happens once
//	message.go           splices the answer
//	output.go            writes it, from a bounded queue and under its own lock
//
// What a pack says besides (notes.go, session.go) and what it asks the host
// (host.go, questions.go) goes the same way out.
//
// The library github.com/sourcegraph/jsonrpc2 owns the read loop, dispatch and
// the connection's life. It never sees a value: the stream hands it a tiny
// stand-in message and keeps the real one aside, as slices of the bytes it came
// in, and answers are spliced and written here. The library would decode,
// re-encode and re-order what passes through it, close the connection on the
// first bad line, and lose the answers in flight at end-of-file.
//
// Goroutines: the library's two (one reads), one for each call in flight, one for
// each background task of a pack; whoever has something to say when nobody writes
// writes the output. Serve waits for all of them, within the time that a host is promised.
//
// Errors of packs are answered by the table in errors.go; a panic in a pack is
// contained, logged without values and answered as internal.
//
// The package opens nothing: no files, no sockets, no processes.
package rpc
