// Command driver is the client program that the official MCP conformance suite
// starts once for each scenario:
//
//	driver -host PATH [-mode auto|pinned] URL
//
// It plays what stands around toolhost, and nothing of toolhost itself: it writes
// the configuration for the suite's server at URL, asks the host to use its tools,
// and looks at what comes of it. It speaks only the host protocol, on the pipes of
// the host that it starts. What could reach a network is the user's browser alone, in
// browser.go. Package main of conformance/mcp runs it.
//
// The last line of its stdout is a Verdict. It exits 0 only when the end state that
// the scenario wants was seen.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// A Verdict is how a scenario ended, as the driver saw it.
type Verdict struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
}

// scenarioLimit bounds a whole scenario. It is less than the suite's own limit, so
// that what hangs has a name.
const scenarioLimit = 25 * time.Second

func main() {
	bin := flag.String("host", "", "the toolhost binary")
	mode := flag.String("mode", "auto", "auto: toolhost finds out the revision; pinned: it is told")
	flag.Parse()
	ctx, cancel := context.WithTimeoutCause(context.Background(), scenarioLimit, errors.New("the time for the scenario is over"))
	verdict := Verdict{OK: true}
	if err := run(ctx, *bin, *mode, flag.Args()); err != nil {
		verdict = Verdict{Reason: err.Error()}
	}
	cancel()
	json.NewEncoder(os.Stdout).Encode(verdict)
	if !verdict.OK {
		os.Exit(1)
	}
}

// run plays the scenario that the environment names against the server.
func run(ctx context.Context, bin, mode string, args []string) (err error) {
	if bin == "" || len(args) != 1 || mode != "auto" && mode != "pinned" {
		return errors.New("usage: driver -host PATH [-mode auto|pinned] URL")
	}
	task, err := takeTask()
	if err != nil {
		return err
	}
	play, direct, signIn := playFor(task.scenario), directPlays[task.scenario], strings.HasPrefix(task.scenario, "auth/")
	if play == nil && direct == nil && !signIn {
		return fmt.Errorf("no steps are known for the scenario %q", task.scenario)
	}
	version := ""
	if mode == "pinned" {
		version = task.version
	}
	h, err := startHost(bin, task.secrets())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.stop()) }()
	if signIn {
		return playSignIn(ctx, h, args[0], version, task)
	}
	if direct != nil {
		tools, err := h.constructDirect(ctx, args[0], version)
		if err != nil {
			return err
		}
		return direct(ctx, h, tools)
	}
	if err := h.construct(ctx, args[0], version); err != nil {
		return err
	}
	tools, err := h.list(ctx)
	if err != nil {
		return err
	}
	return play(ctx, h, tools, task)
}

// variables is how the names begin of what the suite tells the driver.
const variables = "MCP_CONFORMANCE_"

// A task is what the suite asks for.
type task struct {
	scenario string
	version  string // the revision of this run

	calls  []toolCall // to be made, of the scenarios that list them
	client client     // that is registered already, of the scenarios that have one
}

// A client is one that the suite's authorization server knows.
type client struct{ ID, Secret, Issuer string }

// secrets returns the variables in which the host finds what its configuration does
// not hold.
func (t *task) secrets() []string {
	if t.client.Secret == "" {
		return nil
	}
	return []string{secretVariable + "=" + t.client.Secret}
}

// A toolCall is one call that the suite wants made exactly so.
type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// takeTask reads the variables of the suite and takes them out of the environment:
// the host must not know what it is being tried for.
func takeTask() (*task, error) {
	t := &task{
		scenario: os.Getenv(variables + "SCENARIO"),
		version:  os.Getenv(variables + "PROTOCOL_VERSION"),
	}
	if t.scenario == "" || t.version == "" {
		return nil, errors.New("the suite did not say which scenario of which revision this is")
	}
	if text := os.Getenv(variables + "CONTEXT"); text != "" {
		var inputs struct {
			ToolCalls    []toolCall
			ClientID     string `json:"client_id"`
			ClientSecret string `json:"client_secret"`
			Issuer       string `json:"issuer"`
		}
		if err := json.Unmarshal([]byte(text), &inputs); err != nil {
			return nil, fmt.Errorf("the inputs of the scenario: %w", err)
		}
		t.calls = inputs.ToolCalls
		t.client = client{inputs.ClientID, inputs.ClientSecret, inputs.Issuer}
	}
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, variables) {
			if err := os.Unsetenv(name); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}
