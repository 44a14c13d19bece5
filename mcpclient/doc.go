// Package mcpclient speaks MCP as a client, over a carrier that it does not
// know: httpmcp and stdiomcp implement its Transport.
//
// It owns the entries of an mcp.json (Entry), the table of protocol revisions
// (Revision), the handshake of both eras (Connect), the listing and calling of
// tools, prompts and resources (Session), how far a listing can be trusted
// (Freshness), the stream on which a server tells of changes (Session.Listen), the
// questions that a server has for the user (Elicitation), the reading of results
// (CallResult) and the waits between attempts (Policy). It opens no connection,
// starts no process and imports neither net/http nor os/exec, which a test proves.
// It fetches nothing that a server names: schemas, their $ref included, are data,
// and so are the URLs that it sends the user to.
//
// The package starts no goroutine. A Session's methods may be called from any
// goroutine; what a server says during a call is delivered on a goroutine of the
// carrier, one message at a time. A question is put on the goroutine of the call
// that it belongs to, or, where it names none, on one of the carrier.
//
// Errors: an entry is refused with a *Refusal. A Session fails with a *WireError
// (no answer, or none that can be read), a *ServerError (the server's own
// JSON-RPC error), an *InputError (the server wants input that we cannot give),
// an *ArgumentError (the call cannot be made with these arguments), a
// *limit.Error, or the cause of the context. Only the text of a *ServerError is
// the server's: it has to be scrubbed before it is shown. Package pack's kinds
// are chosen by the packs.
package mcpclient
