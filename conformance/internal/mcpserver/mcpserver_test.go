package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// TestMain lets the test binary play a server: the variable says which.
func TestMain(m *testing.M) {
	switch os.Getenv("TOOLHOST_SERVER_TEST") {
	case "":
		os.Exit(m.Run())
	case "good":
		fmt.Println("a line of something else\n{\"url\":\"u\",\"ledger\":\"l\"}\n{\"url\":\"another\"}")
		io.Copy(io.Discard, os.Stdin)
	case "silent":
		fmt.Fprintln(os.Stderr, "no port for me")
		os.Exit(3)
	}
}

func TestProcess(t *testing.T) {
	start := func(play string) (*Process, error) {
		return Start(t.Context(), []string{os.Args[0]}, "TOOLHOST_SERVER_TEST="+play)
	}
	p, err := start("good")
	if err != nil || p.Address != (Address{"u", "l"}) {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if p, err = start("good"); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("Kill: %v", err)
	}
	if _, err := start("silent"); err == nil || !strings.Contains(err.Error(), "no port for me") {
		t.Errorf("a server that ends at once: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(canceled, []string{os.Args[0]}, "TOOLHOST_SERVER_TEST=mute"); err == nil {
		t.Error("a server that prints nothing gave no error")
	}
}

// TestClient sees both eras and both forms of an answer.
func TestClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor *string }
		}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Error(err)
		}
		result := `{"protocolVersion":"2025-11-25"}`
		switch {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s")
		case r.Header.Get("Mcp-Protocol-Version") == Modern:
			if r.Header.Get("Mcp-Method") != m.Method || !strings.Contains(string(body), `"progressToken":"p"`) {
				t.Errorf("%v %s", r.Header, body)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: \r\n\r\nevent: message\ndata: {\"method\":\"x\"}\n\ndata: {\"id\":%s,\"result\":{\"modern\":1}}\n\n", m.ID)
			return
		case r.Header.Get("Mcp-Session-Id") != "s":
			http.Error(w, "no session", http.StatusNotFound)
			return
		case m.Params.Cursor == nil:
			result = `{"tools":[{"name":"a","inputSchema":{"x": 1}}],"nextCursor":""}`
		default:
			result = `{"tools":[{"name":"b","inputSchema":{}}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	defer server.Close()

	legacy, err := Open(t.Context(), server.URL, Legacy)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := legacy.List(t.Context())
	if want := `[{a {"x": 1}} {b {}}]`; err != nil || fmt.Sprint(tools) != want {
		t.Errorf("%v, %v", tools, err)
	}
	modern, err := Open(t.Context(), server.URL, Modern)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := modern.Call(t.Context(), "tools/call", "a", `"name":"a"`, "p")
	if err != nil || answer.Form != "sse" || string(answer.Result) != `{"modern":1}` {
		t.Errorf("%s, %s, %v", answer.Form, answer.Result, err)
	}
	if _, err := Open(t.Context(), server.URL, "2025-06-18"); err == nil || !strings.Contains(err.Error(), "does not speak") {
		t.Errorf("another revision: %v", err)
	}
}

func TestFindSaysWhatIsNeeded(t *testing.T) {
	if _, err := Find(t.Context(), "no-such-program", "No Such Program 7"); err == nil || !strings.Contains(err.Error(), "these tests need No Such Program 7") {
		t.Errorf("%v", err)
	}
	if err := Run(t.Context(), t.TempDir(), "sh", "-c", "echo reasons; exit 1"); err == nil || !strings.Contains(err.Error(), "reasons") {
		t.Errorf("%v", err)
	}
}
