package stdiomcp

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

// mostNoise is how many lines in a row may be no message (T68). A server that writes
// more speaks something else.
const mostNoise = 100

// shownNoise bounds what is quoted of a line that is no message, in bytes.
const shownNoise = 128

// Noise is what a server writes to stdout besides messages.
type noise struct {
	scrub *redact.Scrubber

	mu    sync.Mutex
	row   int    // guarded by mu; lines since the last message
	first string // guarded by mu; the first one of all, fit to be shown
	hint  string // guarded by mu; what the lines look like, as advice
}

// add counts a line. first is set for the first one of all; err ends the connection.
func (n *noise) add(line []byte) (first string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.row++
	if n.first == "" {
		// Cut before it is scrubbed, but far behind what is shown.
		n.first = n.scrub.Reason(string(line[:min(len(line), 64*shownNoise)]), shownNoise)
		first = n.first
	}
	if n.hint == "" {
		n.hint = framing(line)
	}
	if n.row <= mostNoise {
		return first, nil
	}
	reason := fmt.Sprintf("the server wrote more than %d lines in a row to stdout that are no MCP messages, the first: %s", mostNoise, n.first)
	if n.hint != "" {
		reason += "; " + n.hint
	}
	return first, &mcpclient.WireError{Op: "read", Reason: reason, Delivered: "unknown", NotMCP: true}
}

// message notes that a message came.
func (n *noise) message() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.row = 0
}

// advice returns what the lines seen say about a server that never answered, "" for
// nothing.
func (n *noise) advice() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.hint != "":
		return n.hint
	case n.first != "":
		return "it wrote to stdout what is no MCP message: " + n.first
	}
	return ""
}

// framing knows two ways of writing JSON-RPC that are not one message a line (B213).
func framing(line []byte) string {
	line = bytes.TrimSpace(line)
	if name, _, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(name, []byte("Content-Length")) {
		return "it frames its messages with Content-Length headers, but MCP over stdio has one message on each line"
	}
	if len(line) == 1 && (line[0] == '{' || line[0] == '[') {
		return "it spreads its JSON over several lines, but MCP over stdio has one message on each line"
	}
	return ""
}

// afterEscapes returns the line without what a terminal would take for commands at
// its beginning: some shells announce themselves so, in front of the first message
// of a program that they run (B205).
func afterEscapes(line []byte) []byte {
	for {
		line = bytes.TrimLeft(line, " \t")
		if len(line) == 0 || line[0] >= ' ' && line[0] != 0x7f {
			return line
		}
		line = line[escapeLength(line):]
	}
}

// escapeLength returns the length of the control character or escape sequence that
// the line begins with (ECMA-48 sections 5.3 to 5.6).
func escapeLength(line []byte) int {
	const (
		escape = 0x1b
		bell   = 0x07
	)
	if line[0] != escape || len(line) == 1 {
		return 1
	}
	switch line[1] {
	case '[': // a control sequence ends with one of the bytes @ to ~
		for i := 2; i < len(line); i++ {
			if line[i] >= '@' && line[i] <= '~' {
				return i + 1
			}
		}
	case ']', 'P', 'X', '^', '_': // a control string ends with ESC \ or, by custom, BEL
		for i := 2; i < len(line); i++ {
			if line[i] == bell {
				return i + 1
			}
			if line[i] == escape && i+1 < len(line) && line[i+1] == '\\' {
				return i + 2
			}
		}
	default:
		return 2
	}
	return len(line)
}
