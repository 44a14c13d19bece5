package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"
)

func seed(f *testing.F) {
	for _, test := range texts {
		f.Add([]byte(test.text))
	}
	for _, test := range idTexts {
		f.Add([]byte(test.text))
	}
	f.Add(realistic(1000))
}

// FuzzCheck holds Check against encoding/json, which takes invalid UTF-8 but
// otherwise the same language.
func FuzzCheck(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		err := Check(data, Bounds{Depth: 100, Keys: 50, Items: 50})
		for _, bound := range []error{ErrDepth, ErrKeys, ErrItems, ErrDigits} {
			if errors.Is(err, bound) {
				return // what stands behind the fault was not looked at
			}
		}
		if want := json.Valid(data) && utf8.Valid(data); (err == nil) != want {
			t.Fatalf("%q: %v, but encoding/json says %v", data, err, want)
		}
		var syntax *SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(data)) {
			t.Fatalf("%q: %v", data, err)
		}
	})
}

// FuzzParts takes a valid text apart in every way, holds the parts against
// encoding/json's, and puts it together again.
func FuzzParts(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		object, err := Split(data, Bounds{})
		if err != nil && err != ErrNotObject {
			return
		}
		members := Members(data)
		if len(members) != len(object) {
			t.Fatalf("%q: Split finds %d members, Members %d", data, len(object), len(members))
		}
		last := map[string][]byte{}
		for i, m := range object {
			if string(m.Key) != string(members[i].Key) || string(m.Value) != string(members[i].Value) {
				t.Fatalf("%q: Split and Members disagree on member %d", data, i)
			}
			if object.Get(m.Name()) == nil {
				t.Fatalf("%q: no member %q", data, m.Name())
			}
			last[m.Name()] = m.Value
		}
		if _, doubled := object.Duplicate(); doubled != (len(last) != len(object)) {
			t.Fatalf("%q: Duplicate = %v", data, doubled)
		}
		switch KindOf(data) {
		case Dict:
			var want map[string]json.RawMessage
			if err := json.Unmarshal(data, &want); err != nil || len(want) != len(last) {
				t.Fatalf("%q: %d names, encoding/json finds %d (%v)", data, len(last), len(want), err)
			}
			for name, value := range want {
				if !bytes.Equal(value, last[name]) {
					t.Fatalf("%q: %q is %q, want %q", data, name, last[name], value)
				}
			}
		case Array:
			var want []json.RawMessage
			got := Elements(data)
			if err := json.Unmarshal(data, &want); err != nil || len(want) != len(got) {
				t.Fatalf("%q: %d items, encoding/json finds %d (%v)", data, len(got), len(want), err)
			}
			for i := range got {
				if !bytes.Equal(got[i], want[i]) {
					t.Fatalf("%q: item %d is %q, want %q", data, i, got[i], want[i])
				}
			}
		case String:
			var want string
			if err := json.Unmarshal(data, &want); err != nil || Text(data) != want {
				t.Fatalf("%q: Text = %q, want %q (%v)", data, Text(data), want, err)
			}
			if again := Quote(want); Text(again) != want {
				t.Fatalf("%q comes back as %q", want, again)
			}
		}

		line := AppendLine(nil, data)
		var a, b bytes.Buffer
		if json.Compact(&a, data) != nil || json.Compact(&b, line) != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatalf("%q becomes the line %q", data, line)
		}
		if bytes.ContainsAny(line, "\r\n") {
			t.Fatalf("%q is no line", line)
		}
		quoted := append(AppendQuoted([]byte{'"'}, data), '"')
		if Check(quoted, Bounds{}) != nil || Text(quoted) != string(line) {
			t.Fatalf("%q is quoted as %q", data, quoted)
		}
	})
}

// FuzzIDFinder holds the finder against Split, whatever the pieces.
func FuzzIDFinder(f *testing.F) {
	for _, test := range idTexts {
		f.Add([]byte(test.text), uint(1), uint(5))
	}
	f.Fuzz(func(t *testing.T, data []byte, i, k uint) {
		var whole, pieces IDFinder
		whole.Write(data)
		i %= uint(len(data) + 1)
		k = i + k%(uint(len(data))-i+1)
		for _, piece := range [][]byte{data[:i], data[i:k], data[k:]} {
			pieces.Write(piece)
		}
		if !bytes.Equal(whole.ID(), pieces.ID()) {
			t.Fatalf("%q: whole %q, cut at %d and %d %q", data, whole.ID(), i, k, pieces.ID())
		}
		object, err := Split(data, Bounds{})
		if err != nil {
			return
		}
		ids := 0
		for _, m := range object {
			if m.Name() == "id" {
				ids++
			}
		}
		var want []byte
		if id := object.Get("id"); ids == 1 && len(id) < maxID && (KindOf(id) == String || KindOf(id) == Number) {
			want = id
		}
		if !bytes.Equal(whole.ID(), want) {
			t.Fatalf("%q: got %q, want %q", data, whole.ID(), want)
		}
	})
}
