package rawjson

import "bytes"

// A Kind is the kind of a JSON value.
type Kind byte

// The kinds. None is the kind of no bytes at all: an absent member.
const (
	None Kind = iota
	Null
	Bool
	Number
	String
	Array
	Dict // an object
)

var kindNames = [...]string{"nothing", "null", "a boolean", "a number", "a string", "an array", "an object"}

// String names the kind as an error message would: "a number".
func (k Kind) String() string { return kindNames[k] }

// KindOf returns the kind of a valid value.
func KindOf(valid []byte) Kind {
	for _, c := range valid {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			return Dict
		case '[':
			return Array
		case '"':
			return String
		case 't', 'f':
			return Bool
		case 'n':
			return Null
		default:
			return Number
		}
	}
	return None
}

// A Member is one member of an object, as slices of the text it came in.
type Member struct {
	Key   []byte // the name as written, with its quotes
	Value []byte // without white space around it
}

// Name returns the member's name, unescaped.
func (m Member) Name() string { return Text(m.Key) }

// An Object is the members of an object in document order.
type Object []Member

// Get returns the value of the first member of that exact name, or nil.
func (o Object) Get(name string) []byte {
	for _, m := range o {
		if m.is(name) {
			return m.Value
		}
	}
	return nil
}

// is compares without unescaping where the name holds no escape, as nearly all
// names do.
func (m Member) is(name string) bool {
	if !escaped(m.Key) {
		return string(m.Key[1:len(m.Key)-1]) == name
	}
	return m.Name() == name
}

func escaped(str []byte) bool { return bytes.IndexByte(str, '\\') >= 0 }

// Opt returns the value of the member of that name, or nil when it is absent or
// null, which most optional members treat alike.
func (o Object) Opt(name string) []byte {
	if v := o.Get(name); KindOf(v) != Null {
		return v
	}
	return nil
}

// Duplicate returns the first name that stands twice in the object. Names are
// compared unescaped: "m" and "\u006d" are the same name.
func (o Object) Duplicate() (string, bool) {
	if len(o) <= 16 { // below that, comparing all pairs costs less than a map
		for i := range o {
			for k := range i {
				if sameKey(o[i].Key, o[k].Key) {
					return o[i].Name(), true
				}
			}
		}
		return "", false
	}
	seen := make(map[string]bool, len(o))
	for _, m := range o {
		name := m.Name()
		if seen[name] {
			return name, true
		}
		seen[name] = true
	}
	return "", false
}

func sameKey(a, b []byte) bool {
	if string(a) == string(b) {
		return true
	}
	// Only an escape can make differently written names equal.
	return (escaped(a) || escaped(b)) && Text(a) == Text(b)
}

// Members splits a valid object, or returns nil for a valid value of another
// kind.
func Members(valid []byte) Object {
	var object Object
	each(valid, '{', func(key, value []byte) { object = append(object, Member{key, value}) })
	return object
}

// Elements splits a valid array, or returns nil for a valid value of another
// kind.
func Elements(valid []byte) [][]byte {
	var items [][]byte
	each(valid, '[', func(_, value []byte) { items = append(items, value) })
	return items
}

// each walks the outermost level of a valid object or array.
func each(valid []byte, open byte, visit func(key, value []byte)) {
	s := scanner{data: valid}
	i := s.space(0)
	if i >= len(valid) || valid[i] != open {
		return
	}
	i = s.space(i + 1)
	for i < len(valid) && valid[i] != open+2 { // '[' and ']', '{' and '}'
		var key []byte
		if open == '{' {
			end := skip(valid, i)
			key = valid[i:end:end]
			i = s.space(s.space(end) + 1)
		}
		end := skip(valid, i)
		visit(key, valid[i:end:end])
		if i = s.space(end); i < len(valid) && valid[i] == ',' {
			i = s.space(i + 1)
		}
	}
}

// skip returns the index behind the valid value that starts at i.
func skip(valid []byte, i int) int {
	depth := 0
	for i < len(valid) {
		switch valid[i] {
		case '"':
			i = skipString(valid, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n', ':':
		default:
			for i < len(valid) && !delimiter[valid[i]] {
				i++
			}
			if depth == 0 {
				return i
			}
			continue
		}
		i++
	}
	return i
}

// skipString returns the index behind the valid string that starts at i. The
// string ends at the first quote with an even number of backslashes before it.
func skipString(valid []byte, i int) int {
	for i++; ; {
		n := bytes.IndexByte(valid[i:], '"')
		if n < 0 {
			return len(valid)
		}
		i += n + 1
		slashes := 0
		for k := i - 2; valid[k] == '\\'; k-- {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

var delimiter = [256]bool{',': true, ']': true, '}': true, ' ': true, '\t': true, '\r': true, '\n': true, ':': true}
