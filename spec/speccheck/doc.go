// Package speccheck holds what is sent over the wire against the protocol that
// package spec writes down: a Checker validates messages against their schemas,
// and Vectors are the exchanges that a child is driven with.
//
// Tests and the conformance suite use it; the product does not, so that the
// schema library stays out of it. It does no I/O and starts no goroutine.
package speccheck
