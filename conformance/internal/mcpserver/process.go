package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// startLimit bounds the time until a server has printed its address.
const startLimit = 30 * time.Second

// stopLimit bounds the time that a server has to end by itself.
const stopLimit = 5 * time.Second

// A Process is a running MCP server.
type Process struct {
	Address
	cmd   *exec.Cmd
	stdin io.Closer // the server ends when it is closed
}

// An Address is the line that a server prints.
type Address struct {
	URL    string // the MCP endpoint
	Ledger string // where it tells what it was sent; "" for a server without one
}

// Start starts a server and waits for the line with its address. env is added to
// the environment.
func Start(ctx context.Context, command []string, env ...string) (*Process, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	printed := make(chan Address, 1) // closed without one when stdout ends first
	go readAddress(stdout, printed)
	p := &Process{cmd: cmd, stdin: stdin}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	select {
	case address, ok := <-printed:
		if ok {
			p.Address = address
			return p, nil
		}
		err = errors.New("it ended without printing its address")
	case <-ctx.Done():
		err = errors.New("it printed no address in time")
	}
	p.Stop()
	return nil, fmt.Errorf("%w\n%s", err, &stderr)
}

func readAddress(stdout io.Reader, printed chan<- Address) {
	defer close(printed)
	found := false
	for lines := bufio.NewScanner(stdout); lines.Scan(); { // to the end, for a server that logs here must not block
		var address Address
		if !found && json.Unmarshal(lines.Bytes(), &address) == nil && address.URL != "" {
			found = true
			printed <- address
		}
	}
}

// Stop asks the server to end and waits for it. One that does not is killed, which
// is an error.
func (p *Process) Stop() error {
	p.stdin.Close()
	timer := time.AfterFunc(stopLimit, func() { p.cmd.Process.Kill() })
	defer timer.Stop()
	return p.cmd.Wait()
}

// Kill ends the server with SIGKILL, as a crash does, and waits for it.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	var exit *exec.ExitError
	if err := p.cmd.Wait(); !errors.As(err, &exit) || exit.Exited() {
		return fmt.Errorf("it was to be killed and ended otherwise: %w", err)
	}
	return nil
}
