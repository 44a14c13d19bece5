package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/toolhost/toolhost/internal/jsonl"
)

// A framer cuts what the host sends into messages. It is used by the reader
// goroutine only.
type framer interface {
	// next returns the next message, which the caller may keep. The error is a
	// *tooLong, after which next may be called again; errCut; or the reader's
	// own, io.EOF at a clean end.
	next() ([]byte, error)
}

// A tooLong says that a message over the limit was read past, unkept.
type tooLong struct{ found found }

func (*tooLong) Error() string { return "message over the limit" }

// errCut wraps what leaves nobody knowing where the next message begins.
var errCut = errors.New("the stream ends here")

// peekSize is enough to tell a header from a message.
const peekSize = 64

// frame finds how the host frames its messages, from the first of them: blank
// lines and a byte order mark may stand before it, and it is LSP-framed if it
// begins with one of the two headers. Not a byte more is waited for than it
// takes to tell, since the host may be waiting for an answer.
func frame(r io.Reader, limit int) (frames framer, lsp bool, err error) {
	in := bufio.NewReaderSize(r, peekSize)
	marked, err := skipBlank(in)
	if err != nil {
		return nil, false, err
	}
	for _, name := range []string{contentLength, contentType} {
		if lsp, err = begins(in, name); err != nil {
			return nil, false, err
		}
		if lsp {
			return newLSPFramer(in, limit), true, nil
		}
	}
	var rest io.Reader = in
	if marked {
		// The line reader takes one mark too, and a second is one too many.
		rest = io.MultiReader(bytes.NewReader(byteOrderMark), in)
	}
	return newLineFramer(rest, limit), false, nil
}

var byteOrderMark = []byte("\ufeff")

// skipBlank skips white space and one byte order mark, and reports whether there
// was a mark.
func skipBlank(in *bufio.Reader) (marked bool, err error) {
	for {
		first, err := in.Peek(1)
		if err != nil {
			return marked, err
		}
		switch c := first[0]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			in.Discard(1)
		case c == byteOrderMark[0] && !marked:
			mark, err := in.Peek(len(byteOrderMark))
			if !bytes.Equal(mark, byteOrderMark) {
				if err == io.EOF {
					err = nil // it is no mark, whatever it is
				}
				return false, err
			}
			in.Discard(len(byteOrderMark))
			marked = true
		default:
			return marked, nil
		}
	}
}

// begins reports whether what comes next is the header of that name.
func begins(in *bufio.Reader, name string) (bool, error) {
	want := name + ":"
	for n := 1; n <= len(want); n++ {
		text, err := in.Peek(n)
		switch {
		case err == io.EOF:
			return false, nil
		case err != nil:
			return false, err
		case !bytes.EqualFold(text[n-1:], []byte(want[n-1:n])):
			return false, nil
		}
	}
	return true, nil
}

// A lineFramer reads one message a line.
type lineFramer struct {
	lines *jsonl.Reader
	found *finder
}

func newLineFramer(r io.Reader, limit int) *lineFramer {
	f := &lineFramer{lines: jsonl.NewReader(r, limit), found: &finder{}}
	f.lines.Skipped = f.found
	return f
}

func (f *lineFramer) next() ([]byte, error) {
	line, err := f.lines.Next()
	if _, ok := errors.AsType[*jsonl.TooLong](err); ok {
		return nil, &tooLong{f.found.take()}
	}
	return line, err
}
