package stdiomcp

import "strconv"

// exitStatus words the exit code of a process.
func exitStatus(code int) string { return "exit status " + strconv.Itoa(code) }
