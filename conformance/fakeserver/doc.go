// Package fakeserver is an MCP server over Streamable HTTP for tests and for
// `toolhost demo`. It is written from the MCP specification alone and shares no
// code with the client it is used against, so that a bug cannot hide by being on
// both sides. It uses the standard library only.
//
// A Server behaves well by default: it speaks the legacy era (a handshake and
// sessions, revisions 2025-03-26 to 2025-11-25), the modern era (2026-07-28,
// stateless) or both, is strict about headers and _meta as the specification
// says, and offers the tools of Builtin. A Script of rows replaces chosen replies
// with any status, headers, body or stream, and a row that was never used fails
// the test.
//
//	s := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern})
//	use(s.URL())
//	if n := s.Ledger().Count("POST", "tools/call"); n != 1 { ... }
//
// Everything that happens is kept in a Ledger: each request, each run of a tool,
// each cancel, each rule that the client broke. Wait blocks until the ledger
// shows something, so that no test has to sleep.
//
// The same server speaks over stdio as a Process: its user hands it lines and takes
// what it says. A tool with Asks asks the user, as each revision has it.
//
// Start listens on 127.0.0.1 only. New gives the same server as an http.Handler,
// and Pipe serves it without a network, as testing/synctest needs. The goroutines
// of a server have ended when Close returns.
package fakeserver
