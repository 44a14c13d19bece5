// Command matrix-go is an MCP server on the official Go SDK, which speaks both eras.
// Here it speaks the one it is told to.
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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// patience bounds how long the tool ledger waits for a line.
const patience = 5 * time.Second

func main() {
	port := flag.Int("port", 0, "listen on this port of 127.0.0.1; 0 takes a free one")
	era := flag.String("era", "legacy", "legacy or modern")
	reply := flag.String("reply", "sse", "sse or json")
	stdio := flag.String("stdio", "", "serve on stdin and stdout instead, and append what comes on stdin to this file")
	flag.Parse()
	versions := map[string][]string{"legacy": {"2025-11-25"}, "modern": {"2026-07-28"}}[*era]
	server := newServer(versions)
	if *stdio != "" {
		if err := serveStdio(server, *stdio); err != nil {
			log.Fatal(err)
		}
		return
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless:                    *era == "modern",
		JSONResponse:                 *reply == "json",
		PropagateRequestCancellation: true,
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("{\"url\":\"http://%s/mcp\"}\n", ln.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	log.Fatal(http.Serve(ln, mux))
}

// serveStdio serves until stdin ends, and keeps what it reads.
func serveStdio(server *mcp.Server, file string) error {
	kept, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer kept.Close()
	return server.Run(context.Background(), &mcp.IOTransport{
		Reader: io.NopCloser(io.TeeReader(os.Stdin, kept)),
		Writer: os.Stdout,
	})
}

type textInput struct {
	Text string `json:"text"`
}

type slowInput struct {
	Text string  `json:"text"`
	Ms   float64 `json:"ms"`
}

type untilInput struct {
	Until string `json:"until,omitempty"`
}

func newServer(versions []string) *mcp.Server {
	var done ledger
	server := mcp.NewServer(&mcp.Implementation{Name: "go", Version: "1.0.0"}, &mcp.ServerOptions{SupportedProtocolVersions: versions})
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Answers with the text."},
		func(_ context.Context, _ *mcp.CallToolRequest, in textInput) (*mcp.CallToolResult, any, error) {
			done.write("echo " + in.Text)
			return text(in.Text), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "slow", Description: "Takes ms milliseconds in five steps, with progress after each."},
		func(ctx context.Context, req *mcp.CallToolRequest, in slowInput) (*mcp.CallToolResult, any, error) {
			done.write("slow " + in.Text)
			for step := 1.0; step <= 5; step++ {
				select {
				case <-time.After(time.Duration(in.Ms/5) * time.Millisecond):
				case <-ctx.Done():
					done.write("cancelled " + in.Text)
					return nil, nil, ctx.Err()
				}
				if token := req.Params.GetProgressToken(); token != nil {
					// An answer of one JSON object has no room for progress, which is an error
					// here and no reason to fail.
					_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: step, Total: 5})
				}
			}
			return text(in.Text), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "ledger", Description: "Answers with the revision spoken and what the tools did."},
		func(ctx context.Context, req *mcp.CallToolRequest, in untilInput) (*mcp.CallToolResult, any, error) {
			var revision string // none over stdio
			if req.Extra != nil {
				revision = req.Extra.Header.Get("Mcp-Protocol-Version")
			}
			lines := append([]string{revision}, done.read(ctx, in.Until)...)
			return text(strings.Join(lines, "\n")), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "grow", Description: "Adds the tool grown."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			// AddTool tells every client that listens.
			server.AddTool(&mcp.Tool{
				Name: "grown", Description: "A tool that was not always there.", InputSchema: json.RawMessage(`{"type":"object"}`),
			}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("grown"), nil })
			return text("there is a new tool"), nil, nil
		})
	addQuestion(server)
	server.AddPrompt(&mcp.Prompt{Name: "greet", Description: "Greets somebody.", Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{
				Role: "user", Content: &mcp.TextContent{Text: "Say hello to " + req.Params.Arguments["name"] + "."},
			}}}, nil
		})
	server.AddResource(&mcp.Resource{Name: "memo", URI: "memo://one", MIMEType: "text/plain"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: "remember the milk"}}}, nil
		})
	return server
}

// addQuestion adds the tool ask, which asks the user whether to go on. The SDK puts
// the question in the way of the era: as a request of its own, or as a result that is
// called for again.
func addQuestion(server *mcp.Server) {
	server.AddTool(&mcp.Tool{
		Name: "ask", Description: "Asks the user, and answers with the answer.", InputSchema: json.RawMessage(`{"type":"object"}`),
	}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		const question = "confirm"
		response, asked := req.Params.InputResponses[question]
		if !asked {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{question: &mcp.ElicitParams{
				Mode:    "form",
				Message: "Go on?",
				RequestedSchema: json.RawMessage(
					`{"type":"object","properties":{"yes":{"type":"boolean"},"times":{"type":"integer","default":3}},"required":["yes"]}`),
			}}}, nil
		}
		answer, err := json.Marshal(response)
		return text(string(answer)), err
	})
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// A ledger is what the tools of this server did, one line for each event.
type ledger struct {
	mu      sync.Mutex
	lines   []string      // guarded by mu
	changed chan struct{} // closed at the next line; nil while nobody waits; guarded by mu
}

func (l *ledger) write(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// read returns all lines, as soon as until is one of them, patience ends or ctx.
func (l *ledger) read(ctx context.Context, until string) []string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		l.mu.Lock()
		lines := slices.Clone(l.lines)
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		if until == "" || slices.Contains(lines, until) {
			return lines
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return lines
		}
	}
}
