//go:build unix

package httpmcp

import (
	"io"
	"net"
	"net/http/httptrace"
	"testing"
)

// connected returns both ends of a connection.
func connected(t *testing.T) (near, far net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	near, err = net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	if far, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return near, far
}

func TestB013_EndedByPeer(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(far *net.TCPConn)
		ended bool
	}{
		{"open", func(*net.TCPConn) {}, false},
		{"closed", func(far *net.TCPConn) { far.Close() }, true},
		{"closed for writing", func(far *net.TCPConn) { far.CloseWrite() }, true},
		{"reset", func(far *net.TCPConn) { far.SetLinger(0); far.Close() }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			near, far := connected(t)
			if endedByPeer(near) {
				t.Fatal("ended while it is open")
			}
			if _, err := far.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			test.spoil(far.(*net.TCPConn))
			if endedByPeer(near) && test.name != "reset" {
				t.Error("ended although there is something to read")
			}
			// Nothing was taken by looking. The second read waits for the end.
			if n, _ := near.Read(make([]byte, 1)); n != 1 && test.name != "reset" {
				t.Error("what was there to read is gone")
			}
			if test.ended {
				near.Read(make([]byte, 1))
			}
			// A reset is told once: to the read above.
			if got := endedByPeer(near); got != test.ended {
				t.Errorf("ended: %v, want %v", got, test.ended)
			}
		})
	}
	pipe, _ := net.Pipe()
	if endedByPeer(pipe) {
		t.Error("a pipe cannot tell")
	}
}

// What goes out on a kept connection that is closed already is known not to have
// been sent.
func TestB013_NothingIsWrittenToAClosedConnection(t *testing.T) {
	near, far := connected(t)
	far.Close()
	if _, err := near.Read(make([]byte, 1)); err != io.EOF {
		t.Fatal(err)
	}
	for _, reused := range []bool{true, false} {
		conn := &countedConn{Conn: near}
		var sent attempt
		sent.gotConn(httptrace.GotConnInfo{Conn: conn, Reused: reused})
		n, err := conn.Write([]byte("POST"))
		if kept := err != nil; kept != reused || sent.wrote() == reused || kept && (n != 0 || sent.delivered(err) != "no" || !sent.unsent(err)) {
			t.Errorf("reused %v: wrote %d, %v, delivered %s", reused, n, err, sent.delivered(err))
		}
	}
}
