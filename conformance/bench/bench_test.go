package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The server of the measurements must answer with the very text that was asked for,
// for both ways to carry it.
func TestFastServerAnswersWithThePayload(t *testing.T) {
	for _, op := range []string{"blob", "echo"} {
		for _, size := range sizes {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"x-7","method":"tools/call","params":{"name":%q,"arguments":%s}}`, op, arguments(op, size.bytes))
			w := httptest.NewRecorder()
			answerFast(w, httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body)))
			var m struct {
				ID     string
				Result struct{ Content []struct{ Text string } }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil || m.ID != "x-7" || len(m.Result.Content) != 1 {
				t.Fatalf("%s %s: %v, %.200s", op, size.name, err, w.Body)
			}
			if got := m.Result.Content[0].Text; got != payload(size.bytes) || len(got) != size.bytes {
				t.Errorf("%s %s: %d bytes, %.100q", op, size.name, len(got), got)
			}
		}
	}
}

func TestMedian(t *testing.T) {
	self := func(x float64) float64 { return x }
	if got := median([]float64{9, 1, 5}, self); got != 5 {
		t.Error(got)
	}
	if got := median([]float64{9, 1, 5, 3}, self); got != 4 {
		t.Error(got)
	}
}
