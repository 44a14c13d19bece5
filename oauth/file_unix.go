//go:build unix

package oauth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noFollow keeps a symbolic link from being opened in place of a file of ours.
const noFollow = unix.O_NOFOLLOW

// tryLock takes the lock of an open file, which ends when the file is closed.
func tryLock(f *os.File) error {
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
	case unix.EWOULDBLOCK, unix.EINTR:
		return errLocked
	default:
		return err
	}
}

// openOwn opens a file that holds secrets for reading, once it is certain that nobody
// else can have written or read it (T58). What is checked is what was opened.
func openOwn(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) // a FIFO would wait
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	} else if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link, and is not used", path)
	} else if err != nil {
		return nil, plain(err)
	}
	info, err := f.Stat()
	wrong := ""
	switch stat, ok := infoStat(info); {
	case err != nil:
		wrong = "cannot be looked at"
	case !info.Mode().IsRegular():
		wrong = "is no regular file"
	case ok && int(stat.Uid) != os.Geteuid():
		wrong = "belongs to another user"
	case ok && stat.Nlink > 1:
		wrong = "has another name too (a hard link)"
	case info.Mode().Perm()&0o077 != 0:
		wrong = fmt.Sprintf("can be read or written by others (mode %04o; it must be 0600)", info.Mode().Perm())
	}
	if wrong != "" {
		f.Close()
		return nil, fmt.Errorf("%s %s; what it holds may be known or forged, so remove it, and sign in anew", path, wrong)
	}
	return f, nil
}

func infoStat(info fs.FileInfo) (*syscall.Stat_t, bool) {
	if info == nil {
		return nil, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return stat, ok
}
