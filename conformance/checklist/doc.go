// Command checklist plays the cases of conformance/cases: one text file for each
// rule of the MCP specification that binds a client, with what the server does,
// what the host does, and what must be seen on both sides.
//
// A case is played by the fake server and the built binary, once for each revision
// that its rule belongs to. Then it is played again with the rule broken (in what
// the client sends on the wire, in what the server answers, or in the client by a
// patched build), and must fail in the way that it says. A case that cannot fail
// proves nothing.
//
// A local server of a case is played by this program too: toolhost starts it once
// more, as a relay, which hands its pipes, its signals and its end to where the case
// is. See relay.go.
//
// cases/README.md is the definition of the format. The command runs the binary and
// never links it; of the client's source it knows the lines that a case replaces.
//
//	go run ./conformance/checklist              all, with the table of rows
//	go run ./conformance/checklist -run LIF-04  the cases with that in their name
//	go run ./conformance/checklist -update      write down which rows have cases
package main
