package jsonl

import (
	"io"
	"sync"
)

// smallLine is the size below which a line goes out in one write, which lets a
// pipe's reader wake up once and with all of it.
const smallLine = 64 << 10

// A Writer writes lines, each as a whole: lines of different goroutines follow
// one another, they never mix.
type Writer struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte // guarded by mu; what is joined before it is written
	err error  // guarded by mu; the first error of w
}

// NewWriter returns a Writer of lines to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// WriteLine writes the parts, which hold no "\n", as one line. They are not
// kept. A line below 64 KiB is one write; of a larger one, long parts are
// written from where they are and never copied.
//
// The first error is final: after it, and after half a line, every call returns
// it and writes nothing.
func (w *Writer) WriteLine(parts ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	size := 1
	for _, part := range parts {
		size += len(part)
	}
	w.buf = w.buf[:0]
	for _, part := range parts {
		if size >= smallLine && len(part) >= smallLine/4 {
			w.flush()
			w.write(part)
			continue
		}
		if len(w.buf)+len(part) >= smallLine {
			w.flush()
		}
		w.buf = append(w.buf, part...)
	}
	w.buf = append(w.buf, '\n')
	w.flush()
	return w.err
}

// flush writes what was joined. The caller holds mu.
func (w *Writer) flush() {
	if len(w.buf) > 0 {
		w.write(w.buf)
		w.buf = w.buf[:0]
	}
}

// write writes p unless an earlier write failed. The caller holds mu.
func (w *Writer) write(p []byte) {
	if w.err != nil {
		return
	}
	n, err := w.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	w.err = err
}
