package mcpclient

import (
	"testing"

	"github.com/toolhost/toolhost/internal/rawjson"
)

func TestMeant(t *testing.T) {
	for _, test := range []struct{ entry, name, want string }{
		{`{}`, "ulr", "url"},
		{`{}`, "Url", "url"},
		{`{}`, "urls", "url"},
		{`{}`, "rl", "url"},
		{`{}`, "Header", "headers"},
		{`{}`, "haeders", "headers"},
		{`{}`, "headerz", "headers"},
		{`{}`, "comand", "command"},
		{`{}`, "protocol_version", "protocolVersion"},
		{`{}`, "protocolversion", "protocolVersion"},
		{`{}`, "arg", "args"},
		{`{}`, "cmd", ""}, // as near to cwd, and not what it means
		{`{}`, "id", ""},
		{`{}`, "", ""},
		{`{}`, "url", ""},
		{`{"url":""}`, "ulr", ""}, // url is there, so another thing may be meant
		{`{}`, "Args", "args"},
		{`{}`, "argv", ""},
	} {
		p := &entryParser{object: rawjson.Members([]byte(test.entry))}
		if got := p.meant(test.name); got != test.want {
			t.Errorf("%q in %s: got %q, want %q", test.name, test.entry, got, test.want)
		}
	}
	reads := &entryParser{rules: EntryRules{Reads: []string{"Header"}}}
	if got := reads.meant("Header"); got != "" {
		t.Errorf("a member that the caller reads: %q", got)
	}
}
