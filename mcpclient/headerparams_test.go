package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/rawjson"
)

func shownParams(params []headerParam) string {
	var list []string
	for _, p := range params {
		list = append(list, p.name+"="+strings.Join(p.path, "."))
	}
	return strings.Join(list, ",")
}

func TestFindHeaderParams(t *testing.T) {
	const annotated = `{"type":"string","x-mcp-header":"A"}`
	properties := func(s string) string { return `{"type":"object","properties":{` + s + `}}` }
	for _, test := range []struct{ name, schema, want, err string }{
		{"none", properties(`"a":{"type":"string"}`), "", ""},
		{"HDR-04 annotated", properties(`"a":` + annotated + `,"b":{"type":"integer","x-mcp-header":"b-2"},"c":{"x-mcp-header":"C","type":"boolean"}`), "A=a,b-2=b,C=c", ""},
		{"HDR-10 nested", properties(`"a":{"type":"object","properties":{"b":{"properties":{"c":` + annotated + `}}}}`), "A=a.b.c", ""},
		{"the keyword in escapes", properties(`"a":{"type":"string","x\u002dmcp-header":"A"}`), "A=a", ""},
		{"a parameter that is called like the keyword", properties(`"x-mcp-header":{"type":"string"}`), "", ""},
		{"a parameter that is called like properties", properties(`"properties":` + annotated), "A=properties", ""},
		{"data that looks like an annotation", properties(`"a":{"type":"object","default":{"x-mcp-header":5},"examples":[{"x-mcp-header":""}],"const":{"x-mcp-header":[]},"enum":[{"x-mcp-header":1}]}`), "", ""},

		{"HDR-11 empty", properties(`"a":{"type":"string","x-mcp-header":""}`), "", "is no header name"},
		{"HDR-11 a space", properties(`"a":{"type":"string","x-mcp-header":"a b"}`), "", "is no header name"},
		{"B117 CR LF", properties(`"a":{"type":"string","x-mcp-header":"X\r\nY: 1"}`), "", "is no header name"},
		{"HDR-11 not ASCII", properties(`"a":{"type":"string","x-mcp-header":"é"}`), "", "is no header name"},
		{"HDR-11 a colon", properties(`"a":{"type":"string","x-mcp-header":"a:"}`), "", "is no header name"},
		{"HDR-11 a number", properties(`"a":{"type":"string","x-mcp-header":5}`), "", "is no header name"},
		{"HDR-11 null", properties(`"a":{"type":"string","x-mcp-header":null}`), "", "is no header name"},
		{"HDR-11 an object", properties(`"a":{"type":"string","x-mcp-header":{}}`), "", "is no header name"},
		{"HDR-12 twice but for case", properties(`"a":` + annotated + `,"b":{"type":"string","x-mcp-header":"a"}`), "", "names one header twice"},
		{"HDR-12 twice on two levels", properties(`"a":` + annotated + `,"b":` + properties(`"c":`+annotated)), "", "names one header twice"},
		{"T17 the annotation stands twice", properties(`"a":{"type":"string","x-mcp-header":"A","x-mcp-header":"B"}`), "", "stands twice beside"},
		{"T17 the type stands twice", properties(`"a":{"type":"string","type":"number","x-mcp-header":"A"}`), "", "stands twice beside"},

		{"HDR-13 number", properties(`"a":{"type":"number","x-mcp-header":"A"}`), "", "whose type is not"},
		{"HDR-13 object", properties(`"a":{"type":"object","x-mcp-header":"A"}`), "", "whose type is not"},
		{"HDR-13 array", properties(`"a":{"type":"array","x-mcp-header":"A"}`), "", "whose type is not"},
		{"HDR-13 null", properties(`"a":{"type":"null","x-mcp-header":"A"}`), "", "whose type is not"},
		{"HDR-13 a list of types", properties(`"a":{"type":["string","null"],"x-mcp-header":"A"}`), "", "whose type is not"},
		{"HDR-13 no type", properties(`"a":{"x-mcp-header":"A"}`), "", "whose type is not"},

		{"HDR-14 the root", `{"type":"string","x-mcp-header":"A"}`, "", "no parameter is reached"},
		{"HDR-14 items", properties(`"a":{"type":"array","items":` + annotated + `}`), "", "no parameter is reached"},
		{"HDR-14 a list of items", properties(`"a":{"items":[` + annotated + `]}`), "", "no parameter is reached"},
		{"HDR-14 properties below items", properties(`"a":{"type":"array","items":` + properties(`"b":`+annotated) + `}`), "", "no parameter is reached"},
		{"HDR-14 prefixItems", properties(`"a":{"prefixItems":[true,` + annotated + `]}`), "", "no parameter is reached"},
		{"HDR-14 additionalProperties", `{"additionalProperties":` + annotated + `}`, "", "no parameter is reached"},
		{"HDR-14 patternProperties", `{"patternProperties":{"^a":` + annotated + `}}`, "", "no parameter is reached"},
		{"HDR-14 oneOf", `{"oneOf":[` + properties(`"a":`+annotated) + `]}`, "", "no parameter is reached"},
		{"HDR-14 anyOf", properties(`"a":{"anyOf":[` + annotated + `]}`), "", "no parameter is reached"},
		{"HDR-14 allOf", `{"allOf":[` + properties(`"a":`+annotated) + `]}`, "", "no parameter is reached"},
		{"HDR-14 not", `{"not":` + properties(`"a":`+annotated) + `}`, "", "no parameter is reached"},
		{"HDR-14 if", `{"if":` + properties(`"a":`+annotated) + `}`, "", "no parameter is reached"},
		{"HDR-14 then", `{"then":` + properties(`"a":`+annotated) + `}`, "", "no parameter is reached"},
		{"HDR-14 else", `{"else":` + properties(`"a":`+annotated) + `}`, "", "no parameter is reached"},
		{"HDR-14 $defs behind $ref", `{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":` + annotated + `}}`, "", "no parameter is reached"},
		{"HDR-14 definitions", `{"definitions":{"a":` + annotated + `}}`, "", "no parameter is reached"},
		{"HDR-14 dependentSchemas", `{"dependentSchemas":{"a":` + properties(`"b":`+annotated) + `}}`, "", "no parameter is reached"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := rawjson.Check([]byte(test.schema), rawjson.Bounds{}); err != nil {
				t.Fatal(err)
			}
			params, err := findHeaderParams([]byte(test.schema))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
				return
			}
			if err != nil || shownParams(params) != test.want {
				t.Errorf("%s, %v, want %s", shownParams(params), err, test.want)
			}
		})
	}
}

func TestParamHeaders(t *testing.T) {
	params := []headerParam{{"A", []string{"a"}}, {"B", []string{"b", "c"}}}
	for _, test := range []struct{ name, arguments, want, err string }{
		{"HDR-09 nothing", `{}`, "", ""},
		{"HDR-09 null", `{"a":null,"b":null}`, "", ""},
		{"HDR-10 the parent is missing", `{"c":"x"}`, "", ""},
		{"HDR-10 the parent is no object", `{"b":[{"c":"x"}]}`, "", ""},
		{"HDR-06 strings as they are", `{"a":" x\r\nY: 1\u00e9","b":{"c":""}}`, "A= x\r\nY: 1é,B=", ""},
		{"HDR-06 booleans", `{"a":true,"b":{"c":false}}`, "A=true,B=false", ""},
		{"HDR-06 integers", `{"a":-7,"b":{"c":0}}`, "A=-7,B=0", ""},
		{"HDR-06 integers in other spellings", `{"a":42.0,"b":{"c":1e3}}`, "A=42,B=1000", ""},
		{"HDR-15 the largest", `{"a":9007199254740991,"b":{"c":-9007199254740991}}`, "A=9007199254740991,B=-9007199254740991", ""},
		{"HDR-15 one more", `{"a":9007199254740992}`, "", `the argument "a" is outside the integers`},
		{"HDR-15 one less", `{"b":{"c":-9007199254740992}}`, "", `the argument "b.c" is outside the integers`},
		{"a fraction", `{"a":1.5}`, "", `the argument "a" is not an integer`},
		{"an object", `{"a":{}}`, "", `the argument "a" is an object; the tool wants a string, an integer or a boolean`},
		{"T17 given twice", `{"a":"x","a":"y"}`, "", `the argument "a" is given twice`},
		{"T17 a parent given twice", `{"b":{"c":"x"},"b":{"c":"y"}}`, "", `the argument "b.c" is given twice`},
		{"others twice", `{"z":1,"z":2,"a":"x"}`, "A=x", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			headers, err := paramHeaders(params, []byte(test.arguments))
			if test.err != "" {
				if e := ask[*ArgumentError](t, err); !strings.Contains(e.Reason, test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
				return
			}
			var list []string
			for _, h := range headers {
				list = append(list, h.Name+"="+h.Value)
			}
			if got := strings.Join(list, ","); err != nil || got != test.want {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// B117, HDR-16: a tool whose annotations are invalid is left out, where headers
// are mirrored at all.
func TestToolsWithBadAnnotations(t *testing.T) {
	page := map[string]string{"first": `{"tools":[` + tool("good") +
		`,{"name":"bad","inputSchema":{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}}]}`}
	listing, _, err := lists(t, modernName, page)
	if err != nil || names(listing) != "good" || len(listing.Notes) != 1 || !strings.Contains(listing.Notes[0], `left out "bad": x-mcp-header stands on`) {
		t.Errorf("%+v, %v", listing, err)
	}
	listing, _, err = lists(t, legacyName, page)
	if err != nil || names(listing) != "good,bad" || len(listing.Notes) != 0 {
		t.Errorf("%+v, %v", listing, err)
	}
}

// HDR-18 to HDR-20: the newest schema decides, and a mismatch fetches it.
func TestHeaderMismatch(t *testing.T) {
	schema := `{"properties":{"a":{"type":"string","x-mcp-header":"Old"}}}`
	wanted := "New"
	var s *server
	session, s := connect(t, modernName, func(_ context.Context, req *Request, _ Handler) (*Response, error) {
		if req.Method == "tools/list" {
			return result(`{"tools":[{"name":"t","inputSchema":` + schema + `}]}`)
		}
		if len(req.Headers) != 1 || req.Headers[0].Name != wanted || req.Headers[0].Value != "x" {
			return refusal(400, codeHeaderMismatch, fmt.Sprintf("got %v", req.Headers), "")
		}
		return result(hello)
	})
	call := func(want string) {
		t.Helper()
		before := s.traced()
		_, err := session.CallTool(t.Context(), "t", []byte(`{"a":"x"}`), nil)
		got := strings.ReplaceAll(strings.TrimPrefix(s.traced(), before), "@"+modernName, "")
		if got != want {
			t.Errorf("trace%s (%v), want%s", got, err, want)
		}
	}
	call(" tools/call tools/list tools/call") // nothing is listed yet, and then something else
	schema = `{"properties":{"a":{"type":"string","x-mcp-header":"New"}}}`
	call(" tools/call tools/list tools/call")
	call(" tools/call")
	wanted = "Newer"
	call(" tools/call tools/list tools/call") // in vain, once
}

// The fresh listing finds that the server has become another: the call follows.
func TestHeaderMismatchOfAnotherServer(t *testing.T) {
	s := play(t, map[string]side{
		methodDiscover:   then(says(discovered), fails(400)),
		methodInitialize: speaksLegacy(legacyName),
		methodCall:       then(refuses(400, codeHeaderMismatch, "", ""), says(hello)),
		methodList:       then(refuses(400, codeUnsupportedVersion, "", `{"supported":["2025-11-25"]}`), says(`{"tools":[]}`)),
	})
	session, err := Connect(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.CallTool(t.Context(), "t", nil, nil); err != nil || !strings.HasSuffix(s.traced(), "tools/list@2025-11-25 tools/call@2025-11-25") {
		t.Errorf("%v, trace %s", err, s.traced())
	}
}

func TestUnsafeArgumentIsNotSent(t *testing.T) {
	session, s := connect(t, modernName, func(_ context.Context, req *Request, _ Handler) (*Response, error) {
		return result(`{"tools":[{"name":"t","inputSchema":{"properties":{"a":{"type":"integer","x-mcp-header":"A"}}}}]}`)
	})
	if _, err := session.ListTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := session.CallTool(t.Context(), "t", []byte(`{"a":9007199254740993}`), nil)
	ask[*ArgumentError](t, err)
	if n := s.count("tools/call"); n != 0 {
		t.Errorf("the call was sent %d times", n)
	}
}

func TestDecimal(t *testing.T) {
	for number, want := range map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "-0e5": "0", "0e99999999999999999999": "0", "7": "7", "-7": "-7", "42.000": "42", "4.2e1": "42", "4.2E+1": "42",
		"4200e-2": "42", "1e15": "1000000000000000", "9007199254740991.0": "9007199254740991", "0.00000000000000001e17": "1",
		"1.5": "is not an integer", "1e-1": "is not an integer", "1e-99999999999999999999": "is not an integer", "15e-9223372036854775808": "is not an integer",
		"9007199254740992": "is outside", "1e16": "is outside", "1e400": "is outside", "-1e9223372036854775807": "is outside", "1e99999999999999999999": "is outside",
	} {
		got, err := decimal([]byte(number))
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || err == nil && got != want {
			t.Errorf("%s: %s, want %s", number, got, want)
		}
	}
}

// F8: whatever a server lists and a model sends, no header is made that the
// specification forbids, and a number means what it meant.
func FuzzHeaderParams(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`), []byte(`{"a":"x"}`))
	f.Add([]byte(`{"properties":{"a":{"properties":{"b":{"type":"integer","x-mcp-header":"B"}}}}}`), []byte(`{"a":{"b":1.20e1}}`))
	f.Add([]byte(`{"properties":{"a":{"type":"integer","x-mcp-header":"A"}}}`), []byte(`{"a":-90071992547409910e-1}`))
	f.Add([]byte(`{"oneOf":[{"x-mcp-header":"A"}],"properties":{"a":{"type":"boolean","x\u002dmcp-header":"A"}}}`), []byte(`{"a":true}`))
	f.Fuzz(func(t *testing.T, schema, arguments []byte) {
		if rawjson.Check(schema, rawjson.Bounds{}) != nil || rawjson.Check(arguments, rawjson.Bounds{}) != nil {
			return
		}
		params, err := findHeaderParams(schema)
		if err != nil && params != nil {
			t.Fatal("an error comes with parameters")
		}
		seen := map[string]bool{}
		for _, p := range params {
			if lower := strings.ToLower(p.name); !isToken(p.name) || seen[lower] || len(p.path) == 0 {
				t.Fatalf("parameter %+v", p)
			} else {
				seen[lower] = true
			}
			value, err := p.find(arguments)
			_, power, _ := bytes.Cut(bytes.ToLower(value), []byte("e"))
			if err != nil || rawjson.KindOf(value) != rawjson.Number || len(power) > 4 {
				continue // or more digits than big.Rat should write out
			}
			text, err := p.text(value)
			exact, ok := new(big.Rat).SetString(string(value))
			if !ok {
				t.Fatalf("%s is no number", value)
			}
			integer := exact.IsInt() && exact.Num().CmpAbs(big.NewInt(maxSafe)) <= 0
			if integer != (err == nil) || integer && exact.Num().String() != text {
				t.Fatalf("%s became %q (%v)", value, text, err)
			}
		}
		headers, err := paramHeaders(params, arguments)
		if err != nil && headers != nil {
			t.Fatal("an error comes with headers")
		}
	})
}

// The same for the number alone, against encoding/json's own reading of small
// ones.
func FuzzDecimal(f *testing.F) {
	for _, number := range []string{"0", "-1", "1.50e2", "9007199254740993", "1e-3"} {
		f.Add(number)
	}
	f.Fuzz(func(t *testing.T, number string) {
		if rawjson.KindOf([]byte(number)) != rawjson.Number || rawjson.Check([]byte(number), rawjson.Bounds{}) != nil {
			return
		}
		number = strings.TrimSpace(number)
		text, err := decimal([]byte(number))
		if err != nil {
			return
		}
		var want, got json.Number = json.Number(number), json.Number(text)
		a, errA := want.Float64()
		b, errB := got.Float64()
		if errA != nil || errB != nil || a != b {
			t.Fatalf("%s became %s", number, text)
		}
	})
}
