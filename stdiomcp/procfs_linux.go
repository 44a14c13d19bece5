package stdiomcp

import (
	"bytes"
	"os"
	"strconv"
)

// A process is a line of /proc.
type process struct {
	pid, parent, group int
	zombie             bool // it has ended and is not reaped
}

// children returns the processes whose parent is that one. It reads all of /proc:
// the file that lists the children of a thread is not there in every kernel, and
// leaves out some when others end while it is read.
func children(parent int) []process {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	var found []process
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it is gone
		}
		if p, ok := parseStat(stat); ok && p.parent == parent {
			found = append(found, p)
		}
	}
	return found
}

// parseStat reads the beginning of /proc/PID/stat: "pid (name) state ppid pgrp ...".
// The name may hold anything, parentheses too.
func parseStat(stat []byte) (p process, ok bool) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return p, false
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 3 {
		return p, false
	}
	p.zombie = string(fields[0]) == "Z" || string(fields[0]) == "X"
	for _, number := range []struct {
		text []byte
		to   *int
	}{{bytes.TrimSpace(stat[:open]), &p.pid}, {fields[1], &p.parent}, {fields[2], &p.group}} {
		n, err := strconv.Atoi(string(number.text))
		if err != nil {
			return p, false
		}
		*number.to = n
	}
	return p, true
}
