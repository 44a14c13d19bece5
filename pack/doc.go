// Package pack is the contract between the wire and the packs: what a pack is,
// what it offers, how it is called and what the host can do for it. It does no
// I/O and knows neither JSON-RPC nor HTTP.
//
// A pack is described by an Info, which a Registry holds under the pack's name.
// Constructing it under an id gives a Pack, which the Registry then holds under
// that id until it is closed. Package rpc drives a Registry from the wire;
// packages below pack implement Info.New.
//
// JSON that a server or a host wrote (arguments, schemas, results) is carried as
// the bytes it came in, in fields of type Raw, and is valid JSON wherever a Raw
// appears here.
//
// Errors that leave a pack are *Error with a Kind of a closed set. The package
// starts no goroutine but those in which CloseAll closes the packs; a pack's
// background work runs on the Runtime that the host gives it.
package pack
