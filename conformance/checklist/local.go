package main

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// A stage is where the relays of a run connect to, for the local servers of the case.
// Each process has a goroutine, which ends with its connection.
type stage struct {
	t       *traffic
	ln      net.Listener
	servers map[string]*actor
}

// An actor is a local server: what each process of it is.
type actor struct {
	name   string
	habits []string
	server *fakeserver.Server
}

func newStage(t *traffic) (*stage, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &stage{t: t, ln: ln, servers: map[string]*actor{}}, nil
}

// command returns the program and its one argument that are a server's process.
func (s *stage) command(server string) (path, arg string, err error) {
	path, err = os.Executable()
	return path, relayRole + s.ln.Addr().String() + "@" + server, err
}

// open begins to play. The servers are complete.
func (s *stage) open() {
	s.t.aside.Go(func() {
		for {
			conn, err := s.ln.Accept()
			if err != nil {
				return
			}
			s.t.aside.Go(func() { s.play(conn) })
		}
	})
}

// close ends what is left: the relays go when their connections do.
func (s *stage) close() { s.ln.Close() }

// play plays one process to its end.
func (s *stage) play(conn net.Conn) {
	var once sync.Once
	shut := func() { once.Do(func() { conn.Close() }) }
	defer shut()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-s.t.ctx.Done():
			shut()
		case <-stop:
		}
	}()
	up, down := gob.NewDecoder(conn), gob.NewEncoder(conn)
	var hello greeting
	if up.Decode(&hello) != nil {
		return
	}
	a := s.servers[hello.Server]
	if a == nil {
		return
	}
	happened := func(what string, body []byte) {
		s.t.note(&request{server: a.name, http: what, method: hello.Kind, body: body})
	}
	happened(started, hello.json())
	defer func() {
		if s.t.ctx.Err() == nil { // else we have ended it
			happened(gone, nil)
		}
	}()
	end := &relayEnd{down: down}
	end.send(said{Habits: a.habitsOf(hello.Kind)})
	p := a.server.Process(end)
	defer p.Close()
	var input []byte
	for {
		var h heard
		if up.Decode(&h) != nil {
			return
		}
		if h.What != "" {
			happened(h.What, nil)
			if h.What == inputEnded && !slices.Contains(a.habits, "ignores-eof") {
				end.send(said{End: true})
			}
			continue
		}
		input = append(input, h.Bytes...)
		for {
			line, rest, whole := bytes.Cut(input, []byte("\n"))
			if !whole {
				break
			}
			s.take(a, p, bytes.Clone(line))
			input = rest
		}
	}
}

// habitsOf are those of the server, or of what it leaves behind, which has none.
func (a *actor) habitsOf(kind string) []string {
	if kind == grandchild {
		return nil
	}
	return a.habits
}

// take breaks the line as the run wants it, notes what comes of it, and has it
// answered.
func (s *stage) take(a *actor, p *fakeserver.Process, line []byte) {
	for _, l := range s.t.breaker.apply(a.name, &sending{method: fakeserver.Line, body: line}) {
		if l.withheld {
			continue
		}
		s.t.note(newRequest(a.name, fakeserver.Line, nil, l.body))
		p.Take(l.body)
	}
}

// json is the greeting as a matcher sees it.
func (g *greeting) json() []byte {
	env := map[string]string{}
	for _, v := range g.Env {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	text, err := json.Marshal(map[string]any{"env": env, "args": g.Args})
	if err != nil {
		panic(err) // strings can be encoded
	}
	return text
}

// A relayEnd is the End of a process that a relay stands for.
type relayEnd struct {
	mu   sync.Mutex // of down
	down *gob.Encoder
}

func (e *relayEnd) Stdout(text []byte) { e.send(said{Stdout: text}) }
func (e *relayEnd) Stderr(text []byte) { e.send(said{Stderr: text}) }
func (e *relayEnd) Exit(code int)      { e.send(said{End: true, Code: code}) }

// send tells the relay what to do. One that is gone does nothing, and is noted where
// its words are read.
func (e *relayEnd) send(s said) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.down.Encode(s)
}
