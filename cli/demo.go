package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/spec"
)

// What the pack runvil/mcp, which the demo shows, calls its tools and its statuses.
const (
	getDynamicTools = "get_dynamic_tools"
	callDynamicTool = "call_dynamic_tool"
	statusReady     = "ready"
)

// demoTime is far more than the demo needs: a child that hangs fails it.
const demoTime = 20 * time.Second

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show the whole protocol at work, with real messages; needs nothing outside",
		Long: `Starts an MCP server on 127.0.0.1, spawns "toolhost serve" as a host program would,
and shows every message between the two: construct, ready, listing and calling
tools, a cancel, a tool that fails, and a server that cannot be reached. Each line
is what went through the child's pipes; a mark shows where a terminal cut it.

The exit code is 0 when the child behaved as the protocol says.`,
		Args: positional(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return fmt.Errorf("the demo spawns this program, which it cannot find: %w", err)
			}
			return a.demo(cmd.Context(), exec.Command(self, "serve"))
		},
	}
}

// demo plays the host of child and returns an error when it does not do what the
// protocol says.
func (a *app) demo(ctx context.Context, child *exec.Cmd) error {
	ctx, cancel := context.WithTimeoutCause(ctx, demoTime, fmt.Errorf("the child did not do its part within %v", demoTime))
	defer cancel()
	server, err := fakeserver.Start(fakeserver.Options{Era: fakeserver.Modern, Name: "demo"})
	if err != nil {
		return err
	}
	defer server.Close()
	refusing, err := refusingURL()
	if err != nil {
		return err
	}

	child.Stderr = a.err
	h, err := spawn(child, a.out)
	if err != nil {
		return err
	}
	err = demoSteps(ctx, h, server, refusing)
	if ended := h.end(ctx); err == nil {
		err = ended
	}
	if err != nil {
		return fmt.Errorf("the demo went wrong: %w", err)
	}
	h.say("The child has ended with exit code 0. All went as the protocol says.")
	h.say("Next: toolhost check --config mcp.json, toolhost spec, and the examples in README.md.")
	return nil
}

// demoSteps is the conversation. Its messages have the ids 1, 2, 3 ...
func demoSteps(ctx context.Context, h *demoHost, server *fakeserver.Server, refusing string) error {
	h.say(`construct: the pack runvil/mcp over an mcpServers object with two servers.
"demo" runs in this process; nothing listens where "broken" should be.`)
	answer, err := h.call(ctx, "construct", fmt.Sprintf(`{"pack":"runvil/mcp","id":"mcp",`+
		`"config":{"demo":{"url":%q},"broken":{"url":%q}},`+
		`"host":{"name":"demo","version":%q,"capabilities":{"status":true}},"protocol":%q}`,
		server.URL(), refusing, version, spec.Version()))
	if err := answer.result(err); err != nil {
		return err
	}
	if got := answer.Result.Protocol; got != spec.Version() {
		return fmt.Errorf("construct answered protocol %q, want %q", got, spec.Version())
	}
	if err := twoTools(answer); err != nil {
		return err
	}

	h.say("ready: answers at once; the servers go on starting and say so by status.")
	answer, err = h.call(ctx, "ready", `{"id":"mcp"}`)
	if err := answer.result(err); err != nil {
		return err
	}
	if err := twoTools(answer); err != nil {
		return err
	}
	if err := h.awaitStatus(ctx, map[string]string{"demo": statusReady, "broken": "error"}); err != nil {
		return err
	}

	h.say("get_dynamic_tools: what a model asks first. The answer's content is JSON text.")
	answer, err = h.call(ctx, "invoke", `{"tool":"mcp/get_dynamic_tools"}`)
	if err := answer.result(err); err != nil {
		return err
	}
	var listing struct {
		Namespaces []struct {
			Namespace, Status, Reason string
			Tools                     []string
		}
	}
	if err := json.Unmarshal([]byte(answer.Result.Content), &listing); err != nil {
		return fmt.Errorf("get_dynamic_tools answered no JSON text: %w", err)
	}
	if n := listing.Namespaces; len(n) != 2 || n[0].Namespace != "broken" || n[0].Status != "error" || n[0].Reason == "" ||
		n[1].Namespace != "demo" || n[1].Status != statusReady || len(n[1].Tools) != len(fakeserver.Builtin()) {
		return fmt.Errorf("get_dynamic_tools answered %s", answer.Result.Content)
	}
	answer, err = h.call(ctx, "invoke", `{"tool":"mcp/get_dynamic_tools","arguments":{"namespace":"demo","toolName":"add"}}`)
	if err := answer.result(err); err != nil {
		return err
	}
	if want := `"inputSchema":{"type":"object","properties":{"a":`; !strings.Contains(answer.Result.Content, want) {
		return fmt.Errorf("the schema of add is not the server's: %s", answer.Result.Content)
	}

	h.say("call_dynamic_tool: calls a tool of that server.")
	answer, err = h.call(ctx, "invoke", `{"tool":"mcp/call_dynamic_tool","arguments":{"namespace":"demo","toolName":"add","arguments":{"a":2,"b":40}}}`)
	if err := answer.result(err); err != nil {
		return err
	}
	if answer.Result.Content != "42" || !answer.Result.Untrusted {
		return fmt.Errorf("2 + 40 was answered %q (untrusted: %v), want 42 (untrusted: true)", answer.Result.Content, answer.Result.Untrusted)
	}

	h.say("cancel: a slow call is given up, and the server hears of it.")
	id, err := h.send("invoke", `{"tool":"mcp/call_dynamic_tool","arguments":{"namespace":"demo","toolName":"slow","arguments":{"ms":60000}}}`)
	if err != nil {
		return err
	}
	running := func(l *fakeserver.Ledger) bool { return l.Outcomes("slow", fakeserver.Running) == 1 }
	if err := server.Wait(ctx, running); err != nil {
		return fmt.Errorf("the call did not reach the server: %w", err)
	}
	if err := h.notify("cancel", fmt.Sprintf(`{"id":%d,"reason":"the user pressed stop"}`, id)); err != nil {
		return err
	}
	answer, err = h.receive(ctx, id)
	if err := answer.failure(err, -32800, "cancelled"); err != nil {
		return err
	}
	cancelled := func(l *fakeserver.Ledger) bool { return l.Outcomes("slow", fakeserver.Cancelled) == 1 }
	if err := server.Wait(ctx, cancelled); err != nil {
		return fmt.Errorf("the server was not told of the cancel: %w", err)
	}

	h.say("A tool that fails: the server's own text, marked as untrusted.")
	answer, err = h.call(ctx, "invoke", `{"tool":"mcp/call_dynamic_tool","arguments":{"namespace":"demo","toolName":"fail"}}`)
	if err := answer.failure(err, -32002, "backend"); err != nil {
		return err
	}

	h.say("A server that is not ready: an error that a model can read. It is retried all the while.")
	answer, err = h.call(ctx, "invoke", `{"tool":"mcp/call_dynamic_tool","arguments":{"namespace":"broken","toolName":"add"}}`)
	if err := answer.failure(err, -32001, "message"); err != nil {
		return err
	}

	h.say("End of input: the host closes the child's stdin, and the child ends.")
	return nil
}

// twoTools checks the tools of a construct or ready answer.
func twoTools(answer *demoMessage) error {
	var names []string
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	if got, want := strings.Join(names, " "), "mcp/"+getDynamicTools+" mcp/"+callDynamicTool; got != want {
		return fmt.Errorf("the pack offers the tools %q, want %q", got, want)
	}
	return nil
}

// refusingURL returns an address at which nothing listens.
func refusingURL() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return "http://" + l.Addr().String() + "/mcp", l.Close()
}

// A demoMessage is any message of the child, as far as the demo looks at it.
type demoMessage struct {
	ID     *int
	Method string
	Params struct{ Servers []demoStatus }
	Result *struct {
		Protocol  string
		Tools     []struct{ Name string }
		Servers   []demoStatus
		Content   string
		Untrusted bool
	}
	Error *struct {
		Code    int
		Message string
		Data    struct{ Kind string }
	}
}

type demoStatus struct{ Name, Status, Error string }

// result returns why the message is no good answer; err is why there is none.
func (m *demoMessage) result(err error) error {
	switch {
	case err != nil:
		return err
	case m.Error != nil:
		return fmt.Errorf("request %d was answered with the error %d: %s", *m.ID, m.Error.Code, m.Error.Message)
	case m.Result == nil:
		return fmt.Errorf("request %d was answered without a result", *m.ID)
	}
	return nil
}

// failure returns why the message is not the error that is due.
func (m *demoMessage) failure(err error, code int, kind string) error {
	switch {
	case err != nil:
		return err
	case m.Error == nil:
		return fmt.Errorf("request %d was answered with a result, want the error %d", *m.ID, code)
	case m.Error.Code != code || m.Error.Data.Kind != kind || m.Error.Message == "":
		return fmt.Errorf("request %d was answered with the error %d, kind %q, %q; want %d, kind %q and a message",
			*m.ID, m.Error.Code, m.Error.Data.Kind, m.Error.Message, code, kind)
	}
	return nil
}

var errChildEnded = errors.New("the child closed its stdout")
