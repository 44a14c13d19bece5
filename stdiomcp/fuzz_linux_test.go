package stdiomcp

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"testing"
)

// FuzzStat: the name of a process may hold anything.
func FuzzStat(f *testing.F) {
	f.Add("sleep")
	f.Add("a) Z 1 2 (b")
	f.Add(")")
	f.Add("x\n) R 7 8")
	f.Fuzz(func(t *testing.T, name string) {
		p, ok := parseStat([]byte("123 (" + name + ") S 45 67 67 0 -1 4194560"))
		if !ok || p != (process{pid: 123, parent: 45, group: 67}) {
			t.Fatalf("got %+v, %v", p, ok)
		}
		parseStat([]byte(name))
	})
}

// FuzzOrder: a guard starts what it was told to, to the letter.
func FuzzOrder(f *testing.F) {
	f.Add("/bin/sh", "sh\x01-c\x01\n 2 \x01")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, path, args string) {
		o := &order{path: path, args: strings.Split(args, "\x01")}
		if strings.Contains(path+args, "\x00") {
			t.Skip("no argument of a process holds a NUL")
		}
		var wire bytes.Buffer
		if err := writeOrder(&wire, o); err != nil {
			t.Fatal(err)
		}
		gotPath, gotArgs, err := readOrder(bufio.NewReader(&wire))
		if err != nil || gotPath != path || !slices.Equal(gotArgs, o.args) {
			t.Fatalf("got %q %q, %v", gotPath, gotArgs, err)
		}
	})
}

// TestT66_GuardByHand: a guard that nobody gives an order says so and starts nothing.
func TestT66_GuardByHand(t *testing.T) {
	for _, order := range []string{"", "x\n", "1\n/bin/true\x00", "3\n/bin/true\x00", "-1\n", "99999999999999999999\n"} {
		if _, _, err := readOrder(bufio.NewReader(strings.NewReader(order))); err == nil {
			t.Errorf("%q is taken for an order", order)
		}
	}
}
