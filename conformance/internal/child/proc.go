package child

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process holds and has used, read from /proc.
type Usage struct {
	Files   int           // open file descriptors
	Threads int           // of the operating system
	RSS     int64         // resident bytes
	CPU     time.Duration // user and system time so far
}

// ErrNoProc is returned where there is no /proc.
var ErrNoProc = errors.New("no /proc here: these figures need Linux")

// UsageOf reads the figures of a process.
func UsageOf(pid int) (Usage, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		if _, missing := os.Stat("/proc/self/stat"); missing != nil {
			return Usage{}, ErrNoProc
		}
		return Usage{}, err
	}
	// The second field is the name in brackets and may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const utime, stime, threads, rss = 11, 12, 17, 21
	if len(fields) <= rss {
		return Usage{}, fmt.Errorf("%s/stat: %d fields", dir, len(fields))
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(fields[i], 10, 64) // the kernel writes numbers
		return n
	}
	files, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return Usage{}, err
	}
	const tick = time.Second / 100 // USER_HZ, the same on every Linux that Go runs on
	return Usage{
		Files:   len(files),
		Threads: int(number(threads)),
		RSS:     number(rss) * int64(os.Getpagesize()),
		CPU:     time.Duration(number(utime)+number(stime)) * tick,
	}, nil
}

// A Process is one that Marked found.
type Process struct {
	PID     int
	Command string
}

// Marked returns the processes whose environment holds mark, as in "NAME=value". A
// process and all that it starts carry the marks that it was started with, so this
// finds what a run has left behind.
func Marked(mark string) ([]Process, error) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(folders) == 0 {
		return nil, ErrNoProc
	}
	var found []Process
	for _, folder := range folders {
		environ, err := os.ReadFile(folder + "/environ")
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+mark+"\x00")) {
			continue // it ended meanwhile, or belongs to somebody else
		}
		line, err := os.ReadFile(folder + "/cmdline")
		if line = bytes.TrimRight(line, "\x00"); err != nil || len(line) == 0 {
			continue // it has ended and waits for its parent
		}
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		found = append(found, Process{pid, strings.ReplaceAll(string(line), "\x00", " ")})
	}
	return found, nil
}
