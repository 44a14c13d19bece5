package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// A Prompt is one prompt as its server defines it (server/prompts).
type Prompt struct {
	Name        string // as the server lists it; never empty
	Title       string // "" for none
	Description string // "" for none
	Arguments   []PromptArgument
	Raw         []byte // the whole definition, byte for byte
}

// A PromptArgument is what a prompt can be given. Its value is a text.
type PromptArgument struct {
	Name        string
	Title       string // "" for none
	Description string // "" for none
	Required    bool
}

// A PromptListing is every prompt that a server offers, in its order, names
// distinct.
type PromptListing struct {
	Prompts []Prompt

	// Notes say what is missing from Prompts and why, safe to show.
	Notes []string
}

// ListPrompts lists every page of the server's prompts. To a server that declares
// no prompts nothing is sent. A broken definition leaves out that prompt only; at a
// limit (L13, L14) the listing stops and keeps what it has, with a note. Errors are
// those of CallTool.
func (s *Session) ListPrompts(ctx context.Context) (*PromptListing, error) {
	if !s.Offers(promptList.capability) {
		return new(PromptListing), nil
	}
	var p *pager
	var listing *PromptListing
	err := s.pass(ctx, func(link *Link) *pager {
		names := map[string]bool{}
		listing = new(PromptListing)
		p = &pager{s: s, link: link, kind: promptList, notes: notes{item: "prompt"}}
		p.take = func(raw []byte) bool {
			prompt, err := parsePrompt(raw, s.opts.Limits)
			if err == nil && names[prompt.Name] {
				err = errors.New("the name stands twice in the list; the first prompt of that name is kept")
			}
			if err != nil {
				p.notes.leaveOut(prompt.Name, err.Error())
				return false
			}
			names[prompt.Name] = true
			listing.Prompts = append(listing.Prompts, prompt)
			return true
		}
		return p
	})
	if err != nil {
		return nil, err
	}
	for _, text := range p.notes.texts() {
		listing.Notes = append(listing.Notes, s.opts.Scrub.Text(text))
	}
	s.mu.Lock()
	told := slices.Equal(s.promptNotes, listing.Notes)
	s.promptNotes = listing.Notes
	s.mu.Unlock()
	if len(listing.Notes) > 0 && !told {
		s.opts.Log.Warn("the list of prompts is not whole", "notes", listing.Notes)
	}
	return listing, nil
}

// parsePrompt reads one definition, by the rules of parseTool: optional members that
// are null or of another kind count as absent. When it returns an error, the Prompt
// has only the name, if that could be read.
func parsePrompt(raw []byte, table limit.Table) (Prompt, error) {
	if rawjson.KindOf(raw) != rawjson.Dict {
		return Prompt{}, errors.New(notA("its definition", raw, rawjson.Dict))
	}
	object := rawjson.Members(raw)
	name, err := listedName(object)
	p := Prompt{Name: name}
	switch {
	case err != nil:
		return p, err
	case len(raw) > table.Int(limit.ToolDefinition):
		return p, table.Exceeded(limit.ToolDefinition, "its definition")
	}
	if key, twice := duplicateOf(object, "name", "title", "description", "arguments"); twice {
		return p, errors.New(key + " stands twice in its definition")
	}
	arguments := object.Opt("arguments")
	if arguments != nil && rawjson.KindOf(arguments) != rawjson.Array {
		return p, errors.New(notA("arguments", arguments, rawjson.Array))
	}
	var list []PromptArgument
	named := map[string]bool{}
	for _, item := range rawjson.Elements(arguments) {
		own := rawjson.Members(item)
		argument := rawjson.Text(str(own.Get("name")))
		switch {
		case argument == "":
			return p, errors.New("one of its arguments has no name")
		case named[argument]:
			return p, fmt.Errorf("its argument %s stands twice", shownKey(argument))
		}
		named[argument] = true
		list = append(list, PromptArgument{
			Name:        argument,
			Title:       rawjson.Text(str(own.Get("title"))),
			Description: rawjson.Text(str(own.Get("description"))),
			Required:    string(own.Get("required")) == "true",
		})
	}
	p.Title = rawjson.Text(str(object.Get("title")))
	p.Description = rawjson.Text(str(object.Get("description")))
	p.Arguments, p.Raw = list, raw
	return p, nil
}

// A PromptResult is a prompt with its arguments filled in. Byte slices are pieces
// of the message it came in, byte for byte.
type PromptResult struct {
	Description string // "" for none
	Messages    []byte // the array; each has a role and content
	Raw         []byte // the whole result

	text []byte
}

// Text returns the content of the messages as a model reads it, without their
// roles, as CallResult.Text does with the blocks of a result.
func (r *PromptResult) Text() []byte { return r.text }

var promptReads = slices.Concat(resultReads, []string{"description", "messages"})

// GetPrompt gets the prompt of exactly that name, with arguments, a valid JSON
// object, nil for {}. What is said of CallTool holds of it, but that the carrier may
// send it again when the first sending came to nothing, since it has no side effects.
// For a server that declares no prompts it is an *ArgumentError.
func (s *Session) GetPrompt(ctx context.Context, name string, arguments []byte, opts *CallOptions) (*PromptResult, error) {
	if !s.Offers(promptList.capability) {
		return nil, &ArgumentError{"the server offers no prompts"}
	}
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	x := s.newExchange(methodPrompt, name, promptReads, opts)
	x.params = namedParams(name, arguments)
	a, err := x.run(ctx)
	if err != nil {
		return nil, err
	}
	messages := a.object.Opt("messages")
	if rawjson.KindOf(messages) != rawjson.Array {
		return nil, malformed(methodPrompt, notA("messages", messages, rawjson.Array))
	}
	r := &PromptResult{
		Description: rawjson.Text(str(a.object.Get("description"))),
		Messages:    messages,
		Raw:         a.raw,
		text:        []byte(`""`),
	}
	var pieces [][]byte
	for _, message := range rawjson.Elements(messages) {
		pieces = append(pieces, messageText(message)...)
	}
	if len(pieces) > 0 {
		r.text = join(pieces)
	}
	return r, nil
}

// messageText returns the texts of one message: of its content block, or blocks, or
// of a content that is a text itself.
func messageText(message []byte) [][]byte {
	content := rawjson.Members(message).Get("content")
	switch rawjson.KindOf(content) {
	case rawjson.String:
		return [][]byte{content}
	case rawjson.Array:
		var pieces [][]byte
		for _, block := range rawjson.Elements(content) {
			pieces = append(pieces, blockText(block))
		}
		return pieces
	default:
		return [][]byte{blockText(content)}
	}
}
