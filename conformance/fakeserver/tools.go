package fakeserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Tool is one tool that the server offers.
type Tool struct {
	Name string

	// Definition is the tool as tools/list gives it, a JSON object whose bytes
	// go out unchanged. See Define.
	Definition string

	// Run answers a call. It returns early when ctx ends: the client has
	// cancelled the call, or the server closes. Nil answers with no content.
	Run func(ctx context.Context, call *Call) Output

	// Asks are what the tool asks the user before it answers, with what it was
	// told: see Round. Run is then not used.
	Asks []Round
}

// Define returns a Definition with a name, a description and an input schema.
func Define(name, description, inputSchema string) string {
	return `{"name":` + quote(name) + `,"description":` + quote(description) + `,"inputSchema":` + inputSchema + `}`
}

// schema returns the input schema in the definition.
func (t *Tool) schema() json.RawMessage {
	var d struct {
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if json.Unmarshal([]byte(t.Definition), &d) != nil {
		return nil
	}
	return d.InputSchema
}

// A Call is one call of a tool.
type Call struct {
	Arguments json.RawMessage // the bytes that came; {} when there were none

	x     *exchange
	token json.RawMessage // progressToken; nil when the client wants none
}

// Progress sends notifications/progress, if the client asked for it and the form
// of answers has room for it.
func (c *Call) Progress(progress, total float64, text string) {
	if c.token == nil {
		return
	}
	c.x.notify(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%v,"total":%v,"message":%s}}`,
		c.token, progress, total, quote(text)))
}

// Arg decodes one argument into v, which keeps its value when it is not there.
func (c *Call) Arg(name string, v any) error {
	var arguments map[string]json.RawMessage
	if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
		return err
	}
	if raw, ok := arguments[name]; ok {
		return json.Unmarshal(raw, v)
	}
	return nil
}

// An Output is what a tool answers.
type Output struct {
	Content    []string // content blocks, each a JSON object
	Structured string   // structuredContent; "" for none
	IsError    bool
}

// Text returns an Output with one text block.
func Text(text string) Output { return Output{Content: []string{textBlock(quote(text))}} }

func textBlock(literal string) string { return `{"type":"text","text":` + literal + `}` }

// Builtin returns the tools that every Server has unless it is told others.
func Builtin() []Tool {
	const object = `{"type":"object"}`
	return []Tool{
		{"echo", Define("echo", "Answers with the text.", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`), echo, nil},
		{"add", Define("add", "Adds two numbers.", `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`), add, nil},
		{"slow", Define("slow", "Takes ms milliseconds in four steps, with progress after each.", `{"type":"object","properties":{"ms":{"type":"integer"}}}`), slow, nil},
		{"fail", Define("fail", "Answers with an error of its own.", `{"type":"object","properties":{"text":{"type":"string"}}}`), fail, nil},
		{"image", Define("image", "Answers with a picture and a sound.", object), fixed(`{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}`, `{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}`), nil},
		{"structured", Define("structured", "Answers with structured content only.", object), structured, nil},
		{"links", Define("links", "Answers with a link, an embedded text and an embedded binary.", object), fixed(
			`{"type":"resource_link","uri":"file:///notes.txt","name":"notes"}`,
			`{"type":"resource","resource":{"uri":"file:///inline.txt","mimeType":"text/plain","text":"the text of a resource"}}`,
			`{"type":"resource","resource":{"uri":"file:///inline.bin","mimeType":"application/zip","blob":"UEsDBA=="}}`), nil},
		{"big", Define("big", "Answers with that many bytes of text.", `{"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]}`), big, nil},
		{"raw_args", Define("raw_args", "Answers with the bytes of its arguments.", object), rawArgs, nil},
	}
}

// Filler returns n tools with the names filler_00001 and so on, for long lists.
func Filler(n int) []Tool {
	tools := make([]Tool, n)
	for i := range tools {
		name := fmt.Sprintf("filler_%05d", i+1)
		tools[i] = Tool{Name: name, Definition: Define(name, "Does nothing.", `{"type":"object"}`)}
	}
	return tools
}

func fixed(blocks ...string) func(context.Context, *Call) Output {
	return func(context.Context, *Call) Output { return Output{Content: blocks} }
}

// echo splices the text as it was written, escapes and all.
func echo(_ context.Context, call *Call) Output {
	var literal json.RawMessage
	if err := call.Arg("text", &literal); err != nil || len(literal) == 0 || literal[0] != '"' {
		return wrong("text must be a string")
	}
	return Output{Content: []string{textBlock(string(literal))}}
}

func add(_ context.Context, call *Call) Output {
	var a, b float64
	if err := errors.Join(call.Arg("a", &a), call.Arg("b", &b)); err != nil {
		return wrong("a and b must be numbers")
	}
	return Text(strconv.FormatFloat(a+b, 'f', -1, 64))
}

func slow(ctx context.Context, call *Call) Output {
	const steps = 4
	var ms int
	if err := call.Arg("ms", &ms); err != nil {
		return wrong("ms must be an integer")
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for step := 1; step <= steps; step++ {
		timer.Reset(time.Duration(ms) * time.Millisecond / steps)
		select {
		case <-timer.C:
			call.Progress(float64(step), steps, fmt.Sprintf("step %d of %d", step, steps))
		case <-ctx.Done():
			return Output{}
		}
	}
	return Text(fmt.Sprintf("slept %d ms", ms))
}

func fail(_ context.Context, call *Call) Output {
	text := "this tool always fails"
	if err := call.Arg("text", &text); err != nil {
		return wrong("text must be a string")
	}
	return wrong(text)
}

func structured(context.Context, *Call) Output {
	return Output{Structured: `{"temperature":21.50,"unit":"C","big":12345678901234567890}`}
}

func big(_ context.Context, call *Call) Output {
	var n int
	if err := call.Arg("bytes", &n); err != nil || n < 0 {
		return wrong("bytes must be a positive integer")
	}
	const line = "the quick brown fox jumps over the lazy dog, again and again\n"
	return Text(strings.Repeat(line, n/len(line)) + line[:n%len(line)])
}

func rawArgs(_ context.Context, call *Call) Output { return Text(string(call.Arguments)) }

func wrong(text string) Output {
	out := Text(text)
	out.IsError = true
	return out
}

// tool returns the tool of that name, or nil.
func (s *Server) tool(name string) *Tool {
	for i := range s.tools {
		if s.tools[i].Name == name {
			return &s.tools[i]
		}
	}
	return nil
}

// listTools answers tools/list with the page that the cursor names.
func (x *exchange) listTools() {
	var params struct {
		Cursor *string `json:"cursor"`
	}
	if x.msg.Params != nil && json.Unmarshal(x.msg.Params, &params) != nil {
		x.refuse(codeInvalidParams, "Invalid params")
		return
	}
	tools, start := x.s.tools, 0
	if params.Cursor != nil {
		raw, err := base64.RawURLEncoding.DecodeString(*params.Cursor)
		n, numErr := strconv.Atoi(string(raw))
		if err != nil || numErr != nil || n <= 0 || n >= len(tools) {
			x.complain("the cursor %q was never given out", *params.Cursor)
			x.refuse(codeInvalidParams, "Invalid params: cursor")
			return
		}
		start = n
	}
	end, next := len(tools), ""
	if size := x.s.opts.PageSize; size > 0 && start+size < len(tools) {
		end = start + size
		next = `,"nextCursor":` + quote(base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(end))))
	}
	definitions := make([]string, 0, end-start)
	for _, tool := range tools[start:end] {
		definitions = append(definitions, tool.Definition)
	}
	members := `"tools":[` + strings.Join(definitions, ",") + `]` + next
	if x.modern {
		members += `,"ttlMs":60000,"cacheScope":"private"`
	}
	x.result(members)
}

// callTool answers tools/call. The run ends early when the client cancels: by a
// message in the legacy era, where a lost connection means nothing, and by
// closing the stream in the modern one.
func (x *exchange) callTool() {
	var params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(x.msg.Params, &params) != nil || params.Name == "" {
		x.complain("params.name must be there")
		x.refuse(codeInvalidParams, "Invalid params: name")
		return
	}
	tool := x.s.tool(params.Name)
	if tool == nil {
		x.refuse(codeInvalidParams, "Unknown tool: "+params.Name)
		return
	}
	call := &Call{Arguments: params.Arguments, x: x, token: metaOf(x.msg.Params)["progressToken"]}
	if call.Arguments == nil {
		call.Arguments = json.RawMessage("{}")
	}
	run := Run{Tool: params.Name, Arguments: call.Arguments, Session: x.sessionID(), ID: string(x.msg.ID), Outcome: Running}
	_ = call.Arg("nonce", &run.Nonce) // a nonce of another type is none
	index := x.s.book.begin(run)

	ctx, done := x.runContext()
	var out Output
	input := false
	switch {
	case tool.Asks != nil:
		out, input = x.ask(ctx, tool, call)
	case tool.Run != nil:
		out = tool.Run(ctx, call)
	}
	outcome := outcomeOf(ctx, &out)
	done()
	var cancel *Cancel // a cancel by message was noted when it came
	if x.modern && x.process == nil && outcome == Cancelled {
		cancel = &Cancel{ID: run.ID, By: ByStream, Known: true}
	}
	x.s.book.finish(index, outcome, cancel)
	switch outcome {
	case Answered, Failed:
		if !input {
			x.result(out.members())
		}
	case Cancelled, Stopped:
		// No answer follows a cancel (cancellation, behaviour requirements).
		if x.process == nil && !x.streaming() {
			panic(http.ErrAbortHandler)
		}
	}
}

// runContext returns the context of a run and a function that ends it.
func (x *exchange) runContext() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(x.s.ctx)
	if x.process != nil {
		stop := context.AfterFunc(x.r.Context(), func() { cancel(context.Cause(x.r.Context())) })
		return ctx, func() { stop(); cancel(nil) }
	}
	if x.modern {
		stop := context.AfterFunc(x.r.Context(), func() { cancel(errCancelled) })
		return ctx, func() { stop(); cancel(nil) }
	}
	key := runKey{x.sessionID(), string(x.msg.ID)}
	x.s.mu.Lock()
	x.s.running[key] = cancel
	if x.session != nil && x.session.cancelledEarly(key.id) {
		cancel(errCancelled)
	}
	x.s.mu.Unlock()
	return ctx, func() {
		x.s.mu.Lock()
		delete(x.s.running, key)
		x.s.mu.Unlock()
		cancel(nil)
	}
}

func outcomeOf(ctx context.Context, out *Output) Outcome {
	switch {
	case errors.Is(context.Cause(ctx), errCancelled):
		return Cancelled
	case ctx.Err() != nil:
		return Stopped
	case out.IsError:
		return Failed
	}
	return Answered
}

// members returns the members of the result of tools/call.
func (o *Output) members() string {
	members := `"content":[` + strings.Join(o.Content, ",") + `]`
	if o.Structured != "" {
		members += `,"structuredContent":` + o.Structured
	}
	if o.IsError {
		members += `,"isError":true`
	}
	return members
}
