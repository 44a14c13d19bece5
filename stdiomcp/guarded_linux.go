package stdiomcp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// canGuard says that the system lets a guard find all that descends from a server.
const canGuard = true

// The conversation with a guard, on two pipes that it inherits. We write the order
// (see writeOrder), and then bytes, each a command; the end of the pipe says that we
// are gone. It writes lines: how the start went, how the server's own process ended;
// the end of the pipe says that the guard has.
const (
	controlFD = 3
	reportFD  = 4

	commandTerminate = 't'
	commandKill      = 'k'

	reportStarted = "started"
	reportRefused = "refused %d" // the errno of exec
	reportEnded   = "ended %d"   // the status as wait4 gives it
)

// guardTime bounds how long a guard may take to start a server.
const guardTime = 10 * time.Second

// A guarded is a server whose parent is a guard.
type guarded struct {
	cmd     *exec.Cmd // of the guard
	control *os.File
	reports *bufio.Reader
	ended   chan struct{}
	how     string // set before ended is closed
	over    chan struct{}
}

// errGuard wraps what went wrong with the guard and not with the server.
var errGuard = errors.New("its guard failed")

func startGuarded(o *order, guard []string) (child, error) {
	orders, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer orders.Close()
	reports, report, err := os.Pipe()
	if err != nil {
		control.Close()
		return nil, err
	}
	defer report.Close()
	g := &guarded{
		control: control, reports: bufio.NewReader(reports),
		ended: make(chan struct{}), over: make(chan struct{}),
		cmd: &exec.Cmd{
			Path: guard[0], Args: guard, Env: o.env, Dir: o.dir,
			Stdin: o.stdin, Stdout: o.stdout, Stderr: o.stderr,
			ExtraFiles: []*os.File{orders, report},
			// Out of our group, whose signals are meant for us.
			SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
		},
	}
	if err := g.cmd.Start(); err != nil {
		control.Close()
		reports.Close()
		return nil, fmt.Errorf("%w: %w", errGuard, err)
	}
	report.Close() // else the end of the pipe would never be seen
	if err := g.open(o, reports); err != nil {
		control.Close()
		g.cmd.Process.Kill()
		g.cmd.Wait()
		reports.Close()
		return nil, err
	}
	go func() {
		defer reports.Close()
		g.watch()
	}()
	return g, nil
}

// open gives the guard its order and waits for what comes of it.
func (g *guarded) open(o *order, reports *os.File) error {
	deadline := time.Now().Add(guardTime)
	g.control.SetWriteDeadline(deadline)
	reports.SetReadDeadline(deadline)
	if err := writeOrder(g.control, o); err != nil {
		return fmt.Errorf("%w: %w", errGuard, err)
	}
	line, err := g.reports.ReadString('\n')
	if err != nil {
		return fmt.Errorf("%w: %w", errGuard, err)
	}
	var errno int
	switch line = strings.TrimSpace(line); {
	case line == reportStarted:
		g.control.SetWriteDeadline(time.Time{})
		reports.SetReadDeadline(time.Time{})
		return nil
	case scan(line, reportRefused, &errno):
		return syscall.Errno(errno)
	}
	return errGuard
}

// scan reads a report with one number.
func scan(line, format string, number *int) bool {
	n, err := fmt.Sscanf(line, format, number)
	return n == 1 && err == nil
}

// watch takes the guard's reports to their end.
func (g *guarded) watch() {
	status := 0
	for known := false; ; {
		line, err := g.reports.ReadString('\n')
		if err != nil {
			if !known { // then the kernel has ended the server's process with it
				g.how = "its guard has ended"
				close(g.ended)
			}
			break
		}
		if !known && scan(strings.TrimSpace(line), reportEnded, &status) {
			known = true
			g.how = stateOf(syscall.WaitStatus(status))
			close(g.ended)
		}
	}
	g.cmd.Wait()
	g.control.Close()
	close(g.over)
}

// command tells the guard something. One that has ended has nothing left to do.
func (g *guarded) command(c byte) {
	g.control.SetWriteDeadline(time.Now().Add(time.Second)) // it may be stopped
	g.control.Write([]byte{c})
}

func (g *guarded) terminate() { g.command(commandTerminate) }

func (g *guarded) kill() { g.command(commandKill) }

// abandon ends the guard, which ends the server's own process.
func (g *guarded) abandon() { g.cmd.Process.Kill() }

func (g *guarded) exited() <-chan struct{} { return g.ended }

func (g *guarded) gone() <-chan struct{} { return g.over }

func (g *guarded) state() string { return g.how }

// writeOrder writes the path and the argument vector: how many strings, and each
// with a NUL behind it. They are not in the guard's own arguments, which everyone on
// the machine can read as long as it runs.
func writeOrder(w io.Writer, o *order) error {
	buf := fmt.Appendf(nil, "%d\n", len(o.args)+1)
	for _, s := range append([]string{o.path}, o.args...) {
		buf = append(append(buf, s...), 0)
	}
	_, err := w.Write(buf)
	return err
}

// maxWords bounds what an order may hold: more than any system takes.
const maxWords = 1 << 20

// readOrder reads what writeOrder wrote.
func readOrder(r *bufio.Reader) (path string, args []string, err error) {
	var n int
	head, err := r.ReadString('\n')
	if err != nil {
		return "", nil, err
	}
	if !scan(head, "%d\n", &n) || n < 2 || n > maxWords {
		return "", nil, errors.New("malformed order")
	}
	words := make([]string, n)
	for i := range words {
		word, err := r.ReadString(0)
		if err != nil {
			return "", nil, err
		}
		words[i] = strings.TrimSuffix(word, "\x00")
	}
	return words[0], words[1:], nil
}
