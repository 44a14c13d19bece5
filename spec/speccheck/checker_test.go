package speccheck

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/spec"
)

const (
	host  = spec.HostToChild
	child = spec.ChildToHost
)

func TestMessage(t *testing.T) {
	c := checker(t)
	for _, test := range []struct {
		name, direction, answers, text string
		wrong                          string // part of the error; "" when it is valid
	}{
		{"a construct", host, "", `{"jsonrpc":"2.0","id":1,"method":"construct","params":{"pack":"runvil/mcp"}}`, ""},
		{"nulls in optional members", host, "", `{"jsonrpc":"2.0","id":1,"method":"construct","params":{"pack":"p","id":null,"config":null,"host":{"name":null,"capabilities":{"elicit":null}},"protocol":null}}`, ""},
		{"a cancel as a notification", host, "", `{"jsonrpc":"2.0","method":"cancel","params":{"id":-9223372036854775808}}`, ""},
		{"an unknown method", host, "", `{"jsonrpc":"2.0","id":"x","method":"telepathy"}`, ""},
		{"an invoke without id", host, "", `{"jsonrpc":"2.0","method":"invoke","params":{"tool":"a/b"}}`, "id"},
		{"a construct without pack", host, "", `{"jsonrpc":"2.0","id":1,"method":"construct","params":{}}`, "pack"},
		{"a pack id with a slash", host, "", `{"jsonrpc":"2.0","id":1,"method":"construct","params":{"pack":"p","id":"a/b"}}`, "id"},
		{"a timeout of nothing", host, "", `{"jsonrpc":"2.0","id":1,"method":"invoke","params":{"tool":"a/b","timeoutMs":0}}`, "timeoutMs"},
		{"another jsonrpc", host, "", `{"jsonrpc":"1.0","id":1,"method":"cancel","params":{"id":1}}`, "jsonrpc"},
		{"an id that is null", host, "", `{"jsonrpc":"2.0","id":null,"method":"cancel","params":{"id":1}}`, "id"},
		{"an id with a fraction", host, "", `{"jsonrpc":"2.0","id":1.0,"method":"cancel","params":{"id":1}}`, "id 1.0"},
		{"an id above int64", host, "", `{"jsonrpc":"2.0","id":9223372036854775808,"method":"cancel","params":{"id":1}}`, "id"},
		{"params in an array", host, "", `{"jsonrpc":"2.0","id":1,"method":"cancel","params":[1]}`, "params"},
		{"a batch", host, "", `[]`, "object"},
		{"two texts", host, "", `{} {}`, "more than one"},
		{"an answer of the host", host, "approve", `{"jsonrpc":"2.0","id":1,"result":{"approved":true,"reason":null}}`, ""},
		{"an answer of the host without its member", host, "approve", `{"jsonrpc":"2.0","id":1,"result":{}}`, "approved"},
		{"an error of the host", host, "approve", `{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"no"}}`, ""},
		{"an error of the host with id null", host, "", `{"jsonrpc":"2.0","id":null,"error":{"code":7,"message":"no"}}`, "id"},

		{"a result", child, "invoke", `{"jsonrpc":"2.0","id":1,"result":{"content":"","untrusted":false,"structured":null}}`, ""},
		{"a result without untrusted", child, "invoke", `{"jsonrpc":"2.0","id":1,"result":{"content":""}}`, "untrusted"},
		{"a result of another method", child, "close", `{"jsonrpc":"2.0","id":1,"result":{"content":""}}`, ""},
		{"a result of an unknown method", child, "", `{"jsonrpc":"2.0","id":1,"result":7}`, ""},
		{"result and error", child, "close", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":-32603,"message":"m","data":{"kind":"internal"}}}`, "oneOf"},
		{"a result with id null", child, "close", `{"jsonrpc":"2.0","id":null,"result":{}}`, "id"},
		{"a null for an absent member", child, "construct", `{"jsonrpc":"2.0","id":1,"result":{"protocol":"1","child":{"name":"c","version":"1"},"pack":{"name":"p","id":"p","description":"d","prelude":null},"tools":[]}}`, "prelude"},
		{"a tool without pack id", child, "", `{"jsonrpc":"2.0","method":"changed","params":{"id":"p","tools":[{"name":"t","kind":"tool"}]}}`, "name"},
		{"a tool for the model without schema", child, "", `{"jsonrpc":"2.0","method":"changed","params":{"id":"p","tools":[{"name":"p/t","kind":"tool","description":"d"}]}}`, "inputSchema"},
		{"a command without schema", child, "", `{"jsonrpc":"2.0","method":"changed","params":{"id":"p","tools":[{"name":"p/command/mcp","kind":"command"}]}}`, ""},
		{"an error status without reason", child, "", `{"jsonrpc":"2.0","method":"status","params":{"id":"p","servers":[{"name":"s","status":"error","toolCount":0}]}}`, "error"},
		{"a status of no pack", child, "", `{"jsonrpc":"2.0","method":"status","params":{"id":"p","servers":[{"name":"s","status":"sleepy","toolCount":0}]}}`, "status"},
		{"a progress", child, "", `{"jsonrpc":"2.0","method":"progress","params":{"invoke":"x","progress":1e3}}`, ""},
		{"a log of another level", child, "", `{"jsonrpc":"2.0","method":"log","params":{"id":"p","level":"loud","message":"m"}}`, "level"},
		{"a form without schema", child, "", `{"jsonrpc":"2.0","id":1,"method":"elicit","params":{"id":"p","invoke":1,"server":"s","mode":"form","message":"m"}}`, "schema"},
		{"an approve as a notification", child, "", `{"jsonrpc":"2.0","method":"approve","params":{"id":"p","invoke":1,"tool":{"name":"p/t","kind":"command"},"definitionHash":"h","arguments":{}}}`, "id"},

		{"a parse error", child, "", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, ""},
		{"an error with its kind", child, "invoke", `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"m","data":{"kind":"message","untrusted":true,"x":1}}}`, ""},
		{"an error without its kind", child, "invoke", `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"m"}}`, "data"},
		{"an error with another kind", child, "invoke", `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"m","data":{"kind":"backend"}}}`, "kind"},
		{"a protocol error with a kind", child, "invoke", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m","data":{"kind":"internal"}}}`, "kind"},
		{"an error with a member of others", child, "invoke", `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"m","data":{"kind":"message","path":"params.id"}}}`, "never comes with data.path"},
		{"wrong params without path", child, "invoke", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m"}}`, "data"},
		{"a code of nobody", child, "invoke", `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`, "not in the error table"},
		{"a kind that the method has not", child, "close", `{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"m","data":{"kind":"backend","untrusted":true}}}`, "may not fail"},
		{"cancel fails", child, "cancel", `{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"m","data":{"kind":"unavailable"}}}`, "may not fail"},
		{"the code is a text", child, "", `{"jsonrpc":"2.0","id":1,"error":{"code":"-32001","message":"m"}}`, "code"},
	} {
		t.Run(test.name, func(t *testing.T) {
			judge(t, c.Message(test.direction, []byte(test.text), test.answers), test.wrong)
		})
	}
}

func judge(t *testing.T, err error, wrong string) {
	t.Helper()
	switch {
	case wrong == "" && err != nil:
		t.Error(err)
	case wrong != "" && err == nil:
		t.Errorf("valid; want an error with %q", wrong)
	case wrong != "" && !strings.Contains(err.Error(), wrong):
		t.Errorf("the error has no %q: %v", wrong, err)
	}
}

func TestTrace(t *testing.T) {
	const (
		ready1     = `{"jsonrpc":"2.0","id":1,"method":"ready","params":{"id":"mcp"}}`
		cancel1    = `{"jsonrpc":"2.0","id":"\u0031","method":"cancel","params":{"id":1}}`
		readied    = `{"jsonrpc":"2.0","id":1,"result":{"tools":[],"servers":[]}}`
		cancelled  = `{"jsonrpc":"2.0","id":"1","result":{"cancelled":true}}`
		approve1   = `{"jsonrpc":"2.0","id":1,"method":"approve","params":{"id":"p","invoke":1,"tool":{"name":"p/t","kind":"command"},"definitionHash":"h","arguments":{}}}`
		approved   = `{"jsonrpc":"2.0","id":1,"result":{"approved":true}}`
		inFlight   = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"m","data":{"id":1}}}`
		badVersion = `{"jsonrpc":"1.0","id":8,"method":"ready","params":{"id":"mcp"}}`
		refused8   = `{"jsonrpc":"2.0","id":8,"error":{"code":-32600,"message":"m"}}`
	)
	for _, test := range []struct {
		name  string
		lines []line
		wrong string // part of the last line's error; "" when all are valid
		open  string // requests of the host that are left
	}{
		{"a request and its answer", []line{{host, ready1}, {child, readied}}, "", ""},
		{"a request without answer", []line{{host, ready1}}, "", "1"},
		{"answers in another order, ids of two types", []line{{host, ready1}, {host, cancel1}, {child, cancelled}, {child, readied}}, "", ""},
		{"an answer of the other's shape", []line{{host, ready1}, {host, cancel1}, {child, strings.Replace(cancelled, `"1"`, "1", 1)}}, "result of ready", ""},
		{"a second answer", []line{{host, ready1}, {child, readied}, {child, readied}}, "answers no open request", ""},
		{"an answer to nothing", []line{{child, readied}}, "answers no open request", ""},
		{"ids of the two directions", []line{{host, ready1}, {child, approve1}, {host, approved}, {child, readied}}, "", ""},
		{"the host answers with the wrong shape", []line{{child, approve1}, {host, readied}}, "result of approve", ""},
		{"an id in flight", []line{{host, ready1}, {host, ready1}, {child, inFlight}, {child, readied}}, "", ""},
		{"a broken request is answered", []line{{host, badVersion}, {child, refused8}}, "", ""},
		{"an answer with no id", []line{{child, `{"jsonrpc":"2.0","result":{}}`}}, "answers no open request", ""},
		{"a notification", []line{{host, `{"jsonrpc":"2.0","method":"cancel","params":{"id":1}}`}}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := checker(t)
			for i, l := range test.lines {
				err := c.Trace(l.direction, []byte(l.text))
				if l.text == badVersion {
					judge(t, err, "jsonrpc")
				} else if i < len(test.lines)-1 {
					judge(t, err, "")
				} else {
					judge(t, err, test.wrong)
				}
			}
			if open := strings.Join(c.Open(host), " "); test.wrong == "" && open != test.open {
				t.Errorf("open: %q, want %q", open, test.open)
			}
		})
	}
}

// Another conversation knows nothing of the requests of the first.
func TestAnother(t *testing.T) {
	c := checker(t)
	if err := c.Trace(host, []byte(`{"jsonrpc":"2.0","id":1,"method":"ready","params":{"id":"mcp"}}`)); err != nil {
		t.Fatal(err)
	}
	other := c.Another()
	if open := other.Open(host); len(open) != 0 {
		t.Errorf("open: %v", open)
	}
	if err := other.Trace(child, []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[],"servers":[]}}`)); err == nil {
		t.Error("the answer to another conversation's request was taken")
	}
}

func TestDynamicTools(t *testing.T) {
	c := checker(t)
	for _, test := range []struct{ name, text, wrong string }{
		{"no servers", `{"namespaces":[]}`, ""},
		{"each status", `{"namespaces":[{"namespace":"a","status":"ready","tools":["x"]},{"namespace":"b","status":"loading","tools":[]},{"namespace":"","status":"error","reason":"r","tools":[]}]}`, ""},
		{"a list that was cut", `{"namespaces":[{"namespace":"a","status":"ready","note":"n","tools":[]}]}`, ""},
		{"a namespace", `{"namespace":"a","status":"ready","tools":[{"name":"x","description":"","inputSchema":{"type":"object"}}]}`, ""},
		{"a namespace that loads", `{"namespace":"a","status":"loading","tools":[]}`, ""},
		{"a tool", `{"namespace":"a","name":"x","description":"d","inputSchema":{},"more":1}`, ""},
		{"an error without reason", `{"namespace":"a","status":"error","tools":[]}`, "reason"},
		{"a reason without error", `{"namespace":"a","status":"loading","reason":"r","tools":[]}`, "not"},
		{"a note without a list", `{"namespace":"a","status":"loading","note":"n","tools":[]}`, "not"},
		{"tools of a server that is not ready", `{"namespace":"a","status":"loading","tools":[{"name":"x","description":"","inputSchema":{}}]}`, "maxItems"},
		{"names of a server that is not ready", `{"namespaces":[{"namespace":"a","status":"loading","tools":["x"]}]}`, "maxItems"},
		{"another status", `{"namespace":"a","status":"connected","tools":[]}`, "status"},
		{"a tool without description", `{"namespace":"a","name":"x","inputSchema":{}}`, "description"},
		{"a tool without schema", `{"namespace":"a","name":"x","description":"d"}`, "inputSchema"},
		{"nothing", `{}`, "anyOf"},
		{"no object", `[]`, "anyOf"},
	} {
		t.Run(test.name, func(t *testing.T) { judge(t, c.DynamicTools([]byte(test.text)), test.wrong) })
	}
}
