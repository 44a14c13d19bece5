//go:build unix

package stdiomcp

import (
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A direct is a server whose parent we are: the leader of a process group. What
// leaves the group is out of reach.
type direct struct {
	cmd   *exec.Cmd
	ended chan struct{}
	how   string // set before ended is closed

	mu     sync.Mutex
	reaped bool // guarded by mu; the group's number may belong to others now
}

func startDirect(o *order) (child, error) {
	d := &direct{ended: make(chan struct{}), cmd: &exec.Cmd{
		Path: o.path, Args: o.args, Env: o.env, Dir: o.dir,
		Stdin: o.stdin, Stdout: o.stdout, Stderr: o.stderr,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}}
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	go d.wait()
	return d, nil
}

// wait ends what the process has left behind in its group, and reaps it, in this
// order and in one step: once it is reaped, the group's number can be another's.
func (d *direct) wait() {
	if !awaitExit(d.cmd.Process.Pid) {
		d.cmd.Wait()
	}
	d.mu.Lock()
	if d.cmd.ProcessState == nil {
		syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
		d.cmd.Wait() // for the process alone: its files are passed as they are
	}
	d.reaped = true
	d.mu.Unlock()
	if status, ok := d.cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		d.how = stateOf(status)
	}
	close(d.ended)
}

func (d *direct) signal(signals ...syscall.Signal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reaped {
		return
	}
	for _, s := range signals {
		syscall.Kill(-d.cmd.Process.Pid, s)
	}
}

// A stopped process can act on a signal only when it goes on.
func (d *direct) terminate() { d.signal(syscall.SIGTERM, syscall.SIGCONT) }

func (d *direct) kill() { d.signal(syscall.SIGKILL) }

func (d *direct) abandon() { d.kill() }

func (d *direct) exited() <-chan struct{} { return d.ended }

func (d *direct) gone() <-chan struct{} { return d.ended }

func (d *direct) state() string { return d.how }

// stateOf words how a process has ended.
func stateOf(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "killed by " + unix.SignalName(status.Signal())
	}
	return exitStatus(status.ExitStatus())
}
