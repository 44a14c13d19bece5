package stdiomcp

import (
	"testing"
	"time"
)

// TestT65_JobEndsGrandchildren: what a server starts ends with it.
func TestT65_JobEndsGrandchildren(t *testing.T) {
	tr := open(t, server(t, "ignores-eof"), &Options{Limits: limits(t, "stop_wait=100ms", "term_wait=100ms")})
	tell(t, tr, modern, 1, "echo", "{}")
	j := tr.life.conn.child.(*job)
	began := time.Now()
	shut(t, tr)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("Close took %v", took)
	}
	if j.handle != 0 {
		t.Error("the job's handle is open")
	}
	j.kill() // of a job that is closed: nothing
}
