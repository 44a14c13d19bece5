package mcptools

import (
	"slices"
	"sync"
)

// A pool holds the connections to local servers, which the packs of one Install
// share (S2-10): one process for equal names and equal commands, arguments,
// variables and directories. It ends when the last pack has left it. Remote
// servers are connected to for each pack.
type pool struct {
	mu    sync.Mutex
	local []*connection // guarded by mu
}

// use returns the connection for s, which leaves it by leave.
func (p *pool) use(s *server, opts *Options) *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.entry.Process != nil {
		for _, c := range p.local {
			if c.sameAs(s) {
				c.users++
				return c
			}
		}
	}
	c := newConnection(s, opts)
	c.users = 1
	if s.entry.Process != nil {
		p.local = append(p.local, c)
	}
	return c
}

// sameAs reports whether the connection is to the server of s.
func (c *connection) sameAs(s *server) bool {
	e := c.entry
	return e.Name == s.entry.Name && e.Process.Equal(s.entry.Process) && e.Pin == s.entry.Pin && e.Legacy == s.entry.Legacy
}

// leave ends the use of a connection, and the connection with the last of them.
func (p *pool) leave(s *server) {
	s.conn.leave(s)
	p.mu.Lock()
	s.conn.users--
	last := s.conn.users == 0
	if last {
		p.local = slices.DeleteFunc(p.local, func(c *connection) bool { return c == s.conn })
	}
	p.mu.Unlock()
	if last {
		s.conn.stop()
		<-s.conn.done
		s.conn.ending.Wait()
	}
}
