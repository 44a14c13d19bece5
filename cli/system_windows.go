package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// openNoWait is nothing here: opening a file does not wait.
const openNoWait = 0

// sizeOf returns the size of the console that f is, and whether it is one.
func sizeOf(f *os.File) (size terminalSize, ok bool) {
	handle := windows.Handle(f.Fd())
	var mode uint32
	if windows.GetConsoleMode(handle, &mode) != nil {
		return size, false
	}
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(handle, &info) == nil {
		size.columns = int(info.Window.Right-info.Window.Left) + 1
		size.rows = int(info.Window.Bottom-info.Window.Top) + 1
	}
	return size, true
}

// pollable reports false: handles of pipes that were inherited cannot be polled.
func pollable(f *os.File) (fast *os.File, release func(), ok bool) { return nil, nil, false }

// forbidCores does nothing: a crash leaves no file here unless someone asked the
// system for it.
func forbidCores() error { return nil }
