// Package limit is the one table of what toolhost bounds: every size, count,
// time and rate that a host, a server or a config file can push against.
//
// A Table is a value: the defaults, or the defaults with a host's overrides. It
// is built once at start and then only read, so it may be shared freely. Code
// that enforces a limit reads it here and fails with an Error, which names the
// limit, so that a user knows what to raise and a host can act on `data.limit`.
//
// The package imports nothing of toolhost and starts no goroutine.
package limit
