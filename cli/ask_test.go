package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolhost/toolhost/pack"
)

// everyKind is a form with a field of each kind.
const everyKind = `{"type":"object","properties":{
	"name":{"type":"string","title":"Full name","description":"as in the passport"},
	"mail":{"type":"string","format":"email"},
	"size":{"type":"string","enum":["s","m"],"enumNames":["Small","Medium"],"default":"m"},
	"colour":{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"2","title":"Blue"}]},
	"extras":{"type":"array","items":{"anyOf":[{"const":"a","title":"Ice, crushed"},{"const":"b","title":"Lime"}]},"default":["a","b"]},
	"amount":{"type":"integer","default":3},
	"ratio":{"type":"number"},
	"gift\u0020wrap":{"type":"boolean","default":false}},
	"required":["name","colour"]}`

func TestFormOnATerminal(t *testing.T) {
	for _, test := range []struct {
		situation string
		schema    string
		typed     string
		action    pack.Action
		content   string
		shows     []string
	}{
		{"everything is typed", everyKind, "Ann Lee \nann@example.org\nSmall\nred\n2,1\n5\n1.50\nyes\n\n", pack.Accept,
			`{"name":"Ann Lee ","mail":"ann@example.org","size":"s","colour":"#f00","extras":["b","a"],"amount":5,"ratio":1.50,"gift\u0020wrap":true}`,
			[]string{"Full name: as in the passport\n  a text: ", "  an e-mail address (may be left out): ", "  1) Small\n  2) Medium\n  one of them [Medium]: ",
				"  any of them, as 1,2 [Ice, crushed, Lime]: ", "  a whole number [3]: ", "gift wrap\n  yes or no [no]: ", "Enter sends this, d declines"}},
		{"defaults are taken, the rest is left out", everyKind, "Ann\n\n\nBlue\n\n\n\n\n\n", pack.Accept,
			`{"name":"Ann","size":"m","colour":"2","extras":["a","b"],"amount":3,"gift\u0020wrap":false}`, nil},
		{"what fits to the letter comes before a place in the list", everyKind, "Ann\n\n1\n2\n\n\n\n\n\n", pack.Accept,
			`{"name":"Ann","size":"s","colour":"2","extras":["a","b"],"amount":3,"gift\u0020wrap":false}`, nil},
		{"slips are told at once", everyKind, "\nAnn\n\n3\n2\ngreen\n1\nLime,x\nb\nmany\n01\n7\n-\n-0.5\nmaybe\nN\n\n", pack.Accept,
			`{"name":"Ann","size":"m","colour":"#f00","extras":["b"],"amount":7,"ratio":-0.5,"gift\u0020wrap":false}`,
			[]string{"this has to be given", "3 is none of them; answer with a number from 1 to 2, or with its text", "x is none of them", "answer with a number, as 12 or -0.5", "answer yes or no"}},
		{"it is declined in the end", everyKind, "Ann\n\n\n1\n\n\n\n\nwhat?\nd\n", pack.Decline, "", nil},
		{"it is left", everyKind, "Ann\n", pack.Cancel, "", []string{"stays without an answer"}},
		{"it has no field", `{"type":"object"}`, "\n", pack.Accept, `{}`, nil},
		{"controls are not passed to the terminal", `{"type":"object","properties":{"a\u001b[2J":{"type":"string","title":"\u001b]0;t\u0007","default":"\u001b[1m"}}}`,
			"\n\n", pack.Accept, `{"a\u001b[2J":"\u001b[1m"}`, []string{`\u{1b}]0;t\u{7}`, `[\u{1b}[1m]: `}},
	} {
		t.Run(test.situation, func(t *testing.T) {
			var screen bytes.Buffer
			p := newPerson(strings.NewReader(test.typed), &screen)
			answer, err := p.ask(t.Context(), &pack.Question{Kind: pack.AskForm, Server: "shop", Message: "Order\x1b[2J\nnow?", Schema: pack.Raw(test.schema)})
			if err != nil || answer.Action != test.action || test.action == pack.Accept && string(answer.Content) != test.content {
				t.Errorf("got %+v, %v\n%s\nwant content %s", answer, err, answer.Content, test.content)
			}
			for _, want := range append(test.shows, "The server shop asks:\n\n  Order\\u{1b}[2J\n  now?\n") {
				if !strings.Contains(screen.String(), want) {
					t.Errorf("the terminal does not show %q:\n%s", want, &screen)
				}
			}
			if strings.Contains(screen.String(), "\x1b") {
				t.Errorf("controls reached the terminal: %q", &screen)
			}
		})
	}
}

// TestFormIsPutAgain: what was typed before is what an empty line stands for, and a
// form of another question does not inherit it.
func TestFormIsPutAgain(t *testing.T) {
	var screen bytes.Buffer
	p := newPerson(strings.NewReader("Ann\n12\n\n"+"\n9\n\n"+"\n\n\n"), &screen)
	q := &pack.Question{Kind: pack.AskForm, Server: "shop", Message: "Order?",
		Schema: pack.Raw(`{"type":"object","properties":{"name":{"type":"string"},"amount":{"type":"integer","default":1}}}`)}
	for i, want := range []string{`{"name":"Ann","amount":12}`, `{"name":"Ann","amount":9}`, `{"amount":1}`} {
		q.Problem = []string{"", `"amount" wants a whole number, at most 9`, ""}[i]
		answer, err := p.ask(t.Context(), q)
		if err != nil || string(answer.Content) != want {
			t.Errorf("answer %d: %s, %v; want %s", i, answer.Content, err, want)
		}
	}
	if want := "That does not fit: \"amount\" wants a whole number, at most 9. Once more:\n\nname\n  a text [Ann]: "; strings.Count(screen.String(), want) != 1 {
		t.Errorf("not once %q in\n%s", want, &screen)
	}
}

func TestH12_PageOnATerminalIsShownWhole(t *testing.T) {
	address := "https://pay.example:8443/" + strings.Repeat("long/", 2000) + "?order=1"
	for typed, action := range map[string]pack.Action{"\n": pack.Accept, "d\n": pack.Decline, "hm\nNo\n": pack.Decline, "": pack.Cancel} {
		var screen bytes.Buffer
		p := newPerson(strings.NewReader(typed), &screen)
		answer, err := p.ask(t.Context(), &pack.Question{Kind: pack.AskURL, Server: "shop", Message: "Pay here.", URL: address, Warnings: []string{"it looks like another"}})
		if err != nil || answer.Action != action {
			t.Errorf("%q: got %+v, %v", typed, answer, err)
		}
		for _, want := range []string{"  " + address + "\n", "on the host pay.example:8443\n", "careful: it looks like another\n", "It is not opened for you"} {
			if !strings.Contains(screen.String(), want) {
				t.Errorf("the terminal does not show %.60q:\n%.500s", want, &screen)
			}
		}
	}
}

// TestWithdrawnQuestion: what is typed for it is no answer to the next one.
func TestWithdrawnQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, keyboard := io.Pipe()
		p := newPerson(in, io.Discard)
		q := &pack.Question{Kind: pack.AskURL, Server: "shop", URL: "https://pay.example/"}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := p.ask(ctx, q)
			done <- err
		}()
		synctest.Wait() // it reads
		waiting, leave := context.WithCancel(t.Context())
		go func() {
			_, err := p.ask(waiting, q)
			done <- err
		}()
		synctest.Wait() // it waits for its turn
		leave()
		if e, ok := errors.AsType[*pack.Error](<-done); !ok || e.Kind != pack.KindCancelled {
			t.Errorf("the question that waited: %v", e)
		}
		cancel()
		if e, ok := errors.AsType[*pack.Error](<-done); !ok || e.Kind != pack.KindCancelled {
			t.Errorf("the question that was put: %v", e)
		}
		io.WriteString(keyboard, "\n")
		synctest.Wait() // it has been read, for nobody
		go io.WriteString(keyboard, "d\n")
		if answer, err := p.ask(t.Context(), q); err != nil || answer.Action != pack.Decline {
			t.Errorf("the next question: %+v, %v", answer, err)
		}
	})
}
