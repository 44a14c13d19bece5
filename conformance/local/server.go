package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// The eras of MCP.
const (
	legacy = "legacy" // 2025-11-25, with a handshake
	modern = "modern" // 2026-07-28
)

// A server is one of those that toolhost starts, and what it must give.
type server struct {
	command []string
	env     map[string]string
	pin     string // protocolVersion of the entry; "" finds the era by asking

	tools  []string // all that it lists, by its own names, in its order
	calls  []call
	prompt *call // its name and arguments, with what comes
	offers *resource

	rule  string      // of needsApproval
	asked call        // is asked about, by rule
	ran   func() bool // reports whether asked has had its effect; nil where only stdin shows it

	questions []question
	slow      func(mark string) (call, error) // a call that does not end for a while
	release   func()                          // lets go what slow calls of this server hold; nil for nothing
}

// A call is one of a tool, and its answer to the letter. An answer has no blocks
// where those would say no more than its text.
type call struct {
	name, arguments             string
	content, structured, blocks string // structured and blocks are JSON, "" for none
}

// A resource is one that a server has.
type resource struct {
	uri, text string
}

// A question is a call in which the server asks the user, what the user answers, one
// after the other, and what comes of it.
type question struct {
	call
	mode    string // form or url
	message string
	url     string   // of mode url
	answers []string // the host's
	problem string   // what the second asking says of the first answer; "" where it is the last
}

// A pipe is a named pipe, on which a server that reads it like a file waits.
type pipe string

func (p pipe) make() error { return exec.Command("mkfifo", string(p)).Run() }

// release lets everybody go who waits for the pipe, as the end of a file does.
func (p pipe) release() {
	file, err := os.OpenFile(string(p), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		file.Close()
	}
	if err != nil && !errors.Is(err, syscall.ENXIO) && !errors.Is(err, os.ErrNotExist) {
		panic(err) // a pipe of our own
	}
}
