package mcpclient

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

const weather = `{"type":"object","required":["rows"],"properties":{"rows":{"items":{"type":"integer"}}}}`

// outputServer opens a session with a server that lists the tool t with that output
// schema and answers every call with res, and lists its tools.
func outputServer(t *testing.T, version, schema string, res *string, opts *Options) (*Session, *int) {
	t.Helper()
	calls := new(int)
	s := &server{t: t, answer: func(_ context.Context, req *Request, _ Handler) (*Response, error) {
		switch req.Method {
		case "initialize":
			return initialized(version)
		case "server/discover":
			if version != latest(false).Name {
				return refusal(200, codeMethodNotFound, "unknown method", "")
			}
			return result(discovered)
		case "tools/list":
			return result(`{"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":` + schema + `}]}`)
		default:
			*calls++
			return result(*res)
		}
	}}
	session, err := Connect(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.ListTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	return session, calls
}

func TestTOL_04_OutputIsHeldAgainstItsSchema(t *testing.T) {
	for _, row := range []struct{ schema, result, fault string }{
		{weather, `{"content":[],"structuredContent":{"rows":[1,2]}}`, ""},
		{weather, `{"content":[],"structuredContent":{"rows":[1,"s3cret"]}}`, `the result of tool "t" does not fit its outputSchema: structuredContent at "/rows/1" is a string, want integer`},
		{weather, `{"content":[],"structuredContent":{}}`, `structuredContent at "/rows" is missing`},
		{weather, `{"content":[],"structuredContent":"s3cret"}`, `structuredContent is a string, want object`},
		{weather, `{"content":[],"structuredContent":null}`, `structuredContent is null, want object`},
		{weather, `{"content":[{"type":"text","text":"s3cret"}]}`, `tool "t" has an outputSchema, and the result has no structuredContent`},
		{weather, `{"content":[{"type":"text","text":"no"}],"isError":true}`, ""}, // an error promises nothing
		{weather, `{"structuredContent":{"rows":[9007199254740993]}}`, ""},
		{`{"properties":{"\u001b[31m\u202ex":false}}`, `{"structuredContent":{"\u001b[31m\u202ex":1}}`, `"/\u{1b}[31m\u{202e}x"`},
		{`5`, `{"content":[]}`, ""}, // counts as absent
	} {
		for _, rev := range Revisions() {
			session, _ := outputServer(t, rev.Name, row.schema, &row.result, nil)
			_, err := session.CallTool(t.Context(), "t", nil, nil)
			if row.fault == "" || !rev.StructuredOutput {
				if err != nil {
					t.Errorf("%s: %s: %v", rev.Name, row.result, err)
				}
				continue
			}
			wire := ask[*WireError](t, err)
			if !strings.Contains(wire.Reason, row.fault) || wire.Delivered != "yes" || strings.Contains(wire.Reason, "s3cret") {
				t.Errorf("%s: %s: got %+v, want %s", rev.Name, row.result, wire, row.fault)
			}
		}
	}
}

// The newest revision lets a tool promise any value.
func TestTOL_04_RootsOfAnyKind(t *testing.T) {
	for _, row := range []struct {
		schema, value string
		fits          bool
	}{
		{`{"type":"array","items":{"type":"string"}}`, `["a"]`, true},
		{`{"type":"array","items":{"type":"string"}}`, `[1]`, false},
		{`{"type":"integer"}`, `7`, true},
		{`{"type":"integer"}`, `"7"`, false},
		{`{"type":"null"}`, `null`, true},
	} {
		answer := `{"resultType":"complete","content":[],"structuredContent":` + row.value + `}`
		session, _ := outputServer(t, latest(false).Name, row.schema, &answer, nil)
		if _, err := session.CallTool(t.Context(), "t", nil, nil); (err == nil) != row.fits {
			t.Errorf("%s of %s: %v", row.schema, row.value, err)
		}
	}
}

// A schema that must not be taken for permissive ends the call before it is sent;
// one that cannot be used for another reason lets results pass, and is logged once.
func TestJSC_02_06_07_UnusableOutputSchemas(t *testing.T) {
	for _, row := range []struct{ schema, refused, warned string }{
		{`{"$schema":"urn:x","type":"object"}`, `tool "t" was not called: its outputSchema is written in the dialect "urn:x", which is not supported`, ""},
		{`{"$ref":"https://example.test/s"}`, `refers to "https://example.test/s", which is outside of it, and nothing is fetched`, ""},
		{`{"$ref":"https://example.test/?key=kn0wn-s3cret"}`, `/?key=[redacted]`, ""},
		{`{"type":"object","pattern":"(?=x)"}`, "", "looks around"},
		{`{"$ref":"#/$defs/gone"}`, "", "which is not in it"},
		{strings.Repeat(`{"not":`, 70) + `{}` + strings.Repeat(`}`, 70), "", "schema_depth"},
		{`{"$ref":"#"}`, "", "refers to itself"},
	} {
		var log bytes.Buffer
		scrub := redact.NewScrubber()
		scrub.Add("kn0wn-s3cret")
		answer := `{"content":[],"structuredContent":{"rows":"any"}}`
		session, calls := outputServer(t, latest(true).Name, row.schema, &answer, &Options{Log: slog.New(slog.NewJSONHandler(&log, nil)), Scrub: scrub})
		for range 3 {
			_, err := session.CallTool(t.Context(), "t", nil, nil)
			if row.refused == "" {
				if err != nil {
					t.Errorf("%s: %v", row.schema, err)
				}
				continue
			}
			wire := ask[*WireError](t, err)
			if !strings.Contains(wire.Reason, row.refused) || wire.Delivered != "no" || !wire.Final {
				t.Errorf("%s: got %+v, want %s", row.schema, wire, row.refused)
			}
		}
		if sent := *calls > 0; sent != (row.refused == "") {
			t.Errorf("%s: %d calls were sent", row.schema, *calls)
		}
		if lines := strings.Count(log.String(), "not checked"); row.warned != "" && (lines != 1 || !strings.Contains(log.String(), row.warned)) {
			t.Errorf("%s: the log is %q, want %s once", row.schema, log.String(), row.warned)
		}
	}
}

// A listing that says the same again keeps what was compiled; another definition
// takes its place, and a tool that has lost it is not held to it.
func TestOutputSchemaOfTheNewestListing(t *testing.T) {
	schema, answer := weather, `{"structuredContent":{"rows":[]}}`
	session, _ := outputServer(t, latest(true).Name, schema, &answer, nil)
	first, err := session.outputOf("t")
	if err != nil || first == nil || first.schema == nil {
		t.Fatal(first, err)
	}
	relist := func(outputs map[string]*output) *output {
		session.mu.Lock()
		session.keepOutputs(outputs)
		session.mu.Unlock()
		o, err := session.outputOf("t")
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	rev := latest(true)
	if again := relist(map[string]*output{"t": newOutput(rev, &Tool{OutputSchema: []byte(schema)})}); again != first {
		t.Error("the same definition is compiled again")
	}
	if other := relist(map[string]*output{"t": newOutput(rev, &Tool{OutputSchema: []byte(`{}`)})}); other == first || other == nil {
		t.Error("another definition is not used")
	}
	if gone := relist(nil); gone != nil {
		t.Error("a definition is used that is gone")
	}
}

// What a result of 10 KB costs with and without an output schema.
func BenchmarkOutputSchema(b *testing.B) {
	var rows strings.Builder
	for i := range 84 {
		fmt.Fprintf(&rows, `,{"id":%d,"name":"the name of row %d","score":%d.25,"active":true,"tags":["first","second"],"parent":null}`, i, i, i)
	}
	value := `{"rows":[` + rows.String()[1:] + `]}`
	answer := []byte(`{"content":[],"structuredContent":` + value + `}`)
	const rowsSchema = `{"type":"object","required":["rows"],"properties":{"rows":{"type":"array","items":{"$ref":"#/$defs/row"}}},"$defs":{"row":{"type":"object","required":["id","name","tags"],
		"properties":{"id":{"type":"integer","minimum":0},"name":{"type":"string","maxLength":80},"score":{"type":"number"},"active":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}}}}}}`
	for _, row := range []struct{ name, schema string }{{"without", ""}, {"with", rowsSchema}} {
		b.Run(row.name, func(b *testing.B) {
			s := &Session{opts: Options{Limits: limit.Table{}, Scrub: redact.NewScrubber(), Log: slog.New(slog.DiscardHandler)}}
			if row.schema != "" {
				s.outputs = map[string]*output{"t": {raw: []byte(row.schema)}}
			}
			b.SetBytes(int64(len(answer)))
			b.ReportAllocs()
			for b.Loop() {
				o, err := s.outputOf("t")
				if err != nil {
					b.Fatal(err)
				}
				object := rawjson.Members(answer)
				if _, err := newCallResult(answer, object); err != nil {
					b.Fatal(err)
				}
				if err := s.checkOutput("t", o, object); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
