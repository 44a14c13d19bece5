package oauth

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/redact"
)

// childVariable tells the test binary that it is one of many processes: the folder of
// tokens and the MCP server, with a bar between.
const childVariable = "TOOLHOST_TEST_TOKENS"

func TestMain(m *testing.M) {
	if folder, server, ok := strings.Cut(os.Getenv(childVariable), "|"); ok {
		if err := printToken(folder, server); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A program with the race detector sleeps for a second before it exits.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	os.Exit(m.Run())
}

// printToken is what each of the processes does.
func printToken(folder, server string) error {
	c, err := New(redact.NewSecret(server), &Options{
		HTTP:  func(bool) *http.Client { return &http.Client{} },
		Store: NewFileStore(folder),
		Scrub: redact.NewScrubber(),
		User:  func(context.Context) Prompt { return nil },
	})
	if err != nil {
		return err
	}
	token, err := c.Token(context.Background())
	fmt.Print(token.Reveal("a test"))
	return err
}

// TestT59_ManyProcesses: 20 processes that find one token that has run out make one
// request for another, at a server that takes each refresh token once, and all use what
// comes of it.
func TestT59_ManyProcesses(t *testing.T) {
	var mu sync.Mutex
	requests := 0
	as := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if requests++; requests > 1 || r.PostFormValue("refresh_token") != "refresh-token-1" {
			answering(400, `{"error":"invalid_grant"}`)(w, r)
			return
		}
		answering(200, `{"access_token":"access-token-2","refresh_token":"refresh-token-2","expires_in":3600}`)(w, r)
	}))
	defer as.Close()
	folder := filepath.Join(t.TempDir(), "tokens")
	g := grant("access-token-1", "refresh-token-1")
	g.TokenEndpoint = as.URL + "/token"
	g.Expiry = time.Now().Add(-time.Minute)
	keepIn(t, NewFileStore(folder), Key{Server: as.URL + "/mcp"}, &Record{Grant: g})

	var processes sync.WaitGroup
	for range 20 {
		processes.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), childVariable+"="+folder+"|"+as.URL+"/mcp")
			var failure bytes.Buffer
			cmd.Stderr = &failure
			out, err := cmd.Output()
			if err != nil || string(out) != "access-token-2" {
				t.Errorf("%v, the token is %q: %s", err, out, &failure)
			}
		})
	}
	processes.Wait()
	if requests != 1 {
		t.Errorf("%d requests for a token, want 1", requests)
	}
}
