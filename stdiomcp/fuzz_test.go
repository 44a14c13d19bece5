package stdiomcp

import (
	"bytes"
	"testing"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient/envelope"
	"github.com/toolhost/toolhost/redact"
)

// FuzzLine: whatever a server writes on a line, it is taken for a message only when it
// is one, and nothing of it is lost but what stands before the message.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","method":"x","params":[]}`, "\x1b]1337;x\x07{\"jsonrpc\":\"2.0\"}", "\x1b[2J {}", "\x1b", "\x1b[", "\x1bP\x1b\\",
		"Content-Length: 5", "{", `{"id":1,"id":2,"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1e400}`, `{"jsonrpc":"2.0","id":9223372036854775808,"result":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		data := afterEscapes(line)
		if !bytes.HasSuffix(line, data) {
			t.Fatalf("%q became %q", line, data)
		}
		if len(data) > 0 && (data[0] < 0x20 || data[0] == 0x7f) {
			t.Fatalf("%q still begins with a control character", data)
		}
		m, err := envelope.Parse(data, rawjson.Bounds{})
		if err == nil {
			responses := 0
			for _, there := range []bool{m.Method != "", m.Result != nil, m.Err != nil} {
				if there {
					responses++
				}
			}
			if responses != 1 || isNoise(&m, rawjson.ErrNotObject) == false {
				t.Fatalf("%q is %d messages", line, responses)
			}
		}
		if n, exact, ok := requestID(m.ID); exact && (!ok || n < 0 && m.ID[0] != '-') {
			t.Fatalf("id %q is %d", m.ID, n)
		}
		n := noise{scrub: redact.NewScrubber()}
		if first, _ := n.add(line); len(first) > shownNoise || redact.Escape(first) != first {
			t.Fatalf("%q is shown as %q", line, first)
		}
	})
}
