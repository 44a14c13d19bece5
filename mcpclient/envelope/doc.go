// Package envelope reads the JSON-RPC 2.0 messages that an MCP server sends, whichever
// carrier brings them, and writes the answers to its requests. It checks what both sides must agree on (names by exact case,
// none of them twice, one kind of message at a time) and decodes nothing else: params,
// results and ids are the bytes they came in.
//
// The error of Parse is a Malformed, for JSON that breaks a rule of JSON-RPC, or that of
// rawjson.Split, for what is no JSON, no object, or beyond its bounds. Neither quotes
// anything of the message. The package starts no goroutine.
package envelope
