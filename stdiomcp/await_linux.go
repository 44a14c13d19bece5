package stdiomcp

import "golang.org/x/sys/unix"

// awaitExit waits until a process of ours has ended and leaves it to be reaped. It
// returns false when the system cannot do that.
func awaitExit(pid int) bool {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return err == nil
		}
	}
}
