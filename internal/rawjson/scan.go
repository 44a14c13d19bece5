package rawjson

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// Bounds limit what one text may hold. A zero field means the default of the
// table of limits (L11, L12), so that no caller is unbounded by omission.
type Bounds struct {
	Depth int // of nested arrays and objects
	Keys  int // members of one object
	Items int // items of one array
}

// The defaults of Bounds, and the bound on the digits of one number, those of
// its exponent included, which nobody needs to raise.
const (
	DefaultDepth = 512
	DefaultKeys  = 100_000
	DefaultItems = 1_000_000
	maxDigits    = 1024
)

// The bounds that a text can exceed. A SyntaxError wraps one of them when the
// text is JSON but more than we take; errors.Is tells the two apart.
var (
	ErrDepth  = errors.New("nested too deep")
	ErrKeys   = errors.New("too many members in one object")
	ErrItems  = errors.New("too many items in one array")
	ErrDigits = errors.New("a number of too many digits")
)

// A SyntaxError says where and why a text was refused. It quotes none of it.
type SyntaxError struct {
	Offset int    // of the byte that could not be taken
	Reason string // in the words of RFC 8259
	Bound  error  // ErrDepth and its like, or nil when the text is not JSON
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset)
}

func (e *SyntaxError) Unwrap() error { return e.Bound }

// Check reports whether data is one JSON value with nothing but white space
// around it. The error is a *SyntaxError.
func Check(data []byte, b Bounds) error {
	s := newScanner(data, b)
	_, err := s.whole(nil)
	return err
}

// Split checks data, which must be one object, and returns its members. The
// whole text is validated in the same pass. The error is a *SyntaxError, or
// ErrNotObject for a valid value of another kind.
func Split(data []byte, b Bounds) (Object, error) {
	object := make(Object, 0, 8)
	if err := newScanner(data, b).split(&object); err != nil {
		return nil, err
	}
	return object, nil
}

// A Splitter splits one text after the other into slices that it uses again, and
// two levels of each in one pass. Its fields Bounds and Inner are set once.
type Splitter struct {
	Bounds Bounds
	Inner  string // the name of the member of the outermost object to split as well

	Members      Object // of the outermost object
	InnerMembers Object // of the first member named Inner; empty unless that is an object
}

// Split is Split of the package; what it finds is valid until the next call.
func (p *Splitter) Split(data []byte) error {
	p.Reset()
	s := newScanner(data, p.Bounds)
	s.innerName, s.inner = p.Inner, &p.InnerMembers
	return s.split(&p.Members)
}

// Reset lets go of the text that was split last.
func (p *Splitter) Reset() {
	clear(p.Members)
	clear(p.InnerMembers)
	p.Members, p.InnerMembers = p.Members[:0], p.InnerMembers[:0]
}

// ErrNotObject is returned by Split for a valid value of another kind.
var ErrNotObject = errors.New("not an object")

type scanner struct {
	data  []byte
	depth int
	b     Bounds
	err   *SyntaxError

	innerName string
	inner     *Object // collects the members of the member innerName; nil once met
}

func newScanner(data []byte, b Bounds) *scanner {
	if b.Depth == 0 {
		b.Depth = DefaultDepth
	}
	if b.Keys == 0 {
		b.Keys = DefaultKeys
	}
	if b.Items == 0 {
		b.Items = DefaultItems
	}
	return &scanner{data: data, b: b}
}

// split scans the text, which must be an object, and collects its members.
func (s *scanner) split(members *Object) error {
	if i := s.space(0); i < len(s.data) && s.data[i] != '{' {
		// Valid JSON of another kind and plain garbage are told apart: callers
		// answer them with different codes.
		if _, err := s.whole(nil); err != nil {
			return err
		}
		return ErrNotObject
	}
	_, err := s.whole(members)
	return err
}

// whole scans the text from end to end. A non-nil members collects the members
// of the outermost object.
func (s *scanner) whole(members *Object) (int, error) {
	i := s.value(s.space(0), members)
	if i >= 0 {
		if i = s.space(i); i < len(s.data) {
			i = s.fail(i, "more than one value")
		}
	}
	if s.err != nil {
		return 0, s.err
	}
	return i, nil
}

// fail records the first fault and returns -1, which every caller passes up.
func (s *scanner) fail(i int, reason string) int {
	if s.err == nil {
		if i >= len(s.data) {
			reason = "unexpected end"
		}
		s.err = &SyntaxError{Offset: i, Reason: reason}
	}
	return -1
}

func (s *scanner) exceed(i int, bound error) int {
	if s.err == nil {
		s.err = &SyntaxError{Offset: i, Reason: bound.Error(), Bound: bound}
	}
	return -1
}

func (s *scanner) space(i int) int {
	for i < len(s.data) {
		switch s.data[i] {
		case ' ', '\t', '\r', '\n':
			i++
		default:
			return i
		}
	}
	return i
}

// value scans the value that starts at i and returns the index behind it.
func (s *scanner) value(i int, members *Object) int {
	if i >= len(s.data) {
		return s.fail(i, "unexpected end")
	}
	switch c := s.data[i]; {
	case c == '"':
		return s.str(i)
	case c == '{':
		return s.object(i, members)
	case c == '[':
		return s.array(i)
	case c == '-' || '0' <= c && c <= '9':
		return s.number(i)
	case c == 't':
		return s.word(i, "true")
	case c == 'f':
		return s.word(i, "false")
	case c == 'n':
		return s.word(i, "null")
	default:
		return s.fail(i, "a value must begin here")
	}
}

func (s *scanner) word(i int, w string) int {
	for k := range len(w) {
		if i+k >= len(s.data) || s.data[i+k] != w[k] {
			return s.fail(i+k, "a broken "+w)
		}
	}
	return i + len(w)
}

func (s *scanner) object(i int, members *Object) int {
	if s.depth++; s.depth > s.b.Depth {
		return s.exceed(i, ErrDepth)
	}
	i = s.space(i + 1)
	if i < len(s.data) && s.data[i] == '}' {
		s.depth--
		return i + 1
	}
	for n := 1; ; n++ {
		if n > s.b.Keys {
			return s.exceed(i, ErrKeys)
		}
		if i >= len(s.data) || s.data[i] != '"' {
			return s.fail(i, "a member name must begin here")
		}
		key := i
		if i = s.str(i); i < 0 {
			return i
		}
		name := s.data[key:i:i]
		if i = s.space(i); i >= len(s.data) || s.data[i] != ':' {
			return s.fail(i, "a colon must stand here")
		}
		start := s.space(i + 1)
		var inner *Object
		if members != nil && s.inner != nil && (Member{Key: name}).is(s.innerName) {
			inner, s.inner = s.inner, nil
		}
		if i = s.value(start, inner); i < 0 {
			return i
		}
		if members != nil {
			*members = append(*members, Member{Key: name, Value: s.data[start:i:i]})
		}
		if i = s.space(i); i >= len(s.data) {
			return s.fail(i, "unexpected end")
		}
		switch s.data[i] {
		case ',':
			i = s.space(i + 1)
		case '}':
			s.depth--
			return i + 1
		default:
			return s.fail(i, "a comma or a closing brace must stand here")
		}
	}
}

func (s *scanner) array(i int) int {
	if s.depth++; s.depth > s.b.Depth {
		return s.exceed(i, ErrDepth)
	}
	i = s.space(i + 1)
	if i < len(s.data) && s.data[i] == ']' {
		s.depth--
		return i + 1
	}
	for n := 1; ; n++ {
		if n > s.b.Items {
			return s.exceed(i, ErrItems)
		}
		if i = s.value(i, nil); i < 0 {
			return i
		}
		if i = s.space(i); i >= len(s.data) {
			return s.fail(i, "unexpected end")
		}
		switch s.data[i] {
		case ',':
			i = s.space(i + 1)
		case ']':
			s.depth--
			return i + 1
		default:
			return s.fail(i, "a comma or a closing bracket must stand here")
		}
	}
}

func (s *scanner) number(start int) int {
	i, marks := start, 0 // marks counts what is no digit
	if s.data[i] == '-' {
		i++
		marks++
	}
	if i < len(s.data) && s.data[i] == '0' {
		i++
	} else if i = s.digits(i); i < 0 {
		return i
	}
	if i < len(s.data) && s.data[i] == '.' {
		marks++
		if i = s.digits(i + 1); i < 0 {
			return i
		}
	}
	if i < len(s.data) && (s.data[i] == 'e' || s.data[i] == 'E') {
		i++
		marks++
		if i < len(s.data) && (s.data[i] == '+' || s.data[i] == '-') {
			i++
			marks++
		}
		if i = s.digits(i); i < 0 {
			return i
		}
	}
	if i-start-marks > maxDigits {
		return s.exceed(start, ErrDigits)
	}
	return i
}

// digits scans one digit or more.
func (s *scanner) digits(start int) int {
	i := start
	for i < len(s.data) && '0' <= s.data[i] && s.data[i] <= '9' {
		i++
	}
	if i == start {
		return s.fail(i, "a digit must stand here")
	}
	return i
}

// str scans the string whose opening quote is at i.
func (s *scanner) str(i int) int {
	data := s.data
	i++
	for {
		i = plain(data, i)
		if i >= len(data) {
			return s.fail(i, "unexpected end")
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			// Escapes come in rows where one document is text in another.
			for i < len(data) && data[i] == '\\' {
				if i = s.escape(i); i < 0 {
					return i
				}
			}
		case c < 0x20:
			return s.fail(i, "a control character in a string")
		default:
			if i = s.runes(i); i < 0 {
				return i
			}
		}
	}
}

// runes scans the multi-byte runes from i on, which mostly come in rows. Those
// of two and three bytes, nearly all that are written, are told without a call;
// utf8 judges the rest.
func (s *scanner) runes(i int) int {
	for i < len(s.data) && s.data[i] >= utf8.RuneSelf {
		rest := s.data[i:]
		switch c := rest[0]; {
		case len(rest) >= 2 && 0xc2 <= c && c <= 0xdf && rest[1]&0xc0 == 0x80:
			i += 2
		case len(rest) >= 3 && 0xe1 <= c && c <= 0xef && c != 0xed && rest[1]&0xc0 == 0x80 && rest[2]&0xc0 == 0x80:
			i += 3
		default:
			_, size := utf8.DecodeRune(rest)
			if size == 1 {
				return s.fail(i, "invalid UTF-8")
			}
			i += size
		}
	}
	return i
}

// escape scans the escape whose backslash is at i.
func (s *scanner) escape(i int) int {
	if i+1 < len(s.data) && unescaped[s.data[i+1]] != 0 {
		return i + 2
	}
	return s.longEscape(i)
}

func (s *scanner) longEscape(i int) int {
	if i+1 >= len(s.data) || s.data[i+1] != 'u' {
		return s.fail(i+1, "an unknown escape")
	}
	for k := i + 2; k < i+6; k++ {
		if k >= len(s.data) || hexDigit(s.data[k]) < 0 {
			return s.fail(k, "four hexadecimal digits must stand here")
		}
	}
	return i + 6
}

// plain returns the index of the first byte at or behind i that is not plain
// ASCII text inside a string: a quote, a backslash, a control character, or a
// byte of a multi-byte rune. It looks at eight bytes at a time, since most of
// what passes through here is text of tool results.
func plain(data []byte, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for i+8 <= len(data) {
		w := binary.LittleEndian.Uint64(data[i:])
		quote := w ^ (ones * '"')
		slash := w ^ (ones * '\\')
		// A byte's high bit is set in hit when the byte is zero in quote or
		// slash, below 0x20 in w, or above 0x7f in w. Borrows can only set bits
		// above the first true hit, and only the first is used.
		hit := ((quote - ones) &^ quote) | ((slash - ones) &^ slash) | ((w - ones*0x20) &^ w) | w
		if hit &= highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
		i += 8
	}
	for i < len(data) && data[i] != '"' && data[i] != '\\' && 0x20 <= data[i] && data[i] < utf8.RuneSelf {
		i++
	}
	return i
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
