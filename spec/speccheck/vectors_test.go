package speccheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestVectorsAreWellFormed(t *testing.T) {
	vectors, err := Vectors()
	if err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 100 {
		t.Errorf("only %d vectors", len(vectors))
	}
	names := map[string]bool{}
	for _, v := range vectors {
		where := fmt.Sprintf("%s:%d", v.File, v.Line)
		if key := v.File + v.Name; v.Name == "" || names[key] {
			t.Errorf("%s: the name %q is empty or taken", where, v.Name)
		} else {
			names[key] = true
		}
		if len(v.Must) == 0 {
			t.Errorf("%s: proves no rule", where)
		}
		if v.Framing != FramingNewline && v.Framing != FramingLSP {
			t.Errorf("%s: framing %q", where, v.Framing)
		}
		if v.Out == nil {
			t.Errorf("%s: no member out", where)
		}
		for _, matcher := range v.Out {
			if err := checkMatcher(matcher); err != nil {
				t.Errorf("%s: %v", where, err)
			}
		}
	}
}

// checkMatcher looks for words and operators that Match does not know.
func checkMatcher(matcher json.RawMessage) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(matcher, &members) == nil {
		if name, argument, ok := operator(matcher); ok {
			switch name {
			case "$contains", "$raw":
				var text string
				return json.Unmarshal(argument, &text)
			case "$json", "$oneOf":
				return checkMatcher(argument)
			}
			return fmt.Errorf("unknown operator %s", name)
		}
		for name, member := range members {
			if strings.HasPrefix(name, "$") {
				return fmt.Errorf("operator %s beside other members", name)
			}
			if err := checkMatcher(member); err != nil {
				return err
			}
		}
		return nil
	}
	var elements []json.RawMessage
	if json.Unmarshal(matcher, &elements) == nil {
		for _, element := range elements {
			if err := checkMatcher(element); err != nil {
				return err
			}
		}
		return nil
	}
	var word string
	if json.Unmarshal(matcher, &word) == nil && strings.HasPrefix(word, "$") {
		switch word {
		case "$any", "$string", "$absent":
		default:
			return fmt.Errorf("unknown word %s", word)
		}
	}
	return nil
}

func TestInput(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"a text", `"a\nü"`, "a\nü"},
		{"no parts", `[]`, ""},
		{"every part", `["a",{"base64":"/w=="},{"repeat":"xy","times":3},{"frame":"ü"},"z"]`, "a\xffxyxyxyContent-Length: 2\r\n\r\nüz"},
		{"an empty frame", `[{"frame":""}]`, "Content-Length: 0\r\n\r\n"},
	} {
		var in Input
		if err := json.Unmarshal([]byte(test.in), &in); err != nil || string(in) != test.want {
			t.Errorf("%s: got %q, %v, want %q", test.name, in, err, test.want)
		}
	}
	for _, bad := range []string{`7`, `{"repeat":"x"}`, `[7]`, `[{"hex":"00"}]`, `[{"base64":"?"}]`} {
		var in Input
		if json.Unmarshal([]byte(bad), &in) == nil {
			t.Errorf("%s was taken as %q", bad, in)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		name, framing, stream string
		want                  []string
		wrong                 string
	}{
		{"nothing", FramingNewline, "", nil, ""},
		{"lines", FramingNewline, "{}\n[1]\n", []string{"{}", "[1]"}, ""},
		{"a line without end", FramingNewline, "{}\n{", []string{"{}"}, "does not end"},
		{"bodies", FramingLSP, "Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n{\n}", []string{"{}", "{\n}"}, ""},
		{"a body that is too short", FramingLSP, "Content-Length: 3\r\n\r\n{}", nil, "Content-Length"},
		{"a line in LSP framing", FramingLSP, "{}\n", nil, "Content-Length"},
		{"a negative length", FramingLSP, "Content-Length: -1\r\n\r\n", nil, "Content-Length"},
	} {
		messages, err := Split(test.framing, []byte(test.stream))
		judge(t, err, test.wrong)
		if got := string(bytes.Join(messages, []byte("|"))); got != strings.Join(test.want, "|") {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, test := range []struct{ name, matcher, text, wrong string }{
		{"equal", `{"a":[1,"x",null,true]}`, `{"b":0,"a":[1,"x",null,true]}`, ""},
		{"strings by value", `"a"`, `"\u0061"`, ""},
		{"numbers by spelling", `1`, `1.0`, "want 1, have 1.0"},
		{"another type", `1`, `"1"`, "message: want 1"},
		{"an object for a text", `"x"`, `{}`, "want"},
		{"a missing member", `{"a":{"b":1}}`, `{"a":{}}`, "message.a.b: missing"},
		{"an array that is longer", `[1]`, `[1,2]`, "want 1 elements, have 2"},
		{"an element", `[1,2]`, `[1,3]`, "message[1]"},
		{"no array", `[]`, `{}`, "want an array"},
		{"no object", `{}`, `[]`, "want an object"},
		{"$any", `{"a":"$any"}`, `{"a":null}`, ""},
		{"$any is there", `{"a":"$any"}`, `{}`, "missing"},
		{"$string", `"$string"`, `""`, ""},
		{"no $string", `"$string"`, `1`, "want a string"},
		{"$absent", `{"a":"$absent"}`, `{"b":1}`, ""},
		{"no $absent", `{"a":"$absent"}`, `{"a":null}`, "must be absent"},
		{"$contains", `{"$contains":"b"}`, `"abc"`, ""},
		{"no $contains", `{"$contains":"x"}`, `"abc"`, "in it"},
		{"$contains in a number", `{"$contains":"1"}`, `1`, "want a string"},
		{"$raw", `{"id":{"$raw":"\"\\u0061\""}}`, `{"id":"\u0061"}`, ""},
		{"no $raw", `{"id":{"$raw":"\"\\u0061\""}}`, `{"id":"a"}`, "want the bytes"},
		{"$json", `{"$json":{"a":[1]}}`, `"{\"a\":[1]}"`, ""},
		{"no $json", `{"$json":{"a":1}}`, `"{}"`, "as JSON.a: missing"},
		{"$json in no JSON", `{"$json":{}}`, `"{"`, "unexpected"},
		{"$oneOf", `{"$oneOf":[1,"$string"]}`, `"x"`, ""},
		{"no $oneOf", `{"$oneOf":[1,2]}`, `3`, "want one of"},
		{"$oneOf with $absent", `{"a":{"$oneOf":["$absent",false]}}`, `{}`, ""},
		{"$oneOf without $absent", `{"a":{"$oneOf":[1,false]}}`, `{}`, "missing"},
		{"an unknown operator", `{"$x":"y"}`, `"y"`, "unknown operator"},
		{"no JSON", `1`, `{`, "unexpected"},
	} {
		t.Run(test.name, func(t *testing.T) { judge(t, Match([]byte(test.matcher), []byte(test.text)), test.wrong) })
	}
}

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name, out, messages, wrong string
	}{
		{"nothing", `[]`, ``, ""},
		{"another order", `[{"id":1},{"id":2}]`, `{"id":2} {"id":1}`, ""},
		{"the narrow one takes what the wide one held", `["$any",{"id":1}]`, `{"id":1} {"id":2}`, ""},
		{"one too few", `[{"id":1},{"id":2}]`, `{"id":2}`, `no message for {"id":1}`},
		{"one too many", `[{"id":1}]`, `{"id":1} {"id":1}`, "unexpected message"},
		{"one answer for two", `[{"id":1},{"id":1}]`, `{"id":1} {"id":3}`, "no message for"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var v Vector
			if err := json.Unmarshal([]byte(test.out), &v.Out); err != nil {
				t.Fatal(err)
			}
			var messages [][]byte
			for _, m := range strings.Fields(test.messages) {
				messages = append(messages, []byte(m))
			}
			judge(t, v.Compare(messages), test.wrong)
		})
	}
}
