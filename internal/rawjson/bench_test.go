package rawjson

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// realistic returns an answer around text as tools return it: lines of about 62
// characters, quotes and a tab now and then, one é and one <b>&amp; in ~380 bytes.
func realistic(size int) []byte {
	const paragraph = "The quick brown fox jumps over the lazy dog near the river b.\n" +
		"It said \"hello\" to each of the twenty-three other animals, and\n" +
		"then went home\tbecause the café was closed until the following\n" +
		"day. Nobody could say <b>why & when</b> it would open again, so\n" +
		"the dog wrote a letter to the owner and asked for some reasons.\n" +
		"An answer came after one week: the cook had left for the coast.\n"
	text := strings.Repeat(paragraph, size/len(paragraph)+1)[:size]
	text = strings.ToValidUTF8(text, "")
	out := []byte(`{"jsonrpc":"2.0","id":12345,"result":{"content":[{"type":"text","text":`)
	out = AppendString(out, text)
	return append(out, `}],"isError":false}}`...)
}

var benchSizes = []struct {
	name string
	size int
}{{"100B", 100}, {"10KB", 10_000}, {"1MB", 1_000_000}}

func BenchmarkSplit(b *testing.B) {
	for _, s := range benchSizes {
		b.Run(s.name, func(b *testing.B) {
			data := realistic(s.size)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Split(data, Bounds{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	cases := []struct {
		name string
		data []byte
	}{}
	for _, s := range benchSizes {
		cases = append(cases, struct {
			name string
			data []byte
		}{s.name, realistic(s.size)})
	}
	fill := func(name, unit string) {
		text := strings.Repeat(unit, 1_000_000/len(unit))
		cases = append(cases, struct {
			name string
			data []byte
		}{"1MB " + name, AppendString(nil, text)})
	}
	fill("ASCII", "abcdefghij klmnop ")
	fill("Cyrillic", "Съешь же ещё этих мягких французских булок, да выпей чаю. ")
	fill("Chinese", "我能吞下玻璃而不伤身体。")
	fill("emoji", "😀😃😄")
	fill("escapes", "\"\\\n\t")
	fill("JSON in JSON", `{"name":"tool_17","description":"Does \"things\".","n":[1,2,3]},`)
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Check(c.data, Bounds{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	var tools bytes.Buffer
	tools.WriteString(`{"tools":[`)
	for i := range 10_000 {
		if i > 0 {
			tools.WriteByte(',')
		}
		fmt.Fprintf(&tools, `{"name":"tool_%d","description":"It does the thing number %d.","inputSchema":{"type":"object","properties":{"a":{"type":"integer","minimum":0},"b":{"type":"string"}},"required":["a"]}}`, i, i)
	}
	tools.WriteString(`]}`)
	b.Run("10000 tools", func(b *testing.B) {
		b.SetBytes(int64(tools.Len()))
		for b.Loop() {
			if err := Check(tools.Bytes(), Bounds{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("10000 tools, Members", func(b *testing.B) {
		b.SetBytes(int64(tools.Len()))
		for b.Loop() {
			for _, tool := range Elements(Members(tools.Bytes()).Get("tools")) {
				Members(tool)
			}
		}
	})
	b.Run("10000 tools, AppendQuoted", func(b *testing.B) {
		b.SetBytes(int64(tools.Len()))
		var dst []byte
		for b.Loop() {
			dst = AppendQuoted(dst[:0], tools.Bytes())
		}
	})
}

func BenchmarkMembers(b *testing.B) {
	data := realistic(1_000_000)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Members(data)
	}
}

func BenchmarkAppendLine(b *testing.B) {
	data := realistic(1_000_000)
	pretty := bytes.ReplaceAll(data, []byte(" "), []byte("\r\n ")) // not JSON any more, but of its density
	for _, c := range []struct {
		name string
		data []byte
	}{{"one line", data}, {"a break per word", pretty}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.data)))
			dst := make([]byte, 0, len(c.data))
			for b.Loop() {
				dst = AppendLine(dst[:0], c.data)
			}
		})
	}
}

func BenchmarkAppendString(b *testing.B) {
	result := Members(Members(realistic(1_000_000)).Get("result"))
	text := Text(Members(Elements(result.Get("content"))[0]).Get("text"))
	b.SetBytes(int64(len(text)))
	var dst []byte
	for b.Loop() {
		dst = AppendString(dst[:0], text)
	}
}

func BenchmarkText(b *testing.B) {
	result := Members(Members(realistic(1_000_000)).Get("result"))
	text := Members(Elements(result.Get("content"))[0]).Get("text")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Text(text)
	}
}

func BenchmarkIDFinder(b *testing.B) {
	data := realistic(1_000_000)
	data = append([]byte(`{"a":`), append(data, `,"id":7}`...)...)
	b.SetBytes(int64(len(data)))
	var f IDFinder
	for b.Loop() {
		f.Reset()
		f.Write(data)
		if string(f.ID()) != "7" {
			b.Fatal("no id")
		}
	}
}
