package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A play is what a user does in a scenario once the server is ready, and the end
// state that must come of it.
type play func(ctx context.Context, h *host, tools []tool, t *task) error

// plays are the scenarios by name, and groups of them by the beginning of it.
var plays = []struct {
	scenario string // all that begin so when it ends in /
	play     play
}{
	{"initialize", look},
	{"request-metadata", look},
	{"json-schema-ref-no-deref", look},
	{"sep-2640-client-no-prefetch", look},
	{"sep-2640-client-verify-digest", look},
	{"sep-2640-client-verify-size", look},
	{"sep-2640-client-verify-frontmatter", look},
	{"tools_call", add},
	{"sse-retry", callAll},
	{"http-standard-headers", callAll},
	{"http-invalid-tool-headers", callAll},
	{"http-custom-headers", callAsTold},
	{"json-schema-2020-12-preservation", echoSchema},
}

// A directPlay is one that needs a user, and so the pack that has one.
type directPlay func(ctx context.Context, h *host, tools []tool) error

var directPlays = map[string]directPlay{
	"elicitation-sep1034-client-defaults": acceptDefaults,
	"sep-2322-client-request-state":       confirmOnce,
}

func playFor(scenario string) play {
	for _, row := range plays {
		if row.scenario == scenario || strings.HasSuffix(row.scenario, "/") && strings.HasPrefix(scenario, row.scenario) {
			return row.play
		}
	}
	return nil
}

// look does no more: the server is ready, which is what is wanted.
func look(context.Context, *host, []tool, *task) error { return nil }

func add(ctx context.Context, h *host, _ []tool, _ *task) error {
	text, err := h.call(ctx, "add_numbers", json.RawMessage(`{"a":5,"b":3}`))
	if err == nil && !strings.Contains(text, "8") {
		err = fmt.Errorf("5 and 3 make %q", text)
	}
	return err
}

// callAll calls every tool that is listed, one after the other.
func callAll(ctx context.Context, h *host, tools []tool, _ *task) error {
	if len(tools) == 0 {
		return errors.New("the server lists no tool")
	}
	for _, tool := range tools {
		if _, err := h.call(ctx, tool.Name, json.RawMessage(`{}`)); err != nil {
			return err
		}
	}
	return nil
}

// callAsTold makes the calls that the suite gives.
func callAsTold(ctx context.Context, h *host, _ []tool, t *task) error {
	if len(t.calls) == 0 {
		return errors.New("the suite gives no calls to make")
	}
	for _, call := range t.calls {
		if _, err := h.call(ctx, call.Name, call.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// echoSchema sends one tool's schema to another tool, as the host lists it.
func echoSchema(ctx context.Context, h *host, tools []tool, _ *task) error {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == "json_schema_2020_12_tool" })
	if i < 0 {
		return errors.New("the tool with the schema is not listed")
	}
	arguments, err := json.Marshal(map[string]json.RawMessage{"schema": tools[i].InputSchema})
	if err != nil {
		return err
	}
	_, err = h.call(ctx, "json_schema_echo", arguments)
	return err
}

// acceptDefaults accepts every form as it is, without filling anything in.
func acceptDefaults(ctx context.Context, h *host, tools []tool) error {
	h.answer = func() string { return `{}` }
	if len(tools) == 0 {
		return errors.New("the server lists no tool")
	}
	for _, tool := range tools {
		if err := h.callDirect(ctx, tool.Name); err != nil {
			return err
		}
	}
	return nil
}

// confirmOnce calls the tool that keeps state, and another one while its question is
// open; then the tools that do without.
func confirmOnce(ctx context.Context, h *host, _ []tool) error {
	other := make(chan struct{})
	h.answer = func() string {
		<-other
		return `{"confirmed":true}`
	}
	first := make(chan error, 1)
	go func() { first <- h.callDirect(ctx, "test_mrtr_echo_state") }()
	select {
	case <-h.asked:
	case err := <-first:
		return errors.Join(errors.New("the server's question did not come"), err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := h.callDirect(ctx, "test_mrtr_unrelated")
	close(other)
	if err = errors.Join(err, <-first); err != nil {
		return err
	}
	for _, name := range []string{"test_mrtr_no_state", "test_mrtr_no_result_type"} {
		if err := h.callDirect(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
