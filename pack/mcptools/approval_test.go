package mcptools

import (
	"strings"
	"testing"

	"github.com/toolhost/toolhost/mcpclient"
)

func TestS2_05_Rules(t *testing.T) {
	const (
		readOnly    = `{"readOnlyHint":true}`
		destructive = `{"destructiveHint":true}`
	)
	for _, row := range []struct {
		rule, tool, annotations string
		want                    bool
	}{
		{`true`, "x", readOnly, true},
		{`false`, "x", destructive, false},
		{`{}`, "x", "", true},
		{`{"unless":"readOnlyHint"}`, "x", readOnly, false},
		{`{"unless":"readOnlyHint"}`, "x", "", true},
		{`{"unless":"readOnlyHint"}`, "x", `{"readOnlyHint":"true"}`, true}, // a text is no yes
		{`{"unless":["readOnlyHint","idempotentHint"]}`, "x", `{"idempotentHint":true}`, false},
		{`{"when":"destructiveHint"}`, "x", destructive, true},
		{`{"when":"destructiveHint"}`, "x", "", false},
		{`{"tools":"delete_*"}`, "delete_file", readOnly, true},
		{`{"tools":"delete_*"}`, "read_file", "", false},
		{`{"tools":["write","delete_*"]}`, "write", "", true},
		{`{"except":"read_?"}`, "read_a", "", false},
		{`{"except":"read_?"}`, "read_ab", "", true},
		{`{"tools":"*","except":"*_safe","unless":"readOnlyHint"}`, "x_safe", "", false},
		{`{"tools":"*","except":"*_safe","unless":"readOnlyHint"}`, "x", "", true},
		{`{"tools":"*","except":"*_safe","unless":"readOnlyHint"}`, "x", readOnly, false},
	} {
		rule, err := readApproval([]byte(row.rule))
		if err != nil {
			t.Errorf("%s: %v", row.rule, err)
			continue
		}
		if got := rule.needed(&mcpclient.Tool{Name: row.tool, Annotations: []byte(row.annotations)}); got != row.want {
			t.Errorf("%s asks about %s %s: %v, want %v", row.rule, row.tool, row.annotations, got, row.want)
		}
	}
	if none := new(approvalRule); none.needed(&mcpclient.Tool{Name: "x", Annotations: []byte(destructive)}) {
		t.Error("without a rule a hint made us ask")
	}
}

func TestS2_05_RulesThatAreRefused(t *testing.T) {
	for _, row := range []struct{ rule, says string }{
		{`"always"`, "must be true, false or an object, not a string"},
		{`{"only":"x"}`, `"only", which is unknown; known: tools, except, when, unless`},
		{`{"unless":"readonly"}`, "a hint that is unknown; known: readOnlyHint"},
		{`{"when":["destructiveHint","x"]}`, "a hint that is unknown"},
		{`{"tools":7}`, "needsApproval.tools must be a string or an array of strings"},
		{`{"tools":[]}`, "needsApproval.tools must be a string or an array of strings"},
		{`{"except":["a",1]}`, "needsApproval.except must be"},
		{`{"tools":"a","tools":"b"}`, `"tools" stands twice`},
	} {
		if _, err := readApproval([]byte(row.rule)); err == nil || !strings.Contains(err.Error(), row.says) {
			t.Errorf("%s: %v, want %q", row.rule, err, row.says)
		}
	}
}

func TestGlobs(t *testing.T) {
	for _, row := range []struct {
		glob, name string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "a/b.c", true},
		{"a*c", "abbc", true}, {"a*c", "abcd", false}, {"a*b*c", "aXbXbXc", true},
		{"?", "é", true}, {"?", "", false}, {"**x", "x", true}, {"a?*", "a", false},
		{"[a]", "[a]", true}, {"[a]", "a", false}, {"A", "a", false},
	} {
		if got := matches(row.glob, row.name); got != row.want {
			t.Errorf("%q matches %q: %v", row.glob, row.name, got)
		}
	}
}
