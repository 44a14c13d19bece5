// Package mcpclient speaks MCP as a client, over a carrier that it does not
// know: httpmcp and stdiomcp implement its Transport.
//
// It owns the entries of an mcp.json (Entry), the table of protocol revisions
// (Revision), the handshake of both eras, the listing and calling of tools
// (Session), the reading of results (Content) and the waits between attempts
// (Policy). It opens no connection, starts no process and imports neither
// net/http nor os/exec, which a test proves.
//
// A Session's methods may be called from any goroutine. Its errors are
// *WireError (the carrier failed), *ServerError (the server answered with a
// JSON-RPC error) and *limit.Error; package pack's kinds are chosen by the packs.
package mcpclient
