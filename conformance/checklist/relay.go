package main

import (
	"encoding/gob"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// A local server is played in this process, where the case is. What toolhost starts
// is a relay: this program once more, which connects to a listener of ours and hands
// its stdin, its signals and its end to us, and what we say to its stdout and stderr.

// relayRole begins the argument that makes this program a relay; the address and the
// name of the server follow, as in "relay@127.0.0.1:4711@b".
const relayRole = "relay@"

// habits are what a relay can be told to do.
var habits = map[string]bool{
	"ignores-eof":  true, // it does not end when its stdin does
	"ignores-term": true, // nor at SIGTERM
	"leaves":       true, // it starts a process that stays when it ends
	"bytewise":     true, // it writes to stdout a byte at a time
}

// grandchild is the name of what a relay leaves behind.
const grandchild = "grandchild"

// A greeting is what a relay says first.
type greeting struct {
	Server string // whose process it is
	Kind   string // "" or grandchild
	Env    []string
	Args   []string
}

// A heard is what happened to a relay: bytes of stdin, or inputEnded or terminated.
type heard struct {
	Bytes []byte
	What  string
}

// A said is what a relay is to do.
type said struct {
	Habits         []string // the first time
	Stdout, Stderr []byte
	End            bool
	Code           int
}

// relay plays the role that the arguments name, if they do, and does not return then.
func relay(args []string) {
	if len(args) < 2 || !strings.HasPrefix(args[1], relayRole) {
		return
	}
	address, server, _ := strings.Cut(strings.TrimPrefix(args[1], relayRole), "@")
	kind := ""
	if len(args) > 2 {
		kind = args[2]
	}
	if err := runRelay(address, greeting{server, kind, os.Environ(), args}); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		leave(70)
	}
	leave(0)
}

// leave ends the process at once: with the race detector, os.Exit would first sleep.
func leave(code int) { syscall.Exit(code) }

// runRelay ends when the other side is gone: nothing of a run outlives it.
func runRelay(address string, hello greeting) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	up, down := gob.NewEncoder(conn), gob.NewDecoder(conn)
	if err := up.Encode(hello); err != nil {
		return err
	}
	var first said
	if err := down.Decode(&first); err != nil {
		return err
	}
	has := func(habit string) bool { return slices.Contains(first.Habits, habit) }
	var mu sync.Mutex // of up
	tell := func(h heard) {
		mu.Lock()
		defer mu.Unlock()
		_ = up.Encode(h) // when it is gone, down ends
	}
	if has("leaves") {
		left := exec.Command(os.Args[0], os.Args[1], grandchild)
		if err := left.Start(); err != nil {
			return err
		}
	}
	go func() {
		for range signals {
			tell(heard{What: terminated})
			if !has("ignores-term") {
				leave(1)
			}
		}
	}()
	if hello.Kind == "" {
		go readInput(tell)
	}
	for {
		var s said
		err := down.Decode(&s)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case s.End:
			leave(s.Code)
		}
		os.Stderr.Write(s.Stderr)
		for len(s.Stdout) > 0 {
			n := len(s.Stdout)
			if has("bytewise") {
				n = 1
			}
			os.Stdout.Write(s.Stdout[:n])
			s.Stdout = s.Stdout[n:]
		}
	}
}

func readInput(tell func(heard)) {
	buf := make([]byte, 64<<10)
	for {
		n, err := os.Stdin.Read(buf)
		if n > 0 {
			tell(heard{Bytes: buf[:n]})
		}
		if err != nil {
			tell(heard{What: inputEnded})
			return
		}
	}
}
