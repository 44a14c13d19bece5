//go:build unix

package cli

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openNoWait opens a pipe without waiting for who writes it.
const openNoWait = unix.O_NONBLOCK

// control runs call on a file's descriptor and returns its error.
func control(conn syscall.RawConn, call func(fd uintptr) error) error {
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = call(fd) }); err != nil {
		return err
	}
	return failed
}

// sizeOf returns the size of the terminal that f is, and whether it is one.
func sizeOf(f *os.File) (size terminalSize, ok bool) {
	conn, err := f.SyscallConn()
	if err != nil {
		return size, false
	}
	var window *unix.Winsize
	if err := control(conn, func(fd uintptr) (err error) {
		window, err = unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ)
		return err
	}); err != nil {
		return size, false
	}
	return terminalSize{columns: int(window.Col), rows: int(window.Row)}, true
}

// forbidCores keeps a crash from writing the memory of this process, with the
// secrets in it, to a file. The limit can be raised again by who debugs it.
func forbidCores() error {
	var cores unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &cores); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	cores.Cur = 0
	return os.NewSyscallError("setrlimit", unix.Setrlimit(unix.RLIMIT_CORE, &cores))
}
