package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// TestS2_01_LocalAndRemoteServersAlike has each command use servers of both kinds.
func TestS2_01_LocalAndRemoteServersAlike(t *testing.T) {
	remote := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern})
	config := configure(t, localEntry(t, "zeta", "healthy", ""), entry("remote", remote), localEntry(t, "banner", "banner", ""))
	tools := len(fakeserver.Builtin())

	code, stdout, stderr := run(t, "", "check", "--config", config, "--json")
	row := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"status":"connected","toolCount":%d}`, name, tools)
	}
	if want := `{"ready":true,"servers":[` + row("zeta") + "," + row("remote") + "," + row("banner") + "]}\n"; code != 0 || stdout != want || stderr != "" {
		t.Errorf("exit code %d\n%s%swant %s", code, stdout, stderr, want)
	}
	_, stdout, _ = run(t, "", "tools", "--config", config)
	if heads := strings.Count(stdout, "  connected\n"); heads != 3 || !strings.HasPrefix(stdout, "zeta  connected\n") || strings.Count(stdout, "\n  add\n") != 3 {
		t.Errorf("tools: %s", stdout)
	}
	for _, server := range []string{"zeta", "remote", "banner"} {
		if code, stdout, stderr := run(t, "", "call", "--config", config, server, "add", `{"a": 2, "b": 40}`); code != 0 || stdout != "42\n" || stderr != "" {
			t.Errorf("%s: exit code %d\n%s%s", server, code, stdout, stderr)
		}
	}
}

// TestS2_08_LocalServersThatFail says what is wrong with each, in words that say
// what to do and hold no value of env.
func TestS2_08_LocalServersThatFail(t *testing.T) {
	config := configure(t, localEntry(t, "crash", "crash", ""), localEntry(t, "mute", "mute", ""), localEntry(t, "good", "healthy", ""),
		`"gone": {"command": "toolhost-test-gone"}`, fmt.Sprintf(`"folder": {"command": %q}`, t.TempDir()))
	code, stdout, stderr := run(t, "", "check", "--config", config, "--timeout", "3s")
	if code != exitNotReady || stderr != "" || strings.Contains(stdout, "canary") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, want := range []string{
		"failed      crash  the server's process has ended: exit status 1; its last words on stderr: no database at [redacted]\n",
		"connecting  mute  no answer within 3s; give it longer by --timeout\n",
		"connected   good  ",
		"failed      gone  the command \"toolhost-test-gone\" was not found; install it, or write its full path\n",
		"failed      folder  the command ",
		"1 of 5 servers are connected\n",
	} {
		if strings.Count(stdout, want) != 1 {
			t.Errorf("not once %q in\n%s", want, stdout)
		}
	}
}

// TestAnUnknownServerStartsNone: a slip of the hand must not run what was not named.
func TestAnUnknownServerStartsNone(t *testing.T) {
	server := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern})
	config := configure(t, entry("docs", server))
	for _, args := range [][]string{{"call", "doc", "add"}, {"tools", "doc"}, {"tools", "doc", "add"}} {
		code, stdout, stderr := run(t, "", append(args, "--config", config)...)
		if want := "toolhost: unknown server \"doc\"; did you mean \"docs\"?\n"; code != exitNotReady || stdout != "" || stderr != want {
			t.Errorf("%q: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
	if n := len(server.Ledger().Requests); n > 0 {
		t.Errorf("the server got %d requests", n)
	}
}

// TestS2_05_TypingACallApprovesIt: needsApproval asks the user, who has typed it.
func TestS2_05_TypingACallApprovesIt(t *testing.T) {
	server := fakeserver.StartTest(t, fakeserver.Options{Era: fakeserver.Modern})
	config := configure(t, fmt.Sprintf(`"demo": {"url": %q, "needsApproval": true}`, server.URL()))
	if code, stdout, stderr := run(t, "", "call", "--config", config, "demo", "add", `{"a": 1, "b": 2}`); code != 0 || stdout != "3\n" || stderr != "" {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestS2_15_NobodyAtATerminalIsAsked: the modes are not declared, so that a server
// which asks all the same learns that it may not.
func TestS2_15_NobodyAtATerminalIsAsked(t *testing.T) {
	config := configure(t, localEntry(t, "shop", "asks", ""))
	code, stdout, stderr := run(t, "Soup\n1\n\n\n", "call", "--config", config, "shop", "order")
	if code != 4 || stdout != "" || !strings.Contains(stderr, "toolhost: ") || strings.Contains(stderr, "What do you want?") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestS2_02_AServerThatWantsASignIn says what to do about it, in every output.
func TestS2_02_AServerThatWantsASignIn(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	config := configure(t, fmt.Sprintf(`"docs": {"url": %q, "oauth": true}`, server.URL))
	const says = "the user has to sign in, which this command does not do; to try it here, write a credential into headers in place of oauth"
	code, stdout, stderr := run(t, "", "check", "--config", config)
	if want := "failed      docs  " + says + "\n0 of 1 servers are connected\n"; code != exitNotReady || stdout != want || stderr != "" {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	_, stdout, _ = run(t, "", "check", "--config", config, "--json")
	var report struct {
		Servers []struct {
			Error       string
			NeedsSignIn bool
		}
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || len(report.Servers) != 1 || !report.Servers[0].NeedsSignIn || report.Servers[0].Error != says {
		t.Errorf("%v: %s", err, stdout)
	}
	if code, _, stderr := run(t, "", "call", "--config", config, "docs", "add"); code != exitNotReady || stderr != "toolhost: server \"docs\" is not connected: "+says+"\n" {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}
