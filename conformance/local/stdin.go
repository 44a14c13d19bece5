package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// A message is one that came on the stdin of the server.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		ProtocolVersion string
		Name            string
		RequestID       json.RawMessage
		Meta            struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	text string
	mark string // of a slow call, in it
}

// readStdin reads what a server, in all its lives, has kept of its stdin. The last
// line may not be whole yet; others that are no messages are an error.
func readStdin(file string) ([]message, error) {
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var list []message
	for line := range bytes.Lines(text) {
		m := message{text: string(line)}
		if !bytes.HasSuffix(line, []byte("\n")) {
			continue
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("the server got a line that is no message: %w: %q", err, line)
		}
		list = append(list, m)
	}
	return list, nil
}

// sent returns the messages of a method that hold a text.
func sent(list []message, method, part string) []message {
	var found []message
	for _, m := range list {
		if m.Method == method && strings.Contains(m.text, part) {
			found = append(found, m)
		}
	}
	return found
}

// soon is far below every deadline of the product.
const soon = 5 * time.Second

// await waits until the server has got a message of a method that holds a text, and
// returns all of these.
func (t *trial) await(ctx context.Context, method, part string) ([]message, error) {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	for {
		list, err := readStdin(t.stdin)
		if err != nil {
			return nil, err
		}
		if found := sent(list, method, part); len(found) > 0 {
			return found, nil
		}
		if !pause(ctx) {
			return nil, fmt.Errorf("no %s with %q came to the server", method, part)
		}
	}
}

// pause waits a moment for another process. It reports whether ctx goes on.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(5 * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}
