package mcpclient

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/redact"
)

// started shows how an entry's process would be started.
func started(p *Process) string {
	words := []string{p.Command.Reveal("test")}
	for _, arg := range p.Args {
		words = append(words, arg.Reveal("test"))
	}
	for _, v := range p.Env {
		words = append(words, v.Name+"="+v.Value.Reveal("test"))
	}
	if dir := p.Dir.Reveal("test"); dir != "" {
		words = append(words, "in "+dir)
	}
	return strings.Join(words, "|")
}

func TestS2_01_LocalEntries(t *testing.T) {
	for _, row := range []struct {
		name, entry string
		want        string // or
		refused     string
		warning     string
	}{
		{"command alone", `{"command":"srv"}`, "srv", "", ""},
		{"all members, in order", `{"type":"stdio","command":"npx","args":["-y","a b;$(x)",""],"env":{"Z":"1","A":"2"},"cwd":"/w"}`, "npx|-y|a b;$(x)||Z=1|A=2|in /w", "", ""},
		{"type local", `{"type":"local","command":"srv"}`, "srv", "", ""},
		{"another type is ignored", `{"type":"pigeon","command":"srv"}`, "srv", "", ""},
		{"members that are null", `{"command":"srv","args":null,"env":null,"cwd":null}`, "srv", "", ""},
		{"placeholders in every member", `{"command":"${userHome}/srv","args":["--t=${env:TOKEN}"],"env":{"T":"${env:TOKEN}"},"cwd":"${userHome}"}`,
			"/home/u/srv|--t=s3cr3t|T=s3cr3t|in /home/u", "", ""},
		{"an array holds the first arguments", `{"command":["npx","-y"],"args":["x"]}`, "npx|-y|x", "", ""},
		{"numbers and booleans", `{"command":"srv","args":[8080,true],"env":{"PORT":1e3}}`, "srv|8080|true|PORT=1e3", "", "args[0] is not written as a string"},
		{"a variable that is null is left out", `{"command":"srv","env":{"A":null,"B":"x"}}`, "srv|B=x", "", ""},
		{"one string with arguments", `{"command":"npx -y x"}`, "npx -y x", "", "command holds spaces"},
		{"one string with a path in its arguments", `{"command":"python3 /srv/main.py"}`, "python3 /srv/main.py", "", "command holds spaces"},
		{"a path that holds a space", `{"command":"/opt/my server/bin"}`, "/opt/my server/bin", "", ""},
		{"both, and type decides", `{"type":"stdio","command":"srv","url":"https://h"}`, "srv", "", ""},
		{"both, and nothing decides", `{"command":"srv","url":"https://h"}`, "", "both url and command", ""},
		{"the type wants a command", `{"type":"stdio","url":"https://h"}`, "", `type "stdio" and no command`, ""},
		{"the type wants a url", `{"type":"http","command":"srv"}`, "", `type "http" and no url`, ""},
		{"blank", `{"command":" "}`, "", "command is empty", ""},
		{"an empty array", `{"command":[]}`, "", "command is empty", ""},
		{"an object", `{"command":{"path":"srv"}}`, "", "command must be a string, not an object", ""},
		{"args as a string", `{"command":"srv","args":"-y x"}`, "", "args must be an array of strings, not a string", ""},
		{"an argument that is an object", `{"command":"srv","args":["x",{}]}`, "", "args[1] must be a string, not an object", ""},
		{"a NUL in an argument", `{"command":"srv","args":["a\u0000b"]}`, "", "args[0] holds a NUL character", ""},
		{"env as an array", `{"command":"srv","env":["A=1"]}`, "", "env must be an object, not an array", ""},
		{"a name that is none", `{"command":"srv","env":{"A=B":"1"}}`, "", `env: "A=B" is no name of a variable`, ""},
		{"a name that is empty", `{"command":"srv","env":{"":"1"}}`, "", "is no name of a variable", ""},
		{"a name twice", `{"command":"srv","env":{"A":"1","A":"2"}}`, "", `env: "A" stands twice`, ""},
		{"a variable that is not set", `{"command":"srv","env":{"A":"${env:GONE}"}}`, "", "the environment variable GONE is not set", ""},
		{"a sandbox that is not there", `{"command":"srv","sandboxEnabled":true}`, "", "sandboxEnabled is not supported", ""},
		{"cwd as a number", `{"command":"srv","cwd":{}}`, "", "cwd must be a string, not an object", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := EntryRules{Local: true, Vars: Vars{Home: "/home/u", Env: func(name string) (string, bool) {
				return "s3cr3t", name == "TOKEN"
			}}}
			e, err := ParseEntry("srv", []byte(row.entry), r)
			if row.refused != "" {
				if err == nil || !strings.Contains(err.Error(), row.refused) {
					t.Fatalf("got %v, want a refusal that says %q", err, row.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := started(e.Process); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			if got := strings.Join(e.Warnings, "\n"); !strings.Contains(got, row.warning) || row.warning == "" && got != "" {
				t.Errorf("warned %q, want %q", got, row.warning)
			}
		})
	}
}

func TestS1_25_ProcessPrintsNothing(t *testing.T) {
	scrub := redact.NewScrubber()
	e, err := ParseEntry("srv", []byte(`{"command":"srv${env:TOKEN}","args":["hidden-arg"],"env":{"A":"hidden-value"},"cwd":"/hidden-dir"}`),
		EntryRules{Local: true, Scrub: scrub, Vars: Vars{Env: func(string) (string, bool) { return "hidden-token", true }}})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, value := range []any{e.Process, *e.Process, e.Process.Env, e.Process.Args} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, "hidden") {
				t.Errorf("%s of %T shows %s", verb, value, text)
			}
		}
	}
	if text := scrub.Text("it says hidden-value"); strings.Contains(text, "hidden-value") {
		t.Errorf("the value of a variable is not known as a secret: %s", text)
	}
}

func TestS2_10_ProcessesAreEqual(t *testing.T) {
	parse := func(entry string) *Process {
		e, err := ParseEntry("srv", []byte(entry), EntryRules{Local: true})
		if err != nil {
			t.Fatal(err)
		}
		return e.Process
	}
	const base = `{"command":"srv","args":["a"],"env":{"A":"1"},"cwd":"/w"}`
	if !parse(base).Equal(parse(`{"cwd":"/w","env":{"A":"1"},"args":["a"],"command":"srv","timeoutMs":5}`)) {
		t.Error("the order of members, or what is no part of the process, makes a difference")
	}
	for _, other := range []string{
		`{"command":"srv2","args":["a"],"env":{"A":"1"},"cwd":"/w"}`,
		`{"command":"srv","args":["b"],"env":{"A":"1"},"cwd":"/w"}`,
		`{"command":"srv","args":["a","b"],"env":{"A":"1"},"cwd":"/w"}`,
		`{"command":"srv","args":["a"],"env":{"A":"2"},"cwd":"/w"}`,
		`{"command":"srv","args":["a"],"env":{"B":"1"},"cwd":"/w"}`,
		`{"command":"srv","args":["a"],"cwd":"/w"}`,
		`{"command":"srv","args":["a"],"env":{"A":"1"},"cwd":"/x"}`,
	} {
		if parse(base).Equal(parse(other)) {
			t.Errorf("%s is taken for the same process", other)
		}
	}
}
