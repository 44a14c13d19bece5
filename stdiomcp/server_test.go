package stdiomcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A testServer is the other end of the pipe, written without the code under test.
type testServer struct {
	habits []string
	out    *bufio.Writer
	held   [][]byte // requests of "held" until two are there
}

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func (s *testServer) has(habit string) bool { return slices.Contains(s.habits, habit) }

// number returns N of the habit "name=N", or 0.
func (s *testServer) number(name string) int {
	for _, habit := range s.habits {
		if value, ok := strings.CutPrefix(habit, name+"="); ok {
			n, _ := strconv.Atoi(value)
			return n
		}
	}
	return 0
}

func (s *testServer) line(format string, args ...any) {
	fmt.Fprintf(s.out, format+"\n", args...)
	s.out.Flush()
}

// serve is a server with habits, each a word.
func serve(habits []string) {
	s := &testServer{habits: habits, out: bufio.NewWriterSize(os.Stdout, 1<<20)}
	if s.has("ignores-term") {
		signal.Ignore(syscall.SIGTERM)
	}
	if n := s.number("exits-at-once"); n != 0 {
		fmt.Fprintln(os.Stderr, "Error: Cannot find module 'x'")
		os.Exit(n)
	}
	if n := s.number("stderr-first"); n != 0 {
		s.flood(n)
	}
	if s.has("banner") {
		fmt.Printf("Welcome to \x1b[1mthe server\x1b[0m\x00!\r\n\n\n  \n")
	}
	if s.has("logo") {
		fmt.Print(strings.Repeat("\x1b[38;5;200m#\x1b[0m", 50) + "\n{\"level\":30,\"msg\":\"listening\"}\n42\n\"text\"\n[]\n")
	}
	if n := s.number("noise"); n != 0 {
		fmt.Print(strings.Repeat("all work and no play\n", n))
	}
	if n := s.number("noise-line"); n != 0 {
		fmt.Print(strings.Repeat("x", n) + "\n")
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		text, err := in.ReadBytes('\n')
		if len(text) > 0 {
			s.message(text)
		}
		if err != nil {
			break
		}
	}
	if s.has("ignores-eof") {
		time.Sleep(time.Hour) // select {} would be a deadlock, which ends the process
	}
}

// flood writes that many MiB to stderr.
func (s *testServer) flood(mib int) {
	chunk := bytes.Repeat([]byte("WARNING a line of log output that is sixty-four bytes long .....\n"), 1<<20/65)
	for range mib {
		os.Stderr.Write(chunk)
	}
}

func (s *testServer) message(text []byte) {
	var m rpc
	if err := json.Unmarshal(text, &m); err != nil {
		s.line(`{"jsonrpc":"2.0","method":"test/broken","params":%q}`, text)
		return
	}
	if s.has("tells-lines") {
		quoted, _ := json.Marshal(strings.TrimSuffix(string(text), "\n"))
		s.line(`{"jsonrpc":"2.0","method":"test/line","params":[%s]}`, quoted)
	}
	switch m.Method {
	case "echo":
		s.line(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, m.Params)
	case "env":
		env, _ := json.Marshal(os.Environ())
		s.line(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, env)
	case "args":
		args, _ := json.Marshal(os.Args)
		s.line(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, args)
	case "dir":
		dir, _ := os.Getwd()
		s.line(`{"jsonrpc":"2.0","id":%s,"result":%q}`, m.ID, dir)
	case "raw": // params: {"lines": [...]}, with %d for the id
		var p struct{ Lines []string }
		json.Unmarshal(m.Params, &p)
		for _, line := range p.Lines {
			s.out.WriteString(strings.ReplaceAll(line, "%d", string(m.ID)))
		}
		s.out.Flush()
	case "bytes": // answers one byte a write
		for _, b := range fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, m.Params) {
			os.Stdout.Write([]byte{b})
		}
	case "big": // params: the size of the answer
		n, _ := strconv.Atoi(string(m.Params))
		s.line(`{"jsonrpc":"2.0","id":%s,"result":"%s"}`, m.ID, strings.Repeat("x", n))
	case "endless": // a line without an end
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		for {
			if _, err := os.Stdout.Write(chunk); err != nil {
				return
			}
		}
	case "hang":
	case "held":
		if s.held = append(s.held, text); len(s.held) == 2 {
			slices.Reverse(s.held)
			for _, text := range s.held {
				json.Unmarshal(text, &m)
				s.line(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, m.Params)
			}
			s.held = nil
		}
	case "exit":
		fmt.Fprintln(os.Stderr, "panic: out of memory")
		n, _ := strconv.Atoi(string(m.Params))
		os.Exit(n)
	case "last-words": // answers and ends
		s.line(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, m.Params)
		os.Exit(0)
	case "die":
		me, _ := os.FindProcess(os.Getpid())
		me.Kill()
		time.Sleep(time.Hour)
	case "close-stdout":
		os.Stdout.Close()
	case "close-stdin": // answers and reads no more
		s.line(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, m.Params)
		os.Stdin.Close()
		time.Sleep(time.Hour) // select {} would be a deadlock, which ends the process
	case "stderr": // params: MiB
		n, _ := strconv.Atoi(string(m.Params))
		s.flood(n)
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	case "say": // params: a line for stderr
		var text string
		json.Unmarshal(m.Params, &text)
		fmt.Fprintln(os.Stderr, text)
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	case "chatter": // writes 1 MiB before it reads on (B223)
		for range 1024 {
			s.line(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%q}}`, strings.Repeat("n", 1000))
		}
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	case "subscriptions/listen":
		s.line(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID)
	case "server/discover", "initialize":
		s.handshake(m)
	}
	if s.has("slow-reader") {
		time.Sleep(20 * time.Millisecond)
	}
}

// handshake plays servers of both eras.
func (s *testServer) handshake(m rpc) {
	const capabilities = `"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}`
	switch {
	case m.Method == "initialize":
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25",%s}}`, m.ID, capabilities)
	case s.has("modern"):
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],%s}}`, m.ID, capabilities)
	case s.has("mute"):
	case s.has("text-error"):
		s.line("I do not know what that is")
	case s.has("null-id"):
		s.line(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`)
	case s.has("hangs-up"):
		fmt.Fprintln(os.Stderr, "expected initialize")
		os.Exit(1)
	case s.number("code") != 0:
		s.line(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`, m.ID, s.number("code"))
	}
}
