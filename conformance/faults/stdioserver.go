package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// This file is what this program is when it is started as a server over stdio: a
// healthy one, but for its act.

// stdioRole is the first argument then. The name of the act, the era, and the file that
// keeps what comes on stdin follow.
const stdioRole = "stdio-server"

// An act is how a server over stdio misbehaves. What is nil is healthy.
type act struct {
	name  string
	begin func(s *speaker)
	hear  func(s *speaker, m heard) (done bool) // before a line is answered; the only one that reads waits for it
	say   func(s *speaker, text []byte)         // in the place of writing a line to stdout
	end   func(s *speaker)                      // at the end of stdin, in the place of an exit with 0
}

// A heard is a line that came.
type heard struct {
	id     json.RawMessage
	method string
	text   string
}

// calls reports whether it calls a tool.
func (m heard) calls(tool string) bool {
	return m.method == "tools/call" && strings.Contains(m.text, `"name":"`+tool+`"`)
}

// A speaker is a running server.
type speaker struct {
	act     *act
	era     string
	process *fakeserver.Process

	mu   sync.Mutex // of stdout
	said int        // lines, through say; guarded by mu
}

// playStdio plays until stdin ends or the act does.
func playStdio(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("%s takes an act, an era and a file", stdioRole)
	}
	s := &speaker{era: args[1]}
	for _, f := range stdioActs() {
		if f.act.name == args[0] {
			s.act = f.act
		}
	}
	if s.act == nil {
		return fmt.Errorf("no act is called %q", args[0])
	}
	kept, err := os.OpenFile(args[2], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	opts := fakeserver.Options{}
	if s.era == modern {
		opts.Era = fakeserver.Modern
	}
	s.process = fakeserver.New(opts).Process(s)
	fmt.Fprintf(os.Stderr, "{\"mode\":%q,\"pid\":%d}\n", s.act.name, os.Getpid())
	if s.act.begin != nil {
		s.act.begin(s)
	}
	for lines := bufio.NewReader(os.Stdin); ; {
		line, err := lines.ReadBytes('\n')
		if _, keepErr := kept.Write(line); keepErr != nil {
			return keepErr
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		s.take(line)
	}
	if s.act.end != nil {
		s.act.end(s)
	}
	return nil
}

func (s *speaker) take(line []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal(line, &m) == nil && s.act.hear != nil && s.act.hear(s, heard{m.ID, m.Method, string(line)}) {
		return
	}
	s.process.Take(bytes.TrimSuffix(line, []byte("\n")))
}

// Stdout, Stderr and Exit make a speaker the End of its process.
func (s *speaker) Stdout(text []byte) {
	if s.act.say == nil {
		s.put(string(text))
		return
	}
	s.act.say(s, text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said++
}

func (s *speaker) Stderr(text []byte) { os.Stderr.Write(text) }
func (s *speaker) Exit(code int)      { os.Exit(code) }

// put writes to stdout as it is. When nobody reads any more, it is over.
func (s *speaker) put(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Stdout.WriteString(text); err != nil {
		os.Exit(5)
	}
}

// answers answers a call with a text, in either era.
func (s *speaker) answers(m heard, text string) {
	s.put(m.answer(text) + "\n")
}

// answer is the answer to a call.
func (m heard) answer(text string) string {
	return `{"jsonrpc":"2.0","id":` + string(m.id) + `,"result":{"resultType":"complete","content":[{"type":"text","text":` + quote(text) + `}]}}`
}
