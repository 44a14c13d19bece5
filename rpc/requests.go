package rpc

import (
	"context"
	"errors"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/spec"
)

// The methods of the child, in the protocol's order. Each takes its request on
// the reader goroutine.

var protocolVersion = spec.Version()

// packID is what an id that a host chooses must look like.
var packID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// construct builds a pack. It is done before the next message is taken, so that
// a host may write construct, ready and invoke at once.
func (s *server) construct(c *call, p params) {
	name := p.text("pack")
	id := p.optText("id")
	if id == "" && p.object.Opt("id") != nil || id != "" && !packID.MatchString(id) {
		p.fail(invalid(p.path+".id", "want 1 to 64 letters, digits, _ and -"))
	}
	version := protocolVersion
	if p.object.Opt("protocol") != nil {
		version = p.text("protocol")
	}
	host := p.inner("host")
	hostName, hostVersion := host.optText("name"), host.optText("version")
	can := readCapabilities(host.inner("capabilities"))
	if f := p.wrong(); f != nil {
		s.refuse(c, f)
		return
	}
	if version != protocolVersion {
		s.fail(c, pack.Errorf(pack.KindUnavailable, "protocol %.32q is not spoken here; this child speaks %q", version, protocolVersion))
		return
	}

	s.constructing.Lock()
	defer s.constructing.Unlock()
	if err := s.calls.add(c); err != nil {
		s.fail(c, err)
		return
	}
	if id == "" {
		id = s.ownID(name)
	}
	n := &session{server: s, id: id, can: can}
	var instance *pack.Instance
	var err error
	defer func() {
		if n.live() {
			return
		}
		// It failed or panicked, and nothing is kept of it.
		n.ended()
		if instance != nil {
			s.runtime.Go(func(ctx context.Context) { s.closePack(ctx, n) })
		}
	}()
	config := pack.Raw(p.object.Get("config")) // nil: what the pack was installed with
	instance, err = s.registry.Construct(name, id, config, n.host(hostName, hostVersion))
	if err != nil {
		s.fail(c, err)
		return
	}
	result := constructResult(c.id, s.version, instance)
	s.mu.Lock()
	s.sessions[id] = n
	s.mu.Unlock()
	s.answer(c, result)
	n.opened(instance)
}

// ownID returns the id that the pack itself wants.
func (s *server) ownID(name string) string {
	for _, info := range s.registry.Available() {
		if info.Name == name {
			return info.ID
		}
	}
	return ""
}

// ready waits for the pack and tells its tools and servers.
func (s *server) ready(c *call, p params) {
	id := p.text("id")
	if f := p.wrong(); f != nil {
		s.refuse(c, f)
		return
	}
	n := s.session(id)
	s.start(c, id, func(instance *pack.Instance) (*message, error) {
		before := n.soFar()
		var servers []pack.ServerStatus
		if r, ok := instance.Pack.(pack.Readier); ok {
			var err error
			if servers, err = r.Ready(c.ctx); err != nil {
				return nil, err
			}
		}
		n.answerReady(c, instance.Tools(), servers, before)
		return nil, nil
	})
}

// invoke runs one tool.
func (s *server) invoke(c *call, p params) {
	tool := p.text("tool")
	to := &pack.Call{ID: c.id, Arguments: p.dict("arguments"), Run: p.optText("run")}
	if to.Arguments == nil {
		to.Arguments = pack.Raw("{}")
	}
	progress := p.flag("progress")
	if ms, ok := p.number("timeoutMs"); ok {
		if !(ms > 0) {
			p.fail(invalid(p.path+".timeoutMs", "want a number of milliseconds above 0"))
		}
		c.timeout = milliseconds(ms)
		c.taken = time.Now()
	}
	if f := p.wrong(); f != nil {
		s.refuse(c, f)
		return
	}
	id, name, ok := strings.Cut(tool, "/")
	if !ok {
		s.fail(c, pack.Errorf(pack.KindMessage, "the tool %.64q has no pack id; write <id>/<tool>", tool))
		return
	}
	to.Tool = name
	if n := s.session(id); n != nil {
		c.notes = notesOf(n, c, to, progress)
	}
	s.start(c, id, func(instance *pack.Instance) (*message, error) {
		to.Timeout = c.left()
		result, err := instance.Invoke(c.ctx, to)
		switch {
		case err != nil:
			return nil, err
		case result == nil:
			return nil, errors.New("the pack gave neither a result nor an error")
		}
		return invokeResult(c.id, result), nil
	})
}

// milliseconds rounds up to a whole millisecond, and down to what a Duration can
// hold, which is far above any deadline of a pack.
func milliseconds(ms float64) time.Duration {
	return time.Duration(math.Ceil(min(ms, 1e12))) * time.Millisecond
}

// start runs work for the pack of that id when it is the call's turn, and answers
// the call with what it returns: neither a message nor an error when it has
// answered the call itself.
func (s *server) start(c *call, id string, work func(*pack.Instance) (*message, error)) {
	instance, err := s.registry.Get(id)
	c.session = s.session(id)
	switch {
	case c.session != nil && c.session.closing:
		err = errClosing(id)
	case c.session == nil && err == nil:
		err = errForeign(id)
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	c.run = func() {
		var m *message
		var err error
		if e := contain(s.log, c.row.name, func() { m, err = work(instance) }); e != nil {
			err = e
			if c.row.runs {
				e.Delivered = pack.DeliveredUnknown
			}
		}
		if err != nil {
			m = s.errorMessage(c, err)
		}
		if m != nil {
			s.answerLast(c, m)
		}
	}
	expire := func() {
		e := pack.Errorf(pack.KindTransport, "the deadline passed while the call waited for its turn")
		e.Retryable, e.Delivered = true, pack.DeliveredNo
		s.fail(c, e)
	}
	if err := s.calls.start(c, expire); err != nil {
		s.fail(c, err)
	}
}

// cancel ends a request in flight and answers it in the same breath: no server
// is waited for. What is not in flight is no error.
func (s *server) cancel(c *call, p params) {
	id := p.object.Opt("id")
	key, ok := parseID(id)
	if !ok {
		p.fail(invalid(p.path+".id", "want the id of a request: a string or an integer of the int64 range"))
	}
	reason := p.optText("reason")
	if f := p.wrong(); f != nil {
		s.refuse(c, f)
		return
	}
	target := s.calls.find(key)
	cancelled := target != nil && target.row.cancel && s.cut(target, "cancelled")
	s.log.Debug("cancel", "found", cancelled, "reason", reason)
	s.answer(c, cancelResult(c.id, cancelled))
}

// closeTime is how long a pack may take to close. It leaves a host the 5 s that
// the protocol promises.
const closeTime = 4500 * time.Millisecond

// close ends one pack. Its calls are answered before it is.
func (s *server) close(c *call, p params) {
	id := p.text("id")
	if f := p.wrong(); f != nil {
		s.refuse(c, f)
		return
	}
	n := s.session(id)
	switch {
	case n == nil:
		_, err := s.registry.Get(id)
		if err == nil {
			err = errForeign(id)
		}
		s.fail(c, err)
		return
	case n.closing:
		s.fail(c, errClosing(id))
		return
	}
	if err := s.calls.aside(c, func() {
		for _, other := range s.calls.all(n) {
			s.cut(other, "cancelled: its pack was closed")
		}
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		if err := s.closePack(ctx, n); err != nil {
			s.fail(c, err)
			return
		}
		s.answerLast(c, closeResult(c.id))
	}); err != nil {
		s.fail(c, err)
		return
	}
	n.closing = true
}

// closePack closes the pack and forgets it. A pack that ends badly has ended all
// the same; only a panic is an error.
func (s *server) closePack(ctx context.Context, n *session) error {
	n.ended()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.sessions[n.id] == n {
			delete(s.sessions, n.id)
		}
	}()
	var err error
	if e := contain(s.log, "close", func() { err = s.registry.Close(ctx, n.id) }); e != nil {
		return e
	}
	if err != nil {
		s.log.Warn("the pack did not close in order", "pack", n.id, "reason", err)
	}
	return nil
}

// errForeign is about a pack that a Go program constructed beside the wire.
func errForeign(id string) *pack.Error {
	return pack.Errorf(pack.KindUnavailable, "the pack %q was not constructed by this host", id)
}

func errClosing(id string) *pack.Error {
	return pack.Errorf(pack.KindUnavailable, "the pack %q is being closed", id)
}

// knownMethods lists the methods for whoever asked for another.
func knownMethods() string {
	names := make([]string, len(hostMethods))
	for i, m := range hostMethods {
		names[i] = m.name
	}
	return strings.Join(names, ", ")
}
