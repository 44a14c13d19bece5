package sse

import (
	"bytes"
	"io"
	"math"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
)

// An Event is one event of a stream.
type Event struct {
	// Type is what the event field said; "" stands for "message".
	Type string

	// Data is the data of all data lines, joined by LF. It is a slice of the
	// Decoder's buffer: valid until the next call of Next, and for good when
	// there is none.
	Data []byte
}

// Options say how a Decoder reads. The zero value works.
type Options struct {
	// Endless lifts limit.SSEResponse, for streams that stay open for as long
	// as a session does.
	Endless bool

	// LastID is the id that the stream starts with: the one it was resumed from.
	LastID string
}

// A Decoder reads one stream. It is used by one goroutine.
type Decoder struct {
	buf    buffer
	limits limit.Table

	size int // bytes of the event's lines so far, for limit.SSEEvent

	kind     []byte // the event field
	id       []byte // the id field; it survives events, as the standard says
	lastID   string // id as it was at the last blank line
	retry    time.Duration
	hasRetry bool
}

// NewDecoder returns a Decoder that reads from r.
func NewDecoder(r io.Reader, limits limit.Table, opts Options) *Decoder {
	d := &Decoder{limits: limits, id: []byte(opts.LastID), lastID: opts.LastID}
	d.buf.r, d.buf.maxLine = r, limits.Int(limit.SSEEvent)
	if !opts.Endless {
		d.buf.maxTotal = int64(limits.Int(limit.SSEResponse))
	}
	return d
}

// Next returns the next event that has data. The error is io.EOF at the end of
// the stream, a *limit.Error, or what the reader returned.
func (d *Decoder) Next() (Event, error) {
	d.reset()
	for {
		start, end, err := d.buf.line(d.size)
		if err != nil {
			return Event{}, d.explain(err)
		}
		if start < end {
			if err := d.field(start, end); err != nil {
				return Event{}, d.explain(err)
			}
			continue
		}
		// A blank line dispatches the event.
		if string(d.id) != d.lastID {
			d.lastID = string(d.id)
		}
		if event, ok := d.event(); ok {
			return event, nil
		}
		d.reset()
	}
}

// Unfinished returns the event that the end of the stream cut off: one that has
// data but not the blank line that would have ended it. The standard discards
// it. It may be called once, after Next has returned an error; a limit that was
// hit leaves nothing to return.
func (d *Decoder) Unfinished() (Event, bool) {
	if d.buf.err == nil || d.buf.err == errEvent || d.buf.err == errResponse {
		return Event{}, false
	}
	if start, end := d.buf.rest(); start < end && d.field(start, end) != nil {
		return Event{}, false
	}
	return d.event()
}

// LastID returns the id of the last event, with or without data; "" for none.
func (d *Decoder) LastID() string { return d.lastID }

// Retry returns how long the server asked to wait before the stream is opened
// again, and whether it did.
func (d *Decoder) Retry() (time.Duration, bool) { return d.retry, d.hasRetry }

func (d *Decoder) event() (Event, bool) {
	data := d.buf.data()
	if len(data) == 0 {
		return Event{}, false
	}
	if string(d.kind) == "message" {
		return Event{Type: "message", Data: data}, true // without an allocation
	}
	return Event{Type: string(d.kind), Data: data}, true
}

// reset forgets the event, but not the id.
func (d *Decoder) reset() {
	d.buf.dropData()
	d.kind, d.size = d.kind[:0], 0
}

// field takes the line buf[start:end], which is not blank.
func (d *Decoder) field(start, end int) error {
	line := d.buf.b[start:end]
	colon := bytes.IndexByte(line, ':')
	if colon == 0 {
		return nil // a comment, which is no part of the event's size
	}
	if d.size += len(line); d.size > d.limits.Int(limit.SSEEvent) {
		return d.buf.stop(errEvent)
	}
	name := line
	at := end // of the value
	if colon > 0 {
		name, at = line[:colon], start+colon+1
		if at < end && d.buf.b[at] == ' ' {
			at++
		}
	}
	value := d.buf.b[at:end]
	switch string(name) {
	case "data":
		d.buf.addData(at, end)
	case "event":
		d.kind = append(d.kind[:0], value...)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			d.id = append(d.id[:0], value...)
		}
	case "retry":
		if wait, ok := milliseconds(value); ok {
			d.retry, d.hasRetry = wait, true
		}
	}
	return nil
}

// explain turns the buffer's own errors into those that name the limit.
func (d *Decoder) explain(err error) error {
	switch err {
	case errEvent:
		return d.limits.Exceeded(limit.SSEEvent, "an event of the server's stream")
	case errResponse:
		return d.limits.Exceeded(limit.SSEResponse, "the server's stream")
	}
	return err
}

// maxRetry is far beyond any wait that makes sense and far below overflow.
const maxRetry = math.MaxInt64 / int64(time.Millisecond) / 100

// milliseconds reads a retry field: digits only, else it is ignored.
func milliseconds(value []byte) (time.Duration, bool) {
	if len(value) == 0 {
		return 0, false
	}
	var ms int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		ms = min(ms*10+int64(c-'0'), maxRetry)
	}
	return time.Duration(ms) * time.Millisecond, true
}
