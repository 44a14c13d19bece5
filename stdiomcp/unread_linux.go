package stdiomcp

import "golang.org/x/sys/unix"

// sentIsRead reports whether the server has read all that was written to its stdin.
// The kernel keeps the rest even of a process that has ended.
func (c *conn) sentIsRead() bool {
	conn, err := c.stdin.SyscallConn()
	if err != nil {
		return false
	}
	left := -1
	conn.Control(func(fd uintptr) {
		if n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
			left = n
		}
	})
	return left == 0
}
