package stdiomcp

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tree returns the processes, zombies apart, whose environment holds the mark: the
// server, its guard, and all that descends from them.
func tree(mark string) []int {
	var found []int
	files, _ := filepath.Glob("/proc/[1-9]*/environ")
	for _, name := range files {
		env, err := os.ReadFile(name)
		if err == nil && bytes.Contains(env, []byte(marker+"="+mark)) {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			found = append(found, pid)
		}
	}
	return found
}

// nothingLeft waits until no process of the tree is left, and returns how long that
// took.
func nothingLeft(t testing.TB, mark string, within time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		left := tree(mark)
		switch took := time.Since(began); {
		case len(left) == 0:
			return took
		case took > within:
			for _, pid := range left {
				line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				t.Errorf("after %v process %d is left: %s", took, pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
				syscall.Kill(pid, syscall.SIGKILL)
			}
			return took
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// zombies lists the processes that we have not reaped.
func zombies() string {
	state := ""
	for _, p := range children(os.Getpid()) {
		if p.zombie {
			state += fmt.Sprintf("zombie %d\n", p.pid)
		}
	}
	return state
}

func openFiles() int {
	files, _ := os.ReadDir("/proc/self/fd")
	return len(files)
}

// pid is the guard's.
func (g *guarded) pid() int { return g.cmd.Process.Pid }
