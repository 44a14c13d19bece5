// Package mcptools is the pack tanstack/mcp: every MCP server of a configuration,
// remote ones over Streamable HTTP and local ones as child processes, whose tools a
// model is given by name, as <server>_<tool>.
//
// Its configuration is an object of servers, entries by name in an order that
// counts, and onDuplicateTool. A server is connecting, connected, reconnecting or
// failed. Besides tools the pack offers prompts, the reading of resources, and the
// commands /mcp, /connect and /disconnect.
//
// # Parts
//
// A connection is one server that is connected to, over and over, by one task; its
// newest state is replaced as a whole. A link is one session of it. The packs of one
// Install share the connection to a local server (pool), and with it the process. A
// server is what one pack's configuration says of a connection: who is asked, under
// which names, for how long.
//
// Whenever the state of a connection changes, each pack that uses it makes a new
// catalog: the names, in the order of the servers, and what stands behind each. Names
// are looked up there and never taken apart. What a host is told, and what it
// invokes, is what the newest catalog says.
//
// An entry with oauth has an oauth.Client, which gives the requests of its connection
// their tokens and hears of those that are refused. It sends the user to a page only
// for /connect and for a call that wants more scopes: whom a request is made for is in
// its context.
//
// # Who decides
//
// A tool that the configuration wants asked about runs only with the host's yes to
// the definition that is then called. A server's question goes to the host of the
// one run that calls it, or to nobody. A hint of a server does nothing unless the
// configuration reads it. The time that a user takes is not the server's.
//
// # Goroutines
//
// Each connection has its task, on the Runtime of the host whose pack came first, and
// while it is linked one goroutine that listens to the server and one that watches
// the link. Ending a link has one too. Close ends those that no other pack uses, and
// waits.
//
// Everything that servers say is marked untrusted, errors too. No reason, log line,
// question or error holds a value of an entry's env or headers.
//
// Only Install and its Options are exported.
package mcptools
