package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// FuzzReader holds the Reader against a split of the whole text, whatever the
// sizes of the reads, and writes what it read back through a Writer.
func FuzzReader(f *testing.F) {
	for _, test := range streams {
		f.Add([]byte(test.text), uint8(10), uint8(1))
		f.Add([]byte(test.text), uint8(10), uint8(200))
	}
	f.Fuzz(func(t *testing.T, text []byte, limit, step uint8) {
		limit = max(limit, 2) // a byte order mark takes no less
		r := NewReader(&steps{bytes.NewReader(text), int(step) + 1}, int(limit))
		var skipped bytes.Buffer
		r.Skipped = &skipped
		var got []string
		for {
			line, err := r.Next()
			if err == io.EOF {
				break
			}
			var long *TooLong
			switch {
			case errors.As(err, &long):
				dropped := skipped.String()
				if rest := dropped[min(int(long.Size), len(dropped)):]; rest != "" && rest != "\r" || long.Size <= int64(limit) {
					t.Fatalf("%v, but %q was dropped", long, dropped)
				}
				skipped.Reset()
				got = append(got, dropped[:long.Size])
			case err != nil:
				t.Fatal(err)
			case len(line) > int(limit):
				t.Fatalf("%q exceeds %d", line, limit)
			default:
				got = append(got, string(line))
			}
		}
		if want := splitWhole(string(text), int(limit)); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("got %q, want %q", got, want)
		}

		var out bytes.Buffer
		w := NewWriter(&out)
		for _, line := range got {
			w.WriteLine([]byte(line[:len(line)/2]), []byte(line[len(line)/2:]))
		}
		if joined := strings.Join(got, "\n"); len(got) > 0 && out.String() != joined+"\n" {
			t.Fatalf("wrote %q, want %q", out.String(), joined)
		}
	})
}

// splitWhole is the Reader's doc comment as code, for a text that is at hand.
func splitWhole(text string, limit int) (lines []string) {
	begun := false
	for _, line := range strings.Split(text, "\n") {
		if !begun {
			line, begun = strings.CutPrefix(line, "\ufeff")
		}
		line = strings.TrimSuffix(line, "\r")
		begun = begun || strings.Trim(line, " \t\r") != ""
		if len(line) > limit || strings.Trim(line, " \t\r") != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

type steps struct {
	r    io.Reader
	size int
}

func (s *steps) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), s.size)]) }
