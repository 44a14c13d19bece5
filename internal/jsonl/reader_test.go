package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll reads lines until the stream is over. A line that is too long stands
// as "size>limit" in the result.
func readAll(r *Reader) ([]string, error) {
	lines := []string{}
	for {
		line, err := r.Next()
		var long *TooLong
		switch {
		case errors.As(err, &long):
			lines = append(lines, fmt.Sprintf("%d>%d", long.Size, long.Limit))
		case err != nil:
			return lines, err
		default:
			lines = append(lines, string(line))
		}
	}
}

var streams = []struct {
	name  string
	text  string
	lines []string
}{
	{"nothing", "", nil},
	{"one line", "abc\n", []string{"abc"}},
	{"no line feed at the end", "abc\ndef", []string{"abc", "def"}},
	{"B237 CR LF", "abc\r\ndef\r\n", []string{"abc", "def"}},
	{"CR at the end of the stream", "abc\r", []string{"abc"}},
	{"a CR within stays", "a\rb\r\r\n", []string{"a\rb\r"}},
	{"B237 blank lines", "\n\r\n \t\n\nabc\n\n  \ndef\n\n \r", []string{"abc", "def"}},
	{"white space around stays", "  abc \t\n", []string{"  abc \t"}},
	{"B237 byte order mark", "\ufeffabc\n\ufeffdef\n", []string{"abc", "\ufeffdef"}},
	{"byte order mark behind blank lines", "\n\r\n\ufeffabc\n", []string{"abc"}},
	{"byte order mark alone", "\ufeff\nabc\n", []string{"abc"}},
	{"a piece of a byte order mark", "\xef\xbb", []string{"\xef\xbb"}},
	{"L01 the longest line", "0123456789\nabc\n", []string{"0123456789", "abc"}},
	{"L01 the longest line, CR LF", "0123456789\r\nabc\n", []string{"0123456789", "abc"}},
	{"L01 the longest line, end of stream", "0123456789", []string{"0123456789"}},
	{"L01 one byte more", "0123456789a\nabc\n", []string{"11>10", "abc"}},
	{"L01 one byte more, CR LF", "0123456789a\r\nabc\n", []string{"11>10", "abc"}},
	{"L01 one byte more, end of stream", "0123456789a", []string{"11>10"}},
	{"L01 CR is one byte more when more follows", "0123456789\rabc\nabc\n", []string{"14>10", "abc"}},
	{"L01 a hundred times", strings.Repeat("x", 1000) + "\nabc", []string{"1000>10", "abc"}},
	{"L01 a byte order mark does not count", "\ufeff0123456789\n", []string{"0123456789"}},
	{"L01 too long behind a byte order mark", "\ufeff" + strings.Repeat("x", 50) + "\r\nabc\n", []string{"50>10", "abc"}},
	{"L01 too long twice", strings.Repeat("x", 50) + "\n" + strings.Repeat("y", 51) + "\r\nabc", []string{"50>10", "51>10", "abc"}},
	{"NUL and broken UTF-8 are the user's matter", "a\x00\xff\n", []string{"a\x00\xff"}},
}

func TestReader(t *testing.T) {
	for _, test := range streams {
		for name, source := range map[string]io.Reader{
			"at once":     strings.NewReader(test.text),
			"byte-wise":   iotest.OneByteReader(strings.NewReader(test.text)),
			"end at once": iotest.DataErrReader(strings.NewReader(test.text)),
		} {
			t.Run(test.name+", "+name, func(t *testing.T) {
				lines, err := readAll(NewReader(source, 10))
				if err != io.EOF {
					t.Errorf("ended with %v", err)
				}
				if got, want := fmt.Sprintf("%q", lines), fmt.Sprintf("%q", test.lines); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		}
	}
}

// A line is read whole at every size around the edges of the buffer, and what
// follows it is intact.
func TestReaderAtTheEdgesOfItsBuffer(t *testing.T) {
	edges := []int{firstBuffer, 2 * firstBuffer, keptBuffer / 2, keptBuffer, 2 * keptBuffer}
	for _, edge := range edges {
		for _, size := range []int{edge - 2, edge - 1, edge, edge + 1} {
			long := strings.Repeat("0123456789abcdef", size/16+1)[:size]
			r := NewReader(strings.NewReader("first\n"+long+"\nlast\n"+long), 16<<20)
			lines, err := readAll(r)
			if err != io.EOF || len(lines) != 4 || lines[0] != "first" || lines[1] != long || lines[2] != "last" || lines[3] != long {
				t.Errorf("size %d: %d lines, %v", size, len(lines), err)
			}
		}
	}
}

func TestL01_LineLimitAtItsDefault(t *testing.T) {
	const limit = 16 << 20
	for _, test := range []struct {
		size int
		ok   bool
	}{{limit, true}, {limit + 1, false}, {100 * limit, false}} {
		skipped := new(counter)
		r := NewReader(io.MultiReader(
			io.LimitReader(filler{}, int64(test.size)), strings.NewReader("\r\nnext\n")), limit)
		r.Skipped = skipped
		line, err := r.Next()
		if test.ok && (err != nil || len(line) != test.size) {
			t.Errorf("%d: %d bytes, %v", test.size, len(line), err)
		}
		var long *TooLong
		if !test.ok && (!errors.As(err, &long) || long.Size != int64(test.size) || long.Limit != limit || line != nil) {
			t.Errorf("%d: %v", test.size, err)
		}
		if !test.ok && skipped.n-int64(test.size) > 1 { // a "\r" may be seen
			t.Errorf("%d: Skipped saw %d bytes", test.size, skipped.n)
		}
		if cap(r.buf) > limit+2*firstBuffer {
			t.Errorf("%d: the buffer grew to %d", test.size, cap(r.buf))
		}
		if line, err := r.Next(); err != nil || string(line) != "next" {
			t.Errorf("%d: then %q, %v", test.size, line, err)
		}
	}
}

type filler struct{}

var filling = bytes.Repeat([]byte("x"), 1<<16)

func (filler) Read(p []byte) (int, error) { return copy(p, filling), nil }

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

func TestSkippedSeesTheLine(t *testing.T) {
	for _, test := range []struct{ stream, want string }{
		{"short\n0123456789abcdef\nshort\n", "0123456789abcdef"},
		{"\ufeff0123456789abcdef\nshort\n", "0123456789abcdef"},
		{"0123456789a", "0123456789a"},
	} {
		for name, source := range map[string]io.Reader{
			"at once":   strings.NewReader(test.stream),
			"byte-wise": iotest.OneByteReader(strings.NewReader(test.stream)),
		} {
			var skipped bytes.Buffer
			r := NewReader(source, 10)
			r.Skipped = &skipped
			readAll(r)
			if skipped.String() != test.want {
				t.Errorf("%q %s: got %q, want %q", test.stream, name, skipped.String(), test.want)
			}
		}
	}
}

// The slices belong to the caller: later reads and appends do not reach them.
func TestReaderLinesAreTheCallers(t *testing.T) {
	long := strings.Repeat("L", keptBuffer)
	text := "abc\n" + long + "\ndef\nghi\n" + strings.Repeat("x", 1000) + "\n"
	r := NewReader(strings.NewReader(text), 16<<20)
	var lines [][]byte
	for {
		line, err := r.Next()
		if err != nil {
			break
		}
		lines = append(lines, line)
		for i := range r.buf[:r.start] { // what the Reader may overwrite
			r.buf[i] = '!'
		}
		_ = append(line, "OVERWRITTEN"...)
	}
	if got := string(bytes.Join(lines, []byte("\n"))) + "\n"; got != text {
		t.Errorf("lines changed after they were returned: %.60q", got)
	}
}

func TestReaderErrors(t *testing.T) {
	broken := errors.New("broken")
	source := io.MultiReader(strings.NewReader("abc\nunfinished"), iotest.ErrReader(broken))
	lines, err := readAll(NewReader(source, 100))
	if err != broken || fmt.Sprint(lines) != "[abc]" {
		t.Errorf("got %v, %v", lines, err)
	}
	source = io.MultiReader(strings.NewReader("abc\n"+strings.Repeat("x", 500)), iotest.ErrReader(broken))
	r := NewReader(source, 100)
	lines, err = readAll(r)
	if err != broken || fmt.Sprint(lines) != "[abc]" {
		t.Errorf("within a line that is too long: got %v, %v", lines, err)
	}
	if _, again := r.Next(); again != broken {
		t.Errorf("then %v", again)
	}
	if _, err := readAll(NewReader(stuck{}, 100)); err != io.ErrNoProgress {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// A buffer that grew for one message is given back when only short ones follow.
func TestReaderGivesItsBufferBack(t *testing.T) {
	r := NewReader(io.MultiReader(
		strings.NewReader(strings.Repeat("x", 1<<20)+"\n"),
		iotest.OneByteReader(strings.NewReader(strings.Repeat("short\n", calmLines+1)))), 16<<20)
	if line, err := r.Next(); len(line) != 1<<20 || err != nil {
		t.Fatal(len(line), err)
	}
	if len(r.buf) < 1<<20 {
		t.Fatalf("the next long line would have to grow the buffer again: %d", len(r.buf))
	}
	if lines, err := readAll(r); len(lines) != calmLines+1 || err != io.EOF {
		t.Fatal(len(lines), err)
	}
	if len(r.buf) != firstBuffer {
		t.Errorf("holds %d bytes", len(r.buf))
	}
}

func BenchmarkReader(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000, 16_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			line := append(bytes.Repeat([]byte("x"), size), '\n')
			r := NewReader(&endless{text: line}, 16<<20)
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if got, err := r.Next(); err != nil || len(got) != size {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}

// endless repeats a text, up to a pipe's size a read.
type endless struct {
	text []byte
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p[:min(len(p), 1<<20)], e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}
