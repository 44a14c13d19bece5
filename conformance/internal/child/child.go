package child

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// A Framing is how messages are separated on the pipes.
type Framing string

// The framings of the host protocol.
const (
	Newline Framing = "newline"
	LSP     Framing = "lsp"
)

// Options are what Start can be told. The zero value is newline framing, the
// environment of this process, and a stderr that goes nowhere.
type Options struct {
	Framing Framing
	Args    []string // after "serve"
	Env     []string // added to the environment
	Stderr  io.Writer

	// Notify is called for each notification, on the goroutine that reads.
	Notify func(method string, params json.RawMessage)

	// Answer answers the child's questions, each on a goroutine of its own, with
	// the JSON of a result; "" leaves a question without an answer. Nil, and every
	// question is a stray.
	Answer func(method string, params json.RawMessage) (result string)

	// Take is offered every message first, on the goroutine that reads, for a
	// caller that must not spend time on decoding. True means that it has taken
	// the message. The bytes are valid until it returns.
	Take func(message []byte) bool

	// Check is shown every message that goes either way, in its order, and says
	// what is wrong with it, which Strays then tells. The Trace method of a
	// speccheck.Checker will do.
	Check func(direction string, message []byte) error
}

// The directions of messages, as the protocol's table of methods calls them.
const (
	HostToChild = "host-to-child"
	ChildToHost = "child-to-host"
)

// A Child is a toolhost process. Its methods may be called from any goroutine.
type Child struct {
	cmd  *exec.Cmd
	opts Options
	done chan struct{} // closed when the process has ended and its output is read

	writeMu sync.Mutex
	stdin   io.WriteCloser // written under writeMu

	mu      sync.Mutex
	nextID  int64
	waiting map[string]chan Reply // by id; guarded by mu
	strays  []string              // see Strays; guarded by mu
	err     error                 // why the output ended; guarded by mu
}

// A Reply is the answer to one request.
type Reply struct {
	ID     json.RawMessage
	Result json.RawMessage // nil when there is an Error
	Error  *Error

	Failure json.RawMessage // Error as it was written
}

// An Error is the error of an answer.
type Error struct {
	Code    int
	Message string
	Data    struct {
		Kind, Server, Delivered, Limit string
		Untrusted, Retryable           bool
	}
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d, %s)", e.Message, e.Code, e.Data.Kind) }

// Decode decodes the result into v, or returns the error of the answer.
func (r Reply) Decode(v any) error {
	if r.Error != nil {
		return r.Error
	}
	return json.Unmarshal(r.Result, v)
}

// Start spawns `bin serve`.
func Start(bin string, opts Options) (*Child, error) {
	c := &Child{
		cmd:     exec.Command(bin, append([]string{"serve"}, opts.Args...)...),
		opts:    opts,
		done:    make(chan struct{}),
		waiting: map[string]chan Reply{},
	}
	c.cmd.Env = append(os.Environ(), opts.Env...)
	c.cmd.Stderr = opts.Stderr
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.stdin = stdin
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.read(bufio.NewReaderSize(stdout, 4<<20))
	return c, nil
}

// PID returns the process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Send writes a request and returns its id and the channel on which its answer
// comes. The channel is closed without one when the child ends first. params is
// any JSON.
func (c *Child) Send(method, params string) (id string, reply <-chan Reply, err error) {
	ch := make(chan Reply, 1)
	c.mu.Lock()
	if c.err != nil {
		err := c.err
		c.mu.Unlock()
		return "", nil, err
	}
	c.nextID++
	id = strconv.FormatInt(c.nextID, 10)
	c.waiting[id] = ch
	c.mu.Unlock()
	return id, ch, c.Write(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
}

// Call sends a request and waits for its answer. The error is of the pipe, the
// child or ctx; an error that the child answered is in the Reply.
func (c *Child) Call(ctx context.Context, method, params string) (Reply, error) {
	_, ch, err := c.Send(method, params)
	if err != nil {
		return Reply{}, err
	}
	return c.Await(ctx, ch)
}

// Await waits for the answer that Send promised.
func (c *Child) Await(ctx context.Context, ch <-chan Reply) (Reply, error) {
	select {
	case reply, ok := <-ch:
		if !ok {
			c.mu.Lock()
			defer c.mu.Unlock()
			return Reply{}, c.err
		}
		return reply, nil
	case <-ctx.Done():
		return Reply{}, context.Cause(ctx)
	}
}

// Write writes one message as it is.
func (c *Child) Write(message string) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	c.check(HostToChild, []byte(message))
	text := message + "\n"
	if c.opts.Framing == LSP {
		text = "Content-Length: " + strconv.Itoa(len(message)) + "\r\n\r\n" + message
	}
	_, err := io.WriteString(c.stdin, text)
	return err
}

// CloseInput closes the child's stdin, which asks it to end.
func (c *Child) CloseInput() error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	return c.stdin.Close()
}

// Wait waits until the child has ended by itself and returns its exit code. When
// ctx ends first, the child is killed.
func (c *Child) Wait(ctx context.Context) (code int, err error) {
	select {
	case <-c.done:
	case <-ctx.Done():
		err = fmt.Errorf("the child did not end: %w", context.Cause(ctx))
		c.cmd.Process.Kill()
		<-c.done
	}
	return c.cmd.ProcessState.ExitCode(), err
}

// Stop closes stdin and waits up to limit; an exit code that is not 0 is an error.
func (c *Child) Stop(limit time.Duration) error {
	c.CloseInput()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	code, err := c.Wait(ctx)
	if err == nil && code != 0 {
		err = fmt.Errorf("the child ended with code %d", code)
	}
	return err
}

// Strays returns what no host should see: second answers to one id, answers to ids
// that were never sent, lines that are no JSON, and what Check found.
func (c *Child) Strays() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.strays...)
}

// check lets Check judge a message.
func (c *Child) check(direction string, message []byte) {
	if c.opts.Check == nil {
		return
	}
	if err := c.opts.Check(direction, message); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.strays = append(c.strays, fmt.Sprintf("%s: %v: %s", direction, err, message))
	}
}
