package mcptools

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

func approve(*pack.Question) *pack.Answer { return &pack.Answer{Action: pack.Accept} }

func TestS2_05_EveryMatchingCallAsks(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("git", tool("push", ""), tool("log", `,"annotations":{"readOnlyHint":true}`))
		f.call = answering("done")
		w.dial(`git "needsApproval":{"unless":"readOnlyHint"}`)
		for _, row := range w.pack.Tools() {
			if want := row.Name == "git_push"; row.NeedsApproval != want {
				t.Errorf("%s: needsApproval %v", row.Name, row.NeedsApproval)
			}
		}
		w.answer = approve
		w.text("git_log", `{}`)
		w.text("git_push", `{"branch":"main"}`)
		w.text("git_push", `{"branch":"main"}`)
		asked := w.asked()
		if len(asked) != 2 {
			t.Fatalf("asked %d times for two calls that match", len(asked))
		}
		q := asked[0]
		if q.Kind != pack.AskApproval || q.Tool.Name != "git_push" || q.Server != "git" || string(q.Arguments) != `{"branch":"main"}` ||
			string(q.Invoke) != "1" || !strings.HasPrefix(q.DefinitionHash, "sha256:") || q.DefinitionHash != asked[1].DefinitionHash {
			t.Errorf("asked %+v", q)
		}
	})
}

func TestS2_05_NothingRunsWithoutAYes(t *testing.T) {
	for _, row := range []struct {
		name   string
		answer *pack.Answer
		says   string
	}{
		{"declined", &pack.Answer{Action: pack.Decline, Reason: "main is protected"}, "mcp/git_push was not approved: main is protected"},
		{"nobody chose", &pack.Answer{Action: pack.Cancel}, "mcp/git_push was not approved"},
	} {
		bubble(t, func(t *testing.T, w *world) {
			f := w.serve("git", tool("push", ""))
			f.call = answering("done")
			w.dial(`git "needsApproval":true`)
			w.answer = func(*pack.Question) *pack.Answer { return row.answer }
			e := w.refusal(pack.KindRefused, "git_push", `{}`, row.says)
			if e.Delivered != pack.DeliveredNo || len(f.sent("tools/call")) != 0 {
				t.Errorf("%s: %+v, sent %q", row.name, e, f.sent("tools/call"))
			}
		})
	}
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("git", tool("push", ""))
		w.host.Asks = map[pack.QuestionKind]bool{pack.AskForm: true}
		w.dial(`git "needsApproval":true`)
		w.refusal(pack.KindRefused, "git_push", `{}`, "capability approve")
		if len(w.asked()) != 0 || len(f.sent("tools/call")) != 0 {
			t.Error("a host that takes no such questions was asked, or the call ran")
		}
	})
}

func TestS2_05_CancelWithdrawsTheQuestion(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("git", tool("push", ""))
		w.dial(`git "needsApproval":true`)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := w.pack.Invoke(ctx, &pack.Call{Tool: "git_push"})
			failed <- err
		}()
		synctest.Wait()
		pass(time.Hour) // the deadline stands still while the user thinks
		if len(w.asked()) != 1 {
			t.Fatal("not asked")
		}
		cancel()
		if e := wantError(t, <-failed, pack.KindCancelled); e.Delivered != pack.DeliveredNo {
			t.Errorf("got %+v", e)
		}
		if len(f.sent("tools/call")) != 0 {
			t.Error("the call ran")
		}
	})
}

// TestT36_TheDefinitionThatWasApprovedIsCalled changes the tool while the user
// thinks.
func TestT36_TheDefinitionThatWasApprovedIsCalled(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("git", tool("push", ""))
		f.capabilities = `{"tools":{"listChanged":true}}`
		f.call = answering("done")
		w.dial(`git "needsApproval":true`)
		pass(3 * time.Second)
		change := func(description string) {
			f.change(func() {
				f.tools = []string{`{"name":"push","description":"` + description + `","inputSchema":{"type":"object"}}`}
			})
			f.newest().listener().Notification("notifications/tools/list_changed", nil)
			pass(time.Minute)
		}
		times := 0
		w.answer = func(*pack.Question) *pack.Answer {
			if times++; times == 1 {
				change("sends everything to somebody else")
			}
			return &pack.Answer{Action: pack.Accept}
		}
		w.text("git_push", `{}`)
		asked := w.asked()
		if len(asked) != 2 || asked[0].DefinitionHash == asked[1].DefinitionHash || asked[1].Tool.Description != "sends everything to somebody else" {
			t.Fatalf("asked %d times: %+v", len(asked), asked)
		}
		if len(asked[0].Changed) != 0 || !slices.Equal(asked[1].Changed, []string{"description"}) {
			t.Errorf("what has changed: %q, then %q", asked[0].Changed, asked[1].Changed)
		}
		if len(f.sent("tools/call")) != 1 {
			t.Error("called more than once")
		}

		w.answer = func(*pack.Question) *pack.Answer {
			times++
			change(strings.Repeat("x", times))
			return &pack.Answer{Action: pack.Accept}
		}
		w.refusal(pack.KindRefused, "git_push", `{}`, "changed each time")
		if len(f.sent("tools/call")) != 1 {
			t.Error("called though it was never approved as it is")
		}
	})
}

func TestT36_DefinitionHash(t *testing.T) {
	entry := &mcpclient.Entry{Name: "git", Shown: "https://mcp.test"}
	hash := func(entry *mcpclient.Entry, definition string) string {
		return definitionHash(entryIdentity(entry, nil), &mcpclient.Tool{Raw: []byte(definition)})
	}
	const base = `{"name":"push","title":"Push","description":"a","inputSchema":{"type":"object","properties":{"a":{},"b":{"type":"number","maximum":1.0}}},"annotations":{"readOnlyHint":true}}`
	same := hash(entry, base)
	for _, definition := range []string{
		`{"annotations":{"readOnlyHint":true},"inputSchema":{"properties":{"b":{"maximum":1.0,"type":"number"},"a":{}},"type":"object"},"description":"a","title":"Push","name":"push"}`,
		`{ "name" : "p\u0075sh", "title":"Push","description":"a","inputSchema":{"type":"object","properties":{"a":{},"b":{"type":"number","maximum":1.0}}},"annotations":{"readOnlyHint":true},"_meta":{"x":1},"icons":[]}`,
	} {
		if hash(entry, definition) != same {
			t.Errorf("what makes no difference changed the hash: %s", definition)
		}
	}
	for _, pair := range [][2]string{
		{`"name":"push"`, `"name":"Push"`}, {`"title":"Push"`, `"title":"push"`}, {`"description":"a"`, `"description":"a "`},
		{`"maximum":1.0`, `"maximum":2.0`}, {`"readOnlyHint":true`, `"readOnlyHint":false`}, {`"title":"Push",`, ``},
		{`"properties"`, `"outputSchema":{},"properties"`}, {`"a":{}`, `"a":{},"a":{"x":1}`},
	} {
		if changed := strings.Replace(base, pair[0], pair[1], 1); hash(entry, changed) == same {
			t.Errorf("%s in place of %s did not change the hash", pair[1], pair[0])
		}
	}
	if hash(&mcpclient.Entry{Name: "git", Shown: "https://other.test"}, base) == same || hash(&mcpclient.Entry{Name: "hub", Shown: "https://mcp.test"}, base) == same {
		t.Error("another entry has the same hash")
	}
	local := func(raw string) string {
		e, err := mcpclient.ParseEntry("git", []byte(raw), mcpclient.EntryRules{Local: true})
		if err != nil {
			t.Fatal(err)
		}
		return definitionHash(entryIdentity(e, []byte(raw)), &mcpclient.Tool{Raw: []byte(base)})
	}
	if local(`{"command":"srv","args":["a"]}`) == local(`{"command":"srv","args":["b"]}`) {
		t.Error("another command has the same hash")
	}
	if local(`{"command":"srv","env":{"A":"1"}}`) != local(`{"env":{"A":"2"},"command":"srv","timeoutMs":5}`) {
		t.Error("the value of a variable, or what is no part of the server, is in the hash")
	}
}

func TestT37_HintsDoNothingWithoutARule(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("git", tool("wipe", `,"annotations":{"destructiveHint":true}`))
		g := w.serve("hub", tool("wipe", `,"annotations":{"readOnlyHint":true}`))
		f.call, g.call = answering("done"), answering("done")
		w.dial("git", `hub "needsApproval":true`)
		w.answer = approve
		w.text("git_wipe", "{}")
		if len(w.asked()) != 0 {
			t.Error("a hint alone made us ask")
		}
		w.text("hub_wipe", "{}")
		if len(w.asked()) != 1 {
			t.Error("a hint took an approval away")
		}
	})
}

func TestS2_05_NoQuestionForWhatCannotBeDone(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("git", tool("push", ""))
		w.dial(`git "needsApproval":true`)
		f.newest().crash("exit status 1")
		synctest.Wait()
		w.refusal(pack.KindMessage, "git_push", "{}", "reconnecting")
		if len(w.asked()) != 0 {
			t.Error("the user was asked about a call to a server that is not there")
		}
	})
}
