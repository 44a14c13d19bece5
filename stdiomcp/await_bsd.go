//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package stdiomcp

import "golang.org/x/sys/unix"

// awaitExit waits until a process of ours has ended and leaves it to be reaped. It
// returns false when the system cannot do that. It does not use waitid, which on
// macOS also returns for a process that is stopped (golang.org/issue/19314).
func awaitExit(pid int) bool {
	queue, err := unix.Kqueue()
	if err != nil {
		return false
	}
	defer unix.Close(queue)
	var watch unix.Kevent_t
	unix.SetKevent(&watch, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	watch.Fflags = unix.NOTE_EXIT
	changes, events := []unix.Kevent_t{watch}, make([]unix.Kevent_t, 1)
	for {
		switch _, err := unix.Kevent(queue, changes, events, nil); err {
		case nil, unix.ESRCH: // the second: it has ended already
			return true
		case unix.EINTR:
			changes = nil // they were made
		default:
			return false
		}
	}
}
