package redact

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""}, {"plain text, é, 漢字 and 😀", "plain text, é, 漢字 and 😀"},
		{"a\nb\r\tc", `a\u{a}b\u{d}\u{9}c`}, {"\x1b[31mred\x1b[0m", `\u{1b}[31mred\u{1b}[0m`}, {"\x00\x7f\u009b", `\u{0}\u{7f}\u{9b}`},
		{"\x9b31m", `\x{9b}31m`}, {"\xc3", `\x{c3}`}, {"\ufffd", "\ufffd"},
		{"a\u202eb", `a\u{202e}b`}, {"a\u2028b\u2029", `a\u{2028}b\u{2029}`}, {"\u200b\ufeff\u00ad", `\u{200b}\u{feff}\u{ad}`},
		{"x\U000e0041\U000e0100\U000e01ef", `x\u{e0041}\u{e0100}\u{e01ef}`},
		{`C:\new\u{1b}`, `C:\new\u{1b}`},
	} {
		got := Escape(test.text)
		if got != test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
		if Escape(got) != got {
			t.Errorf("%q: escaping twice changes %q", test.text, got)
		}
	}
}

// Every code point that acts on a terminal or hides is escaped, every other one
// is kept.
func TestB177_EscapeEveryCodePoint(t *testing.T) {
	in := func(r rune, pairs ...rune) bool {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] <= r && r <= pairs[i+1] {
				return true
			}
		}
		return false
	}
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		got := Escape("<" + string(r) + ">")
		escaped := got == fmt.Sprintf(`<\u{%x}>`, r)
		if !escaped && got != "<"+string(r)+">" {
			t.Fatalf("%U: got %q", r, got)
		}
		dangerous := in(r, 0, 0x1f, 0x7f, 0x9f, 0x200b, 0x200f, 0x2028, 0x202e, 0x2060, 0x2064, 0x2066, 0x206f, 0x61c, 0x61c, 0xfeff, 0xfeff, 0xe0000, 0xe0fff)
		if dangerous && !escaped {
			t.Errorf("%U is kept", r)
		}
		visible := in(r, 0x20, 0x7e, 0xa1, 0xac, 0xae, 0x24f, 0x3041, 0x3096, 0x4e00, 0x9fff, 0x1f600, 0x1f64f)
		if visible && escaped {
			t.Errorf("%U is escaped", r)
		}
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		text string
		max  int
		want string
	}{
		{"", 5, ""}, {"0123456789", 10, "0123456789"}, {"0123456789", 0, "0123456789"}, {"0123456789", -1, "0123456789"},
		{"0123456789a", 10, "01…[cut]"}, {"0123456789", 8, "…[cut]"}, {"0123456789", 7, "0123456"}, {"0123456789", 1, "0"},
		{"ééééééé", 11, "é…[cut]"}, {"é123456789", 9, "…[cut]"}, {"é", 1, ""},
		{`abc\u{1b}[31mred and more`, 15, `abc…[cut]`}, {`abc\u{1b}[31mred and more`, 17, `abc\u{1b}…[cut]`},
		{`abc\x{9b}red and more text`, 14, `abc…[cut]`},
		{"abc[redacted] and more text", 20, "abc…[cut]"}, {"abc[redacted] and more text", 21, "abc[redacted]…[cut]"},
		{`\u{ is no escape, but text that goes on`, 12, `\u{ …[cut]`},
	} {
		got := Cut(test.text, test.max)
		if got != test.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", test.text, test.max, got, test.want)
		}
	}
}

func FuzzEscapeAndCut(f *testing.F) {
	f.Add("a\x1b[0m\u202e\xff é\\u{1b}[redacted]", 12)
	f.Fuzz(func(t *testing.T, text string, max int) {
		escaped := Escape(text)
		if !utf8.ValidString(escaped) || strings.ContainsAny(escaped, "\n\r\x1b\u202e\u2028") || Escape(escaped) != escaped {
			t.Fatalf("%q becomes %q", text, escaped)
		}
		cut := Cut(escaped, max)
		if max > 0 && len(cut) > max || !utf8.ValidString(cut) {
			t.Fatalf("Cut(%q, %d) = %q", escaped, max, cut)
		}
		if cut != escaped && !strings.HasPrefix(escaped, strings.TrimSuffix(cut, cutMark)) {
			t.Fatalf("Cut(%q, %d) = %q", escaped, max, cut)
		}
	})
}
