package rawjson

import (
	"fmt"
	"strings"
	"testing"
)

func TestKindOf(t *testing.T) {
	for text, want := range map[string]Kind{
		``: None, " \n": None, `null`: Null, `true`: Bool, `false`: Bool, `-1`: Number, `0`: Number,
		`""`: String, `[]`: Array, ` {}`: Dict,
	} {
		if got := KindOf([]byte(text)); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestGet(t *testing.T) {
	object := Members([]byte(`{"a":1,"\u0062":2,"a":3,"é":4,"n":null,"A\\":5,"":6}`))
	for name, want := range map[string]string{
		"a": "1", "b": "2", "é": "4", "n": "null", `A\`: "5", "": "6",
		"A": "", `\u0062`: "", "x": "", `A\\`: "",
	} {
		if got := string(object.Get(name)); got != want {
			t.Errorf("Get(%q) = %q, want %q", name, got, want)
		}
	}
	if object.Get("x") != nil || object.Opt("n") != nil || object.Opt("x") != nil || string(object.Opt("a")) != "1" {
		t.Error("Opt tells null, absent and present apart in the wrong way")
	}
}

func TestDuplicate(t *testing.T) {
	many := func(extra string) string {
		var b strings.Builder
		for i := range 17 {
			fmt.Fprintf(&b, `"k%d":0,`, i)
		}
		return `{` + b.String() + extra + `:1}`
	}
	for _, test := range []struct{ text, want string }{
		{`{}`, ""}, {`{"a":1}`, ""}, {`{"a":1,"A":2}`, ""}, {`{"a":{"b":1},"b":{"a":1}}`, ""},
		{`{"a":1,"b":1,"a":2}`, "a"},
		{`{"method":1,"\u006dethod":2}`, "method"},
		{`{"\u006d":1,"\u006D":2}`, "m"},
		{`{"\/":1,"/":2}`, "/"},
		{`{"params":1,"param\u017f":2}`, ""}, // a fold to encoding/json, two names here
		{`{"method":1,"method\u0000":2}`, ""},
		{many(`"k17"`), ""}, {many(`"k3"`), "k3"}, {many(`"\u006b3"`), "k3"}, {many(`"K3"`), ""},
	} {
		object, err := Split([]byte(test.text), Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := object.Duplicate(); got != test.want || ok != (test.want != "") {
			t.Errorf("%s: got %q %v, want %q", test.text, got, ok, test.want)
		}
	}
	if name, ok := (Object{{Key: []byte(`""`)}, {Key: []byte(`""`)}}).Duplicate(); name != "" || !ok {
		t.Errorf("two empty names: got %q %v", name, ok)
	}
}

func TestMembersAndElements(t *testing.T) {
	if got := fmt.Sprintf("%s", Members([]byte(" {\t\"a\\\\\" : \"}\\\"\" ,\"b\":[{}, {\"c\":\"]\"}] , \"d\":-1.5e3 , \"e\":{} } "))); got != `[{"a\\" "}\""} {"b" [{}, {"c":"]"}]} {"d" -1.5e3} {"e" {}}]` {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprintf("%q", Elements([]byte(" [ 1 ,\"a,b\\\\\",[2,[3]] ,{\"x\":[4]},true\n,null,\"é\\\"]\" ] "))); got != `["1" "\"a,b\\\\\"" "[2,[3]]" "{\"x\":[4]}" "true" "null" "\"é\\\"]\""]` {
		t.Errorf("got %s", got)
	}
	for _, text := range []string{`[]`, `{}`, `1`, `"[1]"`, `null`, ` [ ] `, ``} {
		if Members([]byte(text)) != nil || Elements([]byte(text)) != nil {
			t.Errorf("%q has members or elements", text)
		}
	}
}
