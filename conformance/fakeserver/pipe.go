package fakeserver

import (
	"context"
	"net"
	"sync"
)

// Pipe serves the Server over connections in memory and returns a function to
// dial them, for http.Transport.DialContext. Inside a testing/synctest bubble
// time is then fake on both sides. Any host name in the URL will do; the path is
// /mcp.
func (s *Server) Pipe() func(ctx context.Context, network, addr string) (net.Conn, error) {
	ln := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	s.serve(ln)
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		client, server := net.Pipe()
		select {
		case ln.conns <- server:
			return client, nil
		case <-ln.closed:
			return nil, net.ErrClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// pipeListener is a net.Listener whose connections come from a channel.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{} // closed once, by Close
	once   sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
