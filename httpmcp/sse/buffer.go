package sse

import (
	"bytes"
	"errors"
	"io"
)

// A buffer reads lines, and keeps the data of the event so far in the place where
// it was read, so that an event of one data line is never copied:
//
//	b[from:to]  the data so far, ended by no line end
//	b[next:end] what is read but not yet cut into lines
//
// from <= to <= next <= end. Whatever lies between is done with.
type buffer struct {
	r         io.Reader
	b         []byte
	from, to  int
	next, end int
	scanned   int // bytes behind next that are known to hold no line end

	hasData bool // a data line was seen, so the next one is joined to it
	started bool // the place of the byte order mark is behind us
	afterCR bool // the last line ended in CR: an LF that follows belongs to it

	maxLine  int   // of one event's lines together
	maxTotal int64 // of the whole stream; 0 for no bound
	total    int64
	err      error // what ended the stream; sticky
}

// The bounds, to be explained by the Decoder.
var (
	errEvent    = errors.New("sse: event too big")
	errResponse = errors.New("sse: response too big")
)

// firstSize is the size of the first buffer: most answers fit, and a call whose
// answer is tiny wastes little.
const firstSize = 2 << 10

const byteOrderMark = "\xef\xbb\xbf"

// line returns the place of the next line without its end. used is the size of
// the event so far.
func (b *buffer) line(used int) (start, end int, err error) {
	for {
		if b.begin() {
			if i := lineEnd(b.b[b.next+b.scanned : b.end]); i >= 0 {
				start, end = b.next, b.next+b.scanned+i
				b.next, b.scanned = end+1, 0
				b.afterCR = b.b[end] == '\r'
				return start, end, nil
			}
			b.scanned = b.end - b.next
			if used+b.scanned > b.maxLine {
				return 0, 0, b.stop(errEvent)
			}
		}
		if err := b.fill(); err != nil {
			return 0, 0, err
		}
	}
}

// begin steps over what may stand before a line: the byte order mark of the
// stream, or the LF of a CRLF. It reports whether that is settled.
func (b *buffer) begin() bool {
	if b.afterCR && b.next < b.end {
		b.afterCR = false
		if b.b[b.next] == '\n' {
			b.next++
		}
	}
	if !b.started {
		seen := b.b[b.next:b.end]
		if len(seen) < len(byteOrderMark) && string(seen) == byteOrderMark[:len(seen)] {
			return false
		}
		if b.started = true; bytes.HasPrefix(seen, []byte(byteOrderMark)) {
			b.next += len(byteOrderMark)
		}
	}
	return true
}

// lineEnd returns the index of the first CR or LF, or -1. It looks through
// windows that grow, because each search is for one of the two: in a stream that
// uses only CR, a search for LF through all that is buffered, line by line,
// would take quadratic time.
func lineEnd(p []byte) int {
	for at, size := 0, 256; at < len(p); size *= 2 {
		window := p[at:min(at+size, len(p))]
		lf := bytes.IndexByte(window, '\n')
		if lf >= 0 {
			window = window[:lf]
		}
		if cr := bytes.IndexByte(window, '\r'); cr >= 0 {
			return at + cr
		}
		if lf >= 0 {
			return at + lf
		}
		at += len(window)
	}
	return -1
}

// fill reads more.
func (b *buffer) fill() error {
	for range 100 {
		if b.err != nil {
			return b.err
		}
		if b.end == len(b.b) {
			b.makeRoom()
		}
		n, err := b.r.Read(b.b[b.end:])
		b.end, b.total, b.err = b.end+n, b.total+int64(n), err
		if b.maxTotal > 0 && b.total > b.maxTotal {
			return b.stop(errResponse)
		}
		if n > 0 {
			return nil
		}
	}
	b.err = io.ErrNoProgress
	return b.err
}

// stop ends the stream for good, whatever is still buffered.
func (b *buffer) stop(err error) error {
	b.err, b.end, b.scanned = err, b.next, 0
	return err
}

// makeRoom moves what is still needed to the front, and grows the buffer when
// that gains little. The data so far and the line being read are together no
// longer than maxLine, and so is the buffer, but for a little more to read into.
func (b *buffer) makeRoom() {
	if !b.hasData {
		b.from, b.to = b.next, b.next
	}
	b.end = b.to + copy(b.b[b.to:], b.b[b.next:b.end])
	b.next = b.to
	kept := b.b[b.from:b.end]
	size := max(firstSize, min(2*len(b.b), b.maxLine+firstSize))
	if len(kept) >= len(b.b)/2 && size > len(b.b) {
		b.b = make([]byte, size)
	}
	copy(b.b, kept)
	b.to, b.next, b.end = b.to-b.from, b.next-b.from, b.end-b.from
	b.from = 0
}

// addData adds the value b[start:end] of a data line. The first stays where it
// is. Others are moved up to what is there; there is always room for the LF
// between, since "data" stood before the value.
func (b *buffer) addData(start, end int) {
	if !b.hasData {
		b.from, b.to, b.hasData = start, end, true
		return
	}
	b.b[b.to] = '\n'
	b.to += 1 + copy(b.b[b.to+1:], b.b[start:end])
}

func (b *buffer) dropData() { b.from, b.to, b.hasData = b.next, b.next, false }

func (b *buffer) data() []byte { return b.b[b.from:b.to:b.to] }

// rest returns the place of the last line when the stream ended within it.
func (b *buffer) rest() (start, end int) {
	start, b.next = b.next, b.end
	return start, b.end
}
