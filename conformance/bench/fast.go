package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// This file is the MCP server of the measurements: legacy era, JSON answers, and no
// JSON decoding on the way of a call.

// startFast starts this program again as the server.
func startFast(ctx context.Context) (url string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-serve")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		stdin.Close()
		cmd.Wait()
	}
	url, err = bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("the server did not start: %w", err)
	}
	return strings.TrimSpace(url), stop, nil
}

// serveFast serves until stdin ends.
func serveFast(stdin io.Reader, stdout io.Writer) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "http://%s/mcp\n", ln.Addr())
	server := &http.Server{Handler: http.HandlerFunc(answerFast)}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ln) }()
	if _, err := io.Copy(io.Discard, stdin); err != nil {
		return err
	}
	server.Close()
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// blobs are the answers of the tool blob by the digits of their size.
var blobs = func() map[string][]byte {
	all := map[string][]byte{}
	for _, size := range sizes {
		all[strconv.Itoa(size.bytes)] = literal(payload(size.bytes))
	}
	return all
}()

const session = "one-session-is-enough"

func answerFast(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body := make([]byte, max(0, r.ContentLength))
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return
	}
	head := body[:min(len(body), 512)]
	id := member(body, `"id":`)
	var result [][]byte
	switch {
	case bytes.Contains(head, []byte(`"tools/call"`)):
		result = [][]byte{[]byte(`{"content":[{"type":"text","text":`), text(body), []byte(`}]}`)}
	case bytes.Contains(head, []byte(`"initialize"`)):
		w.Header().Set("Mcp-Session-Id", session)
		result = [][]byte{[]byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"fast","version":"1"}}`)}
	case bytes.Contains(head, []byte(`"tools/list"`)):
		result = [][]byte{[]byte(`{"tools":[{"name":"blob","inputSchema":{"type":"object"}},{"name":"echo","inputSchema":{"type":"object"}}]}`)}
	case id == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	default: // server/discover: this server is of the legacy era
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	parts := append([][]byte{[]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"result":`)}, append(result, []byte(`}`))...)
	length := 0
	for _, part := range parts {
		length += len(part)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(length))
	for _, part := range parts {
		w.Write(part)
	}
}

// text is what the called tool answers, as a JSON string: for echo the bytes of its
// argument.
func text(body []byte) []byte {
	if size := member(body, `"size":`); size != nil {
		return blobs[string(size)]
	}
	start := bytes.Index(body, []byte(`"text":"`))
	if start < 0 {
		return []byte(`""`)
	}
	start += len(`"text":`)
	for end := start + 1; end < len(body); end++ {
		switch body[end] {
		case '\\':
			end++
		case '"':
			return body[start : end+1]
		}
	}
	return []byte(`""`)
}

// member returns the bytes between a name and the comma or brace after it.
func member(body []byte, name string) []byte {
	start := bytes.Index(body, []byte(name))
	if start < 0 {
		return nil
	}
	value := body[start+len(name):]
	end := bytes.IndexAny(value, ",}")
	if end < 0 {
		return nil
	}
	return bytes.TrimSpace(value[:end])
}

// literal returns text as a JSON string, without the escapes that HTML would need.
func literal(text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // a string can be encoded
	}
	return bytes.TrimSpace(b.Bytes())
}
