// Package bridge is what the packs over MCP servers share: it stands between the
// contract of package pack and the sessions of package mcpclient, and says the same
// thing in the same words whichever pack says it.
//
// A Server turns what a session reports about one server into errors, log messages
// and results of the contract. A Gate bounds the calls of one server, a Keeper
// decides when a server is listed anew, OverHTTP makes carriers, and the rest reads
// arguments and shows names. The package starts no process, and no goroutine but that
// of Listen.
//
// Every text that it makes is scrubbed of secrets and cut to a size that can be
// shown.
package bridge
