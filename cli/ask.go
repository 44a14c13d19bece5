package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
)

// answerQuestions makes the host of a command answer the pack's questions. Whoever
// types a call is its user and has approved it by that. What a server asks goes to
// the person at the terminal; without one, servers are not told that they can ask.
func (a *app) answerQuestions(host *pack.Host) {
	var p *person
	if a.attended {
		p = newPerson(a.in, a.err)
	}
	host.Asks = map[pack.QuestionKind]bool{pack.AskApproval: true, pack.AskForm: p != nil, pack.AskURL: p != nil}
	host.Ask = func(ctx context.Context, q *pack.Question) (*pack.Answer, error) {
		switch {
		case q.Kind == pack.AskApproval:
			return &pack.Answer{Action: pack.Accept}, nil
		case !host.Asks[q.Kind]:
			return &pack.Answer{Action: pack.Decline}, nil
		}
		return p.ask(ctx, q)
	}
}

// A person answers questions of servers, line by line. Its method ask may be called
// from any goroutine; the others only while it is their turn.
type person struct {
	in    *bufio.Reader
	out   io.Writer
	turn  chan struct{}     // holds a token while no question is put
	typed chan typedLine    // of the read under way; nil for none
	given map[string]string // the answers to the newest form, which are proposed when it is put again
}

type typedLine struct {
	text string
	err  error
}

// errLeft says that a person has left a question without an answer.
var errLeft = errors.New("no answer")

func newPerson(in io.Reader, out io.Writer) *person {
	p := &person{in: bufio.NewReader(in), out: out, turn: make(chan struct{}, 1)}
	p.turn <- struct{}{}
	return p
}

// ask puts a question. The error says that ctx has ended: it is withdrawn.
func (p *person) ask(ctx context.Context, q *pack.Question) (*pack.Answer, error) {
	select {
	case <-p.turn:
		defer func() { p.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, pack.AsError(context.Cause(ctx))
	}
	// What was typed for a question that was withdrawn is no answer to this one.
	select {
	case <-p.typed:
		p.typed = nil
	default:
	}
	put := p.form
	if q.Kind == pack.AskURL {
		put = p.page
	}
	answer, err := put(ctx, q)
	switch {
	case ctx.Err() != nil:
		p.say("\n")
		return nil, pack.AsError(context.Cause(ctx))
	case err != nil:
		p.say("\nThe question stays without an answer.\n")
		return &pack.Answer{Action: pack.Cancel}, nil
	}
	return answer, nil
}

func (p *person) say(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// line returns the next line that is typed, without its end. The error is errLeft,
// or ctx's; the read then goes on, for who asks next.
func (p *person) line(ctx context.Context) (string, error) {
	if p.typed == nil {
		typed := make(chan typedLine, 1)
		p.typed = typed
		go func() {
			text, err := p.in.ReadString('\n')
			typed <- typedLine{text, err}
		}()
	}
	select {
	case typed := <-p.typed:
		p.typed = nil
		if typed.err != nil {
			return "", errLeft
		}
		return strings.TrimRight(typed.text, "\r\n"), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// intro says who asks, and what.
func (p *person) intro(q *pack.Question, what string) {
	p.say("\nThe server %s %s\n\n", shownName(q.Server), what)
	for line := range strings.Lines(escapeLines(q.Message)) {
		p.say("  %s", line)
	}
	p.say("\n\n")
}

// page puts a question of mode url: whether the person visits a page. It is shown
// whole and never opened from here (2026-07-28 client/elicitation, "Safe URL
// Handling").
func (p *person) page(ctx context.Context, q *pack.Question) (*pack.Answer, error) {
	p.intro(q, "asks you to visit a page:")
	host := q.URL
	if u, err := url.Parse(q.URL); err == nil {
		host = u.Host
	}
	p.say("  %s\n  which is on the host %s\n", redact.Escape(q.URL), redact.Escape(host))
	for _, warning := range q.Warnings {
		p.say("  careful: %s\n", redact.Escape(warning))
	}
	p.say("\nIt is not opened for you: if you trust it, copy it into a browser.\n")
	action, err := p.choose(ctx, "Enter says that you visit it")
	return &pack.Answer{Action: action}, err
}

// choose asks for a yes or no. yes says what an empty line means.
func (p *person) choose(ctx context.Context, yes string) (pack.Action, error) {
	for {
		p.say("%s, d declines, Ctrl-D leaves it unanswered: ", yes)
		text, err := p.line(ctx)
		if err != nil {
			return pack.Cancel, err
		}
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "", "y", "yes":
			return pack.Accept, nil
		case "d", "n", "no", "decline":
			return pack.Decline, nil
		}
	}
}

// form puts a question of mode form: field by field, and then whether the answers
// are sent.
func (p *person) form(ctx context.Context, q *pack.Question) (*pack.Answer, error) {
	proposals := p.given
	if q.Problem == "" {
		proposals = nil
		p.intro(q, "asks:")
	} else {
		p.say("\nThat does not fit: %s. Once more:\n\n", shownText(q.Problem))
	}
	p.given = map[string]string{}
	content := []byte{'{'}
	for _, f := range formFields(q.Schema) {
		if given, ok := proposals[f.name]; ok {
			f.proposal = []byte(given)
		}
		value, err := p.field(ctx, &f)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		p.given[f.name] = string(value)
		if len(content) > 1 {
			content = append(content, ',')
		}
		content = append(append(append(content, f.key...), ':'), value...)
	}
	p.say("\n")
	action, err := p.choose(ctx, "Enter sends this")
	return &pack.Answer{Action: action, Content: append(content, '}')}, err
}

// field asks for one field and returns its value as JSON; nil when it is left out.
func (p *person) field(ctx context.Context, f *formField) ([]byte, error) {
	p.say("%s\n", f.label())
	for i, c := range f.choices {
		p.say("  %d) %s\n", i+1, shownText(cmp.Or(c.title, c.value)))
	}
	for {
		p.say("  %s: ", f.prompt())
		text, err := p.line(ctx)
		if err != nil {
			return nil, err
		}
		value, wrong := f.value(text)
		if wrong == "" {
			return value, nil
		}
		p.say("  %s\n", wrong)
	}
}
