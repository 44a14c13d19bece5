package rpc

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/spec/speccheck"
)

// serveBytes gives the child all of in and returns what it wrote, which must be
// framed as in was.
func serveBytes(t *testing.T, in []byte) [][]byte {
	t.Helper()
	registry := pack.NewRegistry()
	if err := registry.Insert((&testPack{}).info("test/pack", "p"), nil); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Serve(t.Context(), bytes.NewReader(in), &out, registry, nil); err != nil {
		t.Fatal(err)
	}
	framing := speccheck.FramingNewline
	if bytes.HasPrefix(out.Bytes(), []byte("Content-")) {
		framing = speccheck.FramingLSP
	}
	messages, err := speccheck.Split(framing, out.Bytes())
	if err != nil {
		t.Fatalf("%v\nin: %q", err, in)
	}
	return messages
}

// FuzzStream feeds any bytes (F1): the child never panics, what it writes is
// whole, each request that stands on a line of its own is answered once, and the
// probe behind all of it is answered.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "\ufeff\n", "{oops\n", "[]\n", "[{}]\n", "{}\n", "7\n", "\"x\n", "{\"id\":1}\n", "\xff\n", "\x00\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"construct\",\"params\":{\"pack\":\"test/pack\"}}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"construct\",\"params\":{\"pack\":\"test/pack\"}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"invoke\",\"params\":{\"tool\":\"p/echo\",\"arguments\":{\"a\":[1e9,null]}}}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"construct\",\"params\":{\"pack\":\"test/pack\"}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"invoke\",\"params\":{\"tool\":\"p/wait\"}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"invoke\",\"params\":{\"tool\":\"p/wait\"}}\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"cancel\",\"params\":{\"id\":2}}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ready\",\"params\":{\"id\":\"p\"}}\r\n{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"close\"}\n{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"close\"}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1,\"method\":\"x\"}\n",
		"Content-Length: 2\r\n\r\n{}", "Content-Length: 5\r\n\r\n{}", "content-type: x\n\n", "Content-Length: -1\r\n\r\n",
		"Content-Length: 46\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"construct\"}",
	} {
		f.Add([]byte(seed))
	}
	probe := `{"jsonrpc":"2.0","id":"the probe","method":"cancel","params":{"id":"nothing"}}`
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Contains(in, []byte("the probe")) || bytes.Contains(in, []byte(`p/wait`)) && !bytes.Contains(in, []byte(`cancel`)) {
			return // the first would be answered twice, the second costs a second
		}
		stream := append(bytes.Clone(in), "\n"+probe+"\n"...)
		_, lsp, _ := frame(bytes.NewReader(stream), 1<<24)
		if lsp {
			// Where a broken header leaves the stream nobody can know; here it is
			// enough that it ends.
			serveBytes(t, stream)
			return
		}
		wanted := map[string]int{}
		for line := range bytes.Lines(stream) {
			if id, ok := validRequest(line); ok {
				wanted[id]++
			}
		}
		answered, probes := map[string]int{}, 0
		for _, message := range serveBytes(t, stream) {
			var m struct {
				ID     json.RawMessage
				Method string
				Result json.RawMessage
				Error  *struct {
					Code int
					Data struct{ ID json.RawMessage }
				}
			}
			if err := json.Unmarshal(message, &m); err != nil {
				t.Fatalf("%v: %q", err, message)
			}
			id := string(m.ID)
			if m.Error != nil && m.Error.Data.ID != nil {
				id = string(m.Error.Data.ID) // the second request of an id in flight
			}
			if id == `"the probe"` && m.Result != nil {
				probes++
			}
			answered[id]++
		}
		if probes != 1 {
			t.Errorf("the probe was answered %d times\nin: %q", probes, in)
		}
		for id, n := range wanted {
			if answered[id] < n {
				t.Errorf("%d requests of id %s were answered %d times\nin: %q", n, id, answered[id], in)
			}
		}
	})
}

// validRequest returns the id of a line that is a request for any reader: no name
// of its envelope stands there twice, or nearly so.
func validRequest(line []byte) (string, bool) {
	var m struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
	}
	if !utf8.Valid(line) || json.Unmarshal(line, &m) != nil || m.JSONRPC != "2.0" || m.Method == nil {
		return "", false
	}
	names := map[string]bool{}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.Token()
	for decoder.More() {
		name, _ := decoder.Token()
		folded := strings.ToLower(name.(string))
		if names[folded] || folded != name.(string) {
			return "", false
		}
		names[folded] = true
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return "", false
		}
	}
	_, ok := parseID(m.ID)
	return string(m.ID), ok
}

// FuzzHostileAnswer gives a question any answer: it ends, and the call does.
func FuzzHostileAnswer(f *testing.F) {
	for _, seed := range []string{`"result":{"action":"accept"}`, `"error":{}`, `"result":null`, `"result":{"action":1}`, `"error":7,"result":[]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		line := `{"jsonrpc":"2.0","id":1,` + answer + `}`
		if !utf8.ValidString(line) || !json.Valid([]byte(line)) || bytes.ContainsAny([]byte(line), "\r\n") {
			return
		}
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(line), &m) != nil || string(m["id"]) != "1" || m["method"] != nil || m["result"] == nil && m["error"] == nil {
			return
		}
		h := newHost(t, hostConfig{pack: &testPack{tools: askTools}, unchecked: true})
		h.construct(everyKind)
		h.play(`
			--> {"jsonrpc":"2.0","id":"c","method":"invoke","params":{"tool":"p/form"}}
			<-- {"id":1,"method":"elicit"}
			--> ` + line + `
			<-- {"id":"c","result":"$any"}`)
		h.finish()
	})
}
