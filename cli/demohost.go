package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/redact"
)

// A demoHost is the host's side of the demo: it writes to a child and reads from
// it, and prints each line that goes through the pipes. Its methods are called
// from one goroutine; a second one, which end waits for, reads.
type demoHost struct {
	child    *exec.Cmd
	stdin    io.WriteCloser
	received chan *demoMessage // closed at the end of the child's stdout
	broken   error             // why reading ended early; set before received is closed
	reading  sync.WaitGroup

	lastID   int
	statuses map[string]string // the last status of each server

	mu    sync.Mutex
	out   io.Writer // guarded by mu
	width int       // of the terminal, 0 for none
}

// spawn starts the child, whose stdin and stdout are pipes of ours.
func spawn(child *exec.Cmd, out io.Writer) (*demoHost, error) {
	h := &demoHost{child: child, out: out, received: make(chan *demoMessage), statuses: map[string]string{}}
	size, _ := terminal(out)
	h.width = size.columns
	stdin, err := child.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.stdin = stdin
	h.say("The host starts its child: toolhost serve")
	if err := child.Start(); err != nil {
		return nil, fmt.Errorf("the child did not start: %w", err)
	}
	h.reading.Go(func() { h.read(stdout) })
	return h, nil
}

// say prints what happens next, for people.
func (h *demoHost) say(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(h.out, "\n# %s\n", strings.ReplaceAll(text, "\n", "\n# "))
}

// show prints one line that went through a pipe, to the byte, or as much as fits
// the terminal with the number of bytes that it hides.
func (h *demoHost) show(arrow string, line []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.width == 0 {
		fmt.Fprintf(h.out, "%s %s\n", arrow, line)
		return
	}
	// Three rows of the terminal tell enough of a message.
	const rows, mark = 3, "… (+%d bytes)"
	shown := redact.Escape(string(line))
	room := rows*h.width - len(arrow) - 1
	if runes := []rune(shown); len(runes) > room {
		kept := string(runes[:max(0, room-len(mark)-4)]) // 4: the digits of the number
		shown = kept + fmt.Sprintf(mark, len(shown)-len(kept))
	}
	fmt.Fprintf(h.out, "%s %s\n", arrow, shown)
}

// read takes the child's messages until its stdout ends.
func (h *demoHost) read(stdout io.Reader) {
	defer close(h.received)
	for lines := bufio.NewReader(stdout); ; {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			h.show("<--", bytes.TrimSuffix(line, []byte("\n")))
			message := new(demoMessage)
			if bad := json.Unmarshal(line, message); bad != nil {
				h.broken = fmt.Errorf("the child wrote a line that is no message: %w", bad)
				return
			}
			h.received <- message
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				h.broken = err
			}
			return
		}
	}
}

func (h *demoHost) write(line string) error {
	h.show("-->", []byte(line))
	if _, err := io.WriteString(h.stdin, line+"\n"); err != nil {
		return fmt.Errorf("the child does not read its stdin: %w", err)
	}
	return nil
}

// send writes a request and returns its id.
func (h *demoHost) send(method, params string) (id int, err error) {
	h.lastID++
	return h.lastID, h.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, h.lastID, method, params))
}

func (h *demoHost) notify(method, params string) error {
	return h.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// call sends a request and returns the answer to it.
func (h *demoHost) call(ctx context.Context, method, params string) (*demoMessage, error) {
	id, err := h.send(method, params)
	if err != nil {
		return nil, err
	}
	return h.receive(ctx, id)
}

// receive returns the answer to the request of that id, which must be the only
// one that is open.
func (h *demoHost) receive(ctx context.Context, id int) (*demoMessage, error) {
	for {
		message, err := h.next(ctx)
		switch {
		case err != nil:
			return nil, fmt.Errorf("request %d has no answer: %w", id, err)
		case message.ID != nil && *message.ID == id:
			if message.Result != nil {
				h.note(message.Result.Servers)
			}
			return message, nil
		case message.ID != nil:
			return nil, fmt.Errorf("the child answered request %d, which is not open", *message.ID)
		}
	}
}

// awaitStatus returns when the servers have those statuses.
func (h *demoHost) awaitStatus(ctx context.Context, want map[string]string) error {
	for {
		missing := ""
		for name, status := range want {
			if h.statuses[name] != status {
				missing = fmt.Sprintf("the server %q has the status %q, want %q", name, h.statuses[name], status)
			}
		}
		if missing == "" {
			return nil
		}
		message, err := h.next(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", missing, err)
		}
		if message.ID != nil {
			return fmt.Errorf("the child answered request %d, which is not open", *message.ID)
		}
	}
}

// next returns the child's next message and keeps the statuses that it carries.
func (h *demoHost) next(ctx context.Context) (*demoMessage, error) {
	select {
	case message, ok := <-h.received:
		if !ok {
			return nil, h.ended()
		}
		if message.Method == "status" {
			h.note(message.Params.Servers)
		}
		return message, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (h *demoHost) note(servers []demoStatus) {
	for _, s := range servers {
		h.statuses[s.Name] = s.Status
	}
}

func (h *demoHost) ended() error {
	if h.broken != nil {
		return h.broken
	}
	return errChildEnded
}

// end closes the child's stdin, waits for it to end, and returns an error unless
// it did so with exit code 0 and without another answer. A child that stays past
// ctx is killed.
func (h *demoHost) end(ctx context.Context) error {
	h.stdin.Close()
	kill := context.AfterFunc(ctx, func() { h.child.Process.Kill() })
	defer kill()
	var late error
	for message := range h.received {
		if message.ID != nil && late == nil {
			late = fmt.Errorf("the child answered request %d twice", *message.ID)
		}
	}
	h.reading.Wait()
	if h.broken != nil {
		// It may still write; nobody reads it any more.
		h.child.Process.Kill()
	}
	ended := h.child.Wait()
	if ended != nil {
		ended = fmt.Errorf("the child ended badly: %w", ended)
	}
	return errors.Join(h.broken, late, ended)
}
