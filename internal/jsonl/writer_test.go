package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// A sink records each write, and fails or falls short at the one it is told.
type sink struct {
	writes [][]byte
	fail   int // the number of the write that fails, from 1; 0 for none
	err    error
}

func (s *sink) Write(p []byte) (int, error) {
	s.writes = append(s.writes, bytes.Clone(p))
	if len(s.writes) == s.fail {
		return len(p) / 2, s.err
	}
	return len(p), nil
}

func (s *sink) text() string { return string(bytes.Join(s.writes, nil)) }

func TestWriteLine(t *testing.T) {
	part := func(n int) string { return strings.Repeat("x", n) }
	for _, test := range []struct {
		name   string
		parts  []string
		writes int
	}{
		{"one part", []string{`{"a":1}`}, 1},
		{"three parts", []string{`{"a":`, `1`, `}`}, 1},
		{"no part", nil, 1},
		{"the largest small line", []string{part(40_000), part(smallLine - 40_002)}, 1},
		{"a large part between small ones", []string{`{"a":`, part(1_000_000), `,"b":1`, `}`}, 3},
		{"many small parts", strings.Split(strings.Repeat(part(1000)+" ", 200), " "), 4},
		{"only large parts", []string{part(100_000), part(100_000)}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			var parts [][]byte
			for _, p := range test.parts {
				parts = append(parts, []byte(p))
			}
			out := &sink{}
			w := NewWriter(out)
			for range 2 {
				out.writes = nil
				if err := w.WriteLine(parts...); err != nil {
					t.Fatal(err)
				}
				if want := strings.Join(test.parts, "") + "\n"; out.text() != want {
					t.Errorf("wrote %d bytes, want %d", len(out.text()), len(want))
				}
				if len(out.writes) != test.writes {
					t.Errorf("%d writes, want %d", len(out.writes), test.writes)
				}
			}
			if cap(w.buf) > 2*smallLine {
				t.Errorf("holds %d bytes", cap(w.buf))
			}
		})
	}
}

func TestWriterErrorIsFinal(t *testing.T) {
	large := []byte(strings.Repeat("x", 100_000))
	broken := errors.New("broken")
	for _, test := range []struct {
		name string
		sink sink
		want error
	}{
		{"an error", sink{fail: 2, err: broken}, broken},
		{"a short write", sink{fail: 2}, io.ErrShortWrite},
	} {
		w := NewWriter(&test.sink)
		if err := w.WriteLine([]byte("fine")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := w.WriteLine(large, []byte("tail")); err != test.want {
				t.Errorf("%s: got %v, want %v", test.name, err, test.want)
			}
			if err := w.WriteLine([]byte("small")); err != test.want {
				t.Errorf("%s: got %v, want %v", test.name, err, test.want)
			}
		}
		if len(test.sink.writes) != 2 {
			t.Errorf("%s: %d writes, want none behind the broken one", test.name, len(test.sink.writes))
		}
	}
}

// Lines of many goroutines never mix, whatever their sizes.
func TestWriterLinesDoNotMix(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	var wg sync.WaitGroup
	const writers, lines = 8, 50
	for i := range writers {
		wg.Go(func() {
			for k := range lines {
				size := []int{1, 100, 40_000, 90_000}[(i+k)%4]
				body := bytes.Repeat([]byte{byte('a' + i)}, size)
				if err := w.WriteLine(body, []byte("|"), body); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	r := NewReader(&out, 1<<20)
	for n := 0; ; n++ {
		line, err := r.Next()
		if err == io.EOF {
			if n != writers*lines {
				t.Errorf("%d lines, want %d", n, writers*lines)
			}
			return
		}
		half := len(line) / 2
		if err != nil || line[half] != '|' || bytes.Count(line[:half], line[:1]) != half || !bytes.Equal(line[:half], line[half+1:]) {
			t.Fatalf("line %d of %d bytes is mixed (%v)", n, len(line), err)
		}
	}
}

func BenchmarkWriteLine(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w := NewWriter(io.Discard)
			head, body, tail := []byte(`{"jsonrpc":"2.0","id":1,"result":`), bytes.Repeat([]byte("x"), size), []byte(`}`)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := w.WriteLine(head, body, tail); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
