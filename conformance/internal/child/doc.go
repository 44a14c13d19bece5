// Package child builds the toolhost binary and drives it as a host does: it spawns
// `toolhost serve`, writes requests to its stdin and reads answers from its stdout,
// over newline or LSP framing. The programs below conformance/ share it. It is
// written from the host protocol alone and uses no package of the product.
//
// A Child has two goroutines, one for stdout and one that waits for the process;
// both have ended when Wait returns.
package child
