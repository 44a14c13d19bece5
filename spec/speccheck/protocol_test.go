package speccheck

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/spec"
)

// A line is one message of an example in protocol.md.
type line struct {
	direction string
	text      string
}

// examples returns the blocks of protocol.md that are marked `wire`: each is a
// conversation of its own.
func examples(t *testing.T) [][]line {
	t.Helper()
	text, err := spec.FS.ReadFile("protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks [][]line
	for _, m := range regexp.MustCompile("(?ms)^```wire\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		var block []line
		for one := range strings.Lines(m[1]) {
			one = strings.TrimSuffix(one, "\n")
			switch {
			case strings.HasPrefix(one, "--> "):
				block = append(block, line{spec.HostToChild, one[4:]})
			case strings.HasPrefix(one, "<-- "):
				block = append(block, line{spec.ChildToHost, one[4:]})
			default:
				t.Errorf("a line of an example has no direction: %s", one)
			}
		}
		blocks = append(blocks, block)
	}
	if len(blocks) < 5 {
		t.Fatalf("protocol.md has only %d examples", len(blocks))
	}
	return blocks
}

// wrong are the host's messages in examples that show what is answered to them.
var wrong = map[string]bool{
	`{oops`: true,
	`{"jsonrpc":"2.0","id":null,"method":"ready","params":{"id":"mcp"}}`: true,
	`{"jsonrpc":"1.0","id":8,"method":"ready","params":{"id":"mcp"}}`:    true,
	`{"jsonrpc":"2.0","id":2,"method":"construct","params":{"pack":7}}`:  true,
}

func TestExamplesAreValid(t *testing.T) {
	seen := map[string]bool{}
	for _, block := range examples(t) {
		c := checker(t)
		for _, l := range block {
			err := c.Trace(l.direction, []byte(l.text))
			if l.direction == spec.HostToChild && wrong[l.text] {
				seen[l.text] = true
				if err == nil {
					t.Errorf("valid, and should not be: %s", l.text)
				}
				continue
			}
			if err != nil {
				t.Errorf("%v\n%s", err, l.text)
			}
			checkDynamicTools(t, c, l.text)
		}
		for _, direction := range []string{spec.HostToChild, spec.ChildToHost} {
			if open := c.Open(direction); len(open) > 0 {
				t.Errorf("an example leaves requests %q unanswered, the first line is\n%s", open, block[0].text)
			}
		}
	}
	for text := range wrong {
		if !seen[text] {
			t.Errorf("no example has %s", text)
		}
	}
}

// checkDynamicTools validates the text of get_dynamic_tools in a result.
func checkDynamicTools(t *testing.T, c *Checker, text string) {
	t.Helper()
	var m struct{ Result struct{ Content string } }
	if json.Unmarshal([]byte(text), &m) == nil && strings.HasPrefix(m.Result.Content, `{"namespace`) {
		if err := c.DynamicTools([]byte(m.Result.Content)); err != nil {
			t.Errorf("%v\n%s", err, m.Result.Content)
		}
	}
}

// TestDynamicToolsExamplesAreValid reads the blocks that are marked json: each
// line is a text that get_dynamic_tools answers.
func TestDynamicToolsExamplesAreValid(t *testing.T) {
	c := checker(t)
	text, err := spec.FS.ReadFile("protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, m := range regexp.MustCompile("(?ms)^```json\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		for example := range strings.Lines(m[1]) {
			seen++
			if err := c.DynamicTools([]byte(example)); err != nil {
				t.Errorf("%v\n%s", err, example)
			}
		}
	}
	if seen < 3 {
		t.Errorf("only %d of the three shapes have an example", seen)
	}
}

// TestExamplesWithGreaseAreValid puts an unknown member into every object of
// every example: the schemas must not mind ([M-04], [V-02]).
func TestExamplesWithGreaseAreValid(t *testing.T) {
	greased := 0
	for _, block := range examples(t) {
		c := checker(t)
		for _, l := range block {
			text := l.text
			if value, err := unmarshal([]byte(text)); err == nil {
				greased += grease(value)
				out, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				text = string(out)
			}
			if err := c.Trace(l.direction, []byte(text)); err != nil && !wrong[l.text] {
				t.Errorf("%v\n%s", err, text)
			}
		}
	}
	if greased < 50 {
		t.Errorf("only %d objects were greased", greased)
	}
}

// grease adds a member to every object below value and returns how many it
// found.
func grease(value any) int {
	n := 0
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			n += grease(member)
		}
		value["x-grease"] = []any{nil, map[string]any{"a": "b"}}
		n++
	case []any:
		for _, element := range value {
			n += grease(element)
		}
	}
	return n
}

func checker(t *testing.T) *Checker {
	t.Helper()
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
