// Package cli is the command line: what people type, one file per subcommand,
// over the same packs that a host program uses.
//
// Run is the whole of it. It takes the process's files as arguments, so tests
// run it in their own process; nothing here reaches for os.Stdout or os.Args.
// stdout carries answers (for serve: protocol messages and nothing else), stderr
// carries the log and errors, both scrubbed of secrets. Text that comes from
// servers is escaped before it reaches a terminal. What servers ask while a call runs
// is put to the person at the terminal, on stderr; where stdin or stderr is none,
// nobody is asked. No page is ever opened.
//
// Each command waits for the goroutines that it starts, except that one write to
// a stderr that nobody reads, and after an interrupt or a question that was withdrawn
// one read of a stdin that cannot be woken, may stay behind when the process exits.
package cli
