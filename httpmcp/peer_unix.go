//go:build unix

package httpmcp

import (
	"net"
	"syscall"
)

// endedByPeer reports whether the other side has closed or reset the connection,
// as far as the system knows without waiting. It takes nothing from what is there
// to be read. False means that it cannot be told.
func endedByPeer(conn net.Conn) bool {
	under, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := under.SyscallConn()
	if err != nil {
		return false
	}
	ended := false
	// Control and not Read, which would wait for the reader that net/http has there.
	// Sockets of Go never block.
	raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
		ended = n == 0 && err == nil || err == syscall.ECONNRESET || err == syscall.EPIPE
	})
	return ended
}
