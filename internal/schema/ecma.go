package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON Schema's patterns are regular expressions of ECMA-262 (2020-12 core, 6.4).
// Most are written alike for Go's package regexp. These are not:
//
//   - the classes \s and . mean other characters;
//   - \uXXXX, \cX, and [ inside a class are written in another way;
//   - (?i), (?P<n>...), \A, \z, \Q and [[:alpha:]] mean something to Go only;
//   - look-around and references to groups do not take linear time.
//
// A pattern is translated, or refused rather than read as another one.

// Spaces in the sense of \s (ECMA-262, CharacterClassEscape), as part of a class.
const spaces = `\t\n\x0B\f\r \x{A0}\x{FEFF}\x{2028}\x{2029}\p{Zs}`

var (
	errLookAround = errors.New("looks around or refers to a group, which takes more than linear time")
	errForeign    = errors.New("is no pattern of ECMA-262, or has parts of it that cannot be read")
)

// A translator rewrites one pattern.
type translator struct {
	in    string
	out   strings.Builder
	class bool // inside [...]
}

func translate(pattern string) (string, error) {
	t := &translator{in: pattern}
	for t.in != "" {
		if err := t.next(); err != nil {
			return "", err
		}
	}
	return t.out.String(), nil
}

// take passes n bytes on as they are.
func (t *translator) take(n int) { t.put(n, t.in[:n]) }

// put puts something in the place of n bytes.
func (t *translator) put(n int, s string) {
	t.out.WriteString(s)
	t.in = t.in[n:]
}

func (t *translator) next() error {
	switch c := t.in[0]; {
	case c == '\\':
		return t.escape()
	case t.class:
		switch c {
		case ']':
			t.class = false
			t.take(1)
		case '[':
			t.put(1, `\[`)
		default:
			t.char()
		}
	case c == '[':
		switch {
		case strings.HasPrefix(t.in, "[^]"):
			t.put(3, `[\x00-\x{10FFFF}]`)
		case strings.HasPrefix(t.in, "[]"):
			t.put(2, `[^\x00-\x{10FFFF}]`)
		case strings.HasPrefix(t.in, "[^"):
			t.class = true
			t.take(2)
		default:
			t.class = true
			t.take(1)
		}
	case c == '.':
		t.put(1, `[^\n\r\x{2028}\x{2029}]`)
	case strings.HasPrefix(t.in, "(?"):
		return t.group()
	default:
		t.char()
	}
	return nil
}

// char passes one character on.
func (t *translator) char() {
	_, size := utf8.DecodeRuneInString(t.in)
	t.take(size)
}

func (t *translator) group() error {
	for _, look := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.HasPrefix(t.in, look) {
			return errLookAround
		}
	}
	if !strings.HasPrefix(t.in, "(?:") && !strings.HasPrefix(t.in, "(?<") {
		return errForeign
	}
	t.take(3)
	return nil
}

// escape rewrites what begins with a backslash.
func (t *translator) escape() error {
	if len(t.in) < 2 {
		return errForeign
	}
	switch c := t.in[1]; c {
	case 'd', 'D', 'w', 'W', 'f', 'n', 'r', 't', 'v':
		t.take(2)
	case 's':
		if t.class {
			t.put(2, spaces)
		} else {
			t.put(2, "["+spaces+"]")
		}
	case 'S':
		if t.class {
			return errForeign // the rest of a class cannot be in it and outside of it
		}
		t.put(2, "[^"+spaces+"]")
	case 'b':
		if t.class {
			t.put(2, `\x08`)
		} else {
			t.take(2)
		}
	case 'B':
		if t.class {
			return errForeign
		}
		t.take(2)
	case 'p', 'P':
		if !strings.HasPrefix(t.in[2:], "{") {
			return errForeign
		}
		t.take(2)
	case '0':
		if len(t.in) > 2 && '0' <= t.in[2] && t.in[2] <= '9' {
			return errForeign
		}
		t.put(2, `\x00`)
	case '1', '2', '3', '4', '5', '6', '7', '8', '9', 'k':
		return errLookAround
	case 'c':
		if len(t.in) < 3 || !letter(t.in[2]) {
			return errForeign
		}
		t.put(3, fmt.Sprintf(`\x%02X`, t.in[2]%32))
	case 'x':
		return t.code(2, 2)
	case 'u':
		return t.code(2, 4)
	default:
		if letter(c) || c >= utf8.RuneSelf {
			return errForeign
		}
		t.take(2)
	}
	return nil
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// code rewrites \xHH, \uHHHH and \u{H...}, whose digits begin at start. Two halves
// of a pair are one character.
func (t *translator) code(start, digits int) error {
	end := start + digits
	if digits == 4 && strings.HasPrefix(t.in[start:], "{") {
		start++
		length := strings.IndexByte(t.in[start:], '}')
		if length < 1 || length > 6 {
			return errForeign
		}
		n, err := strconv.ParseUint(t.in[start:start+length], 16, 32)
		if err != nil || n > utf8.MaxRune || utf16.IsSurrogate(rune(n)) {
			return errForeign
		}
		t.put(start+length+1, fmt.Sprintf(`\x{%X}`, n))
		return nil
	}
	high, ok := hex(t.in, start, digits)
	if !ok {
		return errForeign
	}
	if utf16.IsSurrogate(high) {
		low, ok := hex(t.in, end+2, digits)
		if !ok || t.in[end:end+2] != `\u` {
			return errForeign
		}
		if high = utf16.DecodeRune(high, low); high == utf8.RuneError {
			return errForeign
		}
		end += 2 + digits
	}
	t.put(end, fmt.Sprintf(`\x{%X}`, high))
	return nil
}

func hex(s string, start, digits int) (rune, bool) {
	if len(s) < start+digits {
		return 0, false
	}
	n, err := strconv.ParseUint(s[start:start+digits], 16, 32)
	return rune(n), err == nil
}
