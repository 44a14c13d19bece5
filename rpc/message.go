package rpc

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// bigValue is the size from which a value is not copied into the message but
// written from where it lies.
const bigValue = 16 << 10

// A message is one message to the host, ready to be written: small parts spliced
// together, big values as the slices they came in. Whoever has one owns it until
// it is given to the output.
type message struct {
	buf  []byte
	big  []bigPart
	size int // of the big parts

	class class
	slot  *slot   // where a newer message of its sort replaces it; may be nil
	seals []*slot // sorts of which a newer message must come behind this one
}

type bigPart struct {
	at    int // stands before buf[at:]
	value []byte
}

// messages keeps the buffers of written messages.
var messages = sync.Pool{New: func() any { return &message{buf: make([]byte, 0, 512)} }}

// maxPooled bounds what a pooled message may keep.
const maxPooled = 64 << 10

func newMessage() *message { return messages.Get().(*message) }

// recycle gives the message back. Its bytes must have been written or copied.
func (m *message) recycle() {
	if cap(m.buf) > maxPooled {
		return
	}
	clear(m.big)
	*m = message{buf: m.buf[:0], big: m.big[:0]}
	messages.Put(m)
}

func (m *message) length() int { return len(m.buf) + m.size }

// appendTo appends the whole message to dst.
func (m *message) appendTo(dst []byte) []byte {
	from := 0
	for _, p := range m.big {
		dst = append(append(dst, m.buf[from:p.at]...), p.value...)
		from = p.at
	}
	return append(dst, m.buf[from:]...)
}

// raw splices a valid JSON value into the message, on one line.
func (m *message) raw(valid []byte) {
	if len(valid) < bigValue {
		m.buf = rawjson.AppendLine(m.buf, valid)
		return
	}
	// A string holds no line break, and most big values are the text of a result.
	if rawjson.KindOf(valid) != rawjson.String && bytes.ContainsAny(valid, "\r\n") {
		valid = rawjson.AppendLine(make([]byte, 0, len(valid)), valid)
	}
	m.big = append(m.big, bigPart{len(m.buf), valid})
	m.size += len(valid)
}

// newResponse opens a response with the member that is its answer. The caller
// appends the answer and calls end. A nil id is written as null.
func newResponse(id []byte, member string) *message {
	m := newMessage()
	m.buf = append(m.buf, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		m.buf = append(m.buf, "null"...)
	} else {
		m.raw(id)
	}
	m.buf = append(m.buf, `,"`...)
	m.buf = append(m.buf, member...)
	m.buf = append(m.buf, `":`...)
	return m
}

// newCall opens a request, or a notification where id is nil. The caller appends
// its params and calls end.
func newCall(id []byte, method string) *message {
	m := newMessage()
	m.buf = append(m.buf, `{"jsonrpc":"2.0",`...)
	if id != nil {
		m.buf = append(append(append(m.buf, `"id":`...), id...), ',')
	}
	m.buf = append(m.buf, `"method":"`...)
	m.buf = append(m.buf, method...)
	m.buf = append(m.buf, `","params":`...)
	return m
}

// end closes what newResponse or newCall opened.
func (m *message) end() *message {
	m.buf = append(m.buf, '}')
	return m
}

// An object appends the members of one object to a message. Its zero value with
// m set is an object that has not begun.
type object struct {
	m     *message
	begun bool
}

func (o *object) name(name string) *message {
	if o.begun {
		o.m.buf = append(o.m.buf, `,"`...)
	} else {
		o.m.buf = append(o.m.buf, `{"`...)
		o.begun = true
	}
	o.m.buf = append(o.m.buf, name...)
	o.m.buf = append(o.m.buf, `":`...)
	return o.m
}

func (o *object) text(name, value string) {
	m := o.name(name)
	m.buf = rawjson.AppendString(m.buf, value)
}

// opt appends a text unless it is empty.
func (o *object) opt(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

func (o *object) flag(name string, value bool) {
	m := o.name(name)
	if value {
		m.buf = append(m.buf, "true"...)
	} else {
		m.buf = append(m.buf, "false"...)
	}
}

func (o *object) number(name string, value int64) {
	m := o.name(name)
	m.buf = strconv.AppendInt(m.buf, value, 10)
}

// set appends a flag unless it is false.
func (o *object) set(name string, value bool) {
	if value {
		o.flag(name, true)
	}
}

func (o *object) raw(name string, valid []byte) { o.name(name).raw(valid) }

// optRaw appends a value unless it is absent.
func (o *object) optRaw(name string, valid []byte) {
	if valid != nil {
		o.raw(name, valid)
	}
}

// optList appends an array of texts unless it is empty.
func (o *object) optList(name string, texts []string) {
	for i, text := range texts {
		if i == 0 {
			o.name(name)
			o.m.buf = append(o.m.buf, '[')
		} else {
			o.m.buf = append(o.m.buf, ',')
		}
		o.m.buf = rawjson.AppendString(o.m.buf, text)
	}
	if len(texts) > 0 {
		o.m.buf = append(o.m.buf, ']')
	}
}

func (o *object) end() {
	if !o.begun {
		o.m.buf = append(o.m.buf, '{')
	}
	o.m.buf = append(o.m.buf, '}')
}
