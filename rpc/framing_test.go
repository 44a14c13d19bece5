package rpc

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// dribble returns a reader that gives what a slow host would: a byte at a time.
func dribble(s string) io.Reader { return iotest.OneByteReader(strings.NewReader(s)) }

func TestFraming(t *testing.T) {
	for _, test := range []struct {
		name, in string
		lsp      bool
		want     []string // the messages
		err      string   // what ends them
	}{
		{"nothing", "", false, nil, "EOF"},
		{"nothing but blanks", " \r\n\t\n", false, nil, "EOF"},
		{"nothing but a mark", "\ufeff", false, nil, "EOF"},
		{"lines", "{}\n[]\r\n\n 7", false, []string{"{}", "[]", " 7"}, "EOF"},
		{"a mark before lines", "\ufeff{}\n", false, []string{"{}"}, "EOF"},
		{"a mark between blanks", "\n \ufeff \n{}\n", false, []string{"{}"}, "EOF"},
		{"two marks are one too many", "\ufeff\ufeff{}\n", false, []string{"\ufeff{}"}, "EOF"},
		{"what begins like a mark", "\xef\xbb", false, []string{"\xef\xbb"}, "EOF"},
		{"what begins like a header", "Content-Lengthy: 5\n", false, []string{"Content-Lengthy: 5"}, "EOF"},
		{"a header without a colon yet", "Content-Type", false, []string{"Content-Type"}, "EOF"},
		{"a blank before the colon is no header", "Content-Length : 2\n", false, []string{"Content-Length : 2"}, "EOF"},
		{"bodies", "Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]", true, []string{"{}", "[1]"}, "EOF"},
		{"any case, other headers, lone line feeds", "\ufeff\ncONTENT-tYPE: x; charset=utf-8\nX-Other: y\nCONTENT-LENGTH:2\n\n{}", true, []string{"{}"}, "EOF"},
		{"blank lines between bodies", "Content-Length: 2\r\n\r\n{}\r\n\nContent-Length: 0\r\n\r\n", true, []string{"{}", ""}, "EOF"},
		{"line ends inside a body", "Content-Length: 6\r\n\r\n{\r\n\n}\n", true, []string{"{\r\n\n}\n"}, "EOF"},
		{"no length", "Content-Type: x\r\n\r\n{}", true, nil, "without Content-Length"},
		{"no digits", "Content-Length: two\r\n\r\n{}", true, nil, "no decimal number"},
		{"an empty length", "Content-Length:\r\n\r\n{}", true, nil, "no decimal number"},
		{"a sign", "Content-Length: +2\r\n\r\n{}", true, nil, "no decimal number"},
		{"a negative length", "Content-Length: -2\r\n\r\n{}", true, nil, "no decimal number"},
		{"more than 2^63-1", "Content-Length: 9223372036854775808\r\n\r\n{}", true, nil, "no decimal number"},
		{"two lengths that differ", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", true, nil, "that differ"},
		{"the same length twice", "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", true, []string{"{}"}, "EOF"},
		{"no colon", "Content-Length: 2\r\nnonsense\r\n\r\n{}", true, nil, "without a colon"},
		{"a line of 8 KiB", "Content-Length: 2\r\nX:" + strings.Repeat("x", 8<<10-4) + "\r\n\r\n{}", true, []string{"{}"}, "EOF"},
		{"a longer line", "Content-Length: 2\r\nX:" + strings.Repeat("x", 8<<10-3) + "\r\n\r\n{}", true, nil, "a header of more than"},
		{"a much longer line", "Content-Length: 2\r\nX:" + strings.Repeat("x", 1<<20) + "\r\n\r\n{}", true, nil, "a header of more than"},
		{"very many lines", "Content-Length: 2\r\n" + strings.Repeat("X: y\r\n", 100) + "\r\n{}", true, nil, "a header of more than"},
		{"the end inside a body", "Content-Length: 2\r\n\r\n{", true, nil, "EOF"},
		{"the end inside a header", "Content-Length: 2\r\n\r\n{}Content-Len", true, []string{"{}"}, "EOF"},
		{"the end behind a header", "Content-Length: 2\r\n", true, nil, "EOF"},
		{"a body over the limit", "Content-Length: 101\r\n\r\n" + `{"id":7,"result":"` + strings.Repeat("x", 81) + `"}Content-Length: 2` + "\r\n\r\n{}", true, []string{"too long: 7 true", "{}"}, "EOF"},
		{"the end inside a body over the limit", "Content-Length: 101\r\n\r\n{", true, nil, "EOF"},
		{"a line over the limit", `{"method":"` + strings.Repeat("x", 100) + `","id":"a"}` + "\n{}\n" + strings.Repeat("x", 200), false, []string{`too long: "a" false`, "{}", "too long:  false"}, "EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for how, in := range map[string]io.Reader{"whole": strings.NewReader(test.in), "bytes": dribble(test.in), "half": iotest.HalfReader(strings.NewReader(test.in))} {
				got, lsp, err := readAll(in)
				if lsp != test.lsp || strings.Join(got, "|") != strings.Join(test.want, "|") || !strings.Contains(err.Error(), test.err) {
					t.Errorf("%s: got lsp %v, %q and %v, want lsp %v, %q and %s", how, lsp, got, err, test.lsp, test.want, test.err)
				}
				if cut := errors.Is(err, errCut); cut != (test.err != "EOF") {
					t.Errorf("%s: cut is %v", how, cut)
				}
			}
		})
	}
}

// readAll reads all messages of up to 100 bytes.
func readAll(in io.Reader) (messages []string, lsp bool, err error) {
	frames, lsp, err := frame(in, 100)
	for err == nil {
		var message []byte
		message, err = frames.next()
		if long, ok := errors.AsType[*tooLong](err); ok {
			message, err = fmt.Appendf(nil, "too long: %s %v", long.found.id, long.found.isResponse), nil
		}
		if err == nil {
			messages = append(messages, string(message))
		}
	}
	return messages, lsp, err
}

// TestFramingWaitsForNothing proves that the first message is served before a
// byte behind it has come: the host may be waiting for its answer.
func TestFramingWaitsForNothing(t *testing.T) {
	for _, in := range []string{"{}\n", "c\n", "Content-Length:2\n\n{}"} {
		r, w := io.Pipe()
		go io.WriteString(w, in)
		frames, _, err := frame(r, 100)
		if err == nil {
			_, err = frames.next()
		}
		if err != nil {
			t.Errorf("%q: %v", in, err)
		}
		w.Close()
	}
}

// TestReadError proves that an input that fails ends like one that ends.
func TestReadError(t *testing.T) {
	broken := errors.New("broken")
	for _, in := range []string{"", "{", "{}\n{", "Content-Length: 2\r\n\r\n{}Cont", "Content-Length: 2\r\n\r\n{"} {
		if _, _, err := readAll(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken))); err != broken {
			t.Errorf("%q ends with %v", in, err)
		}
	}
}

func TestParseID(t *testing.T) {
	same := [][]string{
		{`0`, `-0`}, {`7`}, {`-7`}, {`9223372036854775807`}, {`-9223372036854775808`}, {`"7"`, `"\u0037"`}, {`""`},
		{`"\ud800"`}, {`"\udbff"`}, {`"\ufffd"`}, {`"😀"`, `"\ud83d\ude00"`},
	}
	for i, group := range same {
		for k, other := range same {
			a, aOK := parseID([]byte(group[0]))
			b, bOK := parseID([]byte(other[len(other)-1]))
			if !aOK || !bOK || (a == b) != (i == k) {
				t.Errorf("%s and %s are equal: %v", group[0], other[len(other)-1], a == b)
			}
		}
	}
	for _, bad := range []string{``, `null`, `true`, `1.0`, `1e2`, `1E0`, `-0.0`, `9223372036854775808`, `-9223372036854775809`, `[1]`, `{}`} {
		if key, ok := parseID([]byte(bad)); ok {
			t.Errorf("%s is an id: %v", bad, key)
		}
	}
}
