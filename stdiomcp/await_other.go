//go:build unix && !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package stdiomcp

// awaitExit returns false: this system cannot wait for a process without reaping it.
func awaitExit(int) bool { return false }
