package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// A serverLine is one JSON value of a server section: options, a tool, or a reply.
type serverLine struct {
	// Options of the server.
	Versions     []string          `json:"versions"`     // what it speaks; the revision of the run
	Answer       string            `json:"answer"`       // json or sse; as it needs
	Sessions     *bool             `json:"sessions"`     // false: it assigns no session id
	Listen       bool              `json:"listen"`       // legacy: GET opens a stream; else 405
	PageSize     int               `json:"pageSize"`     // tools on a page
	Filler       int               `json:"filler"`       // that many tools more
	Builtin      bool              `json:"builtin"`      // its usual tools stay beside those of the case
	Name         string            `json:"name"`         // of serverInfo
	Instructions string            `json:"instructions"` // of initialize and server/discover
	Capabilities json.RawMessage   `json:"capabilities"` // of initialize and server/discover
	Require      map[string]string `json:"require"`      // headers without which a request is answered 401
	Lenient      bool              `json:"lenient"`      // what it has to complain of is no failure
	Stdio        []string          `json:"stdio"`        // it is a local server, with these habits

	// A tool: its definition, and what a call of it answers.
	Tool       json.RawMessage `json:"tool"`
	Text       *string         `json:"text"`       // one text block
	Content    json.RawMessage `json:"content"`    // the blocks
	Structured json.RawMessage `json:"structured"` // structuredContent
	IsError    bool            `json:"isError"`

	// In place of an answer of the case's own: what it asks the user, in rounds, and
	// then answers with.
	Asks []map[string]json.RawMessage `json:"asks"`

	// A reply to a request, in place of the healthy one.
	On      string            `json:"on"`  // a pattern: tools/call is short for POST tools/call, or LINE tools/call
	Nth     int               `json:"nth"` // only that one; 0 for all
	After   string            `json:"after"`
	Until   string            `json:"until"` // a pattern: not before such a request has come
	Times   int               `json:"times"` // of until; 1 when absent
	Status  int               `json:"status"`
	Header  map[string]string `json:"header"`
	Body    json.RawMessage   `json:"body"`   // a string as it is, other JSON as it is written
	Result  json.RawMessage   `json:"result"` // a response with it
	Error   json.RawMessage   `json:"error"`  // a response with it
	Events  []json.RawMessage `json:"events"` // a stream
	Hold    bool              `json:"hold"`
	Drop    bool              `json:"drop"` // of a local server: it ends, with the code status
	Healthy bool              `json:"healthy"`
}

// parseServer reads the JSON values of a server section.
func parseServer(text string) ([]serverLine, error) {
	var clean strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			clean.WriteString(line)
		}
	}
	var all []serverLine
	decoder := json.NewDecoder(strings.NewReader(clean.String()))
	decoder.DisallowUnknownFields()
	for {
		var line serverLine
		err := decoder.Decode(&line)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("server: near byte %d: %w", decoder.InputOffset(), err)
		}
		all = append(all, line)
	}
}

// A setup is what the server of one section is.
type setup struct {
	fakeserver.Options
	lenient bool     // what it has to complain of is part of the case
	habits  []string // of a local server, see newRelay; nil for a remote one
}

// local reports whether the server is played over stdio.
func (s *setup) local() bool { return s.habits != nil }

// serverOptions turns the lines into what the server is. Replies of instead take the
// place of others to the same request, and its options of others of that name.
func serverOptions(version string, lines, instead []serverLine) (*setup, error) {
	opts := &setup{Options: fakeserver.Options{Versions: []string{version}}}
	var builtin bool
	for _, line := range append(append([]serverLine(nil), lines...), instead...) {
		if line.On != "" || line.Tool != nil {
			continue
		}
		builtin, opts.lenient = builtin || line.Builtin, opts.lenient || line.Lenient
		if err := line.set(opts); err != nil {
			return nil, err
		}
	}
	replaced := map[[2]any]bool{}
	for i, line := range append(append([]serverLine(nil), instead...), lines...) {
		key := [2]any{line.On, line.Nth}
		switch {
		case line.Tool != nil:
			tool, err := line.tool()
			if err != nil {
				return nil, err
			}
			opts.Tools = append(opts.Tools, tool)
		case line.On == "", i >= len(instead) && replaced[key]:
		default:
			replaced[key] = i < len(instead)
			row, err := line.row(opts.local())
			if err != nil {
				return nil, fmt.Errorf("server: on %q: %w", line.On, err)
			}
			opts.Script = append(opts.Script, row)
		}
	}
	opts.Era = eraOf(opts.Versions)
	if builtin {
		opts.Tools = append(fakeserver.Builtin(), opts.Tools...)
	}
	return opts, nil
}

// set takes over the options of a line.
func (l *serverLine) set(o *setup) error {
	switch l.Answer {
	case "":
	case "json":
		o.Answer = fakeserver.JSON
	case "sse":
		o.Answer = fakeserver.SSE
	default:
		return fmt.Errorf("server: answer is json or sse")
	}
	if l.Versions != nil {
		o.Versions = l.Versions
	}
	if l.Sessions != nil {
		o.NoSessions = !*l.Sessions
	}
	o.Listen = o.Listen || l.Listen
	o.PageSize = max(o.PageSize, l.PageSize)
	o.Tools = append(o.Tools, fakeserver.Filler(l.Filler)...)
	if l.Name != "" {
		o.Name = l.Name
	}
	if l.Instructions != "" {
		o.Instructions = l.Instructions
	}
	if l.Capabilities != nil {
		o.Capabilities = string(l.Capabilities)
	}
	if l.Require != nil {
		o.Require = l.Require
	}
	for _, habit := range l.Stdio {
		if !habits[habit] {
			return fmt.Errorf("server: %q is no habit of a local server", habit)
		}
	}
	if l.Stdio != nil {
		o.habits = l.Stdio
	}
	return nil
}

// eraOf is the era of a server that speaks these versions.
func eraOf(versions []string) fakeserver.Era {
	modernToo, legacyToo := false, false
	for _, v := range versions {
		if v == revisions[modern] {
			modernToo = true
		} else {
			legacyToo = true
		}
	}
	switch {
	case modernToo && legacyToo:
		return fakeserver.Dual
	case modernToo:
		return fakeserver.Modern
	}
	return fakeserver.Legacy
}

// tool is the tool of a line.
func (l *serverLine) tool() (fakeserver.Tool, error) {
	var named struct{ Name string }
	_ = json.Unmarshal(l.Tool, &named) // a definition may be broken on purpose
	out := fakeserver.Output{IsError: l.IsError, Structured: string(l.Structured)}
	if l.Text != nil {
		out = fakeserver.Text(*l.Text)
		out.IsError, out.Structured = l.IsError, string(l.Structured)
	}
	if l.Content != nil {
		var blocks []json.RawMessage
		if err := json.Unmarshal(l.Content, &blocks); err != nil {
			return fakeserver.Tool{}, fmt.Errorf("server: tool %q: content is an array of blocks", named.Name)
		}
		for _, block := range blocks {
			out.Content = append(out.Content, string(block))
		}
	}
	var asks []fakeserver.Round
	for _, questions := range l.Asks {
		round := fakeserver.Round{}
		for key, params := range questions {
			round[key] = string(params)
		}
		asks = append(asks, round)
	}
	return fakeserver.Tool{
		Name:       named.Name,
		Definition: string(l.Tool),
		Asks:       asks,
		Run:        func(context.Context, *fakeserver.Call) fakeserver.Output { return out },
	}, nil
}
