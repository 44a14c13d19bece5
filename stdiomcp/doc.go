// Package stdiomcp carries MCP over the stdin and stdout of a child process, in
// both eras: one JSON-RPC message a line (2026-07-28 basic/transports/stdio). What a
// revision allows is asked of the mcpclient.Revision row.
//
// A Transport is one life of one process. It starts with the first message, by exec
// of the argument vector and never by a shell, in a process group of its own, with a
// short list of our environment and the variables of its entry. A process that has
// ended is not started again by the Transport, with one exception: a server that
// ends itself at the probe for the modern era is started once more for a handshake.
// Restarting is up to the owner, who sees the end in Done.
//
// # The end
//
// To stop a server its stdin is closed; what is left after the limit stop_wait gets
// SIGTERM, and after term_wait SIGKILL. What has to go is not only the process but
// its whole group and, where there is a guard, everything that descends from it.
//
// The guard is this program run again (Guard), as the parent of one server. It takes
// no part in the conversation: the server inherits its stdin, stdout and stderr. On
// Linux it inherits every orphan that descends from the server, and when toolhost is
// gone, however that went, it ends them all. Other systems have no guard: there a
// process that leaves the group outlives us, and on Unix the group outlives a
// toolhost that was killed. On Windows the server lives in a job, which the system
// ends with us.
//
// A process or group is signalled only while its leader has not been reaped, so that
// no signal hits a process which was given the same number since.
//
// # stdout and stderr
//
// A line on stdout that is no message is skipped; many in a row end the connection.
// stderr is read always. It is never taken for an error: it is logged, bounded, and
// its last lines are quoted when the process ends.
//
// # Goroutines
//
// A started Transport has one goroutine each that writes, reads, reads stderr,
// watches the process and decides about its end; none waits for another while the
// connection works. A cancel, and a question of the server, has a goroutine of its own until it
// is on its way. Close waits for all of them.
//
// Errors are *mcpclient.WireError, *limit.Error, or the cause of the context. No
// text of an error or log holds a value of the entry's environment.
package stdiomcp
