package stdiomcp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// orphanStep is what a server gets at each step when toolhost is gone: after
	// the end of its stdin, and after SIGTERM.
	orphanStep = 250 * time.Millisecond

	// sweepPause is how often a guard that kills looks again, besides whenever a
	// process of its own ends: an orphan that it inherits is not announced.
	sweepPause = 20 * time.Millisecond
)

// errNotAlone says that a guard was started by someone else than a Transport.
var errNotAlone = errors.New("guard is run by toolhost itself, for each server that it starts; there is nothing to call it for")

// Guard is what a guard does: it takes an order from a Transport, starts that
// server with its own stdin, stdout, stderr, environment and directory, and returns
// when nothing that descends from the server is left. It is the whole of a process
// (it changes signals, file descriptors and the process's place in the system), to be
// called before anything else was done. The error is for people who call it.
func Guard() error {
	// The server is ended by the kernel when the thread that started it ends: this
	// one, which lives as long as the process.
	runtime.LockOSThread()
	for _, fd := range []int{controlFD, reportFD} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			return errNotAlone
		}
		syscall.CloseOnExec(fd)
	}
	control := os.NewFile(controlFD, "control")
	orders := bufio.NewReader(control)
	path, args, err := readOrder(orders)
	if err != nil {
		return errNotAlone
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	g := &guard{report: os.NewFile(reportFD, "report")}

	// Before the server starts: the end of a process must not be missed. What is
	// taken here, exec gives back, so that the server has its signals as usual.
	ended, stray := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	signal.Notify(stray, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)

	g.server, err = syscall.ForkExec(path, args, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		errno, _ := errors.AsType[syscall.Errno](err)
		g.say(reportRefused, int(errno))
		return nil
	}
	fmt.Fprintln(g.report, reportStarted)
	letGo()
	g.run(readCommands(orders), ended, stray)
	return nil
}

// letGo replaces stdin, stdout and stderr, so that their ends are the server's alone
// and are seen when the server closes them.
func letGo() {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		unix.Dup3(null, fd, 0)
	}
	unix.Close(null)
}

// readCommands returns the commands as they come. The channel is closed when
// toolhost is gone.
func readCommands(r io.ByteReader) <-chan byte {
	commands := make(chan byte)
	go func() {
		defer close(commands)
		for {
			c, err := r.ReadByte()
			if err != nil {
				return
			}
			commands <- c
		}
	}()
	return commands
}

// A guard is the parent of one server, and of all that is orphaned below it. Only
// the goroutine of run signals and reaps, so that a process that it has just seen
// keeps its number until it has signalled it.
type guard struct {
	report *os.File
	server int  // the server's process and its group; reaped last, which keeps both numbers taken
	dead   bool // the server's process has ended
}

// run ends when nothing is left.
func (g *guard) run(commands <-chan byte, ended, stray <-chan os.Signal) {
	sweep := time.NewTicker(time.Hour)
	defer sweep.Stop()
	var orphaned <-chan time.Time
	killing, asked := false, false
	for {
		left := g.reap()
		if g.dead && len(left) == 0 {
			break
		}
		if killing {
			g.signal(left, syscall.SIGKILL)
		}
		kill := func() {
			killing = true
			sweep.Reset(sweepPause)
		}
		ask := func() {
			asked = true
			g.signal(left, syscall.SIGTERM)
		}
		select {
		case <-ended:
		case <-sweep.C:
		case c, open := <-commands:
			switch {
			case !open: // our Transport is gone, and the server's stdin with it
				commands = nil
				orphaned = time.After(orphanStep)
			case c == commandTerminate:
				ask()
			case c == commandKill:
				kill()
			}
		case <-stray: // someone ends the whole system, or means the server
			if !asked {
				ask()
			}
			orphaned = time.After(orphanStep)
		case <-orphaned:
			if asked {
				kill()
				continue
			}
			ask()
			orphaned = time.After(orphanStep)
		}
	}
	// What left the group and cannot be found in /proc is found here.
	syscall.Kill(-g.server, syscall.SIGKILL)
	syscall.Wait4(g.server, nil, 0, nil)
}

// reap reaps what has ended, but for the server's process, and returns the other
// processes of ours that have not. What the server has left behind is ours as soon as
// it has ended. That is reported first: where there are many processes, finding ours
// takes longer than toolhost waits for how it ended.
func (g *guard) reap() (left []process) {
	if !g.dead {
		var status syscall.WaitStatus
		if status, g.dead = peek(g.server); g.dead {
			g.say(reportEnded, int(status))
		}
	}
	for _, p := range children(os.Getpid()) {
		switch {
		case p.pid == g.server:
		case p.zombie:
			syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
		default:
			left = append(left, p)
		}
	}
	return left
}

func (g *guard) say(format string, number int) { fmt.Fprintf(g.report, format+"\n", number) }

// signal signals the server's group, and what has left it. What descends from
// something that has left becomes our child when that has ended.
func (g *guard) signal(left []process, s syscall.Signal) {
	send := func(pid int) {
		syscall.Kill(pid, s)
		if s != syscall.SIGKILL {
			syscall.Kill(pid, syscall.SIGCONT) // a stopped one can act on it only then
		}
	}
	send(-g.server)
	for _, p := range left {
		if p.group != g.server {
			send(p.pid)
		}
	}
}

// peek returns the wait status of a child that has ended, without reaping it.
func peek(pid int) (syscall.WaitStatus, bool) {
	// The part of siginfo_t that is filled in for a child; the union in it is
	// aligned as a pointer is.
	var info struct {
		signo, errno, code int32
		_                  [unsafe.Sizeof(uintptr(0))/4 - 1]int32
		pid                int32
		uid                uint32
		status             int32
		_                  [128]byte
	}
	err := unix.Waitid(unix.P_PID, pid, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err != nil || int(info.pid) != pid {
		return 0, false
	}
	const exited = 1 // CLD_EXITED; the others are signals
	if info.code == exited {
		return syscall.WaitStatus(info.status << 8), true
	}
	return syscall.WaitStatus(info.status), true
}
