package redact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// streamed writes pieces through a Writer and returns all that comes out.
func streamed(s *Scrubber, pieces ...string) string {
	var out bytes.Buffer
	w := s.Writer(&out)
	for _, p := range pieces {
		if n, err := io.WriteString(w, p); n != len(p) || err != nil {
			return fmt.Sprintf("%d, %v", n, err)
		}
	}
	if err := w.Flush(); err != nil {
		return err.Error()
	}
	return out.String()
}

// At every split point of every form, the stream comes out as the text does.
func TestP4_EverySplitPoint(t *testing.T) {
	for _, value := range []string{"4f9c2a774f9c2a77", `p"w\d<>&é`, "x7Kp", "abcabcabc", "line one is long\nline two too"} {
		s := scrubber(value, "abcabcabcd-longer", "x7Kp-and-more")
		for _, form := range unique(forms(value)) {
			text := "a " + form + form + ` "\n` + form + `" b`
			want := s.Text(text)
			if strings.Contains(want, form) && len(value) >= unbounded {
				t.Fatalf("%q is not found in %q", form, text)
			}
			for i := range len(text) + 1 {
				if got := streamed(s, text[:i], text[i:]); got != want {
					t.Fatalf("%q | %q: got %q, want %q", text[:i], text[i:], got, want)
				}
			}
			if got := streamed(s, strings.Split(text, "")...); got != want {
				t.Fatalf("%q, rune by rune: got %q, want %q", text, got, want)
			}
		}
	}
}

func TestP4_RandomPieces(t *testing.T) {
	secrets := typicalSecrets()
	s := scrubber(secrets...)
	r := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	ordinary := ordinaryText(1 << 16)
	for text.Len() < 1<<16 {
		n := r.IntN(len(ordinary) - 100)
		text.WriteString(ordinary[n : n+r.IntN(100)])
		all := forms(secrets[r.IntN(len(secrets))])
		form := all[r.IntN(len(all))]
		text.WriteString(form[:len(form)-r.IntN(2)*r.IntN(len(form))])
	}
	want := s.Text(text.String())
	for range 20 {
		var pieces []string
		for rest := text.String(); rest != ""; {
			n := min(len(rest), 1+r.IntN(200))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		if got := streamed(s, pieces...); got != want {
			t.Fatal("the stream comes out in another way than the text")
		}
	}
}

// What cannot begin a secret is not held back: a log line comes out when it was
// written, though a secret of 16 KiB is live.
func TestWriterHoldsNoMoreThanItMust(t *testing.T) {
	s := scrubber(strings.Repeat("0123456789abcdef", maxValue/16), "line one is long\nline two too", "x7Kp")
	for _, test := range []struct{ text, out string }{
		{"an ordinary line\n", "an ordinary line\n"},
		{"ends with a digit: 1\n", "ends with a digit: 1\n"},
		{"the head 0123456789abc", "the head "},
		{"line one is long\n", ""},
		{"is it x7Kp", "is it "}, // it may go on as another word
		{"is it x7Kp\n", "is it [redacted]\n"},
	} {
		var out bytes.Buffer
		io.WriteString(s.Writer(&out), test.text)
		if out.String() != test.out {
			t.Errorf("%q: got %q, want %q", test.text, out.String(), test.out)
		}
	}
}

// A stream that goes on repeating a secret that overlaps itself is neither held
// back for ever nor shown.
func TestWriterMemoryIsBounded(t *testing.T) {
	s := scrubber("abababababab")
	var out bytes.Buffer
	w := s.Writer(&out)
	for range 10_000 {
		io.WriteString(w, "ababab")
		if len(w.stream().held) > 100 {
			t.Fatalf("holds %d bytes", len(w.stream().held))
		}
	}
	io.WriteString(w, " end")
	w.Flush()
	if got := out.String(); got != "[redacted] end" {
		t.Errorf("got %.100q", got)
	}
}

func TestP8_LateSecretInTheMiddleOfALine(t *testing.T) {
	s := scrubber("first-secret")
	var out bytes.Buffer
	w := s.Writer(&out)
	io.WriteString(w, "a first-sec")
	s.Add("first-second-secret", "b-third")
	io.WriteString(w, "ond-secret and b-third\n")
	if got := out.String(); got != "a [redacted] and [redacted]\n" {
		t.Errorf("got %q", got)
	}
}

func TestWriterErrors(t *testing.T) {
	broken := errors.New("broken")
	w := scrubber("longsecret").Writer(failing{broken})
	if n, err := io.WriteString(w, "text"); n != 0 || err != broken {
		t.Errorf("got %d, %v", n, err)
	}
	if n, err := io.WriteString(w, "longsec"); n != 7 || err != nil { // all of it is held
		t.Errorf("got %d, %v", n, err)
	}
	if err := w.Flush(); err != broken {
		t.Errorf("Flush: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestWriterConcurrently(t *testing.T) {
	s := scrubber("longsecret")
	var out bytes.Buffer
	w := s.Writer(&out)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				io.WriteString(w, "a longsecret b\n")
			}
		})
	}
	wg.Wait()
	if got := out.String(); got != strings.Repeat("a [redacted] b\n", 400) {
		t.Errorf("got %d bytes", len(got))
	}
}
