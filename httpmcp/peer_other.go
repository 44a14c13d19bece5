//go:build !unix

package httpmcp

import "net"

// endedByPeer cannot be told here.
func endedByPeer(net.Conn) bool { return false }
