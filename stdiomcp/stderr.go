package stdiomcp

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/redact"
)

// A stderrTail takes what a server writes to stderr: it keeps the end of it and logs
// it line by line, all within L26. It is written to by a redact.Writer, so that no
// secret is kept, whichever cut goes through it.
type stderrTail struct {
	log  *slog.Logger
	line int // the longest line in bytes
	keep int // bytes of the end that are kept
	rate int // lines that are logged a second
	in   *redact.Writer

	mu      sync.Mutex
	kept    []byte    // guarded by mu; whole lines, the last keep bytes of which count
	open    []byte    // guarded by mu; the line that has not ended yet
	cut     bool      // guarded by mu; and is longer than that
	second  time.Time // guarded by mu; when the second began that is being counted
	logged  int       // guarded by mu; lines in it
	dropped int       // guarded by mu; lines in it that were not logged
}

func newStderrTail(limits limit.Table, scrub *redact.Scrubber, log *slog.Logger) *stderrTail {
	s := &stderrTail{
		log:  log,
		line: limits.Int(limit.StderrLine),
		keep: limits.Int(limit.StderrTail),
		rate: limits.Int(limit.StderrRate),
	}
	s.in = scrub.Writer(lineWriter{s})
	return s
}

// drain reads stderr to its end, whatever is in it: a server whose stderr is not
// read freezes when the pipe is full (B207).
func (s *stderrTail) drain(r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			s.in.Write(buf[:n])
		}
		if err != nil {
			break
		}
	}
	s.in.Flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) > 0 {
		s.endLine()
	}
	s.tellDropped()
}

// A lineWriter cuts a stderrTail's text into lines.
type lineWriter struct{ s *stderrTail }

func (w lineWriter) Write(p []byte) (int, error) {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for rest := p; len(rest) > 0; {
		piece, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := s.line - len(s.open); len(piece) > room {
			piece, s.cut = piece[:room], true
		}
		s.open = append(s.open, piece...)
		if ended {
			s.endLine()
		}
		rest = after
	}
	return len(p), nil
}

// cutMark stands at the end of a line that was longer.
const cutMark = "…[cut]"

// endLine takes the line that has ended. The caller holds mu.
func (s *stderrTail) endLine() {
	line := bytes.TrimSuffix(s.open, []byte("\r"))
	if s.cut {
		line = append(line, cutMark...)
	}
	if len(s.kept)+len(line) > 2*s.keep {
		s.kept = append(s.kept[:0], s.kept[max(0, len(s.kept)-s.keep):]...)
	}
	s.kept = append(append(s.kept, line...), '\n')
	s.logLine(line)
	s.open, s.cut = s.open[:0], false
}

// logLine logs a line, unless the second has had its share. The caller holds mu.
func (s *stderrTail) logLine(line []byte) {
	if len(line) == 0 {
		return
	}
	if s.logged >= s.rate || s.dropped == 0 && s.logged == 0 {
		if now := time.Now(); now.Sub(s.second) >= time.Second {
			s.tellDropped()
			s.second, s.logged = now, 0
		}
	}
	if s.logged >= s.rate {
		s.dropped++
		return
	}
	s.logged++
	s.log.Info("the server wrote to stderr", "line", redact.Escape(string(line)))
}

// tellDropped says how many lines were left out. The caller holds mu.
func (s *stderrTail) tellDropped() {
	if s.dropped > 0 {
		s.log.Info("lines of the server's stderr were dropped", "lines", s.dropped)
		s.dropped = 0
	}
}

// shownStderr bounds what is quoted of stderr in a reason, in bytes.
const shownStderr = 512

// last returns the last lines, fit for a reason, "" when there are none.
func (s *stderrTail) last() string {
	s.mu.Lock()
	tail := string(s.kept[max(0, len(s.kept)-s.keep):]) + string(s.open)
	s.mu.Unlock()
	var lines []string
	size := 0
	all := strings.Split(tail, "\n")
	for i := len(all) - 1; i >= 0; i-- {
		line := redact.Cut(redact.Escape(strings.TrimRight(all[i], " \t\r")), shownStderr)
		if line == "" {
			continue
		}
		if size += len(line); size > shownStderr && lines != nil {
			break
		}
		lines = append([]string{line}, lines...)
	}
	return strings.Join(lines, " / ")
}
