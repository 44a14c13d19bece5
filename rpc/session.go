package rpc

import (
	"context"
	"sync"

	"github.com/toolhost/toolhost/pack"
)

// A capabilities is what a host declared for one pack.
type capabilities struct {
	progress, log, status, changed bool
	asks                           map[pack.QuestionKind]bool // nil for none
}

func readCapabilities(p params) capabilities {
	c := capabilities{
		progress: p.flag(methodProgress.capability),
		log:      p.flag(methodLog.capability),
		status:   p.flag(methodStatus.capability),
		changed:  p.flag(methodChanged.capability),
	}
	for _, row := range questionRows {
		if row.declared(p) {
			if c.asks == nil {
				c.asks = map[pack.QuestionKind]bool{}
			}
			c.asks[row.kind] = true
		}
	}
	return c
}

// maxEarly bounds the log messages that are kept until construct is answered.
const maxEarly = 64

// A session is one constructed pack as its host sees it: what was declared for
// it, and the notifications that it sends.
type session struct {
	server *server
	id     string
	can    capabilities

	closing bool // close was taken; used by the reader goroutine only

	mu       sync.Mutex
	instance *pack.Instance // nil until construct is answered; guarded by mu
	early    []*message     // log messages to send then; guarded by mu
	state    *message       // the newest status to send then; guarded by mu
	closed   bool           // nothing is sent any more; guarded by mu
	changing bool           // a changed is to be sent; guarded by mu
	told     told           // guarded by mu

	telling     sync.Mutex // held from reading the tools to queueing them
	statusSlot  slot
	changedSlot slot
}

// A told is what the host was told of a pack's state, so that no answer takes the
// host back behind it.
type told struct {
	statuses, changes int                 // how often; an answer of ready tells the statuses too
	servers           []pack.ServerStatus // the last ones
}

// host returns what the pack is given: the abilities that were declared.
func (n *session) host(name, version string) *pack.Host {
	s := n.server
	h := &pack.Host{
		Name:    name,
		Version: version,
		Runtime: s.runtime,
		Log:     s.log.With("pack", n.id),
		Scrub:   s.scrub,
		Limits:  s.limits,
		Asks:    n.can.asks,
	}
	if n.can.status {
		h.Status = n.status
	}
	if n.can.changed {
		h.Changed = n.changed
	}
	if n.can.log {
		h.Message = func(l pack.Message) { n.send(n.logMessage(nil, &l)) }
	}
	if n.can.asks != nil {
		h.Ask = n.ask
	}
	return h
}

// opened is called when construct has been answered; what the pack said before
// goes out now.
func (n *session) opened(instance *pack.Instance) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.instance = instance
	for _, m := range n.early {
		n.server.out.send(m)
	}
	if n.state != nil {
		n.server.out.send(n.state)
	}
	n.early, n.state = nil, nil
	if n.changing {
		n.server.runtime.Go(n.sendChanged)
	}
}

// live reports whether construct has been answered.
func (n *session) live() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.instance != nil
}

// ended is called when the pack is closed, or could not be constructed.
func (n *session) ended() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed, n.early, n.state = true, nil, nil
}

// send queues a notification of the pack: when construct has been answered, and
// never once the pack is closed, since before and after no host knows the id. It
// never blocks.
func (n *session) send(m *message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queue(m)
}

// queue is send for a caller that holds mu.
func (n *session) queue(m *message) {
	switch {
	case n.closed:
		m.recycle()
	case n.instance != nil:
		n.server.out.send(m)
	case m.class == classState:
		n.state = m
	case len(n.early) < maxEarly:
		n.early = append(n.early, m)
	default:
		m.recycle()
	}
}

// status tells the host the states of the pack's servers.
func (n *session) status(servers []pack.ServerStatus) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told.statuses++
	n.told.servers = servers
	n.queue(n.statusMessage(servers))
}

// soFar returns what has been told. Its caller takes the pack's state next.
func (n *session) soFar() told {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.told
}

// answerReady answers a ready with a state that was taken after before. Had the
// host been told something newer in between, by a status or by the answer to
// another ready, it would read the older state last.
func (n *session) answerReady(c *call, tools []pack.Tool, servers []pack.ServerStatus, before told) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.told.statuses != before.statuses {
		servers = n.told.servers
	}
	n.told.statuses++
	n.told.servers = servers
	m := readyResult(c.id, n.id, tools, servers, n.server.scrub.Text)
	m.seals = []*slot{&n.statusSlot, &n.changedSlot}
	n.server.answer(c, m)
	if n.told.changes != before.changes {
		n.changeLocked()
	}
}

// changed sees to it that the tools are sent. It fetches them on a goroutine of
// its own, since its caller may hold what Tools waits for.
func (n *session) changed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changeLocked()
}

// changeLocked is changed for a caller that holds mu.
func (n *session) changeLocked() {
	if n.changing || n.closed {
		return // what is on its way will tell of this change too
	}
	n.changing = true
	if n.instance != nil {
		n.server.runtime.Go(n.sendChanged)
	}
}

func (n *session) sendChanged(context.Context) {
	n.telling.Lock()
	defer n.telling.Unlock()
	n.mu.Lock()
	n.changing = false // from here on a change needs another message
	instance := n.instance
	n.mu.Unlock()

	tools := instance.Tools()
	m := newCall(nil, methodChanged.name)
	m.class, m.slot = classState, &n.changedSlot
	params := object{m: m}
	params.text("id", n.id)
	appendTools(params.name("tools"), n.id, tools)
	params.end()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.told.changes++
	n.queue(m.end())
}

func (n *session) statusMessage(servers []pack.ServerStatus) *message {
	m := newCall(nil, methodStatus.name)
	m.class, m.slot = classState, &n.statusSlot
	params := object{m: m}
	params.text("id", n.id)
	appendServers(params.name("servers"), servers, n.server.scrub.Text)
	params.end()
	return m.end()
}

// logMessage returns a log notification. invoke is nil for one of no call.
func (n *session) logMessage(invoke []byte, l *pack.Message) *message {
	m := newCall(nil, methodLog.name)
	m.class = classLog
	params := object{m: m}
	params.text("id", n.id)
	params.optRaw("invoke", invoke)
	params.text("level", l.Level)
	params.opt("server", l.Server)
	params.text("message", n.server.scrub.Text(l.Message))
	params.optRaw("data", l.Data)
	params.end()
	return m.end()
}
