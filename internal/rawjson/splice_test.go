package rawjson

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/quick"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`""`, ""}, {`"a"`, "a"}, {` "a" `, "a"}, {`" a "`, " a "}, {`5`, ""}, {`{}`, ""}, {``, ""}, {`null`, ""},
		{`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t"},
		{`"\u0000\u00e9\u20AC"`, "\x00é€"},
		{`"\ud83d\ude00\uD83D\uDE00"`, "😀😀"},
		{`"\ud83d"`, "\ufffd"}, {`"\ude00"`, "\ufffd"}, {`"\ude00\ud83d"`, "\ufffd\ufffd"},
		{`"\ud83dx"`, "\ufffdx"}, {`"\ud83d\n"`, "\ufffd\n"}, {`"\ud83d\u0041"`, "\ufffdA"},
		{`"\ud83d\ud83d\ude00"`, "\ufffd😀"}, {`"é\u00e9é"`, "ééé"},
	} {
		if got := Text([]byte(test.text)); got != test.want {
			t.Errorf("%s: got %q, want %q", test.text, got, test.want)
		}
		var want string
		if json.Unmarshal([]byte(test.text), &want) == nil && want != test.want {
			t.Errorf("%s: this table disagrees with encoding/json: %q", test.text, want)
		}
	}
}

func TestAppendString(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", `""`}, {"plain text", `"plain text"`}, {"a\"b\\c/d", `"a\"b\\c/d"`}, {"<b>&'", `"<b>&'"`},
		{"\x00\x01\b\f\n\r\t\x1f\x7f", `"\u0000\u0001\u0008\u000c\n\r\t\u001f` + "\x7f" + `"`},
		{"é€😀", `"é€😀"`}, {"a\u2028b\u2029c", `"a\u2028b\u2029c"`}, {"\u2027\u202a", "\"\u2027\u202a\""},
		{"a\xffb\xc3", "\"a\ufffdb\ufffd\""}, {"\ufffd", "\"\ufffd\""}, {"\xed\xa0\x80", "\"\ufffd\ufffd\ufffd\""},
	} {
		if got := string(AppendString([]byte("x"), test.text)); got != "x"+test.want {
			t.Errorf("%q: got %s, want %s", test.text, got, test.want)
		}
		if got := string(Quote(test.text)); got != test.want {
			t.Errorf("Quote(%q): got %s, want %s", test.text, got, test.want)
		}
	}
	roundTrip := func(s string) bool {
		s = strings.ToValidUTF8(s, "\ufffd")
		quoted := Quote(s)
		return Check(quoted, Bounds{}) == nil && Text(quoted) == s
	}
	if err := quick.Check(roundTrip, nil); err != nil {
		t.Error(err)
	}
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if utf8.ValidRune(r) && !roundTrip("ab"+string(r)+"c") {
			t.Fatalf("%U does not come back", r)
		}
	}
}

func TestAppendLine(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`{"a":"\n\r"}`, `{"a":"\n\r"}`}, {"", ""}, {"\n", ""}, {"\r\n\r\r\n", ""},
		{"{\n  \"a\": 1,\r\n\t\"b\": 2\r}\n", "{  \"a\": 1,\t\"b\": 2}"}, {"\r1", "1"}, {"1\r", "1"},
	} {
		if got := string(AppendLine([]byte("x"), []byte(test.text))); got != "x"+test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

func TestAppendQuoted(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`{"a":"\"\\\n"}`, `{\"a\":\"\\\"\\\\\\n\"}`},
		{"{\r\n\t\"é\":1 }", `{\t\"é\":1 }`}, {"\"€\u2028😀\"", "\\\"€\u2028😀\\\""}, {"1\n", "1"}, {"", ""},
	} {
		if got := string(AppendQuoted([]byte("x"), []byte(test.text))); got != "x"+test.want {
			t.Errorf("%q: got %s, want %s", test.text, got, test.want)
		}
	}
}
