package mcptools

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolhost/toolhost/mcpclient"
)

// TestReport: what people are shown is there at once, server by server.
func TestReport(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		slow := w.serve("slow", tool("x", ""))
		slow.hold = make(chan struct{})
		git := w.serve("git", tool("log", ""), tool("later", `,"execution":{"taskSupport":"required"}`), `{"name":"broken"}`)
		git.capabilities = `{"tools":{"listChanged":true}}`
		w.dial(`git "disabled":true`, "slow", `refused "headers":{"Content-Type":"a/b"}`)
		p := w.inside()
		servers := p.Servers()
		if len(servers) != 3 || servers[0].Status != "connected" || servers[1].Status != "connecting" || servers[2].Status != "failed" || servers[2].Error == "" {
			t.Errorf("servers %+v", servers)
		}
		odd := p.Warnings()
		if len(odd) != 1 || len(odd["git"]) != 1 || !strings.HasPrefix(odd["git"][0], "disabled has no effect") {
			t.Errorf("warnings %q", odd)
		}
		missing := p.Missing()["git"]
		for _, want := range []string{`left out "broken": `, `tool "later" of server "git" runs only as a task`} {
			if !slices.ContainsFunc(missing, func(text string) bool { return strings.HasPrefix(text, want) }) {
				t.Errorf("missing %q, want %q", missing, want)
			}
		}
		git.change(func() { git.unlisted = &mcpclient.WireError{Op: "list", Reason: "status 500", Delivered: "unknown"} })
		git.newest().listener().Notification("notifications/tools/list_changed", nil)
		synctest.Wait()
		if missing := p.Missing()["git"]; !slices.Contains(missing, "the list of tools may be out of date: listing again failed: status 500") {
			t.Errorf("missing %q", missing)
		}
		close(slow.hold)
	})
}
