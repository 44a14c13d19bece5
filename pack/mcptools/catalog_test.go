package mcptools

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
)

func TestS2_06_NamesByTemplate(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("git", tool("log", ""), tool("re.base", ""))
		w.serve("hub", tool("log", ""))
		w.dial(`git "toolName":"{tool}"`, `hub "toolName":"mcp__{server}__{tool}"`)
		w.wantNames("log", "re_base_2eac8e03", "mcp__hub__log")
		w.servers["git"].call = answering("rebased")
		w.text("re_base_2eac8e03", "{}")
		if sent := w.servers["git"].sent("tools/call"); len(sent) != 1 || !strings.Contains(sent[0], `"name":"re.base"`) {
			t.Errorf("the server was sent %q", sent)
		}
	})
}

func TestS2_04_CodeMode(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("git", tool("log", ""))
		w.serve("hub", tool("log", ""))
		w.dial(`git "codeMode":true`, "hub")
		if tools := w.pack.Tools(); !tools[0].CodeMode || tools[1].CodeMode {
			t.Errorf("got %+v", tools[:2])
		}
	})
}

func TestS2_14_TheFirstServerKeepsTheName(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a, b := w.serve("a", tool("x", ""), tool("y", "")), w.serve("b", tool("x", ""), tool("z", ""))
		a.hold = make(chan struct{}) // the first in servers answers last
		a.call, b.call = answering("a"), answering("b")
		w.dial(`a "toolName":"{tool}"`, `b "toolName":"{tool}"`)
		w.wantNames("x", "z")
		close(a.hold)
		synctest.Wait()
		w.wantNames("x", "y", "z")
		if got := w.text("x", "{}"); got != "a" {
			t.Errorf("x is of server %s", got)
		}
		if st := w.status("b"); st.ToolCount != 1 || st.Status != "connected" {
			t.Errorf("got %+v", st)
		}
		b.newest().crash("exit status 1") // the clash is met again and again
		pass(time.Second)
		w.status("a")
		const says = `servers \"a\" and \"b\" both give a tool the name \"x\"; the model gets that of \"a\"`
		if warned := w.logged("a tool is left out"); len(warned) != 1 || !strings.Contains(strings.ReplaceAll(warned[0], `\\\"`, `\"`), strings.ReplaceAll(says, `\\`, ``)) {
			t.Errorf("logged %q", warned)
		}
		if len(w.messages) != 1 || w.messages[0].Level != "warning" || w.messages[0].Server != "" {
			t.Errorf("the host was told %+v", w.messages)
		}
	})
}

func TestS2_14_Error(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("a", tool("x", ""))
		w.serve("b", tool("x", ""), tool("z", ""))
		w.serve("c", tool("z", ""))
		w.construct("mcp", `{"onDuplicateTool":"error","servers":{
			"a":{"url":"https://mcp.test","toolName":"{tool}"},
			"b":{"url":"https://mcp.test","toolName":"{tool}"},
			"c":{"url":"https://mcp.test","toolName":"{tool}"}}}`)
		w.wantNames("x", "z")
		st := w.status("b")
		if st.Status != "failed" || st.ToolCount != 0 || !strings.Contains(st.Error, `"x"`) || !strings.Contains(st.Error, `"a"`) {
			t.Errorf("got %+v", st)
		}
		if st := w.status("c"); st.Status != "connected" || st.ToolCount != 1 {
			t.Errorf("the name of a server that failed was kept from another: %+v", st)
		}
	})
}

// TestT30_ANameNeverReachesAnotherServer splits a_b_c in all ways.
func TestT30_ANameNeverReachesAnotherServer(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		one, two := w.serve("a_b", tool("c", "")), w.serve("a", tool("b_c", ""))
		one.call, two.call = answering("one"), answering("two")
		w.dial("a_b", "a")
		w.wantNames("a_b_c")
		if got := w.text("a_b_c", "{}"); got != "one" {
			t.Errorf("got %q", got)
		}
		one.newest().crash("exit status 1")
		synctest.Wait()
		w.wantNames() // the name is kept for the server that had it
		w.refusal(pack.KindMessage, "a_b_c", "{}", `server "a_b" is reconnecting`)
		pass(time.Second)
		w.wantNames("a_b_c")
		if len(two.sent("tools/call")) != 0 {
			t.Error("the call reached the other server")
		}
	})
}

// TestT29_NamesOfEveryShape: whatever a server lists, the model's names are the same
// on every run, distinct, and ones that models take.
func TestT29_NamesOfEveryShape(t *testing.T) {
	var tools []string
	for i := range 100 {
		name := strings.Repeat(string(rune('!'+i)), 1+i*7%90)
		tools = append(tools, fmt.Sprintf(`{"name":%s,"inputSchema":{"type":"object"}}`, must(json.Marshal(name))))
	}
	var before []string
	for range 2 {
		bubble(t, func(t *testing.T, w *world) {
			w.serve("odd", tools...)
			w.dial("odd")
			got := names(w.pack, pack.KindTool)
			sorted := slices.Clone(got)
			slices.Sort(sorted)
			if len(got) < 90 || len(slices.Compact(sorted)) != len(got) {
				t.Errorf("%d names, %d distinct", len(got), len(slices.Compact(sorted)))
			}
			for _, name := range got {
				if !plain(name) {
					t.Errorf("%q", name)
				}
			}
			if before != nil && !slices.Equal(got, before) {
				t.Error("not the same on every run")
			}
			before = got
		})
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// What is no object in the place of one is kept from the host (B103); the tool is not.
func TestB103_OddMembersOfTools(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("git", tool("odd", `,"annotations":"x","outputSchema":true`), tool("plain", `,"annotations":{"readOnlyHint":true},"outputSchema":{"type":"object"}`))
		w.dial("git")
		tools := w.pack.Tools()
		if tools[0].Annotations != nil || tools[0].OutputSchema != nil {
			t.Errorf("got %s and %s", tools[0].Annotations, tools[0].OutputSchema)
		}
		if string(tools[1].Annotations) != `{"readOnlyHint":true}` || string(tools[1].OutputSchema) != `{"type":"object"}` {
			t.Errorf("got %s and %s", tools[1].Annotations, tools[1].OutputSchema)
		}
	})
}

func TestToolsThatNeedATaskAreLeftOut(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("git", tool("a", `,"execution":{"taskSupport":"required"}`), tool("b", `,"execution":{"taskSupport":"optional"}`))
		w.dial("git")
		w.wantNames("git_b")
		w.status("git")
		if warned := w.logged("a tool is left out"); len(warned) != 1 || !strings.Contains(warned[0], "task") {
			t.Errorf("logged %q", warned)
		}
	})
}

func TestUnknownTools(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.refuseBeforeServers(t)
		w.serve("git", tool("log", ""), tool("push", ""))
		w.dial("git")
		w.refusal(pack.KindMessage, "git_lag", "{}", `unknown tool "mcp/git_lag"; did you mean "git_log"`)
		w.refusal(pack.KindMessage, "command/mpc", "{}", `unknown tool "mcp/command/mpc"`)
	})
}

func (w *world) refuseBeforeServers(t *testing.T) {
	w.construct("empty", `{"servers":{}}`)
	w.refusal(pack.KindMessage, "x", "{}", "no server is connected")
}

func TestResults(t *testing.T) {
	for _, row := range []struct {
		name, result        string
		content, structured string
		blocks              string
	}{
		{"text", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, `"a\n\nb"`, "", ""},
		{"an image", `{"content":[{"type":"text","text":"a"},{"type":"image","data":"AA==","mimeType":"image/png"}]}`, `"a\n\n[image omitted: image/png]"`, "",
			`[{"type":"text","text":"a"},{"type":"image","data":"AA==","mimeType":"image/png"}]`},
		{"structured", `{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1.0}}`, `"{\"n\":1}"`, `{"n":1.0}`, ""},
		{"structured alone", `{"content":[],"structuredContent":[1,2]}`, `"[1,2]"`, `[1,2]`, ""},
	} {
		bubble(t, func(t *testing.T, w *world) {
			w.serve("git", tool("a", "")).call = func(_ ctx, _ *req, _ handler) (string, error) { return row.result, nil }
			w.dial("git")
			result, err := w.invoke("git_a", "{}")
			if err != nil {
				t.Fatal(err)
			}
			if string(result.Content) != row.content || string(result.Structured) != row.structured || string(result.Blocks) != row.blocks || !result.Untrusted {
				t.Errorf("%s: got %s, %s, %s", row.name, result.Content, result.Structured, result.Blocks)
			}
		})
	}
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("git", tool("a", ""))
		f.call = func(_ ctx, _ *req, _ handler) (string, error) {
			return `{"isError":true,"content":[{"type":"text","text":"no such branch"}]}`, nil
		}
		w.dial("git")
		e := w.refusal(pack.KindBackend, "git_a", "{}", "no such branch")
		if !e.Untrusted || e.Server != "git" || e.Delivered != pack.DeliveredYes {
			t.Errorf("got %+v", e)
		}
		if audit := w.logged("a tool was called"); len(audit) != 1 || !strings.Contains(audit[0], `"outcome":"backend"`) || !strings.Contains(audit[0], `"tool":"git_a"`) {
			t.Errorf("TOL-07: logged %q", audit)
		}
	})
}

func TestS2_17_PromptsAndResources(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("wiki")
		f.capabilities = `{"tools":{},"prompts":{},"resources":{}}`
		f.prompts = []string{
			`{"name":"summarise","title":"Summarise","description":"sums a page up","arguments":[{"name":"page","description":"which","required":true},{"name":"tone"}]}`,
			`{"name":"hello"}`,
		}
		f.other = func(r *mcpclient.Request) (string, error) {
			switch r.Method {
			case "prompts/get":
				return `{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"Sum up A"}},{"role":"assistant","content":{"type":"text","text":"ok"}}]}`, nil
			case "resources/list":
				return `{"resources":[{"uri":"wiki://a","name":"A"}],"nextCursor":""}`, nil
			case "resources/read":
				return `{"contents":[{"uri":"wiki://a","mimeType":"text/plain","text":"what is in A"}]}`, nil
			}
			return "", &mcpclient.ServerError{Code: -32601, Message: "Method not found"}
		}
		w.serve("plain", tool("x", ""))
		w.dial("wiki", "plain")
		if got := names(w.pack, pack.KindPrompt); !slices.Equal(got, []string{"prompt/wiki_summarise", "prompt/wiki_hello"}) {
			t.Errorf("prompts %q", got)
		}
		if got := names(w.pack, pack.KindResource); !slices.Equal(got, []string{"resource/list", "resource/read"}) {
			t.Errorf("resources %q", got)
		}
		for _, row := range w.pack.Tools() {
			if row.Name == "prompt/wiki_summarise" {
				const want = `{"type":"object","properties":{"page":{"type":"string","description":"which"},"tone":{"type":"string"}},"required":["page"]}`
				if string(row.InputSchema) != want || row.Server != "wiki" || row.ServerTool != "summarise" || row.Title != "Summarise" {
					t.Errorf("got %+v %s", row, row.InputSchema)
				}
			}
		}
		w.refusal(pack.KindMessage, "prompt/wiki_summarise", `{}`, `needs the argument "page"`)
		w.refusal(pack.KindMessage, "prompt/wiki_summarise", `{"page":7}`, `"page" must be a string`)
		result, err := w.invoke("prompt/wiki_summarise", `{"page":"A"}`)
		if err != nil {
			t.Fatal(err)
		}
		const messages = `{"messages":[{"role":"user","content":{"type":"text","text":"Sum up A"}},{"role":"assistant","content":{"type":"text","text":"ok"}}],"description":"d"}`
		if string(result.Structured) != messages || !result.Untrusted {
			t.Errorf("got %s", result.Structured)
		}
		if sent := f.sent("prompts/get"); len(sent) != 1 || !strings.Contains(sent[0], `"name":"summarise","arguments":{"page":"A"}`) {
			t.Errorf("sent %q", sent)
		}

		result, err = w.invoke("resource/list", `{"server":"wiki"}`)
		if err != nil || string(result.Structured) != `{"resources":[{"uri":"wiki://a","name":"A"}],"nextCursor":""}` {
			t.Errorf("got %s, %v", result.Structured, err)
		}
		w.text("resource/list", `{"server":"wiki","cursor":""}`)
		w.refusal(pack.KindMessage, "resource/list", `{"server":"wika"}`, `unknown server "wika"; known: "wiki"`)
		w.refusal(pack.KindMessage, "resource/read", `{"server":"wiki"}`, "must be the uri")
		result, err = w.invoke("resource/read", `{"server":"wiki","uri":"wiki://a"}`)
		if err != nil || string(result.Content) != `"what is in A"` ||
			string(result.Blocks) != `[{"type":"resource","resource":{"uri":"wiki://a","mimeType":"text/plain","text":"what is in A"}}]` {
			t.Errorf("got %+v, %v", result, err)
		}
	})
}

// A catalog is made anew whenever any server has news. What the others list is not
// read again for it.
func BenchmarkCatalog(b *testing.B) {
	p := &mcptools{host: &pack.Host{Scrub: redact.NewScrubber(), Log: slog.New(slog.DiscardHandler)}, warned: map[string]bool{}}
	for i := range 50 {
		s := p.newServer(&settings{name: fmt.Sprint("server", i), toolName: defaultTemplate})
		listing := &mcpclient.Listing{}
		for k := range 200 {
			name := fmt.Sprint("tool", k)
			listing.Tools = append(listing.Tools, mcpclient.Tool{Name: name, Description: name, Raw: []byte(tool(name, `,"x":"`+strings.Repeat("x", 1000)+`"`))})
		}
		s.conn = &connection{}
		s.conn.state.Store(&state{status: statusConnected, listing: listing, link: &link{}})
		p.servers = append(p.servers, s)
	}
	for b.Loop() {
		p.newCatalog()
	}
}
