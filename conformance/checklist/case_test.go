package main

import (
	"strings"
	"testing"
)

// sound is a case in which each test spoils something.
const sound = `It proves something.

rows: LIF-11
eras: AD

-- server D --
{"on": "tools/call", "healthy": true}

-- host --
# a comment
call echo {"text": "a",
  "more": 1} -> {"content": "a"}

-- wire --
count 1 POST tools/call {"body": {"id": 7}}

-- log --
no {"msg": "x"}

-- broken one A --
strip POST tools/call Mcp-Name
fails wire

-- broken two D --
client mcpclient/tool.go
-	old
+	if BROKEN() {
fails call echo
`

func TestParseCase(t *testing.T) {
	for _, test := range []struct{ name, old, new, err string }{
		{"nothing is wrong", "", "", ""},
		{"no sentence", "It proves something.", "something", "must open with a sentence"},
		{"a pack of another name", "rows: LIF-11", "rows: LIF-11\npack: made/up", `"made/up" is no pack`},
		{"the other pack", "rows: LIF-11", "rows: LIF-11\npack: tanstack/mcp", ""},
		{"an unknown habit", `{"on": "tools/call", "healthy"`, `{"stdio": ["sings"]} {"on": "tools/call", "healthy"`, `"sings" is no habit`},
		{"no rows", "rows: LIF-11", "", "must name the rules"},
		{"eras out of order", "eras: AD", "eras: DA", "must name the revisions"},
		{"a section of another era", "-- server D --", "-- server B --", "not run in era B"},
		{"an unknown section", "-- log --", "-- logs --", `no section is called "logs"`},
		{"a marker with a slip", "-- host --", "-- Host --", "no marker of a section"},
		{"no host", "-- host --", "-- never --", "no host section"},
		{"two hosts", "-- log --\nno {\"msg\": \"x\"}", "-- host --\nend", "2 host sections"},
		{"an unknown verb", "call echo", "shout echo", `"shout" is no verb`},
		{"a matcher that is no JSON", `-> {"content": "a"}`, `-> {"content"`, "line 11"},
		{"more than the verb takes", `-> {"content": "a"}`, `-> {"content": "a"} twice`, `what is "twice"?`},
		{"an answer of what has none", `call echo {"text": "a",` + "\n" + `  "more": 1}`, "end", "end has no answer"},
		{"an unknown member of a reply", `"healthy"`, `"health"`, "unknown field"},
		{"an unknown word of wire", "count 1", "some", "no word that begins a line of wire"},
		{"count without a number", "count 1", "count", "count wants a number"},
		{"an unknown HTTP method", "count 1 POST", "count 1 PUT", "no HTTP method"},
		{"an unknown word of log", `no {"msg": "x"}`, `all {"msg": "x"}`, "no word that begins a line of log"},
		{"an era in which nothing is broken", "-- broken two D --", "-- broken two A --", "era D: no broken section"},
		{"a break of nothing", "strip POST", "peel POST", "breaks nothing"},
		{"no word on what fails", "fails wire", "", `a line "fails TEXT"`},
		{"a patch that is always on", "BROKEN()", "true", "must ask BROKEN()"},
		{"a patch of no line", "-	old\n", "", "no line begins with -"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(sound, test.old) {
				t.Fatalf("the sound case has no %q", test.old)
			}
			c, err := ParseCase("lifecycle/LIF-11-x", strings.Replace(sound, test.old, test.new, 1))
			switch {
			case test.err == "" && err != nil:
				t.Fatal(err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("got %v, want %q", err, test.err)
			case test.err == "" && (c.Proves != "It proves something." || len(c.variants) != 2):
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestSteps(t *testing.T) {
	for _, test := range []struct {
		name, text string
		verbs      string
	}{
		{"construct and ready come first", "call echo", "construct ready call"},
		{"but not before serve and limit", "serve --limit a=1\nlimit 1s\nend", "serve limit construct ready end"},
		{"nor where construct stands", "construct {}\nstatus", "construct status"},
		{"a line goes on", "call echo\n  {\"a\": 1}\n  -> {}\nend", "construct ready call end"},
		{"nor before what the host declares", "framing lsp\ndeclares {}\nasked elicit\nanswer {}", "framing declares construct ready asked answer"},
		{"prefixes", "eventually times 3 list\nparallel 2 call @b \"two words\" {}\nbegin x call echo\nawait x\ncancel x", "construct ready list call call await cancel"},
	} {
		t.Run(test.name, func(t *testing.T) {
			steps, err := parseSteps(&section{line: 1, text: test.text})
			if err != nil {
				t.Fatal(err)
			}
			var verbs []string
			for _, s := range steps {
				verbs = append(verbs, s.verb)
			}
			if got := strings.Join(verbs, " "); got != test.verbs {
				t.Errorf("got %s", got)
			}
		})
	}
}

// The call that a step sends is exactly what the line says.
func TestCallParams(t *testing.T) {
	s, err := parseStep(textLine{text: `call @b "two words" {"url": "$URL"} {"timeoutMs": 5} -> {}`})
	if err != nil {
		t.Fatal(err)
	}
	for pack, want := range map[string]string{
		dynamicPack: `{"tool":"mcp/call_dynamic_tool","arguments":{"namespace":"b","toolName":"two words","arguments":{"url": "http://u"}},"timeoutMs": 5}`,
		toolsPack:   `{"tool":"mcp/b_two words","arguments":{"url": "http://u"},"timeoutMs": 5}`,
	} {
		got := s.ask.params(&player{c: &Case{Pack: pack}, values: map[string]string{"URL": "http://u"}})
		if got != want {
			t.Errorf("%s: got %s", pack, got)
		}
	}
}

func TestVariantMisses(t *testing.T) {
	v := &variant{fails: []string{"count 1 POST", "rules:"}}
	if missing := v.misses([]string{"wire: line 3: count 1 POST x: there are 2", "rules: y"}); missing != nil {
		t.Errorf("missing %q", missing)
	}
	if missing := v.misses([]string{"host: line 2: call"}); len(missing) != 2 {
		t.Errorf("missing %q", missing)
	}
}

func TestFill(t *testing.T) {
	got := fill("$URL $URL_b $VERSION $other", map[string]string{"URL": "1", "URL_b": "2", "VERSION": "3"})
	if got != "1 2 3 $other" {
		t.Errorf("got %s", got)
	}
}
