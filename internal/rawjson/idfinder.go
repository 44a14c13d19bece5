package rawjson

// maxID bounds the id that an IDFinder remembers, in bytes as written.
const maxID = 1 << 10

// An IDFinder finds the id of a message that is too large to be kept, so that
// its refusal can still be matched to the request. It is fed the text of one
// object in pieces of any size, and keeps at most maxID bytes of it. The zero
// value is ready.
//
// It checks no more of the text than it needs: of a malformed one the result is
// the id it met, or none.
type IDFinder struct {
	state   finderState
	inside  bool   // a string
	escaped bool   // the next byte stands behind a backslash
	nested  int    // arrays and objects that are open within the member's value
	isID    bool   // the member's name is "id", for the first time
	hasID   bool   // such a member was met
	twice   bool   // and then another
	method  bool   // a member "method" was met
	outcome bool   // a member "result" or "error" was met
	raw     []byte // the member's name or id as far as it was read
	id      []byte // what ID returns
}

type finderState uint8

// What an IDFinder waits for, at the object's own level.
const (
	wantObject finderState = iota
	wantName
	inName
	wantColon
	wantValue
	inValue
	wantComma
	finished // the object is at its end, or the text is none
)

// ID returns the value of the member "id" as it was written, or nil when there is
// none or more than one, or when it is no string or number shorter than 1 KiB.
func (f *IDFinder) ID() []byte {
	if f.twice {
		return nil
	}
	return f.id
}

// IsResponse reports whether the message is a response: a member "result" or
// "error" was met, and no "method".
func (f *IDFinder) IsResponse() bool { return f.outcome && !f.method }

// Reset makes f ready for another object. What ID returned stays as it is.
func (f *IDFinder) Reset() { *f = IDFinder{raw: f.raw[:0]} }

// Write takes the next bytes of the object. It never fails.
func (f *IDFinder) Write(p []byte) (int, error) {
	for i := 0; i < len(p) && f.state != finished; {
		if f.inside {
			i = f.str(p, i)
		} else if f.token(p[i]) {
			i++
		}
	}
	return len(p), nil
}

// str takes bytes of a string up to its end or that of the piece.
func (f *IDFinder) str(p []byte, i int) int {
	start := i
	for i < len(p) && f.inside {
		if f.escaped {
			f.escaped = false
			i++
			continue
		}
		if i = plain(p, i); i == len(p) {
			break
		}
		f.escaped = p[i] == '\\'
		f.inside = p[i] != '"'
		i++
	}
	f.keep(p[start:i])
	if f.inside {
		return i
	}
	switch {
	case f.state == inName:
		name := ""
		if Check(f.raw, Bounds{}) == nil {
			name = Text(f.raw)
		}
		f.isID = name == "id" && !f.hasID
		f.twice = f.twice || name == "id" && f.hasID
		f.hasID = f.hasID || f.isID
		f.method = f.method || name == "method"
		f.outcome = f.outcome || name == "result" || name == "error"
		f.state = wantColon
	case f.nested == 0:
		f.endValue()
	}
	return i
}

// token takes a byte outside a string and reports whether it is used up; a
// delimiter that ends a number or a word is looked at again.
func (f *IDFinder) token(c byte) bool {
	if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
		if f.state == inValue && f.nested == 0 {
			f.endValue()
		}
		return true
	}
	switch f.state {
	case wantObject:
		f.expect(c == '{', wantName)
	case wantName:
		f.raw = f.raw[:0]
		f.inside = c == '"'
		f.expect(f.inside, inName)
		f.keep([]byte{c})
	case wantColon:
		f.expect(c == ':', wantValue)
	case wantValue:
		f.raw = f.raw[:0]
		f.state = inValue
		return f.value(c)
	case inValue:
		return f.value(c)
	case wantComma:
		f.expect(c == ',', wantName)
	}
	return true
}

// expect moves to the next state, or gives up where the text is not the JSON it
// should be, or the object is at its end.
func (f *IDFinder) expect(ok bool, next finderState) {
	if f.state = next; !ok {
		f.state = finished
	}
}

// value takes a byte of a value that is not inside a string.
func (f *IDFinder) value(c byte) bool {
	switch c {
	case '"':
		f.inside = true
	case '{', '[':
		f.nested++
	case '}', ']', ',':
		if f.nested == 0 {
			f.endValue()
			return false
		}
		if c != ',' {
			f.nested--
		}
		if f.nested == 0 {
			f.endValue()
			return true
		}
	}
	f.keep([]byte{c})
	return true
}

// endValue is called behind a member's value.
func (f *IDFinder) endValue() {
	f.state = wantComma
	if !f.isID {
		return
	}
	kind := KindOf(f.raw)
	if len(f.raw) < maxID && (kind == String || kind == Number) && Check(f.raw, Bounds{}) == nil {
		f.id = append([]byte(nil), f.raw...)
	}
}

// keep remembers bytes of a name or of the id, as far as they matter.
func (f *IDFinder) keep(p []byte) {
	if f.state == inName || f.state == inValue && f.isID {
		f.raw = append(f.raw, p[:min(len(p), maxID-len(f.raw))]...)
	}
}
