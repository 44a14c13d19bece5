package stdiomcp

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

var orphanRounds = flag.Int("orphans", 10, "how often toolhost is killed in TestT66")

// Scripts that answer from elsewhere than the outermost shell read the request first
// and find the answer in a variable, since quotes do not nest well.
const (
	answer = "ANSWER" // the answer to the first request
	chain  = "CHAIN"  // the innermost script of a chain
)

// script returns a shell script with those variables.
func script(t testing.TB, text string) *mcpclient.Process {
	p := shell(t, text)
	p.Env = append(p.Env,
		mcpclient.Variable{Name: answer, Value: redact.NewSecret(`{"jsonrpc":"2.0","id":1,"result":{}}`)},
		mcpclient.Variable{Name: chain, Value: redact.NewSecret(`trap : TERM; echo "$ANSWER"; while :; do sleep 600; done`)})
	return p
}

// storm starts processes, each in a session of its own, for some seconds: a test
// that fails must not fill the machine.
const storm = `i=0; while [ $i -lt 300 ]; do i=$((i+1)); setsid sleep 60 & sleep 0.01; done`

// shapes are what servers leave behind (T65). Those that leave the group need a
// guard. Who matters answers the request, so that it is there when Close is called.
var shapes = []struct {
	name, script string
	escapes      bool
}{
	{"ends at end of input", hello + `cat >/dev/null`, false},
	{"ignores end of input and TERM", `trap "" TERM; ` + hello + `while :; do sleep 600; done`, false},
	{"double fork", `read line; (sh -c 'trap "" TERM; echo "$ANSWER"; while :; do sleep 600; done' &); cat >/dev/null`, false},
	{"setsid", `read line; setsid sh -c 'trap "" TERM; echo "$ANSWER"; sleep 600; :' & cat >/dev/null`, true},
	{"setsid within setsid", `read line; setsid sh -c 'setsid sh -c "echo \"\$ANSWER\"; sleep 600; :" & sleep 600; :' & cat >/dev/null`, true},
	{"a grandchild holds the pipes", `sleep 600 & ` + hello + `exit 0`, false},
	{"an escaped grandchild holds the pipes", `read line; setsid sh -c 'echo "$ANSWER"; exec sleep 600' & sleep 0.1; exit 0`, true},
	{"fork storm", `(trap "" TERM; i=0; while [ $i -lt 300 ]; do i=$((i+1)); sleep 60 & sleep 0.01; done) & ` + hello + `cat >/dev/null`, false},
	{"escaping fork storm", `read line; setsid sh -c 'trap "" TERM; echo "$ANSWER"; ` + storm + `' & cat >/dev/null`, true},
	{"stopped", hello + `kill -STOP $$`, false},
	{"zombie maker", `sh -c 'for i in 1 2 3 4 5; do sleep 0 & done; exec sleep 600' & ` + hello + `cat >/dev/null`, false},
	{"npx-like chain", `read line; sh -c 'sh -c "$CHAIN"; :'; :`, false},
}

func TestT65_NothingSurvivesClose(t *testing.T) {
	for _, guarded := range []bool{false, true} {
		for _, shape := range shapes {
			if shape.escapes && !guarded {
				continue
			}
			name := shape.name
			if guarded {
				name += ", guarded"
			}
			t.Run(name, func(t *testing.T) {
				opts := &Options{Limits: limits(t, "stop_wait=150ms", "term_wait=150ms")}
				if guarded {
					opts.Guard = guardCommand(t)
				}
				tr := open(t, script(t, shape.script), opts)
				tell(t, tr, modern, 1, "hello", "{}")
				if len(tree(mark(t))) == 0 && shape.name != "a grandchild holds the pipes" && shape.name != "an escaped grandchild holds the pipes" {
					t.Fatal("there is no tree to end")
				}
				began := time.Now()
				shut(t, tr)
				if took := time.Since(began); took > 3*time.Second {
					t.Errorf("Close took %v", took)
				}
				nothingLeft(t, mark(t), 0)
			})
		}
	}
}

// TestT65_WithoutGuard shows what the guard is for: if this fails, the test above
// proves nothing about it.
func TestT65_WithoutGuard(t *testing.T) {
	tr := open(t, script(t, `read line; setsid sh -c 'echo "$ANSWER"; exec sleep 600' & cat >/dev/null`), nil)
	tell(t, tr, modern, 1, "hello", "{}")
	shut(t, tr)
	left := tree(mark(t))
	if len(left) != 1 {
		t.Errorf("%d processes are left, want the one that left the group", len(left))
	}
	for _, pid := range left {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	nothingLeft(t, mark(t), patience)
}

func TestSTD_08_StepsOfTheEnd(t *testing.T) {
	for _, test := range []struct {
		name     string
		script   string
		from, to time.Duration // how long Close takes: each step begins a second after the one before
	}{
		{"polite", hello + `cat >/dev/null`, 0, time.Second},
		{"slow, within its time", hello + `cat >/dev/null; sleep 0.3`, 300 * time.Millisecond, time.Second},
		{"ends at TERM", hello + `exec sleep 600`, time.Second, 2 * time.Second},
		{"B215 ignores both", `trap "" TERM; ` + hello + `while :; do sleep 600; done`, 2 * time.Second, 4 * time.Second},
	} {
		for _, guard := range [][]string{nil, guardCommand(t)} {
			name := test.name
			if guard != nil {
				name += ", guarded"
			}
			t.Run(name, func(t *testing.T) {
				tr := open(t, shell(t, test.script), &Options{Guard: guard, Limits: limits(t, "stop_wait=1s", "term_wait=1s")})
				tell(t, tr, modern, 1, "hello", "{}")
				began := time.Now()
				shut(t, tr)
				if took := time.Since(began); took < test.from || took > test.to {
					t.Errorf("Close took %v, want %v to %v", took, test.from, test.to)
				}
				if err := tr.Err(); err != nil {
					t.Errorf("Err after an orderly Close: %v", err)
				}
			})
		}
	}
}

func TestSTD_08_CloseIsBoundByItsContext(t *testing.T) {
	tr := open(t, shell(t, `trap "" TERM; `+hello+`while :; do sleep 600; done`), &Options{Guard: guardCommand(t)})
	tell(t, tr, modern, 1, "hello", "{}")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := tr.Close(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the cause", err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("Close took %v", took)
	}
	nothingLeft(t, mark(t), time.Second) // it is killed at once, and not after stop_wait
}

// orphan is the worst shape: no end at end of input or TERM, and a grandchild in a
// session of its own that is no better.
const orphan = `trap "" TERM; setsid sh -c 'trap "" TERM; while :; do sleep 600; done' & ` + hello + `while :; do sleep 600; done`

func TestT66_KilledToolhostLeavesNothing(t *testing.T) {
	leakFree(t)
	var worst time.Duration
	for range *orphanRounds {
		cmd := exec.Command(self(t), roleHost, orphan)
		cmd.Env = append(os.Environ(), marker+"="+mark(t), "GORACE=atexit_sleep_ms=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("the host says %q", line)
		}
		for began := time.Now(); len(tree(mark(t))) < 6; { // host, guard, two shells and their sleeps
			if time.Since(began) > patience {
				t.Fatalf("the tree has %d processes", len(tree(mark(t))))
			}
			time.Sleep(time.Millisecond)
		}
		cmd.Process.Kill()
		cmd.Wait()
		worst = max(worst, nothingLeft(t, mark(t), 2*time.Second))
		if t.Failed() {
			return
		}
	}
	t.Logf("%d rounds, the longest took %v", *orphanRounds, worst)
}

// TestT66_KilledGuard: without its guard the server is ended by the kernel.
func TestT66_KilledGuard(t *testing.T) {
	tr := open(t, shell(t, `trap "" TERM; `+hello+`while read line; do :; done; while :; do sleep 600; done`), &Options{Guard: guardCommand(t)})
	tell(t, tr, modern, 1, "hello", "{}")
	tr.life.conn.child.(*guarded).cmd.Process.Kill()
	if err := wire(t, ended(t, tr)); !strings.Contains(err.Reason, "guard") {
		t.Errorf("reason: %s", err.Reason)
	}
	nothingLeft(t, mark(t), patience)
}

// TestT66_StrayTerm: a TERM that everything gets ends the server as the end of
// toolhost does.
func TestT66_StrayTerm(t *testing.T) {
	tr := open(t, shell(t, orphan), &Options{Guard: guardCommand(t)})
	tell(t, tr, modern, 1, "hello", "{}")
	tr.life.conn.child.(*guarded).cmd.Process.Signal(syscall.SIGTERM)
	if err := wire(t, ended(t, tr)); !strings.Contains(err.Reason, "killed by SIGKILL") {
		t.Errorf("reason: %s", err.Reason)
	}
	nothingLeft(t, mark(t), 2*time.Second)
}

// TestT71_NoSignalToAnother gives the number of a process that has been reaped to
// another one.
func TestT71_NoSignalToAnother(t *testing.T) {
	victim := exec.Command("/bin/sh", "-c", "exec sleep 600")
	victim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer victim.Process.Kill()
	tr := open(t, shell(t, hello+`exit 0`), nil)
	tell(t, tr, modern, 1, "hello", "{}")
	ended(t, tr)
	d := tr.life.conn.child.(*direct)
	shut(t, tr)
	d.cmd.Process = victim.Process // the number is used again
	d.terminate()
	d.kill()
	d.abandon()
	victim.Process.Signal(syscall.SIGUSR1) // any of these would have come first
	victim.Wait()
	if status := victim.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGUSR1 {
		t.Errorf("another process was hit: %v", stateOf(status))
	}
}

// TestWhatChildrenStillWrite: the process of a launcher may end before the one that it
// has started has written its answer.
func TestWhatChildrenStillWrite(t *testing.T) {
	tr := open(t, shell(t, `read line; (sleep 0.05; echo '{"jsonrpc":"2.0","id":1,"result":{}}') & exit 0`), &Options{Guard: guardCommand(t)})
	tell(t, tr, modern, 1, "hello", "{}")
}

// TestLastLinesOfStderr: they may come behind the exit.
func TestLastLinesOfStderr(t *testing.T) {
	tr := open(t, shell(t, `read line; (exec >/dev/null; sleep 0.05; echo "too late?" >&2) & exit 3`), &Options{Guard: guardCommand(t)})
	_, err := tr.RoundTrip(t.Context(), request(modern, 1, "hello", "{}"), new(recorder))
	if w := wire(t, err); !strings.Contains(w.Reason, "exit status 3; its last words on stderr: too late?") {
		t.Errorf("reason: %s", w.Reason)
	}
}
