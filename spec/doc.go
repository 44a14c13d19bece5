// Package spec is the host protocol in writing, version 1: the prose of
// protocol.md, the tables of methods and errors, a JSON Schema of every message,
// and vectors that any child can be driven with. All of it is embedded, so that
// a build can print the protocol it speaks.
//
// The files are the truth and the Go code only reads them; code elsewhere is
// tested against what this package returns. README.md says what is where.
// Validation of messages is in the subpackage speccheck, which keeps the schema
// library out of this one.
//
// The package imports nothing of toolhost, starts no goroutine and cannot fail
// at run time: its tests parse all that it embeds.
package spec
