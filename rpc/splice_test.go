package rpc

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack"
)

// TestM14_ValuesPassAsTheyCame sends values of the sizes at which messages are
// put together differently, with everything in them that an encoder would touch.
func TestM14_ValuesPassAsTheyCame(t *testing.T) {
	eachFraming(t, func(t *testing.T, framing string) {
		p := &testPack{tools: map[string]tool{"three": func(_ context.Context, _ *testPack, call *pack.Call) (*pack.Result, error) {
			args := rawjson.Members(call.Arguments)
			return &pack.Result{Content: args.Get("text"), Structured: args.Get("any"), Blocks: args.Get("list")}, nil
		}}}
		h := newHost(t, hostConfig{framing: framing, pack: p, unchecked: true})
		h.construct("")
		for i, size := range []int{0, 100, bigValue - 1, bigValue, bigValue + 1, writeSize - 200, writeSize, writeSize + 1, 1 << 20} {
			filler := strings.Repeat(`<a>& é\u2028\"\\ `, size/17+1)
			text := `"` + filler + `"`
			anything := "{ \"b\" :\t9007199254740993,\"a\":[-0,1.0,1E+2,null] , \"b\":\"" + filler + "\" }"
			list := "[\r" + text + " ]"
			if framing == "lsp" {
				list = "[\r\n" + text + "\n]"
			}
			h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"invoke","params":{"tool":"p/three","arguments":{"text":%s,"any":%s,"list":%s}}}`, i, text, anything, list))
			got := h.next()
			want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":%s,"untrusted":false,"structured":%s,"blocks":%s}}`, i, text, anything, strings.NewReplacer("\r", "", "\n", "").Replace(list))
			if !bytes.Equal(got, []byte(want)) {
				t.Fatalf("%d bytes: got %.300q, want %.300q", size, got, want)
			}
		}
		h.finish()
	})
}

// TestBigIDs sends ids longer than any value that is copied.
func TestBigIDs(t *testing.T) {
	eachFraming(t, func(t *testing.T, framing string) {
		h := newHost(t, hostConfig{framing: framing, unchecked: true})
		h.construct("")
		for _, size := range []int{1000, bigValue, 200 << 10} {
			id := `"` + strings.Repeat("x", size) + `"`
			for _, call := range []string{`"method":"cancel","params":{"id":1}`, `"method":"invoke","params":{"tool":"p/echo"}`, `"method":"nope"`, `"method":7`} {
				h.send(`{"jsonrpc":"2.0","id":` + id + `,` + call + `}`)
				if got := rawjson.Members(h.next()).Get("id"); string(got) != id {
					t.Errorf("%s: the answer's id is %.100s", call, got)
				}
			}
		}
		h.finish()
	})
}
