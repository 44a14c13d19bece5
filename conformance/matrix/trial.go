package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/mcpserver"
)

// A trial tries one variant: its server, and a host that uses it through toolhost.
type trial struct {
	variant
	server *mcpserver.Process
	port   string
	host   *host
	marks  int  // of calls so far
	grew   bool // a tool that the server added showed by itself
}

// stepLimit bounds each step.
const stepLimit = 30 * time.Second

// begin starts the server, sees to it that it is what the variant says, and starts
// the host.
func begin(ctx context.Context, binary string, v variant) (*trial, error) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	t := &trial{variant: v, port: "0"}
	if err := t.begin(ctx, binary); err != nil {
		return nil, errors.Join(err, t.end())
	}
	return t, nil
}

func (t *trial) begin(ctx context.Context, binary string) error {
	if err := t.start(ctx); err != nil {
		return err
	}
	address, err := url.Parse(t.server.URL)
	if err != nil {
		return err
	}
	t.port = address.Port()
	if err := t.isAsSaid(ctx); err != nil {
		return err
	}
	t.host, err = startHost(ctx, binary, t.entry(t.server.URL))
	return err
}

// start starts the server on the trial's port.
func (t *trial) start(ctx context.Context) (err error) {
	command, env := t.launch(t.port)
	t.server, err = mcpserver.Start(ctx, command, env...)
	return err
}

// isAsSaid asks the server without toolhost whether it answers in the form that its
// row promises. The era shows in the ledger.
func (t *trial) isAsSaid(ctx context.Context) error {
	client, err := mcpserver.Open(ctx, t.server.URL, t.revision())
	if err != nil {
		return err
	}
	tool, input, token := t.sdk.tools.echo, mark(t.sdk.tools.echoInput, t.next()), ""
	if t.reply == "sse" { // which some servers answer in only when they have something to tell before
		tool, input, token = t.sdk.tools.slow, mark(t.sdk.tools.slowInput, t.next(), 10), "probe"
	}
	answer, err := client.Call(ctx, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, input), token)
	if err != nil {
		return err
	}
	if answer.Form != t.reply {
		return fmt.Errorf("the server was to answer in %s and did in %s", t.reply, answer.Form)
	}
	return client.Close(ctx)
}

// end stops the host and the server.
func (t *trial) end() error {
	var errs []error
	if t.host != nil {
		errs = append(errs, t.host.stop())
	}
	if t.server != nil {
		errs = append(errs, t.server.Stop())
	}
	return errors.Join(errs...)
}

// next returns the mark of one more call.
func (t *trial) next() string {
	t.marks++
	return "m" + strconv.Itoa(t.marks)
}

// A ledger is what the server says of itself.
type ledger struct {
	Revision string   // that the last request was sent in
	Lines    []string // what its tools did: "echo m1", "slow m2", "cancelled m2"
}

// with returns the lines that hold a mark.
func (l ledger) with(mark string) []string {
	return slices.DeleteFunc(slices.Clone(l.Lines), func(line string) bool { return !strings.HasSuffix(line, " "+mark) })
}

// ledger asks the server for its ledger, once the line until is in it, or a few
// seconds have passed. "" does not wait.
func (t *trial) ledger(ctx context.Context, until string) (l ledger, err error) {
	if t.sdk.tools.ledger != "" {
		text, err := t.host.call(ctx, t.sdk.tools.ledger, fmt.Sprintf(`{"until":%q}`, until))
		lines := strings.Split(text, "\n")
		return ledger{lines[0], lines[1:]}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.server.Ledger+"?until="+url.QueryEscape(until), nil)
	if err != nil {
		return l, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return l, err
	}
	defer resp.Body.Close()
	return l, json.NewDecoder(resp.Body).Decode(&l)
}
