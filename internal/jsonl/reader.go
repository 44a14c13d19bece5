package jsonl

import (
	"bytes"
	"fmt"
	"io"
)

const (
	// firstBuffer is what a Reader starts with and goes back to: the size of a
	// Linux pipe, so that one read takes all there is.
	firstBuffer = 64 << 10
	// keptBuffer is the largest buffer that outlives its line. A stream of 1 MB
	// messages then grows it once, and one 16 MB message does not pin 16 MB.
	keptBuffer = 4 << 20
	// calmLines is how many short lines in a row make a Reader give a grown
	// buffer back: a hundred idle servers must not hold a hundred of them.
	calmLines = 32
)

var byteOrderMark = []byte("\ufeff")

// A TooLong says that a line exceeded the Reader's limit. The line was read to
// its end and dropped; the next call of Next reads the line behind it.
type TooLong struct {
	Size  int64 // bytes of the line, without its line end
	Limit int   // the Reader's limit
}

func (e *TooLong) Error() string {
	return fmt.Sprintf("a line of %d bytes exceeds the limit of %d", e.Size, e.Limit)
}

// A Reader reads lines. A line ends with "\n"; a "\r" before that belongs to
// the line end. Blank lines are skipped, and so is one byte order mark before
// the first line that is not blank. What stands behind the last "\n" is a line
// too.
type Reader struct {
	// Skipped receives a line that is too long, in pieces of any size, while it
	// is read and before Next returns its *TooLong. It may be nil; its errors
	// are ignored. The pieces are only valid during Write.
	Skipped io.Writer

	r     io.Reader
	limit int
	buf   []byte // buf[start:end] is read but not returned yet
	start int
	end   int
	calm  int   // lines in a row that firstBuffer would have held
	begun bool  // something other than blank lines was met: no BOM is expected any more
	err   error // of r, returned when the buffer is used up
}

// NewReader returns a Reader of the lines of r of up to limit bytes each, line
// ends not counted.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{r: r, limit: limit, buf: make([]byte, firstBuffer)}
}

// Next returns the next line without its line end. The caller owns the slice:
// the Reader never touches it again, so that parts of it may be kept or handed
// to other goroutines without a copy.
//
// The error is a *TooLong, after which Next may be called again, or final:
// io.EOF at the end of the stream, or the error of the underlying reader, before
// which an unfinished line is dropped.
func (r *Reader) Next() ([]byte, error) {
	for {
		line, err := r.line()
		if err != nil || len(line) > 0 {
			return line, err
		}
	}
}

// line returns the next line, or nothing for a blank one.
func (r *Reader) line() ([]byte, error) {
	searched := 0
	for {
		if !r.begun && bytes.HasPrefix(r.buf[r.start:r.end], byteOrderMark) {
			r.begun = true
			r.start += len(byteOrderMark)
			searched = 0
		}
		if n := bytes.IndexByte(r.buf[r.start+searched:r.end], '\n'); n >= 0 {
			return r.take(searched+n, 1)
		}
		searched = r.end - r.start
		if searched > r.limit+1 { // one more than the limit may be a "\r"
			return nil, r.skip()
		}
		if r.err == nil {
			r.fill()
			continue
		}
		if r.err == io.EOF && searched > 0 {
			return r.take(searched, 0)
		}
		r.start = r.end
		return nil, r.err
	}
}

// take cuts a line of size bytes and the line feeds behind it off the buffer.
func (r *Reader) take(size, feeds int) ([]byte, error) {
	at := r.start
	r.start += size + feeds
	line := bytes.TrimSuffix(r.buf[at:at+size], []byte("\r"))
	if len(line) > r.limit {
		r.begun = true
		r.drop(line)
		return nil, &TooLong{Size: int64(len(line)), Limit: r.limit}
	}
	if blank(line) {
		return nil, nil
	}
	r.begun = true
	if r.calm++; len(line) >= firstBuffer {
		r.calm = 0
	}
	if len(line) <= keptBuffer/2 {
		return bytes.Clone(line), nil // of the exact size, and not zeroed first
	}
	// A long line takes the buffer with it, which saves copying the line.
	rest := r.buf[r.start:r.end]
	r.buf = make([]byte, max(firstBuffer, len(rest)))
	r.start, r.end = 0, copy(r.buf, rest)
	return line, nil
}

// skip reads a line that has outgrown the limit to its end.
func (r *Reader) skip() error {
	r.begun = true
	size, last := int64(0), byte(0)
	for {
		piece, feeds := r.buf[r.start:r.end], 0
		if n := bytes.IndexByte(piece, '\n'); n >= 0 {
			piece, feeds = piece[:n], 1
		}
		if len(piece) > 0 {
			size += int64(len(piece))
			last = piece[len(piece)-1]
			r.drop(piece)
		}
		r.start += len(piece) + feeds
		switch {
		case feeds > 0 || r.err == io.EOF:
			if last == '\r' {
				size--
			}
			return &TooLong{Size: size, Limit: r.limit}
		case r.err != nil:
			return r.err
		}
		r.fill()
	}
}

func (r *Reader) drop(piece []byte) {
	if r.Skipped != nil {
		r.Skipped.Write(piece)
	}
}

// fill reads once into the free end of the buffer, having made room there.
func (r *Reader) fill() {
	held := r.end - r.start
	switch {
	case held == 0 && len(r.buf) > firstBuffer && (r.calm >= calmLines || len(r.buf) > keptBuffer):
		r.move(make([]byte, firstBuffer))
	case held == 0 || r.end == len(r.buf) && held <= len(r.buf)/2:
		r.move(r.buf)
	case r.end == len(r.buf):
		// Doubling copies each byte of a line at most once on average. More
		// than the limit and its line end is never needed.
		r.move(make([]byte, min(2*len(r.buf), max(len(r.buf), r.limit)+firstBuffer)))
	}
	for range 100 {
		n, err := r.r.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// move brings what is held to the front of buf, which becomes the buffer.
func (r *Reader) move(buf []byte) {
	r.end = copy(buf, r.buf[r.start:r.end])
	r.start, r.buf = 0, buf
}

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}
