package speccheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/spec"
)

// A Vector is one exchange with a child: what is written to its stdin, up to
// end-of-file, and what must come back. vectors/README.md is its definition.
type Vector struct {
	File    string            // the file it stands in, as "vectors/ids.jsonl"
	Line    int               // its line there
	Name    string            `json:"name"`
	Must    []string          `json:"must"`    // the rules that it proves
	Framing string            `json:"framing"` // FramingNewline or FramingLSP
	In      Input             `json:"in"`
	Out     []json.RawMessage `json:"out"` // a matcher for each message, in any order
}

// The framings of a vector.
const (
	FramingNewline = "newline"
	FramingLSP     = "lsp"
)

// Vectors returns all vectors, file by file.
func Vectors() ([]Vector, error) {
	names, err := fs.Glob(spec.FS, "vectors/*.jsonl")
	if err != nil {
		return nil, err
	}
	var all []Vector
	for _, name := range names {
		data, err := fs.ReadFile(spec.FS, name)
		if err != nil {
			return nil, err
		}
		line := 0
		for text := range bytes.Lines(data) {
			line++
			v := Vector{File: name, Line: line}
			decoder := json.NewDecoder(bytes.NewReader(text))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&v); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, line, err)
			}
			all = append(all, v)
		}
	}
	return all, nil
}

// Input is the bytes that a vector writes.
type Input []byte

// UnmarshalJSON reads a text, or an array of texts and of parts that a text
// cannot hold.
func (in *Input) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*in = Input(text)
		return nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return errors.New("in: want a string or an array of parts")
	}
	for _, part := range parts {
		if json.Unmarshal(part, &text) == nil {
			*in = append(*in, text...)
			continue
		}
		var p struct {
			Base64 []byte  // bytes that are no UTF-8
			Repeat string  // a text, Times times
			Times  int     //
			Frame  *string // a text with the Content-Length header before it
		}
		decoder := json.NewDecoder(bytes.NewReader(part))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&p); err != nil {
			return fmt.Errorf("in: part %s: %w", part, err)
		}
		*in = append(*in, p.Base64...)
		*in = append(*in, strings.Repeat(p.Repeat, p.Times)...)
		if p.Frame != nil {
			*in = fmt.Appendf(*in, "Content-Length: %d\r\n\r\n%s", len(*p.Frame), *p.Frame)
		}
	}
	return nil
}

// Split cuts all that a child wrote into messages. The error says where it is
// not framed as it must be.
func Split(framing string, stream []byte) ([][]byte, error) {
	var messages [][]byte
	for len(stream) > 0 {
		if framing == FramingNewline {
			line, rest, ok := bytes.Cut(stream, []byte("\n"))
			if !ok {
				return messages, fmt.Errorf("the last line does not end: %.100q", line)
			}
			messages, stream = append(messages, line), rest
			continue
		}
		head, rest, ok := bytes.Cut(stream, []byte("\r\n\r\n"))
		text, isLength := bytes.CutPrefix(head, []byte("Content-Length: "))
		n, err := strconv.Atoi(string(text))
		if !ok || !isLength || err != nil || n < 0 || n > len(rest) {
			return messages, fmt.Errorf("want a Content-Length header and its body, have %.100q", stream)
		}
		messages, stream = append(messages, rest[:n]), rest[n:]
	}
	return messages, nil
}

// Compare holds the messages that the child wrote against what must come. Each
// must match one that is awaited, and each awaited must have come, in any order.
func (v *Vector) Compare(messages [][]byte) error {
	fits := func(want, have int) bool { return Match(v.Out[want], messages[have]) == nil }
	taken := make([]int, len(messages)) // which awaited message this one is, plus 1
	for want := range v.Out {
		if !assign(want, taken, make([]bool, len(messages)), fits) {
			return v.missing(want, messages)
		}
	}
	for have, want := range taken {
		if want == 0 {
			return fmt.Errorf("unexpected message: %.400s", messages[have])
		}
	}
	return nil
}

// assign finds a message for the awaited one, moving others where it must: the
// augmenting paths of bipartite matching.
func assign(want int, taken []int, tried []bool, fits func(want, have int) bool) bool {
	for have := range taken {
		if tried[have] || !fits(want, have) {
			continue
		}
		tried[have] = true
		if taken[have] == 0 || assign(taken[have]-1, taken, tried, fits) {
			taken[have] = want + 1
			return true
		}
	}
	return false
}

// missing says which awaited message did not come and, where one was near, why
// it is another.
func (v *Vector) missing(want int, messages [][]byte) error {
	var said strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&said, "\n\t%.400s\n\t\t%v", m, Match(v.Out[want], m))
	}
	return fmt.Errorf("no message for %s among:%s", v.Out[want], said.String())
}

// unmarshal decodes one JSON text and keeps its numbers as they are spelt.
func unmarshal(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, errors.New("more than one JSON value")
	}
	return value, nil
}
