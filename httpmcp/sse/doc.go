// Package sse reads event streams: the text/event-stream format of the WHATWG
// HTML standard, section 9.2, as MCP servers use it to answer.
//
// A Decoder takes lines ended by LF, CR or CRLF, in any mix and split anywhere,
// one leading byte order mark, comments, fields without a colon, and fields it
// does not know. It is bounded: a single event by limit.SSEEvent, a whole
// response by limit.SSEResponse, and it never holds more than one event.
//
// It departs from the standard in one point: an event whose data is empty is not
// handed out, though its id and retry count. MCP uses such events to give a
// stream its first id (2025-11-25 transports, "Sending Messages" 6), and no
// message is empty.
//
// The package knows nothing of JSON or HTTP and starts no goroutine.
package sse
