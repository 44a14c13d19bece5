package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

func TestS1_04_ThreeShapes(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("git",
			`{"name":"log","description":"shows the log","inputSchema":{"type":"object"}}`,
			`{"name":"blame","title":"Blame","inputSchema":{"type":"object","properties":{"file":{"type":"string"}}}}`)
		w.serve("docs").start = silent
		w.serve("Zeta", tool("z"))
		w.serve("down").start = refusing("connection refused")
		w.construct(`{"git":{"url":"https://mcp.test"},"docs":{"url":"https://mcp.test"},"down":{"url":"https://mcp.test"},
			"Zeta":{"url":"https://mcp.test"},"files":{"command":"x"}}`)

		const local = "local MCP servers (command) are not supported yet"
		const logDef = `"name":"log","description":"shows the log","inputSchema":{"type":"object"}`
		const blameDef = `"name":"blame","description":"Blame","inputSchema":{"type":"object","properties":{"file":{"type":"string"}}}`
		for _, row := range []struct{ name, arguments, want string }{
			{"every namespace, in the order of bytes", `{}`, `{"namespaces":[` +
				`{"namespace":"Zeta","status":"ready","tools":["z"]},` +
				`{"namespace":"docs","status":"loading","tools":[]},` +
				`{"namespace":"down","status":"error","reason":"connection refused","tools":[]},` +
				`{"namespace":"files","status":"error","reason":"` + local + `","tools":[]},` +
				`{"namespace":"git","status":"ready","tools":["log","blame"]}]}`},
			{"one namespace", `{"namespace":"git"}`, `{"namespace":"git","status":"ready","tools":[{` + logDef + `},{` + blameDef + `}]}`},
			{"one that is loading", `{"namespace":"docs"}`, `{"namespace":"docs","status":"loading","tools":[]}`},
			{"one in error", `{"namespace":"down"}`, `{"namespace":"down","status":"error","reason":"connection refused","tools":[]}`},
			{"one tool", `{"namespace":"git","toolName":"blame"}`, `{"namespace":"git",` + blameDef + `}`},
			{"the first tool", `{"toolName":"log","namespace":"git"}`, `{"namespace":"git",` + logDef + `}`},
			{"no arguments at all", ``, ""},
			{"null is absent", `{"namespace":null,"toolName":null}`, ""},
			{"a null toolName", `{"namespace":"docs","toolName":null}`, `{"namespace":"docs","status":"loading","tools":[]}`},
			{"unknown arguments are ignored", `{"namespace":"docs","names":7,"arguments":"x"}`, `{"namespace":"docs","status":"loading","tools":[]}`},
		} {
			want := row.want
			if want == "" {
				want = w.answer(`{}`)
			}
			if got := w.answer(row.arguments); got != want {
				t.Errorf("%s:\n got %s\nwant %s", row.name, got, want)
			}
		}
	})
}

func TestS1_06_NamesMatchToTheLetter(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		f := w.serve("My Server/é \"1\"", tool("Do.It now!"), tool(" spaced "))
		f.call = func(_ context.Context, req *mcpclient.Request, _ mcpclient.Handler) (string, error) {
			return `{"content":[{"type":"text","text":"ok"}]}`, nil
		}
		w.dial()
		namespace, name := `"My Server/é \"1\""`, `"Do.It now!"`
		doc := w.list(`{"namespace":` + namespace + `,"toolName":` + name + `}`)
		if doc["namespace"] != `My Server/é "1"` || doc["name"] != "Do.It now!" {
			t.Errorf("got %v", doc)
		}
		if _, err := w.invoke("call_dynamic_tool", `{"namespace":`+namespace+`,"toolName":`+name+`}`); err != nil {
			t.Error(err)
		}
		overview, _ := json.Marshal(w.list(`{}`))
		const want = `{"namespaces":[{"namespace":"My Server/é \"1\"","status":"ready","tools":["Do.It now!"," spaced "]}]}`
		if string(overview) != want {
			t.Errorf("the names are listed as %s", overview)
		}
		// Escapes are only another way to write the same name.
		w.list(`{"names\u0070ace":"My Server\/\u00e9 \"1\"","toolName":"Do.It\u0020now!"}`)

		// T45: nothing else is the same name.
		for _, other := range []string{`"my server/é \"1\""`, `"My Server/é \"1\" "`, `" My Server/é \"1\""`, `"My Server/e\u0301 \"1\""`, `"../My Server/é \"1\""`, `""`} {
			w.refusal(pack.KindMessage, "get_dynamic_tools", `{"namespace":`+other+`}`, "unknown namespace")
			w.refusal(pack.KindMessage, "call_dynamic_tool", `{"namespace":`+other+`,"toolName":`+name+`}`, "unknown namespace")
		}
		for _, other := range []string{`"do.it now!"`, `"Do.It now! "`, `"Do.It  now!"`, `"./Do.It now!"`, `""`, `"Do.It now!\u0000"`} {
			w.refusal(pack.KindMessage, "get_dynamic_tools", `{"namespace":`+namespace+`,"toolName":`+other+`}`, "unknown tool")
			w.refusal(pack.KindMessage, "call_dynamic_tool", `{"namespace":`+namespace+`,"toolName":`+other+`}`, "unknown tool")
		}
		if n := len(f.sent("tools/call")); n != 1 {
			t.Errorf("%d calls reached the server, want 1", n)
		}
	})
}

func TestS1_07_Statuses(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("a", tool("x"))
		w.serve("b").start = silent
		w.serve("c").start = refusing("status 503")
		w.dial()
		var got []string
		for _, n := range w.list(`{}`)["namespaces"].([]any) {
			row := n.(map[string]any)
			reason, has := row["reason"]
			got = append(got, fmt.Sprint(row["status"], " ", has, " ", reason))
		}
		if want := []string{"ready false <nil>", "loading false <nil>", "error true status 503"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestS1_09_ErrorsThatAModelCanRead(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.serve("docs", tool("search"), tool("fetch"))
		w.serve("slow").start = silent
		w.serve("down").start = refusing("connection refused")
		w.serve("bare")
		w.construct(`{"docs":{"url":"https://mcp.test"},"slow":{"url":"https://mcp.test"},"down":{"url":"https://mcp.test"},
			"bare":{"url":"https://mcp.test"},"files":{"command":"x"}}`)
		const get, call = "get_dynamic_tools", "call_dynamic_tool"
		for _, row := range []struct {
			name, tool, arguments, want string
			server                      string
			retryable                   bool
		}{
			{"unknown namespace", get, `{"namespace":"doc"}`, `unknown namespace "doc"; known: "docs", "bare", "down", "files", "slow"`, "", false},
			{"in a call", call, `{"namespace":"x","toolName":"search"}`, `unknown namespace "x"; known: "bare", "docs", "down", "files", "slow"`, "", false},
			{"toolName without namespace", get, `{"toolName":"search"}`, `toolName "search" needs a namespace; call get_dynamic_tools without arguments to see which namespace has it`, "", false},
			{"unknown tool with one like it", get, `{"namespace":"docs","toolName":"serch"}`, `unknown tool "serch" in namespace "docs"; did you mean "search"? call get_dynamic_tools with that namespace to see its tools`, "docs", false},
			{"unknown tool with none like it", call, `{"namespace":"docs","toolName":"zzz"}`, `unknown tool "zzz" in namespace "docs"; it has "search", "fetch"; call get_dynamic_tools with that namespace to see its tools`, "docs", false},
			{"a server without tools", call, `{"namespace":"bare","toolName":"a"}`, `unknown tool "a" in namespace "bare"; it has none; call get_dynamic_tools with that namespace to see its tools`, "bare", false},
			{"loading", call, `{"namespace":"slow","toolName":"a"}`, `the server of namespace "slow" is loading; try again in a few seconds`, "slow", true},
			{"loading, one tool", get, `{"namespace":"slow","toolName":"a"}`, `the server of namespace "slow" is loading; try again in a few seconds`, "slow", true},
			{"in error", call, `{"namespace":"down","toolName":"a"}`, `the server of namespace "down" is in error: connection refused; it is tried again in the background`, "down", true},
			{"refused", call, `{"namespace":"files","toolName":"a"}`, `the server of namespace "files" is in error: local MCP servers (command) are not supported yet; its entry in the configuration must be corrected`, "files", false},
			{"unknown tool of the pack", "get_tools", `{}`, `unknown tool "mcp/get_tools"; known: "mcp/get_dynamic_tools", "mcp/call_dynamic_tool"`, "", false},
			{"nothing to call", call, `{}`, `call_dynamic_tool needs the strings namespace and toolName; call get_dynamic_tools to see what there is`, "", false},
			{"null is nothing", call, `{"namespace":"docs","toolName":null}`, `call_dynamic_tool needs the strings namespace and toolName; call get_dynamic_tools to see what there is`, "", false},
			{"a namespace that is no string", get, `{"namespace":7}`, `the argument "namespace" must be a string, not a number`, "", false},
			{"a toolName that is no string", get, `{"namespace":"docs","toolName":["search"]}`, `the argument "toolName" must be a string, not an array`, "", false},
			{"arguments that are no object", call, `{"namespace":"docs","toolName":"search","arguments":[]}`, `the argument "arguments" must be an object, not an array`, "", false},
			{"arguments as text", call, `{"namespace":"docs","toolName":"search","arguments":"{}"}`, `the argument "arguments" must be an object, not a string: give the object itself, not its JSON text`, "", false},
			{"T17 an argument given twice", call, `{"namespace":"docs","toolName":"search","namespace":"down"}`, `the argument "namespace" is given twice`, "", false},
			{"twice in other escapes", get, `{"namespace":"docs","namesp\u0061ce":null}`, `the argument "namespace" is given twice`, "", false},
		} {
			e := w.refusal(pack.KindMessage, row.tool, row.arguments)
			if e.Message != row.want {
				t.Errorf("%s:\n got %s\nwant %s", row.name, e.Message, row.want)
			}
			if e.Server != row.server || e.Retryable != row.retryable || e.Delivered != "" {
				t.Errorf("%s: server %q, retryable %v, delivered %q", row.name, e.Server, e.Retryable, e.Delivered)
			}
			if !e.Untrusted {
				t.Errorf("S1-24 %s: the error is not marked untrusted", row.name)
			}
		}
	})
	bubble(t, func(t *testing.T, w *world) {
		w.construct(`null`)
		w.refusal(pack.KindMessage, "get_dynamic_tools", `{"namespace":"docs"}`, `unknown namespace "docs"; no MCP server is configured`)
	})
}

func TestS1_09_MessagesStayShortAndClean(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var tools []string
		for i := range 5000 {
			tools = append(tools, tool(fmt.Sprintf("%s_%04d", strings.Repeat("x", 400), i)))
		}
		w.serve("docs", tools...)
		for i := range 100 {
			w.serve(fmt.Sprintf("%s%03d\x1b[31m\u202e\n", strings.Repeat("é", 300), i))
		}
		var entries []string
		for name := range w.servers {
			key, _ := json.Marshal(name)
			entries = append(entries, string(key)+`:{"url":"https://mcp.test"}`)
		}
		w.construct("{" + strings.Join(entries, ",") + "}")
		long := strings.Repeat("y", 100_000) + `\u001b\u202e\n`
		for _, arguments := range []string{
			`{"namespace":"` + long + `"}`,
			`{"namespace":"docs","toolName":"` + long + `"}`,
			`{"toolName":"` + long + `"}`,
		} {
			e := w.refusal(pack.KindMessage, "get_dynamic_tools", arguments)
			if len(e.Message) > 8192 {
				t.Errorf("a message of %d bytes", len(e.Message))
			}
			// T34: one line, nothing that moves a cursor or turns text around.
			if i := strings.IndexFunc(e.Message, func(r rune) bool { return r < ' ' || r == '\u202e' }); i >= 0 {
				t.Errorf("%q", e.Message[i:min(i+40, len(e.Message))])
			}
		}
	})
}

func TestS1_24_EveryOutputIsUntrusted(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.host.Limits, _ = w.host.Limits.With("calls_waiting=0")
		f := w.docs(answering(`{"content":[]}`))
		for _, tool := range w.pack.Tools() {
			if !tool.Untrusted {
				t.Errorf("the tool %s is not marked", tool.Name)
			}
		}
		for _, row := range []struct{ tool, arguments string }{
			{"get_dynamic_tools", `{}`},
			{"get_dynamic_tools", `{"namespace":"docs"}`},
			{"get_dynamic_tools", `{"namespace":"docs","toolName":"a"}`},
			{"call_dynamic_tool", callA},
		} {
			if result, err := w.invoke(row.tool, row.arguments); err != nil || !result.Untrusted {
				t.Errorf("%s %s: %+v, %v", row.tool, row.arguments, result, err)
			}
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		for _, row := range []struct {
			kind pack.Kind
			ctx  context.Context
			call callFunc
			args string
		}{
			{pack.KindMessage, t.Context(), nil, `{"namespace":"x","toolName":"a"}`},
			{pack.KindBackend, t.Context(), answering(`{"isError":true,"content":[]}`), callA},
			{pack.KindTransport, t.Context(), failing(&mcpclient.WireError{Reason: "status 503"}), callA},
			{pack.KindInternal, t.Context(), failing(context.Canceled), callA},
			{pack.KindCancelled, cancelled, hanging, callA},
		} {
			f.call = row.call
			_, err := w.pack.Invoke(row.ctx, &pack.Call{Tool: "call_dynamic_tool", Arguments: pack.Raw(row.args)})
			if e := wantError(t, err, row.kind); !e.Untrusted {
				t.Errorf("the error of kind %s is not marked: %v", row.kind, e)
			}
		}
		for range w.host.Limits.Int(limit.CallsPerServer) {
			if err := w.inside().index["docs"].calls.Enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if e := w.refusal(pack.KindUnavailable, "call_dynamic_tool", callA); !e.Untrusted {
			t.Errorf("the error of kind unavailable is not marked: %v", e)
		}
	})
}
