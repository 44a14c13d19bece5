package redact

import (
	"fmt"
	"io"
	"sync"
)

// A Writer is what Scrubber.Writer returns. It may be used from any goroutine.
// It writes on at once all that cannot be the beginning of a secret, which is
// nearly always everything, and holds the rest, less than the longest pattern,
// until more comes. What comes out in all is what Text makes of the whole.
type Writer struct {
	mu     sync.Mutex
	stream func() *stream // guarded by mu; behind a function as a Secret's value is
}

// Format prints the placeholder for every verb: what is held back may be a piece
// of a secret.
func (w *Writer) Format(f fmt.State, verb rune) { io.WriteString(f, Placeholder) }

// Write scrubs p. The error is that of the writer below, which has then lost
// what was to be written.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stream()
	s.held = append(s.held, p...)
	if err := s.emit(false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is held back, as if the stream were at its end.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stream().emit(true)
}

// stream is what a Writer is in the middle of.
type stream struct {
	scrub   *Scrubber
	w       io.Writer
	held    []byte // some bytes that were written on, then those that were not
	context int    // how many of held were written on
	covered int    // how many behind those a placeholder stands for already
}

// emit writes what is decided.
func (s *stream) emit(final bool) error {
	m := s.scrub.matcher()
	if s.scrub.closed.Load() {
		return s.emitLength()
	}
	text := string(s.held)
	spans, open := m.find(text, s.context, final)

	at := s.context + s.covered // up to here all is written, or covered
	var out []byte
	for _, hit := range spans {
		if hit.from >= at {
			out = append(out, text[at:hit.from]...)
			out = append(out, Placeholder...)
		}
		at = max(at, hit.to)
	}
	if at < open {
		out = append(out, text[at:open]...)
		at = open
	}

	keep := max(0, open-tokenContext)
	s.context = open - keep
	s.covered = at - open
	s.held = append(s.held[:0], text[keep:]...)
	if len(out) == 0 {
		return nil
	}
	_, err := s.w.Write(out)
	return err
}

// emitLength writes how much there was to write.
func (s *stream) emitLength() error {
	size := len(s.held) - s.context - s.covered
	s.held, s.context, s.covered = nil, 0, 0
	if size == 0 {
		return nil
	}
	_, err := io.WriteString(s.w, lengthOnly(size)+"\n")
	return err
}
