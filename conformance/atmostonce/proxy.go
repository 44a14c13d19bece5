package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// A proxy hands on bytes between clients and one server, and cuts the connection of
// one request.
type proxy struct {
	ln     net.Listener
	target string
	busy   sync.WaitGroup

	mu    sync.Mutex
	cut   *cut               // guarded by mu; nil when nothing is to be cut
	links map[*link]struct{} // guarded by mu
	calls map[string]int     // guarded by mu; by nonce: how often a call was begun to be sent
}

// A side says which bytes a cut counts.
type side string

const (
	accept  side = "connect" // the connection itself, before a byte of it is read
	request side = "request"
	reply   side = "reply"
)

// A way is how a connection is broken.
type way string

const (
	closing  way = "close"   // both ends are closed
	reset    way = "reset"   // both ends are reset
	stalling way = "stall"   // nothing moves for a while, then both ends are closed
	holding  way = "timeout" // nothing moves until the client gives up
	giveUp   way = "cancel"  // nothing moves, and the host cancels
)

// stallTime is how long nothing moves.
const stallTime = 20 * time.Millisecond

// A cut is what is to happen to the request that holds a nonce.
type cut struct {
	nonce string
	side  side
	at    int // bytes of that side that are handed on; more than there are for no cut
	way   way

	struck chan struct{} // closed when it has happened

	// What the proxy found; guarded by the proxy's mu.
	link      *link
	kept      bool // the connection had carried other requests
	requested int  // bytes of the request
	replied   int  // bytes of the reply
}

// A link is one connection of a client and the one to the server behind it.
type link struct {
	client, server *net.TCPConn
	used           bool          // guarded by the proxy's mu; it has carried a request
	struck         bool          // guarded by the proxy's mu; nothing more is handed on
	dead           chan struct{} // closed when it is broken, or about to be
	once           sync.Once     // closes dead
	over           chan struct{} // closed when both connections are
}

func newProxy(target string) (*proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{ln: ln, target: target, links: map[*link]struct{}{}, calls: map[string]int{}}
	p.busy.Go(p.serve)
	return p, nil
}

func (p *proxy) addr() string { return p.ln.Addr().String() }

// arm makes ready for the request that holds the nonce.
func (p *proxy) arm(c *cut) {
	c.struck = make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = c
}

// disarm ends the cut; what it found may be read then.
func (p *proxy) disarm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = nil
}

func (p *proxy) serve() {
	for {
		conn, err := p.ln.Accept()
		if err != nil {
			return
		}
		l := &link{client: conn.(*net.TCPConn), dead: make(chan struct{}), over: make(chan struct{})}
		p.mu.Lock()
		c := p.cut
		if c != nil && (c.side != accept || c.link != nil) {
			c = nil
		}
		if c != nil {
			c.link = l
		}
		p.mu.Unlock()
		if c != nil {
			l.end(c.way)
			close(c.struck)
			continue
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			l.end(reset)
			continue
		}
		l.server = server.(*net.TCPConn)
		p.mu.Lock()
		p.links[l] = struct{}{}
		p.mu.Unlock()
		p.busy.Go(func() { p.serveLink(l) })
	}
}

func (p *proxy) serveLink(l *link) {
	var both sync.WaitGroup
	both.Go(func() { p.pump(l, l.client, l.server, request) })
	both.Go(func() { p.pump(l, l.server, l.client, reply) })
	both.Wait()
	l.end(closing)
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
	close(l.over)
}

// pump hands on what comes from one end until that ends or the cut strikes.
func (p *proxy) pump(l *link, from, to *net.TCPConn, s side) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			c, pass := p.pass(l, s, buf[:n])
			_, err := to.Write(buf[:pass])
			if c != nil {
				l.strike(c)
				return
			}
			if err != nil {
				from.CloseRead()
				return
			}
		}
		select {
		case <-l.dead:
			return
		default:
		}
		if err != nil {
			to.CloseWrite()
			if s == request {
				return // the reply may still come
			}
			l.client.CloseRead()
			return
		}
	}
}

// pass counts a piece and returns how much of it is handed on, and the cut if it
// strikes behind that.
func (p *proxy) pass(l *link, s side, piece []byte) (*cut, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.cut
	if s == request {
		// A request is written in one piece: it is far smaller than any buffer.
		nonce := nonceIn(piece)
		if nonce != "" {
			p.calls[nonce]++
		}
		if c != nil && c.link == nil && c.side != accept && nonce == c.nonce {
			c.link, c.kept = l, l.used
		}
		l.used = true
	}
	if l.struck {
		return nil, 0
	}
	if c == nil || c.link != l {
		return nil, len(piece)
	}
	count := &c.requested
	if s == reply {
		count = &c.replied
	}
	before := *count
	*count += len(piece)
	if s != c.side || c.at > *count {
		return nil, len(piece)
	}
	l.struck = true
	return c, max(0, c.at-before)
}

// nonceIn returns the nonce of the call in a piece; "" when there is none.
func nonceIn(piece []byte) string {
	_, rest, ok := bytes.Cut(piece, []byte(`"nonce":"`))
	if !ok {
		return ""
	}
	nonce, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(nonce)
}

// sent returns how often the call with the nonce was begun to be sent.
func (p *proxy) sent(nonce string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[nonce]
}

// strike breaks the connection as the cut says.
func (l *link) strike(c *cut) {
	close(c.struck)
	switch c.way {
	case stalling:
		l.stop()
		time.Sleep(stallTime)
	case holding, giveUp:
		l.stop()
		l.client.SetReadDeadline(time.Now().Add(10 * time.Second))
		l.client.Read(make([]byte, 1)) // ends when the client goes
	}
	l.end(c.way)
}

// stop lets nothing more be handed on.
func (l *link) stop() { l.once.Do(func() { close(l.dead) }) }

// end breaks both connections.
func (l *link) end(w way) {
	l.stop()
	for _, conn := range []*net.TCPConn{l.client, l.server} {
		if conn == nil {
			continue
		}
		if w == reset {
			conn.SetLinger(0)
		}
		conn.Close()
	}
}

// dropIdle closes the connections that are open and waits until the client has
// done so too. Those that it opens meanwhile, to listen on, are left alone.
func (p *proxy) dropIdle(ctx context.Context) error {
	var open []*link
	p.mu.Lock()
	for l := range p.links {
		l.client.CloseWrite()
		l.server.CloseWrite()
		open = append(open, l)
	}
	p.mu.Unlock()
	patience := time.NewTimer(5 * time.Second)
	defer patience.Stop()
	for _, l := range open {
		select {
		case <-l.over:
		case <-patience.C:
			return errors.New("the client keeps connections that were closed")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (p *proxy) close() {
	p.ln.Close()
	p.mu.Lock()
	for l := range p.links {
		l.end(reset)
	}
	p.mu.Unlock()
	p.busy.Wait()
}
