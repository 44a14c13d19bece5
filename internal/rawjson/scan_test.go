package rawjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/quick"
	"unicode/utf8"
)

// texts are JSON or not JSON; the same rows seed the fuzz targets. Offset is
// that of the fault, -1 for a valid text.
var texts = []struct {
	text   string
	offset int
}{
	{`null`, -1}, {`true`, -1}, {`false`, -1}, {`0`, -1}, {`-0`, -1}, {`""`, -1}, {`{}`, -1}, {`[]`, -1},
	{" \t\r\n{ \"a\" : [ 1 , 2 ] } \n", -1},
	{`1e999999`, -1}, {`-12.5E+07`, -1}, {`9007199254740993`, -1}, {`0.0`, -1}, {`1E-2`, -1},
	{`"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"`, -1},
	{`"\ud800"`, -1}, {`"\udc00\ud800"`, -1}, // lone surrogates are JSON
	{"\"\u007f\u0080\u07ff\u0800\uffff\U00010000\U0010ffff\u2028\"", -1},
	{`{"a":1,"a":2,"\u0061":3}`, -1}, // doubled names are for Duplicate
	{`{"":{"":[[],{}]}}`, -1},

	{``, 0}, {` `, 1}, {"\ufeff{}", 0}, {"\x00", 0}, {`{}{}`, 2}, {`1 2`, 2}, {`[1]]`, 3},
	{`nul`, 3}, {`nulL`, 3}, {`truE`, 3}, {`NaN`, 0}, {`nan`, 1}, {`Infinity`, 0}, {`undefined`, 0},
	{`01`, 1}, {`-`, 1}, {`-a`, 1}, {`+1`, 0}, {`.5`, 0}, {`1.`, 2}, {`1.e2`, 2}, {`1e`, 2}, {`1e+`, 3}, {`0x10`, 1}, {`1_000`, 1},
	{`"`, 1}, {`"a`, 2}, {`"\`, 2}, {`"\"`, 3}, {`"\x"`, 2}, {`"\u12"`, 5}, {`"\u123g"`, 6}, {`"\u`, 3}, {`"\U0041"`, 2}, {`'a'`, 0},
	{"\"a\nb\"", 2}, {"\"\x00\"", 1}, {"\"12345678\x1f\"", 9}, {"\"\t\"", 1},
	{"\"\x80\"", 1}, {"\"\xc0\xaf\"", 1}, {"\"\xc1\xbf\"", 1}, {"\"\xc3\"", 1}, {"\"\xc3(\"", 1}, {"\"\xe0\x80\x80\"", 1},
	{"\"\xed\xa0\x80\"", 1}, {"\"\xe2\x82\"", 1}, {"\"\xe2\x28\xa1\"", 1}, {"\"\xe2\x82\x28\"", 1}, {"\"\xf0\x80\x80\x80\"", 1},
	{"\"\xf4\x90\x80\x80\"", 1}, {"\"\xf5\x80\x80\x80\"", 1}, {"\"\xff\"", 1}, {"\"é\xe9\"", 3}, {"\"abcdefgh\xffijk\"", 9},
	{`{`, 1}, {`{"a"`, 4}, {`{"a":`, 5}, {`{"a":1`, 6}, {`{"a":1,`, 7}, {`{"a":1,}`, 7}, {`{a:1}`, 1}, {`{1:1}`, 1}, {`{"a" 1}`, 5}, {`{"a":1 "b":2}`, 7}, {`{,}`, 1}, {`{"a":}`, 5}, {`{"a":1]`, 6},
	{`[`, 1}, {`[1`, 2}, {`[1,`, 3}, {`[1,]`, 3}, {`[,1]`, 1}, {`[1 2]`, 3}, {`[1}`, 2}, {`[//]`, 1}, {"[1]\x00", 3}, {"[1]\u00a0", 3}, {"\v1", 0},
}

func TestCheck(t *testing.T) {
	for _, test := range texts {
		err := Check([]byte(test.text), Bounds{})
		if (err == nil) != (test.offset < 0) {
			t.Errorf("%q: error %v, want a fault at %d", test.text, err, test.offset)
			continue
		}
		if strict := json.Valid([]byte(test.text)) && utf8.ValidString(test.text); strict != (err == nil) {
			t.Errorf("%q: this table disagrees with encoding/json", test.text)
		}
		var syntax *SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Offset != test.offset || syntax.Bound != nil) {
			t.Errorf("%q: error %v, want a SyntaxError at %d without a bound", test.text, err, test.offset)
		}
	}
}

// Every cut of a valid text is refused as ended too early, wherever it is cut.
func TestCheckOfCutText(t *testing.T) {
	const text = `{"a":[1.5e+3,true,null,"\u00e9\né€😀"],"b":{"c":{}}}`
	if err := Check([]byte(text), Bounds{}); err != nil {
		t.Fatal(err)
	}
	for i := range len(text) {
		if err := Check([]byte(text[:i]), Bounds{}); err == nil {
			t.Errorf("%q passes", text[:i])
		}
	}
}

// A string with a fault at any distance from any alignment is refused: the scan
// looks at eight bytes at a time.
func TestCheckFindsAFaultAnywhere(t *testing.T) {
	for _, bad := range []string{"\x00", "\x1f", "\n", "\x80", "\xff", "\xed\xa0\x80"} {
		for before := range 40 {
			for after := range 20 {
				text := `"` + strings.Repeat("a", before) + bad + strings.Repeat("b", after) + `"`
				var syntax *SyntaxError
				if err := Check([]byte(text), Bounds{}); !errors.As(err, &syntax) || syntax.Offset != before+1 {
					t.Fatalf("%q: %v, want a fault at %d", text, err, before+1)
				}
			}
		}
	}
}

// plain agrees with a loop that looks at one byte at a time.
func TestPlain(t *testing.T) {
	slow := func(b []byte, i int) int {
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 && b[i] < 0x80 {
			i++
		}
		return i
	}
	for c := range 256 {
		for at := range 24 {
			b := []byte(strings.Repeat("~ ", 12))
			b[at] = byte(c)
			for i := range b {
				if got, want := plain(b, i), slow(b, i); got != want {
					t.Fatalf("plain(%q, %d) = %d, want %d", b, i, got, want)
				}
			}
		}
	}
	if err := quick.Check(func(b []byte) bool { return plain(b, 0) == slow(b, 0) }, nil); err != nil {
		t.Error(err)
	}
}

func TestBounds(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	mixed := func(n int) string { return strings.Repeat(`{"a":[`, n/2) + strings.Repeat("]}", n/2) }
	keys := func(n int) string { return `{` + strings.Repeat(`"a":0,`, n-1) + `"a":0}` }
	items := func(n int) string { return `[` + strings.Repeat(`0,`, n-1) + `0]` }
	digits := func(n int) string { return strings.Repeat("7", n) }
	for _, test := range []struct {
		name   string
		text   string
		bounds Bounds
		want   error
	}{
		{"L11 at the default depth", nest(512), Bounds{}, nil},
		{"L11 at the default depth, mixed", mixed(512), Bounds{}, nil},
		{"L11 one deeper", nest(513), Bounds{}, ErrDepth},
		{"L11 one deeper, mixed", `[` + mixed(512) + `]`, Bounds{}, ErrDepth},
		{"L11 a hundred times", nest(51_200), Bounds{}, ErrDepth},
		{"L11 a million open brackets", strings.Repeat("[", 1_000_000), Bounds{}, ErrDepth},
		{"L11 raised to its most", nest(2000), Bounds{Depth: 2000}, nil},
		{"L11 one above its most", nest(2001), Bounds{Depth: 2000}, ErrDepth},
		{"L11 depth is not width", strings.Repeat("[", 511) + strings.Repeat("[],[0],{},", 2000) + "0" + strings.Repeat("]", 511), Bounds{}, nil},
		{"L12 keys at the default", keys(100_000), Bounds{}, nil},
		{"L12 one key more", keys(100_001), Bounds{}, ErrKeys},
		{"L12 a hundred times the keys", keys(10_000_000), Bounds{}, ErrKeys},
		{"L12 keys are counted per object", `[` + keys(3) + `,` + keys(3) + `]`, Bounds{Keys: 3}, nil},
		{"L12 one inner key more", `[` + keys(3) + `,` + keys(4) + `]`, Bounds{Keys: 3}, ErrKeys},
		{"L12 items at the default", items(1_000_000), Bounds{}, nil},
		{"L12 one item more", items(1_000_001), Bounds{}, ErrItems},
		{"L12 items are counted per array", `[[0,0,0],[0,0,0]]`, Bounds{Items: 3}, nil},
		{"L12 one inner item more", `[[0,0,0],[0,0,0,0]]`, Bounds{Items: 3}, ErrItems},
		{"digits at the bound", digits(1024), Bounds{}, nil},
		{"one digit more", digits(1025), Bounds{}, ErrDigits},
		{"signs, point and e are no digits", "-" + digits(1000) + "." + digits(20) + "e-" + digits(4), Bounds{}, nil},
		{"digits of all parts count", "-" + digits(1000) + "." + digits(20) + "e-" + digits(5), Bounds{}, ErrDigits},
		{"an exponent alone", "1e" + digits(1024), Bounds{}, ErrDigits},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := Check([]byte(test.text), test.bounds)
			if !errors.Is(err, test.want) || (test.want == nil) != (err == nil) {
				t.Fatalf("error %v, want %v", err, test.want)
			}
			var syntax *SyntaxError
			if test.want != nil && (!errors.As(err, &syntax) || !strings.HasPrefix(err.Error(), test.want.Error())) {
				t.Errorf("error %v, want a SyntaxError in the words of %v", err, test.want)
			}
			if text := `{"in":` + test.text + `}`; test.bounds.Depth == 0 && !strings.HasPrefix(test.name, "L11") {
				if _, err := Split([]byte(text), test.bounds); !errors.Is(err, test.want) || (test.want == nil) != (err == nil) {
					t.Errorf("Split: error %v, want %v", err, test.want)
				}
			}
		})
	}
}

// The refusal of a depth bomb costs neither time nor memory: it allocates its
// error and nothing per level.
func TestL11_DepthBombIsCheap(t *testing.T) {
	bomb := []byte(strings.Repeat("[", 1_000_000))
	if n := testing.AllocsPerRun(10, func() { Check(bomb, Bounds{}) }); n > 2 {
		t.Errorf("%v allocations", n)
	}
}

func TestSplit(t *testing.T) {
	object, err := Split([]byte(" {\"a\" : 1, \"b\":[ {\"a\":2} ] ,\r\n\"a\":\"x\\\"}\"\n} "), Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%s", object), `[{"a" 1} {"b" [ {"a":2} ]} {"a" "x\"}"}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, test := range []struct {
		text string
		kind bool // valid, but of another kind
	}{{`[{}]`, true}, {`"{"`, true}, {`5`, true}, {`null`, true}, {`{`, false}, {`[`, false}, {``, false}, {`{}x`, false}, {`oops`, false}} {
		object, err := Split([]byte(test.text), Bounds{})
		if object != nil || (err == ErrNotObject) != test.kind || err == nil {
			t.Errorf("%q: %v, %v", test.text, object, err)
		}
	}
	if object, err := Split([]byte(`{}`), Bounds{}); err != nil || object == nil || len(object) != 0 {
		t.Errorf("{}: %v, %v", object, err)
	}
}

// Members are slices of the text, and appending to one cannot reach the next.
func TestSplitDoesNotCopy(t *testing.T) {
	data := []byte(`{"a":1,"b":2}`)
	object, err := Split(data, Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	if &object[0].Value[0] != &data[5] {
		t.Error("the value was copied")
	}
	for _, split := range []Object{object, Members(data)} {
		_ = append(split[0].Value, "XXXX"...)
		_ = append(split[0].Key, "XXXX"...)
	}
	if string(data) != `{"a":1,"b":2}` {
		t.Errorf("append wrote into the text: %s", data)
	}
}

func TestSyntaxErrorQuotesNothing(t *testing.T) {
	err := Check([]byte(`{"token":"SECRET`), Bounds{})
	if err == nil || err.Error() != "unexpected end at byte 16" {
		t.Errorf("got %v", err)
	}
}

// TestSplitter proves that both levels of one pass are what Split and Members
// find in two, text after text.
func TestSplitter(t *testing.T) {
	p := Splitter{Inner: "params", Bounds: Bounds{Depth: 4}}
	for _, text := range []string{
		`{"id":1,"params":{"a":{"params":{"no":1}},"b":[{"c":2}],"a":3},"method":"x"}`,
		`{"par\u0061ms":{"a":1}}`, `{"params":{}}`, `{"params":[{"a":1}]}`, `{"params":"x"}`, `{"x":{"params":{"a":1}}}`,
		`{"params":null,"params":{"a":1}}`, `{"params":{"a":1},"params":{"b":1}}`, `{}`, `[]`, `7`, `{`, `{"params":{"a":1}`,
		`{"params":{"a":[[1]]}}`, `{"params":{"a":[[[1]]]}}`,
	} {
		want, wantErr := Split([]byte(text), p.Bounds)
		err := p.Split([]byte(text))
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: error %v, want %v", text, err, wantErr)
		}
		if err != nil {
			continue
		}
		if fmt.Sprintf("%s", p.Members) != fmt.Sprintf("%s", want) {
			t.Errorf("%s: got %s, want %s", text, p.Members, want)
		}
		if inner := Members(want.Get("params")); len(inner) != len(p.InnerMembers) || len(inner) > 0 && fmt.Sprintf("%s", p.InnerMembers) != fmt.Sprintf("%s", inner) {
			t.Errorf("%s: inner members %s, want %s", text, p.InnerMembers, inner)
		}
	}
	p.Reset()
	if len(p.Members) != 0 || p.Members[:1][0].Value != nil {
		t.Error("Reset keeps the text")
	}
}
