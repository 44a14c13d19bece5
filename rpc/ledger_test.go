package rpc

import (
	"encoding/json"
	"testing"
)

// A ledger counts the answers to requests whose ids are numbers.
type ledger struct {
	results map[int64]int // by id
	codes   map[int64]int // the last error code by id, 0 for a result
	errors  map[int]int   // answers by code
}

func newLedger() *ledger {
	return &ledger{results: map[int64]int{}, codes: map[int64]int{}, errors: map[int]int{}}
}

// answer enters one message, which must be an answer.
func (l *ledger) answer(t *testing.T, message []byte) (id int64, code int) {
	t.Helper()
	var m struct {
		ID     *int64
		Method string
		Result json.RawMessage
		Error  *struct{ Code int }
	}
	if err := json.Unmarshal(message, &m); err != nil || m.ID == nil || m.Method != "" || (m.Result == nil) == (m.Error == nil) {
		t.Fatalf("no answer to a number: %.200s (%v)", message, err)
	}
	if m.Error != nil {
		code = m.Error.Code
	}
	l.results[*m.ID]++
	l.codes[*m.ID] = code
	l.errors[code]++
	return *m.ID, code
}

// check fails the test unless each of the ids 0 to n-1 has one answer, and there
// are at least so many results and cancelled.
func (l *ledger) check(t *testing.T, n, results, cancelled int) {
	t.Helper()
	for id, times := range l.results {
		if times != 1 || id < 0 || id >= int64(n) {
			t.Errorf("the id %d was answered %d times", id, times)
		}
	}
	if len(l.results) != n {
		t.Errorf("%d ids were answered, want %d", len(l.results), n)
	}
	if l.errors[0] < results || l.errors[-32800] < cancelled {
		t.Errorf("%d results and %d cancelled, want at least %d and %d", l.errors[0], l.errors[-32800], results, cancelled)
	}
}
