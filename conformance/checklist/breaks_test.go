package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestBreaks(t *testing.T) {
	const body = `{"id":1,"method":"tools/call","params":{"name":"echo"}}`
	for _, test := range []struct{ text, out string }{
		{"strip POST tools/call X-Kept", `POST "" ` + body},
		{"set POST tools/call X-Kept other", `POST "other" ` + body},
		{"edit POST tools/call /params/_meta/a~1b [1]", `POST "kept" {"id":1,"method":"tools/call","params":{"_meta":{"a/b":[1]},"name":"echo"}}`},
		{"delete POST tools/call /params/name", `POST "kept" {"id":1,"method":"tools/call","params":{}}`},
		{`text POST tools/call "no JSON"`, `POST "kept" no JSON`},
		{"batch POST tools/call", `POST "kept" [` + body + `]`},
		{"drop POST tools/call", `withheld POST "kept" ` + body},
		{"twice POST tools/call", `aside POST "kept" ` + body + ` | POST "kept" ` + body},
		{"before POST tools/call GET", `aside GET "kept"  | POST "kept" ` + body},
		{`after POST tools/call POST {"a": 1}`, `POST "kept" ` + body + ` | aside POST "kept" {"a": 1}`},
		{"strip POST tools/list X-Kept", `POST "kept" ` + body},
		{"strip POST tools/call#2 X-Kept", `POST "kept" ` + body},
		{"strip POST tools/call#1 X-Kept\ntwice POST tools/call", `aside POST "" ` + body + ` | POST "" ` + body},
	} {
		var breaks []wireBreak
		for line := range strings.SplitSeq(test.text, "\n") {
			b, err := parseWireBreak(textLine{text: line})
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			breaks = append(breaks, b)
		}
		own := &sending{method: "POST", header: http.Header{"X-Kept": {"kept"}}, body: []byte(body)}
		var out []string
		for _, s := range newBreaker(breaks).apply("", own) {
			text := fmt.Sprintf("%s %q %s", s.method, s.header.Get("X-Kept"), s.body)
			if s.aside {
				text = "aside " + text
			}
			if s.withheld {
				text = "withheld " + text
			}
			out = append(out, text)
		}
		if got := strings.Join(out, " | "); got != test.out {
			t.Errorf("%s: got\n %s, want\n %s", test.text, got, test.out)
		}
	}
}

// A break that never applied, or could not be applied, proves nothing.
func TestBreakerFaults(t *testing.T) {
	for text, want := range map[string]string{
		"strip DELETE X":                "nothing that it breaks was sent",
		"edit POST tools/call /a/b/c 1": "no object",
	} {
		b, err := parseWireBreak(textLine{text: text})
		if err != nil {
			t.Fatal(err)
		}
		breaker := newBreaker([]wireBreak{b})
		breaker.apply("", &sending{method: "POST", header: http.Header{}, body: []byte(`{"id":1,"method":"tools/call","a":5}`)})
		if errs := breaker.faults(); len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%s: %v", text, errs)
		}
	}
}
