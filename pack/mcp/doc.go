// Package mcp is the pack runvil/mcp: one pack over every MCP server that its
// configuration names, each reached over Streamable HTTP, whose tools a model
// lists and calls through two static tools.
//
// Its configuration is the mcpServers object of an mcp.json file, one entry a
// server, under the server's name; null means no servers. The tools are
//
//   - get_dynamic_tools, which answers JSON text: every namespace with its
//     status and tool names, one namespace with its tools and their input
//     schemas, or one tool;
//   - call_dynamic_tool, which calls one tool of one namespace.
//
// A namespace is a server's name as the configuration writes it. Its status is
// ready, loading, or error with the reason.
//
// Building the pack does no I/O. It starts one background task for each entry
// that could be read, on the host's Runtime, which connects, shakes hands and
// lists the tools, again and again until it has succeeded once. From then on the
// server is ready and stays so; what fails later fails the call that met it.
//
// The task goes on to keep what the server lists in step with it. A server that
// says that its tools have changed is listed anew at once; one whose listing may
// be out of date otherwise, by its time to live or since a stream on which it tells
// of changes was broken, when the listing is next used (mcpclient.Freshness says
// which). Lists are 2 s apart (L25), calls never wait for them, uses of the listing
// wait a few seconds at most and then take what there is, and what fails takes no
// tool away. A listing is shared with no other entry and no other pack, so that
// one which a server calls private stays with the credentials it was made for.
//
// Besides those tasks the pack starts the goroutines that listen to servers which
// tell of changes, which end with their task, and the ones that end sessions; Close
// waits for all of them. It starts no process.
//
// Everything the tools answer is marked untrusted, errors too, since names,
// descriptions, schemas and results are the servers' own. No reason, log line or
// error holds a value of an entry's env or headers; keys may be named.
//
// Only Install and its Options are exported.
package mcp
