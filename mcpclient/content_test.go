package mcpclient

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/rawjson"
)

func readAnswer(answer []byte) (*CallResult, error) {
	object, err := readResult(methodCall, answer, callReads...)
	if err != nil {
		return nil, err
	}
	return newCallResult(answer, object)
}

func parseResult(answer string) (*CallResult, error) { return readAnswer([]byte(answer)) }

func TestS1_19_Text(t *testing.T) {
	const (
		text  = `{"type":"text","text":"a\nb"}`
		image = `{"type":"image","data":"AAAA","mimeType":"image/png"}`
		link  = `{"type":"resource_link","uri":"file:///x","name":"x"}`
	)
	for _, test := range []struct{ name, result, want string }{
		{"one text", `{"content":[` + text + `]}`, `"a\nb"`},
		{"the literal as it came", `{"content":[{"text":"\u00e9é\/\ud83d\ude00 <&>","type":"text"}]}`, `"\u00e9é\/\ud83d\ude00 <&>"`},
		{"joined with blank lines", `{"content":[` + text + `,{"type":"text","text":"c"},` + text + `]}`, `"a\nb\n\nc\n\na\nb"`},
		{"B135 mixed, in order", `{"content":[` + text + `,` + image + `,{"type":"audio","data":"A","mimeType":"audio/wav"},` +
			`{"type":"resource","resource":{"uri":"u","text":"res"}},{"type":"resource","resource":{"uri":"u","blob":"A","mimeType":"application/pdf"}},` + link + `,{"type":"text","text":"end"}]}`,
			`"a\nb\n\n[image omitted: image/png]\n\n[audio omitted: audio/wav]\n\nres\n\n[resource omitted: application/pdf]\n\n[resource: file:///x]\n\nend"`},
		{"B125 no media types", `{"content":[{"type":"image","data":"%"},{"type":"audio"},{"type":"resource","resource":{"blob":"!"}},{"type":"image","mimeType":7}]}`,
			`"[image omitted: application/octet-stream]\n\n[audio omitted: application/octet-stream]\n\n[resource omitted: application/octet-stream]\n\n[image omitted: application/octet-stream]"`},
		{"B127 text and blob", `{"content":[{"type":"resource","resource":{"text":"t","blob":"A"}}]}`, `"t"`},
		{"B127 neither text nor blob", `{"content":[{"type":"resource","resource":{"uri":"u"}},{"type":"resource"}]}`,
			`"[resource omitted: application/octet-stream]\n\n[resource omitted: application/octet-stream]"`},
		{"B127 empty text", `{"content":[{"type":"resource","resource":{"text":""}},{"type":"text","text":"x"}]}`, `"\n\nx"`},
		{"B127 a link without a name", `{"content":[{"type":"resource_link","uri":"u"},{"type":"resource_link","name":"n"}]}`, `"[resource: u]\n\n[resource link omitted: no uri in it]"`},
		{"TOL-05 an unknown type", `{"content":[{"type":"video","data":"A"},{"type":"tool_use\n"}]}`, `"[video omitted: unknown type of content]\n\n[tool_use\n omitted: unknown type of content]"`},
		{"blocks that are none", `{"content":[null,5,"x",{},{"type":5},{"type":"text"},{"type":"text","text":5}]}`,
			`"` + strings.Repeat(`[content omitted: its type is missing]\n\n`, 5) + `[text omitted: no text in it]\n\n[text omitted: no text in it]"`},
		{"B121 no content", `{"structuredContent":{"a": 1}}`, `"{\"a\": 1}"`},
		{"B121 null", `{"content":null}`, `""`},
		{"B121 nothing", `{}`, `""`},
		{"no blocks", `{"content":[],"structuredContent":[1,"\""]}`, `"[1,\"\\\"\"]"`},
		{"TOL-12 other structured content", `{"structuredContent":5}`, `"5"`},
		{"blocks and structured content", `{"content":[` + text + `],"structuredContent":{}}`, `"a\nb"`},
		{"structured content that is null", `{"content":[],"structuredContent":null}`, `""`},
		{"structured content over lines", "{\"structuredContent\":{\n\t\"a\":\r\n1}}", `"{\t\"a\":1}"`},
		{"B131 a string", `{"content":"hello"}`, `"hello"`},
		{"B131 one block", `{"content":` + text + `}`, `"a\nb"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := parseResult(test.result)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(r.Text()); got != test.want {
				t.Errorf("text\n %s, want\n %s", got, test.want)
			}
			var decoded string
			if err := json.Unmarshal(r.Text(), &decoded); err != nil {
				t.Error(err)
			}
			if r.Content != nil && rawjson.KindOf(r.Content) != rawjson.Array {
				t.Errorf("content is %s", r.Content)
			}
			if string(r.Raw) != test.result || r.IsError {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	for _, test := range []struct{ name, result, want string }{
		{"S1-20 text", `{"isError":true,"content":[{"type":"text","text":"no"}]}`, `"no"`},
		{"B123 structured only", `{"isError":true,"content":[],"structuredContent":{"code":5}}`, `"{\"code\":5}"`},
		{"B123 both", `{"isError":true,"content":[{"type":"text","text":"no"}],"structuredContent":{"code":5}}`, `"no"`},
		{"empty text and structured", `{"isError":true,"content":[{"type":"text","text":""}],"structuredContent":{"code":5}}`, `"{\"code\":5}"`},
		{"neither", `{"isError":true}`, `""`},
	} {
		r, err := parseResult(test.result)
		if err != nil || !r.IsError || string(r.ErrorText()) != test.want {
			t.Errorf("%s: %+v, %v, want %s", test.name, r, err, test.want)
		}
	}
	for flag, want := range map[string]bool{"null": false, "false": false, "true": true} {
		if r, err := parseResult(`{"isError":` + flag + `}`); err != nil || r.IsError != want {
			t.Errorf("isError %s: %+v, %v", flag, r, err)
		}
	}
}

// B129 and the promise of speed: data that is not passed on is not copied, and a
// single text is a piece of the answer.
func TestTextIsNotCopied(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	answer := []byte(`{"content":[{"type":"text","text":"` + large + `"}]}`)
	r, err := readAnswer(answer)
	if err != nil {
		t.Fatal(err)
	}
	if i := bytes.Index(answer, r.Text()); i < 0 || &answer[i] != &r.Text()[0] {
		t.Error("a single text was copied")
	}
	images := []byte(`{"content":[{"type":"text","text":"a"},{"type":"image","data":"` + large + `"},{"type":"text","text":"b"}]}`)
	perRun := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := readAnswer(images); err != nil {
				b.Fatal(err)
			}
		}
	})
	if n := perRun.AllocedBytesPerOp(); n > 64<<10 {
		t.Errorf("%d bytes are allocated for a result that is mostly an image", n)
	}
}

func BenchmarkCallResult(b *testing.B) {
	answer := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("some text of a tool, ", 50_000) + `"}]}`)
	b.SetBytes(int64(len(answer)))
	for b.Loop() {
		if _, err := readAnswer(answer); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCallMessage(b *testing.B) {
	parts := newMessageParts(new(Options))
	arguments := []byte(`{"text":"` + strings.Repeat("some text for a tool, ", 50_000) + `"}`)
	b.SetBytes(int64(len(arguments)))
	for b.Loop() {
		parts.request(latest(false), 1, "tools/call", params{size: len(arguments) + 10, members: func(dst []byte) []byte {
			return rawjson.AppendLine(append(dst, `"name":"t","arguments":`...), arguments)
		}})
	}
}

// Whatever a server answers, the text is a JSON string that any reader decodes.
func FuzzCallResult(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png"}],"isError":true}`))
	f.Add([]byte(`{"content":{"type":"resource","resource":{"text":"\ud800"}},"structuredContent":[1]}`))
	f.Add([]byte(`{"content":"x"}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if rawjson.Check(answer, rawjson.Bounds{}) != nil {
			return
		}
		r, err := readAnswer(answer)
		if err != nil {
			return
		}
		for _, text := range [][]byte{r.Text(), r.ErrorText()} {
			if rawjson.KindOf(text) != rawjson.String || rawjson.Check(text, rawjson.Bounds{}) != nil {
				t.Fatalf("%s gives %s", answer, text)
			}
		}
		if r.Content != nil && (rawjson.Check(r.Content, rawjson.Bounds{}) != nil || rawjson.KindOf(r.Content) != rawjson.Array) {
			t.Fatalf("%s gives the content %s", answer, r.Content)
		}
	})
}
