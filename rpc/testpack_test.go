package rpc

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack"
)

// A tool is what a testPack does when one of its tools is invoked.
type tool func(ctx context.Context, p *testPack, call *pack.Call) (*pack.Result, error)

// A testPack is a pack without servers whose tools do what a test needs. The test
// sets its fields before it is inserted; what is constructed from it are copies
// that share the count of calls.
type testPack struct {
	tools map[string]tool // beside the standard ones
	ready func(context.Context) ([]pack.ServerStatus, error)
	close func(context.Context) error
	fresh func(*testPack) // called by New when id and host are set
	list  func()          // called by Tools

	// Of a constructed pack.
	id   string
	host *pack.Host

	*testCount
}

// A testCount is what the packs of one test have in common.
type testCount struct {
	mu      sync.Mutex
	changes *sync.Cond
	begun   map[string]int // calls by tool; guarded by mu
	last    *testPack      // constructed last; guarded by mu
}

// info returns the description under which the pack is inserted.
func (p *testPack) info(name, id string) pack.Info {
	p.testCount = &testCount{begun: map[string]int{}}
	p.changes = sync.NewCond(&p.mu)
	return pack.Info{
		Name: name, ID: id, Description: "A pack for tests", Prelude: "Use it well.",
		New: func(id string, config pack.Raw, host *pack.Host) (pack.Pack, error) {
			switch string(config) {
			case `"panic"`:
				panic("new: " + canary)
			case `"refuse"`:
				return nil, pack.Errorf(pack.KindUnavailable, "the configuration is refused")
			case `"fail"`:
				return nil, context.DeadlineExceeded
			}
			built := *p
			built.id, built.host = id, host
			p.mu.Lock()
			p.last = &built
			p.mu.Unlock()
			if p.fresh != nil {
				p.fresh(&built)
			}
			return &built, nil
		},
	}
}

// built returns the pack that was constructed last.
func (p *testPack) built() *testPack {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// canary is a text that must never reach a log.
const canary = "sk-canary-0123456789abcdef"

func (p *testPack) Tools() []pack.Tool {
	if p.list != nil {
		p.list()
	}
	return []pack.Tool{{
		Name: "echo", Kind: pack.KindTool, Title: "Echo", Description: "Says it \"again\".",
		InputSchema: pack.Raw("{ \"type\" : \"object\",\r\n \"x\": [9007199254740993, 1.0, null, \"<&>\"] }"),
		Annotations: pack.Raw(`{"readOnlyHint":true}`), Untrusted: true, Server: "one", ServerTool: "Echo",
	}, {
		Name: "command/mcp", Kind: pack.KindCommand,
	}}
}

func (p *testPack) Ready(ctx context.Context) ([]pack.ServerStatus, error) {
	p.mark("ready")
	if p.ready != nil {
		return p.ready(ctx)
	}
	return []pack.ServerStatus{
		{Name: "one", Status: "connected", ToolCount: 2},
		{Name: "two", Status: "failed", Error: "it is not there", NeedsSignIn: true},
	}, nil
}

func (p *testPack) Close(ctx context.Context) error {
	p.mark("close")
	if p.close != nil {
		return p.close(ctx)
	}
	return nil
}

func (p *testPack) Invoke(ctx context.Context, call *pack.Call) (*pack.Result, error) {
	p.mark(call.Tool)
	if t := p.tools[call.Tool]; t != nil {
		return t(ctx, p, call)
	}
	if t := standardTools[call.Tool]; t != nil {
		return t(ctx, p, call)
	}
	return nil, pack.Errorf(pack.KindMessage, "unknown tool %q", call.Tool)
}

// standardTools are those that every testPack has.
var standardTools = map[string]tool{
	// echo answers its arguments as text and as they are.
	"echo": func(_ context.Context, _ *testPack, call *pack.Call) (*pack.Result, error) {
		text := append(rawjson.AppendQuoted([]byte{'"'}, call.Arguments), '"')
		return &pack.Result{Content: text, Untrusted: true, Structured: call.Arguments, Blocks: pack.Raw(`[{"type":"text"}]`)}, nil
	},
	// call answers what the call says beside its arguments.
	"call": func(_ context.Context, _ *testPack, call *pack.Call) (*pack.Result, error) {
		return text(call.Run + "," + call.Timeout.Round(time.Millisecond).String() + "," +
			strconv.FormatBool(call.Progress != nil) + "," + strconv.FormatBool(call.Log != nil)), nil
	},
	// wait answers when the call is cancelled.
	"wait": func(ctx context.Context, _ *testPack, _ *pack.Call) (*pack.Result, error) {
		<-ctx.Done()
		return nil, pack.AsError(context.Cause(ctx))
	},
	"panic": func(context.Context, *testPack, *pack.Call) (*pack.Result, error) {
		panic("invoke: " + canary)
	},
	"nil": func(context.Context, *testPack, *pack.Call) (*pack.Result, error) {
		return nil, nil
	},
}

func text(s string) *pack.Result { return &pack.Result{Content: rawjson.Quote(s)} }

// mark counts a call.
func (p *testPack) mark(tool string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun[tool]++
	p.changes.Broadcast()
}

// reached waits until so many calls of the tool have begun.
func (p *testPack) reached(tool string, calls int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.begun[tool] < calls {
		p.changes.Wait()
	}
}
