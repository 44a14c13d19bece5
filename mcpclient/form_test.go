package mcpclient

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// fields returns a requestedSchema of those properties.
func fields(properties string) string {
	return `{"type":"object","properties":{` + properties + `}}`
}

// One field of each kind that a form can have, and answers to it.
func TestELI10_AnswersAreChecked(t *testing.T) {
	const (
		text    = "a text"
		bounded = "a text, 2 to 3 characters"
		choice  = "one of its choices"
		choices = "a list of its choices, 1 to 2 of them"
	)
	multi := `{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["r","g","b"]}}`
	titled := `{"type":"array","minItems":1,"maxItems":2,"items":{"anyOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]}}`
	for _, test := range []struct {
		field string
		wants string
		fit   []string
		unfit []string
	}{
		{`{"type":"string"}`, text, []string{`""`, `"x"`, `"\u00e9"`}, []string{`5`, `null`, `true`, `[]`, `{}`, `["x"]`}},
		{`{"type":"string","minLength":2,"maxLength":3}`, bounded, []string{`"ab"`, `"éßx"`, `"😀😀"`}, []string{`"a"`, `"abcd"`, `""`}},
		{`{"type":"string","minLength":2}`, "a text, at least 2 characters", []string{`"ab"`}, []string{`"a"`}},
		{`{"type":"string","pattern":"^[a-z]+$"}`, "a text, in the pattern of the form", []string{`"ab"`}, []string{`"aB"`, `""`}},
		{`{"type":"string","format":"email"}`, formats["email"].wants, []string{`"a@b.example"`, `"a+b@[::1]"`, `"ü@é.example"`}, []string{`"a"`, `"@b"`, `"a@"`, `"a b@c"`, `"a@b\n"`}},
		{`{"type":"string","format":"uri"}`, formats["uri"].wants, []string{`"https://a.example/x?y#z"`, `"urn:x:y"`, `"mailto:a@b"`}, []string{`"a.example"`, `"/x"`, `"https://a b"`, `"https://é"`, `"http://[::1"`, `""`}},
		{`{"type":"string","format":"date"}`, formats["date"].wants, []string{`"2024-02-29"`}, []string{`"2023-02-29"`, `"2024-2-9"`, `"24-02-09"`, `"2024-02-29T00:00:00Z"`, `""`}},
		{`{"type":"string","format":"date-time"}`, formats["date-time"].wants, []string{`"2024-02-29T23:59:59Z"`, `"2024-02-29t23:59:59.123z"`, `"2024-02-29T23:59:59+01:00"`}, []string{`"2024-02-29"`, `"2024-02-29T25:00:00Z"`, `"2024-02-29T23:59:59"`}},
		{`{"type":"string","format":"hostname"}`, text, []string{`"a b"`}, nil}, // not of the subset: says nothing
		{`{"type":"number","minimum":-0.5,"maximum":100}`, "a number, -0.5 to 100", []string{`-0.5`, `1e2`, `99.999`}, []string{`-0.51`, `100.01`, `1e3`, `"5"`, `null`, `true`}},
		{`{"type":"number","maximum":1` + strings.Repeat("0", 40) + `}`, "a number", []string{`1`}, []string{`1e41`}}, // not worth showing
		{`{"type":"integer","minimum":0}`, "a whole number, at least 0", []string{`0`, `42`, `42.0`, `9007199254740993`}, []string{`-1`, `0.5`, `"1"`, `[1]`}},
		{`{"type":"boolean"}`, "true or false", []string{`true`, `false`}, []string{`0`, `"true"`, `null`}},
		{`{"type":"string","enum":["Red","Green"]}`, choice, []string{`"Red"`, `"\u0052ed"`}, []string{`"red"`, `""`, `0`, `["Red"]`}},
		{`{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]}`, choice, []string{`"r"`}, []string{`"Red"`}},
		{`{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]}`, choice, []string{`"r"`, `"g"`}, []string{`"Red"`, `""`, `1`}},
		{multi, choices, []string{`["r"]`, `["b","r"]`}, []string{`[]`, `["r","g","b"]`, `["x"]`, `"r"`, `[["r"]]`, `[1]`, `{}`}},
		{titled, choices, []string{`["r","g"]`}, []string{`["Red"]`, `[]`}},
	} {
		f, err := readForm([]byte(fields(`"f":`+test.field)), limit.Table{})
		if err != nil {
			t.Errorf("%s: %v", test.field, err)
			continue
		}
		for _, value := range test.fit {
			answer := `{"f":` + value + `}`
			if content, problem, err := f.complete([]byte(answer)); string(content) != answer || problem != "" || err != nil {
				t.Errorf("%s: %s gives %s, %q, %v", test.field, answer, content, problem, err)
			}
		}
		for _, value := range test.unfit {
			if _, problem, err := f.complete([]byte(`{"f":` + value + `}`)); problem != `"f" wants `+test.wants || err != nil {
				t.Errorf("%s: %s gives %q, %v, want %q", test.field, value, problem, err, test.wants)
			}
		}
	}
}

// Whole answers to a form of two fields.
func TestELI10_WholeAnswers(t *testing.T) {
	f, err := readForm([]byte(`{"type":"object","properties":{"a":{"type":"string"},"b/~c":{"type":"integer","maximum":5}},"required":["a"],"minProperties":2}`), limit.Table{})
	if err != nil {
		t.Fatal(err)
	}
	const noObject = "the answer is no JSON object with a value for each field"
	for answer, want := range map[string]string{
		`{"a":"x","b/~c":5}`:                     "",
		`{"b/~c":5}`:                             `"a" is missing; it wants a text`,
		`{"a":"x","b/~c":6}`:                     `"b/~c" wants a whole number, at most 5`,
		`{"a":"x","canary":"x"}`:                 `"canary" is no field of the form`,
		`{"a":"x","__proto__":{}}`:               `"__proto__" is no field of the form`,
		`{"a":"x","\u0061":"y","b/~c":1}`:        `"a" stands twice in the answer`,
		`{"a":"x"}`:                              `the answer as a whole `, // minProperties
		`{"a\u202e":1}`:                          `"a\u{202e}" is no field of the form`,
		`[]`:                                     noObject,
		`null`:                                   noObject,
		`{"a":"x"`:                               noObject,
		`{"a":"x"}{}`:                            noObject,
		"":                                       noObject,
		strings.Repeat(`{"a":`, 600):             noObject,
		`{"a":` + strings.Repeat("[", 600) + `}`: noObject,
	} {
		if _, problem, err := f.complete([]byte(answer)); !strings.HasPrefix(problem, want) || (want == "") != (problem == "") || err != nil {
			t.Errorf("%.60s: %q, %v, want %q", answer, problem, err, want)
		}
	}
}

// What is left out gets its default, whichever that is; what is given stays.
func TestELI09_Defaults(t *testing.T) {
	all := `"s":{"type":"string","default":"x\u0079"},"e":{"type":"string","default":""},"i":{"type":"integer","default":30},"z":{"type":"integer","default":0},` +
		`"n":{"type":"number","default":95.50},"b":{"type":"boolean","default":false},"o":{"type":"string","enum":["p","q"],"default":"q"},` +
		`"m":{"type":"array","items":{"type":"string","enum":["p","q"]},"default":["p",` + "\n" + `"q"]},"none":{"type":"string"},"null":{"type":"string","default":null}`
	f, err := readForm([]byte(`{"type":"object","properties":{`+all+`},"required":["s","z"]}`), limit.Table{})
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{
		``:   `{"s":"x\u0079","e":"","i":30,"z":0,"n":95.50,"b":false,"o":"q","m":["p","q"]}`,
		`{}`: `{"s":"x\u0079","e":"","i":30,"z":0,"n":95.50,"b":false,"o":"q","m":["p","q"]}`,
		` { "m" : [ "q" ] , "\u0062":true,"i":12345678901234567890,"none":""} `: `{"m":[ "q" ],"\u0062":true,"i":12345678901234567890,"none":"","s":"x\u0079","e":"","z":0,"n":95.50,"o":"q"}`,
	} {
		given := []byte(answer)
		if answer == "" {
			given = nil
		}
		if content, problem, err := f.complete(given); string(content) != want || problem != "" || err != nil {
			t.Errorf("%q gives\n %s, want\n %s (%q, %v)", answer, content, want, problem, err)
		}
	}

	// A default that does not fit is asked for like an answer that does not.
	f, err = readForm([]byte(fields(`"a":{"type":"integer","default":"x"}`)), limit.Table{})
	if err != nil {
		t.Fatal(err)
	}
	if _, problem, err := f.complete(nil); problem != `"a" wants a whole number` || err != nil {
		t.Errorf("%q, %v", problem, err)
	}
	if content, problem, err := f.complete([]byte(`{"a":1}`)); string(content) != `{"a":1}` || problem != "" || err != nil {
		t.Errorf("%s, %q, %v", content, problem, err)
	}
}

func TestELI13_FormsThatNobodyIsShown(t *testing.T) {
	many := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"f%d":{"type":"string"}`, i))
		}
		return fields(strings.Join(list, ","))
	}
	long := strings.Repeat("l", 8<<10+1)
	for _, test := range []struct{ schema, want string }{
		{many(50), ""},
		{many(51), "its form exceeds the limit elicit_fields (50)"},
		{`{"type":"object"}`, ""},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{},"additionalProperties":false,"title":"x"}`, ""},
		{`{"properties":{}}`, "is not of type object"},
		{`{"type":["object"]}`, "is not of type object"},
		{`{"type":"array","items":{"type":"string"}}`, "it has items"},
		{`{"type":"object","properties":[]}`, "properties is an array"},
		{`{"type":"object","type":"object"}`, `its form has "type" twice`},
		{`{"type":"object","properties":{},"\u0070roperties":{}}`, `its form has "properties" twice`},
		{`{"type":"object","$ref":"https://canary.example/"}`, "it has $ref"},
		{`{"type":"object","allOf":[]}`, "it has allOf"},
		{`{"type":"object","$defs":{}}`, "it has $defs"},
		{`{"type":"object","additionalProperties":{"type":"string"}}`, "additionalProperties is an object"},
		{`{"type":"object","required":["a"]}`, `its form requires "a", which is no field of it`},
		{`{"$schema":"urn:canary","type":"object"}`, "its form cannot be used"},
		{fields(`"a":{"type":"string"},"a":{"type":"string"}`), `its form has the field "a" twice`},
		{fields(`"a":true`), `field "a" is a boolean`},
		{fields(`"a":{}`), `field "a" is of no type that a form can have`},
		{fields(`"a":{"type":["string","null"]}`), `field "a" is of no type`},
		{fields(`"a":{"type":"null"}`), `field "a" is of no type`},
		{fields(`"a":{"type":"object","properties":{}}`), `field "a" is of no type`},
		{fields(`"a":{"anyOf":[{"type":"string"},{"type":"null"}]}`), `field "a" is of no type`},
		{fields(`"a":{"type":"string","type":"integer"}`), `field "a" has "type" twice`},
		{fields(`"a":{"type":"string","not":{}}`), `field "a" is not flat: it has not`},
		{fields(`"a":{"type":"integer","oneOf":[{"const":1}]}`), `field "a" is not flat: it has oneOf`},
		{fields(`"a":{"type":"string","oneOf":[{"type":"string"}]}`), `field "a" has a choice that is no text`},
		{fields(`"a":{"type":"string","oneOf":[{"const":"x","anyOf":[]}]}`), `field "a" is not flat: it has anyOf`},
		{fields(`"a":{"type":"string","enum":["x",1]}`), `field "a" has a choice that is no text`},
		{fields(`"a":{"type":"array"}`), `field "a" is an array of something else than choices`},
		{fields(`"a":{"type":"array","items":{"type":"string"}}`), `field "a" is an array of something else than choices`},
		{fields(`"a":{"type":"array","items":{"type":"object","properties":{}}}`), `field "a" is not flat: it has properties`},
		{fields(`"a":{"type":"array","items":{"enum":["x",[]]}}`), `field "a" has a choice that is no text`},
		{fields(`"a":{"type":"array","prefixItems":[],"items":{"enum":["x"]}}`), `field "a" is not flat: it has prefixItems`},
		{fields(`"a":{"type":"string","minLength":"2"}`), "its form cannot be used"},
		{fields(`"a":{"type":"string","title":"` + long + `"}`), `a text of field "a" exceeds the limit elicit_text (8KiB)`},
		{fields(`"a":{"type":"string","description":"` + long + `"}`), "elicit_text"},
		{fields(`"a":{"type":"string","default":"` + long + `"}`), "elicit_text"},
		{fields(`"a":{"type":"string","enum":["` + long + `"]}`), "elicit_text"},
		{fields(`"a":{"type":"string","enum":["a"],"enumNames":["` + long + `"]}`), "elicit_text"},
		{fields(`"a":{"type":"string","oneOf":[{"const":"a","title":"` + long + `"}]}`), "elicit_text"},
		{fields(`"a":{"type":"array","items":{"anyOf":[{"const":"` + long + `"}]}}`), "elicit_text"},
		{fields(`"` + long + `":{"type":"string"}`), "elicit_text"},
		{`{"type":"object","title":"` + long + `"}`, "a text of its form exceeds the limit elicit_text"},
		{fields(`"a":{"type":"string","title":"` + long[1:] + `"}`), ""},
		{fields(`"a":{"type":"string","x-more":"` + strings.Repeat("x", 256<<10) + `"}`), "its form exceeds the limit tool_definition"},
	} {
		_, err := readForm([]byte(test.schema), limit.Table{})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.100s: %v, want %q", test.schema, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "canary") && !strings.Contains(test.schema, "urn:canary") {
			t.Errorf("%.100s: %v quotes the schema", test.schema, err)
		}
	}
}

// Whatever the server asks and the user answers: no panic, and what is sent is one
// JSON object on one line that holds what was given.
func FuzzElicitation(f *testing.F) {
	f.Add([]byte(nameForm), []byte(`{"name":"Ann"}`))
	f.Add([]byte(fields(`"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]},"default":["x"]},"b":{"type":"string","format":"date"}`)), []byte(`{"b":"2024-02-29"}`))
	f.Add([]byte(fields(`"a/~b":{"type":"integer","maximum":1e9,"default":0},"c":{"type":"boolean"},"d":{"type":"string","enum":["x"],"enumNames":["y"]}`)), []byte(`{"c":false}`))
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#"}}}`), []byte(`[`))
	f.Fuzz(func(t *testing.T, schema, answer []byte) {
		if rawjson.Check(schema, rawjson.Bounds{}) != nil || rawjson.KindOf(schema) != rawjson.Dict {
			return // the carrier has checked it, and readQuestion the kind
		}
		form, err := readForm(schema, limit.Table{})
		if err != nil {
			return
		}
		content, problem, err := form.complete(answer)
		if problem != "" || err != nil {
			return
		}
		sent, err := rawjson.Split(accept(string(content)).appendResult(nil), rawjson.Bounds{})
		if err != nil || strings.ContainsAny(string(content), "\r\n") {
			t.Fatalf("%s and %s give %s (%v)", schema, answer, content, err)
		}
		object := rawjson.Members(sent.Get("content"))
		if _, twice := object.Duplicate(); twice {
			t.Fatalf("%s and %s give %s", schema, answer, content)
		}
		for i, m := range rawjson.Members(answer) {
			if string(object[i].Key) != string(m.Key) {
				t.Fatalf("%s and %s give %s", schema, answer, content)
			}
		}
		for _, m := range object {
			if form.field(m.Name()) == nil {
				t.Fatalf("%s and %s give %s", schema, answer, content)
			}
		}
	})
}
