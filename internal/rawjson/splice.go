package rawjson

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns the text of a valid JSON string, or "" for a value of another
// kind. A lone surrogate becomes U+FFFD, since Go text cannot hold one.
func Text(valid []byte) string {
	if KindOf(valid) != String {
		return ""
	}
	valid = bytes.TrimSpace(valid)
	inner := valid[1 : len(valid)-1]
	if !escaped(inner) {
		return string(inner)
	}
	out := make([]byte, 0, len(inner))
	for i := 0; i < len(inner); {
		if inner[i] != '\\' {
			next := bytes.IndexByte(inner[i:], '\\')
			if next < 0 {
				next = len(inner) - i
			}
			out = append(out, inner[i:i+next]...)
			i += next
			continue
		}
		switch c := inner[i+1]; c {
		case 'u':
			r := hex4(inner[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				if i+6 <= len(inner) && inner[i] == '\\' && inner[i+1] == 'u' {
					if pair := utf16.DecodeRune(r, hex4(inner[i+2:])); pair != utf8.RuneError {
						r = pair
						i += 6
					}
				}
			}
			out = utf8.AppendRune(out, r) // a lone surrogate is appended as U+FFFD
		default:
			out = append(out, unescaped[c])
			i += 2
		}
	}
	return string(out)
}

// unescaped maps the letter of an escape to what it stands for.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		r = r<<4 | rune(hexDigit(c))
	}
	return r
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Only what RFC 8259 requires is
// escaped (and U+2028, U+2029, which some readers take for line ends); invalid
// UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = AppendInner(dst, s)
	return append(dst, '"')
}

// AppendInner appends s as the inside of a JSON string, without the quotes, so
// that texts can be joined without decoding what they are joined to.
func AppendInner(dst []byte, s string) []byte {
	// Plain text is copied whole. Otherwise what is behind the first byte that
	// is not plain is taken back and looked at rune by rune.
	old := len(dst)
	dst = append(dst, s...)
	if n := plain(dst, old); n < len(dst) {
		return appendEscaped(dst[:n], s[n-old:])
	}
	return dst
}

func appendEscaped(dst []byte, s string) []byte {
	start := 0 // s[start:i] needs no escape and is not appended yet
	for i := 0; i < len(s); {
		c := s[i]
		if asItIs[c] {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			dst = appendControl(dst, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[start:i]...), "\ufffd"...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[start:i]...), '\\', 'u', '2', '0', '2', hexDigits[r&0xf])
			start = i + size
		}
		i += size
	}
	return append(dst, s[start:]...)
}

// appendControl appends the escape of a quote, a backslash or a control
// character.
func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// asItIs holds the ASCII characters that stand in a string without an escape.
var asItIs = func() (table [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// Quote returns s as a JSON string.
func Quote(s string) []byte { return AppendString(make([]byte, 0, len(s)+2), s) }

// AppendLine appends valid JSON on one line: CR and LF, which a valid text can
// only hold between its tokens, are left out, all else is kept as it is.
func AppendLine(dst, valid []byte) []byte {
	dst = slices.Grow(dst, len(valid))
	for len(valid) > 0 {
		line := valid
		if i := bytes.IndexByte(valid, '\n'); i >= 0 {
			line = valid[:i]
		}
		valid = valid[min(len(line)+1, len(valid)):]
		for {
			i := bytes.IndexByte(line, '\r')
			if i < 0 {
				break
			}
			dst = append(dst, line[:i]...)
			line = line[i+1:]
		}
		dst = append(dst, line...)
	}
	return dst
}

// AppendQuoted appends the valid JSON text as the inside of a JSON string, so
// that one document can be carried as text in another. CR and LF between its
// tokens are left out.
func AppendQuoted(dst, valid []byte) []byte {
	start := 0 // valid[start:i] needs no escape and is not appended yet
	for i := 0; ; i++ {
		if i = plain(valid, i); i == len(valid) {
			return append(dst, valid[start:]...)
		}
		c := valid[i]
		if c >= utf8.RuneSelf {
			for i+1 < len(valid) && valid[i+1] >= utf8.RuneSelf {
				i++
			}
			continue
		}
		dst = append(dst, valid[start:i]...)
		if c != '\r' && c != '\n' {
			dst = appendControl(dst, c)
		}
		start = i + 1
	}
}
