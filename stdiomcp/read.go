package stdiomcp

import (
	"errors"

	"github.com/toolhost/toolhost/internal/jsonl"
	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/mcpclient/envelope"
)

// read takes what the server writes, to the end of its stdout: also what comes when
// the conversation is over, so that a server that still writes can end in order.
func (c *conn) read() {
	defer close(c.unread)
	lines := jsonl.NewReader(c.stdout, c.t.limits.Int(limit.StdioLine))
	lines.Skipped = overlong{c}
	for {
		line, err := lines.Next()
		if _, long := errors.AsType[*jsonl.TooLong](err); long {
			continue // overlong has seen to it
		}
		if err != nil {
			return
		}
		if !isClosed(c.broken) {
			c.line(line)
		}
	}
}

// overlong ends the conversation as soon as a line exceeds its limit: its end may
// never come (T69).
type overlong struct{ c *conn }

func (o overlong) Write(p []byte) (int, error) {
	o.c.fail(o.c.t.limits.Exceeded(limit.StdioLine, "a line of the server"))
	return len(p), nil
}

// line takes one line, which holds one message, or several where the revision has
// batches.
func (c *conn) line(line []byte) {
	data := afterEscapes(line)
	c.mu.Lock()
	batches := c.revision != nil && c.revision.Batches
	c.mu.Unlock()
	if batches && rawjson.KindOf(data) == rawjson.Array && rawjson.Check(data, c.bounds()) == nil {
		for _, element := range rawjson.Elements(data) {
			c.message(element, line)
		}
		return
	}
	c.message(data, line)
}

func (c *conn) bounds() rawjson.Bounds {
	limits := c.t.limits
	return rawjson.Bounds{
		Depth: limits.Int(limit.JSONDepth),
		Keys:  limits.Int(limit.JSONKeys),
		Items: limits.Int(limit.JSONItems),
	}
}

// message takes one message that came on that line.
func (c *conn) message(data, line []byte) {
	m, err := envelope.Parse(data, c.bounds())
	over := envelope.Exceeded(err, c.t.limits)
	if err != nil && over == nil && isNoise(&m, err) {
		c.skip(line)
		return
	}
	c.heard.Store(true)
	c.noise.message()
	switch {
	case over != nil:
		var finder rawjson.IDFinder
		finder.Write(data)
		c.malformed(finder.ID(), over)
	case err != nil:
		c.malformed(m.ID, &mcpclient.WireError{Op: "read the answer", Delivered: "yes",
			Reason: "the answer is malformed: " + err.Error(), NotMCP: err == envelope.NotJSONRPC})
	case m.Method == "":
		c.answer(&m)
	case m.ID == nil:
		c.notification(&m)
	case rawjson.KindOf(m.ID) == rawjson.Null:
		// Neither: a request's id is not null, a notification has none (B089).
	default:
		c.question(&m)
	}
}

// skip takes a line that is no message.
func (c *conn) skip(line []byte) {
	first, err := c.noise.add(line)
	if first != "" {
		c.t.log.Warn("the server writes to stdout what is no MCP message; further lines are not shown", "line", first)
	}
	if err != nil {
		c.fail(err)
	}
}

// malformed fails the request that a malformed message answers, if it names one.
func (c *conn) malformed(id []byte, err error) {
	n, _, ok := requestID(id)
	if !ok || !c.finish(n, delivery{err: err}) {
		c.t.log.Debug("a malformed message of the server was ignored", "reason", err)
	}
}

// answer gives a response to the request that it answers. Responses to requests that
// nobody waits for any more, or that we never sent, are ignored (B227).
func (c *conn) answer(m *envelope.Message) {
	response := &mcpclient.Response{Result: m.Result, Err: m.Err}
	if kind := rawjson.KindOf(m.ID); kind == rawjson.None || kind == rawjson.Null {
		// The server could not tell what it answers; the only one that waits is it.
		c.mu.Lock()
		only := c.oldest()
		several := len(c.exchanges) > 1
		c.mu.Unlock()
		if only != nil && !several && m.Err != nil && c.finish(only.req.ID, delivery{answer: response}) {
			return
		}
	} else if n, exact, ok := requestID(m.ID); ok {
		d := delivery{answer: response}
		if !exact {
			// Its sender will send nothing better (B079).
			d = delivery{err: &mcpclient.WireError{Op: "read the answer", Delivered: "yes",
				Reason: "the answer is malformed: its id is not the number that the request has"}}
		}
		if c.finish(n, d) {
			return
		}
	}
	c.t.log.Debug("a response that nobody waits for was ignored")
}

// finish gives the request of that id its end, and reports whether it was waiting.
func (c *conn) finish(id int64, d delivery) bool {
	c.mu.Lock()
	x := c.exchanges[id]
	waiting := c.take(id, x)
	c.mu.Unlock()
	if waiting {
		x.deliver(d)
	}
	return waiting
}

// deliver hands a message to the goroutine of the exchange.
func (x *exchange) deliver(d delivery) {
	select {
	case x.inbox <- d:
	case <-x.over:
	case <-x.c.broken:
	}
}
