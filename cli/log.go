package cli

import (
	"bytes"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/redact"
)

// Bounds of a logSink. Past them records are dropped and counted: a host that
// does not read our stderr must never hold up the protocol.
const (
	maxLogRecords = 4096
	maxLogBytes   = 1 << 20

	// logFlushTime is how long Close waits for a stderr that is not read.
	logFlushTime = 250 * time.Millisecond
)

// A logSink is the only way to stderr. Its Write never blocks: one goroutine
// drains what is queued, scrubbing secrets on the way.
type logSink struct {
	queue   chan []byte
	pending atomic.Int64 // bytes in queue
	dropped atomic.Int64 // records dropped and not yet reported

	format atomic.Pointer[logFormat]    // of the records
	rate   logRate                      // of all loggers
	root   atomic.Pointer[slog.Handler] // the newest logger's, for what Close has to say; nil without one

	closing chan struct{} // closed once, by Close
	done    chan struct{} // closed when the goroutine has ended
}

// A logFormat is how records are written, as --log-format names it.
type logFormat struct {
	name    string
	handler func(io.Writer, *slog.HandlerOptions) slog.Handler
}

var logFormats = []*logFormat{
	{"text", func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) }},
	{"json", func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewJSONHandler(w, o) }},
}

// newLogSink starts a sink that writes to w. Close ends it.
func newLogSink(w io.Writer, scrub *redact.Scrubber) *logSink {
	s := &logSink{
		queue:   make(chan []byte, maxLogRecords),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
	}
	s.format.Store(logFormats[0])
	go s.drain(scrub.Writer(w))
	return s
}

// logger returns a logger that writes to the sink, at most so much in a second
// (L27).
func (s *logSink) logger(scrub *redact.Scrubber, format *logFormat, level slog.Level) *slog.Logger {
	s.format.Store(format)
	handler := scrub.Handler(format.handler(s, &slog.HandlerOptions{Level: level}))
	s.root.Store(&handler)
	return slog.New(&rateHandler{next: handler, root: handler, rate: &s.rate})
}

// Write queues one record or one message for people. It never blocks and never
// fails.
func (s *logSink) Write(p []byte) (int, error) {
	size := int64(len(p))
	if s.pending.Add(size) > maxLogBytes {
		s.pending.Add(-size)
		s.dropped.Add(1)
		return len(p), nil
	}
	select {
	case s.queue <- bytes.Clone(p):
	default:
		s.pending.Add(-size)
		s.dropped.Add(1)
	}
	return len(p), nil
}

// drain writes what is queued until Close, and then what is left. A failing
// stderr loses records, as nobody could be told.
func (s *logSink) drain(out *redact.Writer) {
	defer close(s.done)
	write := func(record []byte) {
		s.pending.Add(-int64(len(record)))
		out.Write(record)
		// Each record is whole, so nothing of the next can complete a secret.
		out.Flush()
		if n := s.dropped.Swap(0); n > 0 {
			slog.New(s.format.Load().handler(out, nil)).Warn("log records were dropped because stderr is not read", "count", n)
			out.Flush()
		}
	}
	for {
		select {
		case record := <-s.queue:
			write(record)
		case <-s.closing:
			for {
				select {
				case record := <-s.queue:
					write(record)
				default:
					return
				}
			}
		}
	}
}

// Close writes what is queued and ends the goroutine, unless stderr is not read:
// then it gives up after logFlushTime, and the goroutine stays in its write.
func (s *logSink) Close() {
	if root := s.root.Load(); root != nil {
		tellDropped(*root, s.rate.flush())
	}
	close(s.closing)
	select {
	case <-s.done:
	case <-time.After(logFlushTime):
	}
}
