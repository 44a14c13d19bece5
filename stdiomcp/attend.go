package stdiomcp

import (
	"time"

	"github.com/toolhost/toolhost/internal/jsonl"
	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
)

const (
	// lastWords is how long an end waits for what belongs to it: the exit status
	// behind the end of stdout, the rest of stdout behind the exit. They come
	// together, unless the process has only closed its stdout (B221) or has left
	// its pipes to others.
	lastWords = 250 * time.Millisecond

	// killWait is how long all of it may take to be gone after SIGKILL. What takes
	// longer hangs in the kernel.
	killWait = 2 * time.Second
)

// attend runs the conversation and sees to the end of the process. It returns when
// all of it is gone and nothing of ours runs any more.
func (c *conn) attend() {
	defer close(c.over)
	go c.read()
	go c.write()
	go func() {
		defer close(c.silent)
		c.tail.drain(c.stderr)
	}()

	select {
	case <-c.broken:
	case <-c.unread:
		within(lastWords, c.child.exited())
	case <-c.unwrit: // by an error, or since it is over
		if !isClosed(c.broken) {
			within(lastWords, c.child.exited())
		}
	case <-c.child.exited():
		within(lastWords, c.unread)
	}
	if isClosed(c.child.exited()) {
		within(lastWords, c.silent)
	}
	c.readAll.Store(c.sentIsRead())
	c.fail(c.reason())

	c.mu.Lock()
	c.ending = true
	c.mu.Unlock()
	c.stop()

	// All of it is gone; an end of a pipe may still be held by what left the group.
	within(lastWords, c.unread)
	within(lastWords, c.silent)
	c.stdout.Close()
	c.stderr.Close()
	<-c.unread
	<-c.silent
	<-c.unwrit
	c.helpers.Wait()
}

// stop takes the steps by which a server is ended (2026-07-28 basic/transports/stdio,
// "Shutdown"; T65): the end of its stdin, SIGTERM, SIGKILL.
func (c *conn) stop() {
	c.stdin.Close()
	limits := c.t.limits
	for _, step := range []struct {
		wait time.Duration
		next func()
	}{
		{limits.Time(limit.StopWait), c.child.terminate},
		{limits.Time(limit.TermWait), c.child.kill},
		{killWait, c.child.abandon},
	} {
		if c.goneWithin(step.wait) {
			return
		}
		step.next()
	}
	<-c.child.gone()
}

// goneWithin waits until all of the process is gone. It does not wait longer than it
// has to when the end is hurried.
func (c *conn) goneWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	hurried := c.hurried
	for {
		select {
		case <-c.child.gone():
			return true
		case <-timer.C:
			return false
		case <-hurried:
			hurried = nil
			c.child.kill()
		}
	}
}

// within waits for done, but not longer than d.
func within(d time.Duration, done <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// reason says how the conversation has ended by itself.
func (c *conn) reason() error {
	failure := &mcpclient.WireError{Op: "read", Delivered: "unknown"}
	switch {
	case isClosed(c.child.exited()):
		failure.Reason = "the server's process has ended: " + c.child.state()
	case isClosed(c.unread):
		failure.Reason = "the server has closed its stdout"
	default:
		failure.Reason = "the server has closed its stdin"
	}
	if last := c.tail.last(); last != "" {
		failure.Reason += "; its last words on stderr: " + last
	}
	if advice := c.noise.advice(); advice != "" && !c.heard.Load() {
		failure.Reason += "; " + advice
	}
	failure.Reason = c.t.scrub.Text(failure.Reason)
	// A server of the other era may end at a request of the modern one.
	failure.NotMCP = !c.heard.Load() && c.readAll.Load()
	return failure
}

// write writes what is queued, a line at a time. Its goroutine is the only one that
// waits for the server to read.
func (c *conn) write() {
	defer close(c.unwrit)
	lines := jsonl.NewWriter(c.stdin)
	for {
		select {
		case l := <-c.queue:
			if !l.begin() {
				continue
			}
			if lines.WriteLine(l.body) != nil {
				return
			}
			if l.written != nil {
				close(l.written)
			}
		case <-c.broken:
			return
		}
	}
}
