package schema

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
)

// nested returns a schema of n levels, each of which goes twice into the next.
func nested(n int, level string) string {
	var b strings.Builder
	b.WriteString(`{"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":%s,`, i, strings.ReplaceAll(level, "NEXT", fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)))
	}
	fmt.Fprintf(&b, `"d%d":{"type":"object"}},"$ref":"#/$defs/d0"}`, n)
	return b.String()
}

// many returns n values with commas between them.
func many(n int, value func(i int) string) string {
	values := make([]string, n)
	for i := range values {
		values[i] = value(i)
	}
	return strings.Join(values, ",")
}

// bombs are schemas and values that are made to cost much.
var bombs = []struct {
	name, schema, value string
	halts               bool // the value is not checked to the end; else it is, and the cost is small
}{
	{"2^40 ways through allOf", nested(40, `{"allOf":[NEXT,NEXT]}`), `{}`, true},
	{"2^40 ways through anyOf that fail late", nested(40, `{"anyOf":[{"allOf":[NEXT,false]},{"allOf":[NEXT,false]}]}`), `{}`, true},
	{"2^40 ways through oneOf", nested(40, `{"oneOf":[{"not":NEXT},{"not":NEXT}]}`), `{}`, true},
	{"2^40 ways through not", nested(40, `{"allOf":[{"not":{"not":NEXT}},{"not":{"not":NEXT}}]}`), `{}`, true},
	{"2^40 ways through if", nested(40, `{"if":NEXT,"then":NEXT}`), `{}`, true},
	{"2^40 ways with unevaluated", nested(40, `{"allOf":[NEXT,NEXT],"unevaluatedProperties":true}`), `{"a":1}`, true},
	{"2^100 ways by the depth of the value", `{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), true},
	{"2^100 ways by dynamic references", `{"$dynamicAnchor":"n","properties":{"a":{"allOf":[{"$dynamicRef":"#n"},{"$dynamicRef":"#n"}]}}}`, strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), true},
	{"a schema inside of itself without end", `{"$ref":"#"}`, `1`, true},
	{"a pair of schemas inside of each other", `{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`, `1`, true},
	{"a chain of references", nested(2400, `NEXT`), `1`, false},
	{"the classic regular expression", `{"pattern":"^(a+)+$"}`, `"` + strings.Repeat("a", 100_000) + `!"`, false},
	{"a large regular expression over a long text", `{"pattern":"(.*a){20}x(a|aa){1,400}$"}`, `"` + strings.Repeat("a", 4_000_000) + `"`, true},
	{"large regular expressions over many names", `{"patternProperties":{"(.*a){900}$":true}}`, `{` + many(2000, func(i int) string { return fmt.Sprintf(`"%s%d":1`, strings.Repeat("a", 200), i) }) + `}`, true},
	{"a chain of references at every level of a value", strings.Replace(nested(1000, `NEXT`), `{"type":"object"}`, `{"properties":{"a":{"$ref":"#/$defs/d0"}}}`, 1), strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500), true},
	{"uniqueItems over many items", `{"uniqueItems":true}`, `[` + many(20_000, func(i int) string { return fmt.Sprint(i) }) + `]`, false},
	{"uniqueItems over a million items, many times", `{"allOf":[` + many(100, func(int) string { return `{"uniqueItems":true}` }) + `]}`, `[` + many(300_000, func(i int) string { return fmt.Sprint(i) }) + `]`, true},
	{"contains in contains", `{"contains":{"contains":{"contains":{"const":1}}},"maxContains":0}`, `[` + many(100, func(int) string { return `[[` + many(100, func(int) string { return "0" }) + `]]` }) + `]`, false},
	{"contains over and over", `{"allOf":[` + many(1000, func(int) string { return `{"contains":{"const":1},"minContains":0}` }) + `]}`, `[` + many(20_000, func(int) string { return "0" }) + `]`, true},
	{"an enum of thousands for each of thousands", `{"items":{"enum":[` + many(10_000, func(i int) string { return fmt.Sprint(i) }) + `]}}`, `[` + many(20_000, func(i int) string { return fmt.Sprint(i % 10_000) }) + `]`, true},
	{"unevaluated items of all", `{"allOf":[` + many(1000, func(int) string { return `{"unevaluatedItems":{"type":"integer"}}` }) + `]}`, `[` + many(50_000, func(int) string { return "0" }) + `]`, true},
	{"a number that takes long to write out", `{"minimum":1}`, `1e999999999`, true},
	{"numbers of many digits", `{"items":{"multipleOf":0.0000000000000000001}}`, `[` + many(20_000, func(int) string { return strings.Repeat("7", 1000) }) + `]`, true},
	{"large values against a constant", `{"allOf":[` + many(1000, func(int) string { return `{"not":{"const":{"a":[]}}}` }) + `]}`, `{"a":[` + many(20_000, func(int) string { return "0" }) + `]}`, true},
	{"a value that is nested deeply", `{"items":{"items":{"$ref":"#"}}}`, strings.Repeat("[", 2000) + strings.Repeat("]", 2000), false},
	{"a long value", `{"type":"array"}`, `[` + many(2_000_000, func(int) string { return "[]" }) + `]`, true},
}

// No schema and no value makes a check last: it ends with the budget, wherever it
// is, and says so.
func TestL18_JSC_07_BombsEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, bomb := range bombs {
		table := limit.Table{}
		if !bomb.halts { // however busy the machine is
			table = with(t, "schema_time=1s")
		}
		s, err := Compile([]byte(bomb.schema), table)
		if err != nil {
			t.Errorf("%s: %v", bomb.name, err)
			continue
		}
		begin := time.Now()
		err = s.Validate([]byte(bomb.value))
		took := time.Since(begin)
		unusable, halted := errors.AsType[*Unusable](err)
		if halted != bomb.halts || halted && unusable.Cause != Beyond {
			t.Errorf("%s: %v after %v, want it given up: %v", bomb.name, err, took, bomb.halts)
		}
		// Forty times the budget: what is not stopped takes years.
		if took > 2*time.Second {
			t.Errorf("%s: it took %v", bomb.name, took)
		}
		t.Logf("%-50s %8v  %v", bomb.name, took.Round(100*time.Microsecond), err)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines have become %d", before, after)
	}
}

func with(t *testing.T, setting string) limit.Table {
	t.Helper()
	table, err := limit.Table{}.With(setting)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// The bounds of L17 hold before anything is compiled, each at its default: what
// is at the bound is taken, what is one above it is not.
func TestL17_Bounds(t *testing.T) {
	deep := func(n int) string { // objects
		return strings.Repeat(`{"not":`, n-1) + `{}` + strings.Repeat(`}`, n-1)
	}
	wide := func(n int) string { // schemas
		return `{"anyOf":[` + many(n-1, func(i int) string { return "true" }) + `]}`
	}
	pattern := func(n int) string { return `{"pattern":"` + strings.Repeat("a", n) + `"}` }
	for _, row := range []struct {
		name     limit.Name
		at, over string
	}{
		{limit.SchemaDepth, deep(64), deep(65)},
		{limit.SchemaSubschemas, wide(5000), wide(5001)},
		{limit.SchemaPattern, pattern(1024), pattern(1025)},
	} {
		if _, err := Compile([]byte(row.at), limit.Table{}); err != nil {
			t.Errorf("at %s: %v", row.name, err)
		}
		_, err := Compile([]byte(row.over), limit.Table{})
		if u, ok := errors.AsType[*Unusable](err); !ok || u.Cause != Beyond || !strings.Contains(u.Reason, row.name.String()) {
			t.Errorf("above %s: %v", row.name, err)
		}
	}
	for _, schema := range []string{
		strings.Repeat(`{"allOf":[`, 10_000) + `{}` + strings.Repeat(`]}`, 10_000),
		strings.Repeat(`{"x":`, 10_000) + `{}` + strings.Repeat(`}`, 10_000),
	} {
		if _, err := Compile([]byte(schema), limit.Table{}); !strings.Contains(fmt.Sprint(err), "schema_depth") {
			t.Errorf("10,000 levels: %v", err)
		}
	}
}

// Patterns are bounded by what they compile to, not by their length alone.
func TestPatternsAreBoundedTogether(t *testing.T) {
	for _, schema := range []string{
		`{"pattern":"` + strings.Repeat(`a{1000}`, 140) + `"}`,
		`{"pattern":"((a{30}){30}){30}"}`,
		`{"patternProperties":{` + many(250, func(i int) string { return fmt.Sprintf(`"%d%s":true`, i, strings.Repeat(`\\pL`, 100)) }) + `}}`,
		`{"patternProperties":{` + many(250, func(i int) string { return fmt.Sprintf(`"%d%s":true`, i, strings.Repeat(`\\p{L}`, 100)) }) + `}}`,
	} {
		if _, err := Compile([]byte(schema), limit.Table{}); err == nil {
			t.Errorf("%.60s is taken", schema)
		}
	}
}

// How long it takes to compile what is at the bounds.
func BenchmarkCompileLargest(b *testing.B) {
	schema := []byte(`{"anyOf":[` + many(4000, func(i int) string { return fmt.Sprintf(`{"$anchor":"a%d","$ref":"#a%d"}`, i, (i+1)%4000) }) + `]}`)
	for b.Loop() {
		if _, err := Compile(schema, limit.Table{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate10KB(b *testing.B) {
	s, value := mustCompile(b, rowsSchema), rowsValue(10_000)
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Validate(value); err != nil {
			b.Fatal(err)
		}
	}
}

const rowsSchema = `{"type":"object","required":["rows"],"additionalProperties":false,"properties":{"rows":{"type":"array","items":{"$ref":"#/$defs/row"}}},
	"$defs":{"row":{"type":"object","required":["id","name","tags"],"properties":{"id":{"type":"integer","minimum":0},"name":{"type":"string","maxLength":80},
	"score":{"type":"number"},"active":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}},"parent":{"anyOf":[{"type":"null"},{"type":"integer"}]}}}}}`

// rowsValue returns an ordinary structured result of about that size.
func rowsValue(size int) []byte {
	return []byte(`{"rows":[` + many(size/112, func(i int) string {
		return fmt.Sprintf(`{"id":%d,"name":"the name of row %d","score":%d.25,"active":true,"tags":["first","second"],"parent":null}`, i, i, i)
	}) + `]}`)
}
