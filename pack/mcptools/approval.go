package mcptools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
)

// An approvalRule decides which tools of a server the host is asked about before
// they run. The zero rule asks about none.
//
// A rule that reads a hint (MCP ToolAnnotations) is its author's trust in what
// the server says of itself. Without such a rule no hint has an effect.
type approvalRule struct {
	asks   bool     // false: about none
	tools  []string // globs of the server's own names; empty: about all
	except []string // globs of the tools that are never asked about
	when   []string // only about tools that set one of these hints; empty: about all
	unless []string // not about tools that set one of these hints
}

// askUnlessReadOnly is the seed's rule for servers that are signed in to.
var askUnlessReadOnly = approvalRule{asks: true, unless: []string{"readOnlyHint"}}

// hints are the booleans of MCP's ToolAnnotations.
var hints = []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}

// readApproval reads needsApproval: a boolean, or an object of conditions that all
// must hold. What it does not know it refuses: a rule half understood would leave
// out what its author wanted to be asked about.
func readApproval(value []byte) (approvalRule, error) {
	switch rawjson.KindOf(value) {
	case rawjson.Bool:
		return approvalRule{asks: string(value) == "true"}, nil
	case rawjson.Dict:
	default:
		return approvalRule{}, fmt.Errorf("needsApproval must be true, false or an object, not %s", rawjson.KindOf(value))
	}
	rule := approvalRule{asks: true}
	object := rawjson.Members(value)
	if name, twice := object.Duplicate(); twice {
		return rule, fmt.Errorf("needsApproval: %q stands twice", name)
	}
	for _, m := range object {
		list, err := stringList(m.Value)
		if err != nil {
			return rule, fmt.Errorf("needsApproval.%s must be a string or an array of strings", m.Name())
		}
		switch m.Name() {
		case "tools":
			rule.tools = list
		case "except":
			rule.except = list
		case "when":
			rule.when, err = hintList("when", list)
		case "unless":
			rule.unless, err = hintList("unless", list)
		default:
			err = fmt.Errorf("needsApproval holds %q, which is unknown; known: tools, except, when, unless", m.Name())
		}
		if err != nil {
			return rule, err
		}
	}
	return rule, nil
}

func hintList(key string, list []string) ([]string, error) {
	for _, hint := range list {
		if !slices.Contains(hints, hint) {
			return nil, fmt.Errorf("needsApproval.%s names a hint that is unknown; known: %s", key, strings.Join(hints, ", "))
		}
	}
	return list, nil
}

// stringList reads a string, or a non-empty array of strings.
func stringList(value []byte) ([]string, error) {
	items := [][]byte{value}
	if rawjson.KindOf(value) == rawjson.Array {
		items = rawjson.Elements(value)
	}
	var list []string
	for _, item := range items {
		if rawjson.KindOf(item) != rawjson.String {
			return nil, fmt.Errorf("not a string")
		}
		list = append(list, rawjson.Text(item))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("empty")
	}
	return list, nil
}

// needed reports whether the host is asked before the tool runs.
func (r *approvalRule) needed(tool *mcpclient.Tool) bool {
	if !r.asks {
		return false
	}
	annotations := rawjson.Members(tool.Annotations)
	set := func(hint string) bool { return string(annotations.Get(hint)) == "true" }
	is := func(glob string) bool { return matches(glob, tool.Name) }
	return (len(r.tools) == 0 || slices.ContainsFunc(r.tools, is)) &&
		!slices.ContainsFunc(r.except, is) &&
		(len(r.when) == 0 || slices.ContainsFunc(r.when, set)) &&
		!slices.ContainsFunc(r.unless, set)
}

// matches reports whether name is what the glob says: * stands for any text, ? for
// one character, and everything else for itself.
func matches(glob, name string) bool {
	g, n := []rune(glob), []rune(name)
	star, retry := -1, 0 // where to go on when the text behind the last * does not fit
	at := 0
	for i := 0; i < len(n); {
		switch {
		case at < len(g) && g[at] == '*':
			star, retry = at, i
			at++
		case at < len(g) && (g[at] == '?' || g[at] == n[i]):
			at++
			i++
		case star >= 0:
			retry++
			at, i = star+1, retry
		default:
			return false
		}
	}
	for at < len(g) && g[at] == '*' {
		at++
	}
	return at == len(g)
}
