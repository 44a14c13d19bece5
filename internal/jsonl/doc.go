// Package jsonl moves JSON messages as lines: one bounded line in, one whole
// line out. It knows the framing only; what stands on a line is its user's.
//
// A Reader belongs to one goroutine. A Writer may be used from any: a line is
// never mixed with another. Neither starts a goroutine or closes what it was
// given. Of errors, only a *TooLong is about one line; after any other the
// stream is over.
package jsonl
