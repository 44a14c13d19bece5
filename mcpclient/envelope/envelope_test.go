package envelope

import (
	"encoding/json"
	"testing"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// What Parse takes is valid JSON of exactly one kind, and encoding/json
// reads the same values from it.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, "{}", "[]", `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"\u0041"}}`,
		`{"jsonrpc":"2.0","method":"a","params":[1]}`, `{"jsonrpc":"2.0","id":"x","method":"a"}`,
		`{"jsonrpc":"2.0","id":1,"result":1,"result":2}`, `{"jsonrpc":"2.0","id":1,"result":null,"error":null}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data, rawjson.Bounds{})
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("took %q", data)
		}
		var want struct {
			ID     json.RawMessage `json:"id"`
			Method *string         `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Code    int64  `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		// encoding/json also takes other spellings of a name, so that some of
		// what it says may be of a member that we rightly ignore.
		kinds := 0
		for _, set := range []bool{m.Method != "", m.Result != nil, m.Err != nil} {
			if set {
				kinds++
			}
		}
		if kinds != 1 {
			t.Fatalf("%q is %d kinds at once", data, kinds)
		}
		var names map[string]json.RawMessage
		if err := json.Unmarshal(data, &names); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if err := json.Unmarshal(data, &want); err == nil && len(names) <= 4 {
			if id, ok := names["id"]; ok && string(id) != string(m.ID) {
				t.Fatalf("%q: id %s, want %s", data, m.ID, id)
			}
			if result, ok := names["result"]; ok && m.Result != nil && string(result) != string(m.Result) {
				t.Fatalf("%q: result %s, want %s", data, m.Result, result)
			}
		}
	})
}
