// Package rawjson reads and writes JSON without decoding it. One pass checks a
// text against RFC 8259 (UTF-8, depth and counts bounded) and cuts it into
// slices of the bytes it came in; splicing those slices into a new message is a
// copy. That keeps key order, number spelling, nulls and escapes as they were
// written, which encoding/json cannot, and costs a fraction of its time.
//
// Unknown bytes go to Check or Split, or, where they are too many to be kept, to
// an IDFinder; functions that take a `valid` argument (Members, Elements, Text,
// ...) rely on such a check having passed and never fail on bytes that passed it.
//
// The package imports nothing of toolhost and keeps no state: all its functions
// may be called from any goroutine.
package rawjson
