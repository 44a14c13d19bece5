package redact

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns text on one line with every control, bidi, tag and line
// separating character, and every other one that is not seen, written as
// \u{...}, so that it can neither move a terminal's cursor nor forge a log line
// nor hide what it says. A byte that is no UTF-8 becomes \x{...}: some terminals
// take it for a control character. Escape changes nothing else, and nothing of
// what it returned.
func Escape(text string) string {
	start := 0 // text[start:i] is to be shown and not written yet
	var out strings.Builder
	for i := 0; i < len(text); {
		if c := text[i]; ' ' <= c && c <= '~' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		broken := r == utf8.RuneError && size == 1
		if broken || hidden(r) {
			out.WriteString(text[start:i])
			if broken {
				fmt.Fprintf(&out, `\x{%02x}`, text[i])
			} else {
				fmt.Fprintf(&out, `\u{%x}`, r)
			}
			start = i + size
		}
		i += size
	}
	if start == 0 {
		return text
	}
	out.WriteString(text[start:])
	return out.String()
}

// hidden reports whether a character acts on the text around it instead of
// being seen.
func hidden(r rune) bool {
	switch {
	case unicode.IsControl(r), // C0, DEL and C1
		unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp), // bidi, zero width, tags; line separators
		0xe0000 <= r && r <= 0xe0fff,                      // tags and variation selectors, assigned or not
		0xfff0 <= r && r <= 0xfff8:                        // ignorable, not assigned
		return true
	}
	return false
}

// cutMark stands at the end of a text that Cut shortened.
const cutMark = "…[cut]"

// Cut shortens text to at most max bytes, its mark "…[cut]" included. It cuts
// at a rune's edge and never within an escape of Escape or a placeholder. A max
// of 0 or less means no bound; of one that is smaller than the mark nothing but
// text is left.
func Cut(text string, max int) string {
	if max <= 0 || len(text) <= max {
		return text
	}
	mark := cutMark
	if max < len(mark) {
		mark = ""
	}
	end := max - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:beforeUnit(text, end)] + mark
}

// beforeUnit returns end, or the start of the escape or placeholder that
// text[:end] would end within.
func beforeUnit(text string, end int) int {
	for _, unit := range [...]struct {
		open, close string
		size        int // at most
	}{
		{`\u{`, "}", len(`\u{10ffff}`)},
		{`\x{`, "}", len(`\x{ff}`)},
		{Placeholder, "", len(Placeholder)},
	} {
		from := max(0, end-unit.size+1)
		for i := from; i < end; i++ {
			opened := text[i:min(len(text), i+len(unit.open))]
			if opened != unit.open {
				continue
			}
			if n := strings.Index(text[i+len(unit.open):], unit.close); n >= 0 && i+len(unit.open)+n+len(unit.close) > end {
				return i
			}
		}
	}
	return end
}
