//go:build !linux

package stdiomcp

// sentIsRead reports false: this system does not tell what is left in a pipe.
func (c *conn) sentIsRead() bool { return false }
