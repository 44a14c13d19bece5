package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLimitsInTheWordsOfAPack(t *testing.T) {
	for _, test := range []struct {
		pack *pack
		own  []string
		want string
	}{
		{dynamic, nil, "call_time=20s start_time=20s"},
		{dynamic, []string{"call_time=1s", "gzip=1"}, "call_time=1s gzip=1 start_time=20s"},
		{direct, nil, "server_time=20s"},
		{direct, []string{"start_time=4s", "gzip=1"}, "gzip=1 server_time=4s"},
	} {
		var got []string
		for _, argument := range test.pack.limits(test.own) {
			if argument != "--limit" {
				got = append(got, argument)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s with %q: %q, not %q", test.pack.name, test.own, got, test.want)
		}
	}
}

// The server finds its act by name.
func TestActsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range stdioActs() {
		if f.act.name == "" || seen[f.act.name] {
			t.Errorf("an act called %q", f.act.name)
		}
		seen[f.act.name] = true
	}
}

func TestSeenOnStdin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stdin")
	if s, err := seenOnStdin(file); err != nil || s.Exec != 0 {
		t.Errorf("before the server has started: %+v, %v", s, err)
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"id":1,"method":"tools/call"}` + "\n" + `{"id":2,"method":"tools/call"}` + "\n" + `{"method":"x"}` + "\n" + `{"id":3,"met`)
	if s, err := seenOnStdin(file); err != nil || s.Exec != 2 || len(s.of("x")) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	write(`{"id":1,"met` + "\n")
	if _, err := seenOnStdin(file); err == nil {
		t.Error("a line that is no message is one")
	}
}

func TestStartsAreCounted(t *testing.T) {
	p := &play{trial: &trial{}}
	for _, line := range []string{
		`time=x level=INFO msg="the server wrote to stderr" pack=mcp server=faulty line="{\"mode\":\"a\",\"pid\":20157}"`,
		`time=x level=INFO msg="the server wrote to stderr" pack=mcp server=faulty line="pid"`,
		`time=x level=INFO msg="something else" line="{\"mode\":\"a\",\"pid\":20157}"`,
	} {
		p.log.Write([]byte(line + "\n"))
	}
	if p.starts() != 1 {
		t.Errorf("%d starts", p.starts())
	}
	if p.startedOnce(); len(p.faults) != 0 {
		t.Error(p.faults)
	}
	p.log.Write([]byte(p.log.String()))
	if p.startedOnce(); len(p.faults) != 1 {
		t.Error("a second start is none")
	}
}
