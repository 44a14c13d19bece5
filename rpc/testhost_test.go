package rpc

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
	"github.com/toolhost/toolhost/spec"
	"github.com/toolhost/toolhost/spec/speccheck"
)

// framings are what every rule that is not about framing is tested under.
var framings = []string{speccheck.FramingNewline, speccheck.FramingLSP}

// eachFraming runs a test under both framings.
func eachFraming(t *testing.T, test func(t *testing.T, framing string)) {
	for _, framing := range framings {
		t.Run(framing, func(t *testing.T) { test(t, framing) })
	}
}

// A testHost plays the host of one Serve. Every message that the child writes is
// held against the schemas of the protocol.
type testHost struct {
	t       *testing.T
	framing string
	pack    *testPack
	log     lockedBuffer
	signal  context.CancelFunc // ends Serve as SIGTERM does

	in      io.WriteCloser
	out     io.ReadCloser
	ended   chan error         // what Serve returned
	checker *speccheck.Checker // nil for none

	mu       sync.Mutex
	messages [][]byte // read and not asked for yet; guarded by mu
	over     bool     // out has ended; guarded by mu
	more     *sync.Cond
}

// hostConfig is what a test may ask of its host.
type hostConfig struct {
	framing   string
	pack      *testPack // nil for a plain one
	limits    []string  // "NAME=VALUE"
	deaf      bool      // does not read until listen is called
	unchecked bool      // messages are not held against the schemas: too many, or too strange
	scrub     *redact.Scrubber
	in        io.Reader // nil for a pipe
}

// newHost starts a Serve that has the pack "test/pack", whose own id is "p". The
// test must end it; finish does so.
func newHost(t *testing.T, config hostConfig) *testHost {
	t.Helper()
	var checker *speccheck.Checker
	if !config.unchecked {
		var err error
		if checker, err = speccheck.New(); err != nil {
			t.Fatal(err)
		}
	}
	if config.framing == "" {
		config.framing = speccheck.FramingNewline
	}
	h := &testHost{t: t, framing: config.framing, pack: config.pack, ended: make(chan error, 1), checker: checker}
	h.more = sync.NewCond(&h.mu)
	if h.pack == nil {
		h.pack = &testPack{}
	}
	registry := pack.NewRegistry()
	if err := registry.Insert(h.pack.info("test/pack", "p"), nil); err != nil {
		t.Fatal(err)
	}
	limits := limit.Table{}
	for _, setting := range config.limits {
		var err error
		if limits, err = limits.With(setting); err != nil {
			t.Fatal(err)
		}
	}
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	h.in, h.out = inWrite, outRead
	in := io.Reader(inRead)
	if config.in != nil {
		in = config.in
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.signal = cancel
	var trace func(string, []byte)
	if checker != nil {
		trace = h.trace
	}
	go func() {
		err := Serve(ctx, in, outWrite, registry, &Options{
			Version: "1.2.3",
			Limits:  limits,
			Log:     slog.New(slog.NewTextHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Scrub:   config.scrub,
			Trace:   trace,
		})
		outWrite.Close()
		inRead.Close()
		h.ended <- err
	}()
	if !config.deaf {
		h.listen()
	}
	return h
}

// trace holds what the child writes against the schemas.
func (h *testHost) trace(direction string, message []byte) {
	if direction != "out" {
		return
	}
	if err := h.checker.Trace(spec.ChildToHost, bytes.Clone(message)); err != nil {
		h.t.Errorf("the child's message is not of the protocol: %v\n\t%s", err, message)
	}
}

// listen begins to read what the child writes.
func (h *testHost) listen() {
	go func() {
		in := bufio.NewReader(h.out)
		for {
			message, err := readMessage(in, h.framing)
			h.mu.Lock()
			if err == nil {
				h.messages = append(h.messages, message)
			} else {
				h.over = true
				if err != io.EOF && err != io.ErrClosedPipe {
					h.t.Errorf("reading from the child: %v", err)
				}
			}
			h.more.Broadcast()
			h.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
}

// readMessage reads one message as a strict host would.
func readMessage(in *bufio.Reader, framing string) ([]byte, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		if len(line) > 0 {
			err = fmt.Errorf("half a line: %.100q", line)
		}
		return nil, err
	}
	if framing == speccheck.FramingNewline {
		return bytes.TrimSuffix(line, []byte("\n")), nil
	}
	text, ok := strings.CutPrefix(string(line), "Content-Length: ")
	text, ends := strings.CutSuffix(text, "\r\n")
	n, err := strconv.Atoi(text)
	if !ok || !ends || err != nil {
		return nil, fmt.Errorf("header %q", line)
	}
	body := make([]byte, 2+n)
	if _, err := io.ReadFull(in, body); err != nil {
		return nil, err
	}
	if string(body[:2]) != "\r\n" {
		return nil, fmt.Errorf("header goes on with %q", body[:2])
	}
	return body[2:], nil
}

// framed returns the message as the host's framing writes it.
func framed(framing, message string) string {
	if framing == speccheck.FramingLSP {
		return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(message), message)
	}
	return message + "\n"
}

// send writes messages to the child.
func (h *testHost) send(messages ...string) {
	h.t.Helper()
	for _, message := range messages {
		// The checker has to know what is asked; tests ask what is wrong on purpose.
		if h.checker != nil {
			_ = h.checker.Trace(spec.HostToChild, []byte(message))
		}
		if _, err := io.WriteString(h.in, framed(h.framing, message)); err != nil {
			h.t.Fatalf("the child does not read: %v", err)
		}
	}
}

// next returns the next message of the child, or nil when there is none any more.
func (h *testHost) next() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.messages) == 0 {
		if h.over {
			return nil
		}
		h.more.Wait()
	}
	message := h.messages[0]
	h.messages = h.messages[1:]
	return message
}

// want asks for as many messages as there are matchers, which may come in any
// order, and returns them in the matchers' order.
func (h *testHost) want(matchers ...string) [][]byte {
	h.t.Helper()
	found := make([][]byte, len(matchers))
	for range matchers {
		message := h.next()
		if message == nil {
			h.t.Fatalf("the child has ended; missing of %q: %q", matchers, found)
		}
		var reasons []string
		for i, matcher := range matchers {
			if found[i] != nil {
				continue
			}
			err := speccheck.Match([]byte(matcher), message)
			if err == nil {
				found[i], reasons = message, nil
				break
			}
			reasons = append(reasons, err.Error())
		}
		if reasons != nil {
			h.t.Fatalf("unexpected message\n\t%s\n\t%s", message, strings.Join(reasons, "\n\t"))
		}
	}
	return found
}

// play plays an exchange: "-->" sends, "<--" wants. Neighbouring "<--" may come
// in any order. Other lines are comments.
func (h *testHost) play(exchange string) {
	h.t.Helper()
	var wanted []string
	flush := func() {
		h.t.Helper()
		if wanted != nil {
			h.want(wanted...)
			wanted = nil
		}
	}
	for line := range strings.Lines(exchange) {
		line = strings.TrimSpace(line)
		if message, ok := strings.CutPrefix(line, "--> "); ok {
			flush()
			h.send(message)
		} else if matcher, ok := strings.CutPrefix(line, "<-- "); ok {
			wanted = append(wanted, matcher)
		}
	}
	flush()
}

// construct constructs the pack with those capabilities ("" for none).
func (h *testHost) construct(capabilities string) {
	h.t.Helper()
	if capabilities == "" {
		capabilities = "null"
	}
	h.send(`{"jsonrpc":"2.0","id":"c","method":"construct","params":{"pack":"test/pack","host":{"name":"tester","version":"9","capabilities":` + capabilities + `}}}`)
	h.want(`{"id":"c","result":{"protocol":"1"}}`)
}

// wait waits for Serve and holds what is left of its output against matchers.
func (h *testHost) wait(matchers ...string) {
	h.t.Helper()
	if err := <-h.ended; err != nil {
		h.t.Errorf("Serve: %v", err)
	}
	h.want(matchers...)
	if m := h.next(); m != nil {
		h.t.Errorf("unexpected message at the end: %s", m)
	}
	if h.checker != nil {
		for _, id := range h.checker.Open(spec.HostToChild) {
			h.t.Errorf("the request %s was never answered", id)
		}
	}
	if log := h.log.String(); strings.Contains(log, canary) {
		h.t.Errorf("the log holds a value:\n%s", log)
	}
}

// finish ends the input and waits for an end without another word.
func (h *testHost) finish(matchers ...string) {
	h.t.Helper()
	h.in.Close()
	h.wait(matchers...)
}

// A lockedBuffer is a buffer that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
