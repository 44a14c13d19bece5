package oauth

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// noFollow has no counterpart: who may make links in a folder of ours may do anything.
const noFollow = 0

// tryLock takes the lock of an open file, which ends when the file is closed.
func tryLock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if err == windows.ERROR_LOCK_VIOLATION || err == windows.ERROR_IO_PENDING {
		return errLocked
	}
	return err
}

// openOwn opens a file for reading. Who else can is what its folder, in the user's
// profile, says.
func openOwn(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, plain(err)
	}
	return f, err
}
