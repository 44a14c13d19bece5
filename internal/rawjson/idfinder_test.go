package rawjson

import (
	"strings"
	"testing"
)

var idTexts = []struct{ text, want string }{
	{`{"jsonrpc":"2.0","id":7,"method":"x"}`, `7`},
	{`{"method":"x","params":{"id":1,"a":["{\"id\":2}"]},"id":"s\"\\}é"}`, `"s\"\\}é"`},
	{`{"params":{"a":[[[{"id":3}]]]},"\u0069\u0064" : -9223372036854775808 }`, `-9223372036854775808`},
	{" \t{ \"id\" :\r\n5\t, \"x\" : 1 } ", `5`},
	{`{"id":5}`, `5`},
	{`{"ID":1,"Id":2,"i":3,"idx":4}`, ``},
	{`{"id":null}`, ``}, {`{"id":true,"id":4}`, ``}, {`{"id":{"id":4}}`, ``}, {`{"id":[5]}`, ``},
	{`{"id":1,"id":2}`, ``},
	{`{"id":1,"method":"m","i\u0064":1}`, ``},
	{`{"a":"id","b":7}`, ``}, {`{"a":{"b":"id"},"c":[{"id":"no"}],"id":8}`, `8`}, {`{"a":[],"b":{},"id":""}`, `""`},
	{`{}`, ``}, {``, ``}, {`[{"id":1}]`, ``}, {`"id"`, ``}, {`{"params":{"id":1}}`, ``},
	{`{"id":1.5e3}`, `1.5e3`},
	// Malformed: the id that was met before the fault, if it was whole.
	{`{"id":12`, ``}, {`{"id":"12`, ``}, {`{"id":1x}`, ``}, {`{"id":01}`, ``}, {`{"id":"\q"}`, ``}, {"{\"id\":\"\xff\"}", ``},
	{`{"id":4,oops`, `4`}, {`{oops,"id":4}`, ``}, {`{"a" "id":4}`, ``}, {`{"\u00":1,"id":4}`, `4`}, {`}"id":4`, ``},
}

func findID(pieces ...string) string {
	var f IDFinder
	for _, piece := range pieces {
		if n, err := f.Write([]byte(piece)); n != len(piece) || err != nil {
			panic("Write failed")
		}
	}
	return string(f.ID())
}

func TestIDFinder(t *testing.T) {
	for _, test := range idTexts {
		if got := findID(test.text); got != test.want {
			t.Errorf("%s: got %q, want %q", test.text, got, test.want)
		}
		if got := findID(strings.Split(test.text, "")...); got != test.want {
			t.Errorf("%s, rune by rune: got %q, want %q", test.text, got, test.want)
		}
		for i := range len(test.text) {
			for k := i; k < len(test.text); k++ {
				if got := findID(test.text[:i], test.text[i:k], "", test.text[k:]); got != test.want {
					t.Fatalf("%s cut at %d and %d: got %q, want %q", test.text, i, k, got, test.want)
				}
			}
		}
	}
}

func TestIDFinderIsResponse(t *testing.T) {
	for _, test := range []struct {
		text string
		want bool
	}{
		{`{"id":1,"result":{"a":1}}`, true}, {`{"error":{"code":1},"id":1}`, true}, {`{"id":1,"re\u0073ult":2}`, true},
		{`{"id":1,"method":"x"}`, false}, {`{"id":1,"params":{"result":1}}`, false}, {`{"a":"result"}`, false}, {`{}`, false},
		{`{"result":1,"method":"x"}`, false}, {`{"method":"x","id":1,"result":1}`, false}, {`{"Result":1,"errors":2}`, false},
	} {
		for i := range len(test.text) {
			var f IDFinder
			f.Write([]byte(test.text[:i]))
			f.Write([]byte(test.text[i:]))
			if got := f.IsResponse(); got != test.want {
				t.Fatalf("%s cut at %d: got %v", test.text, i, got)
			}
			if f.Reset(); f.IsResponse() {
				t.Fatal("Reset keeps what was met")
			}
		}
	}
}

func TestIDFinderBounds(t *testing.T) {
	id := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	for _, test := range []struct{ name, text, want string }{
		{"the longest id", `{"id":` + id(1023) + `}`, id(1023)},
		{"one byte longer", `{"id":` + id(1024) + `}`, ``},
		{"a hundred times", `{"id":` + id(102_400) + `,"a":1}`, ``},
		{"a number that long", `{"id":` + strings.Repeat("1", 1024) + `}`, ``},
		{"a long name first", `{` + id(100_000) + `:1,"id":2}`, `2`},
		{"depth", `{"a":` + strings.Repeat(`[{"id":`, 100_000) + `1` + strings.Repeat(`}]`, 100_000) + `,"id":3}`, `3`},
	} {
		if got := findID(test.text); got != test.want {
			t.Errorf("%s: got %d bytes, want %d", test.name, len(got), len(test.want))
		}
	}
}

func TestIDFinderMemory(t *testing.T) {
	var f IDFinder
	piece := []byte(`"id":"` + strings.Repeat("y", 64<<10))
	f.Write([]byte(`{"a":{},`))
	for range 100 {
		f.Write(piece)
	}
	if cap(f.raw) > 4<<10 {
		t.Errorf("holds %d bytes", cap(f.raw))
	}
	f.Reset()
	f.Write([]byte(`{"id":1}`))
	id := f.ID()
	f.Reset()
	if f.ID() != nil {
		t.Error("Reset keeps the id")
	}
	f.Write([]byte(`{"id":2}`))
	if string(id) != "1" || string(f.ID()) != "2" {
		t.Errorf("got %s and %s", id, f.ID())
	}
}
