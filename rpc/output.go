package rpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"github.com/toolhost/toolhost/internal/limit"
)

// A class says what becomes of a message when the host does not read.
type class uint8

const (
	classAnswer class = iota // waits, whatever happens; a question too
	classState               // is replaced by a newer one of its slot
	classLog                 // is dropped
)

// A slot is where a sort of message has only one place in the queue: the
// progress of one call, the status of one pack. Guarded by output.mu.
type slot struct {
	waiting *message
}

// writeSize is how much is gathered into one write.
const writeSize = 64 << 10

// An output writes messages in the order they are given, as fast as the host
// reads them. Nobody waits for the host: put queues, and one of those who put
// holds the pen until the queue is empty. Reading from the host stops while too
// much waits (await), which is what bounds the queue.
type output struct {
	w     io.Writer
	log   *slog.Logger
	trace func(direction string, message []byte)
	lsp   bool // set under mu before the first message, then only read

	maxAnswers int
	maxBytes   int
	broken     chan struct{} // closed when writing fails

	mu      sync.Mutex
	change  sync.Cond  // broadcast when the queue shrinks, breaks or closes
	queue   []*message // guarded by mu
	batch   []*message // being written, by who holds the pen
	answers int        // waiting or being written; guarded by mu
	bytes   int        // of all classes, likewise
	writing bool       // someone holds the pen; guarded by mu
	dropped int        // log messages since the last one that went out; guarded by mu
	err     error      // of a write; guarded by mu

	finished bool // guarded by mu

	scratch []byte // gathers small messages; of who holds the pen
}

func newOutput(w io.Writer, limits limit.Table, log *slog.Logger, trace func(string, []byte)) *output {
	o := &output{
		w:          w,
		log:        log,
		trace:      trace,
		maxAnswers: limits.Int(limit.OutputMessages),
		maxBytes:   limits.Int(limit.OutputBytes),
		broken:     make(chan struct{}),
	}
	o.change.L = &o.mu
	return o
}

// setFraming says how the host frames its messages, before any is written.
func (o *output) setFraming(lsp bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lsp = lsp
}

// cancelName returns what a withdrawn question is called in this framing.
func (o *output) cancelName() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lsp {
		return lspCancel
	}
	return methodWithdraw.name
}

// write queues the message and returns when it, or what stands before it, is
// with the writer; it may write what others queue meanwhile. For goroutines that
// have nothing else to do.
func (o *output) write(m *message) {
	if o.put(m) {
		o.drain()
	}
}

// send queues the message and never blocks. For the reader and for packs.
func (o *output) send(m *message) {
	if o.put(m) {
		go o.drain()
	}
}

// put queues the message. It returns true when the caller must see to it that
// drain runs.
func (o *output) put(m *message) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		m.recycle()
		return false
	}
	switch m.class {
	case classLog:
		// At half of what stops the reader, so that a chatty server alone never
		// keeps a host's cancel from being read.
		if len(o.queue) >= o.maxAnswers/2 || o.bytes+m.length() > o.maxBytes/2 {
			o.dropped++
			m.recycle()
			return false
		}
	case classState:
		if waiting := m.slot.waiting; waiting != nil {
			o.bytes += m.length() - waiting.length()
			waiting.buf, m.buf = m.buf, waiting.buf
			waiting.big, m.big = m.big, waiting.big
			waiting.size = m.size
			m.recycle()
			return false
		}
		m.slot.waiting = m
	case classAnswer:
		o.answers++
	}
	for _, sealed := range m.seals {
		sealed.waiting = nil
	}
	o.bytes += m.length()
	o.queue = append(o.queue, m)
	if o.writing {
		return false
	}
	o.writing = true
	return true
}

// await blocks while more output waits than the host may leave unread. It returns
// false when the output has been finished, so that nothing more need be read.
func (o *output) await() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.finished && o.err == nil && (o.answers >= o.maxAnswers || o.bytes >= o.maxBytes) {
		o.change.Wait()
	}
	return !o.finished
}

// finish waits until everything is written, ctx ends, or writing fails. From then
// on await returns false.
func (o *output) finish(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.change.Broadcast()
	})
	defer stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && o.writing && ctx.Err() == nil {
		o.change.Wait()
	}
	o.finished = true
	o.change.Broadcast()
	if o.err == nil && o.writing {
		return errors.New("the host does not read")
	}
	return o.err
}

// drain writes until the queue is empty. Its caller holds the pen.
func (o *output) drain() {
	for o.next() {
		err := o.writeBatch()
		if err != nil {
			o.log.Warn("the host cannot be written to", "reason", err)
		}
		o.written(err)
	}
}

// next moves what fits one write, or one message that does not, from the queue
// to the batch. When there is nothing it lays down the pen and returns false.
func (o *output) next() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, size := 0, 0
	for n < len(o.queue) && (n == 0 || size+o.queue[n].length() <= writeSize) {
		m := o.queue[n]
		if m.slot != nil && m.slot.waiting == m {
			m.slot.waiting = nil
		}
		size += m.length()
		n++
	}
	if n == 0 {
		o.writing = false
		o.change.Broadcast()
		return false
	}
	o.batch = append(o.batch[:0], o.queue[:n]...)
	rest := copy(o.queue, o.queue[n:])
	clear(o.queue[rest:])
	o.queue = o.queue[:rest]
	return true
}

// written counts the batch as gone, or everything when writing failed.
func (o *output) written(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, m := range o.batch {
		if m.class == classAnswer {
			o.answers--
		}
		o.bytes -= m.length()
		m.recycle()
		o.batch[i] = nil
	}
	if err != nil {
		o.err = err
		o.queue, o.answers, o.bytes = nil, 0, 0
		close(o.broken)
	}
	if o.dropped > 0 && len(o.queue) == 0 {
		o.log.Warn("log messages were dropped because the host does not read", "count", o.dropped)
		o.dropped = 0
	}
	o.change.Broadcast()
}

// writeBatch writes the batch: small messages gathered into one write, a big
// one from where its parts lie.
func (o *output) writeBatch() error {
	if cap(o.scratch) == 0 {
		o.scratch = make([]byte, 0, writeSize+1<<10)
	}
	text := o.scratch[:0]
	for _, m := range o.batch {
		if o.trace != nil {
			o.trace("out", m.appendTo(nil))
		}
		if o.lsp {
			text = appendHeader(text, m.length())
		}
		from := 0
		for _, part := range m.big {
			text = append(text, m.buf[from:part.at]...)
			from = part.at
			if len(text)+len(part.value) <= writeSize {
				text = append(text, part.value...)
				continue
			}
			for _, piece := range [][]byte{text, part.value} {
				if _, err := o.w.Write(piece); err != nil {
					return err
				}
			}
			text = text[:0]
		}
		text = append(text, m.buf[from:]...)
		if !o.lsp {
			text = append(text, '\n')
		}
	}
	if cap(text) <= maxPooled*2 {
		o.scratch = text[:0]
	}
	_, err := o.w.Write(text)
	return err
}
