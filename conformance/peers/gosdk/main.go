// Command gosdk is an MCP server built with the official Go SDK, for trying
// toolhost against a server that it shares nothing with. It listens on a free
// port of 127.0.0.1, prints one line with its address, and ends when stdin ends.
//
//	{"url":"http://127.0.0.1:PORT/mcp","ledger":"http://127.0.0.1:PORT/ledger"}
//
// GET /ledger?calls=N&cancels=M answers {"calls": n, "cancels": m} as soon as
// n >= N and m >= M, or after 5 s: how often the tool slow began, and how often it
// was cancelled.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	era := flag.String("era", "legacy", "legacy: 2025-11-25 with sessions; modern: 2026-07-28, stateless")
	answer := flag.String("answer", "sse", "the form of answers: sse or json")
	flag.Parse()
	versions, ok := map[string][]string{"legacy": {"2025-11-25"}, "modern": {"2026-07-28"}}[*era]
	if !ok || (*answer != "sse" && *answer != "json") {
		log.Fatal("gosdk: -era is legacy or modern, -answer is sse or json")
	}
	l := newLedger()
	server := newServer(versions, l)
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless:                    *era == "modern",
		JSONResponse:                 *answer == "json",
		PropagateRequestCancellation: true,
	}))
	mux.Handle("/ledger", l)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("{\"url\":\"http://%[1]s/mcp\",\"ledger\":\"http://%[1]s/ledger\"}\n", ln.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	log.Fatal(http.Serve(ln, mux))
}

// newServer returns a server with one tool for each kind of answer. Three tools
// on a page make tools/list take several.
func newServer(versions []string, l *ledger) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "gosdk", Version: "1.0.0"}, &mcp.ServerOptions{
		PageSize:                  3,
		SupportedProtocolVersions: versions,
	})
	add := func(name, description, schema string, handler mcp.ToolHandler) {
		server.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)}, handler)
	}
	add("echo", "Answers with the text.", `{"type":"object","required":["text"],"properties":{"text":{"type":"string","description":"à répéter"}}}`, echo)
	add("add", "Adds two numbers.", `{"type":"object","properties":{"b":{"type":"number"},"a":{"type":"number"}}}`, sum)
	add("image", "Answers with a picture.", `{"type":"object"}`, image)
	add("structured", "Answers with structured content only.", `{"type":"object"}`, structured)
	add("link", "Answers with a link to a resource.", `{"type":"object"}`, link)
	add("slow", "Takes ms milliseconds in five steps, with progress after each.", `{"type":"object","properties":{"ms":{"type":"integer","maximum":9007199254740993}}}`, l.slow)
	add("fail", "Answers with an error of its own.", `{"type":"object"}`, fail)
	return server
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func echo(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args struct{ Text string }
	if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
		return nil, err
	}
	return text(args.Text), nil
}

func sum(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args struct{ A, B float64 }
	if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
		return nil, err
	}
	return text(strconv.FormatFloat(args.A+args.B, 'f', -1, 64)), nil
}

func image(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: "before"},
		&mcp.ImageContent{Data: []byte("\x89PNG\r\n\x1a\n"), MIMEType: "image/png"},
		&mcp.TextContent{Text: "after"},
	}}, nil
}

func structured(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{
		Content:           []mcp.Content{},
		StructuredContent: json.RawMessage(`{"temperature":21.50,"unit":"C","big":12345678901234567890}`),
	}, nil
}

func link(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.ResourceLink{URI: "file:///notes.txt", Name: "notes"},
	}}, nil
}

func fail(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	result := text("this tool always fails")
	result.IsError = true
	return result, nil
}

// A ledger counts what happened to the tool slow.
type ledger struct {
	mu             sync.Mutex
	calls, cancels int           // guarded by mu
	changed        chan struct{} // closed and replaced at each change; guarded by mu
}

func newLedger() *ledger { return &ledger{changed: make(chan struct{})} }

func (l *ledger) count(counter *int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*counter++
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *ledger) slow(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	const steps = 5
	var args struct{ Ms int }
	if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
		return nil, err
	}
	l.count(&l.calls)
	token := req.Params.GetProgressToken()
	for step := 1; step <= steps; step++ {
		select {
		case <-time.After(time.Duration(args.Ms) * time.Millisecond / steps):
		case <-ctx.Done():
			l.count(&l.cancels)
			return nil, ctx.Err()
		}
		if token != nil {
			if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(step), Total: steps, Message: fmt.Sprintf("step %d of %d", step, steps),
			}); err != nil {
				return nil, err
			}
		}
	}
	return text(fmt.Sprintf("slept %d ms", args.Ms)), nil
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wantCalls, _ := strconv.Atoi(r.FormValue("calls")) // 0 when there is none
	wantCancels, _ := strconv.Atoi(r.FormValue("cancels"))
	patience := time.After(5 * time.Second)
	for waiting := true; waiting; {
		l.mu.Lock()
		enough, changed := l.calls >= wantCalls && l.cancels >= wantCancels, l.changed
		l.mu.Unlock()
		if enough {
			break
		}
		select {
		case <-changed:
		case <-patience:
			waiting = false
		case <-r.Context().Done():
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, "{\"calls\":%d,\"cancels\":%d}\n", l.calls, l.cancels)
}
