package main

import (
	"errors"
	"fmt"
	"strings"
)

// parseVariant reads a broken section. It has one or more of:
//
//	strip POST tools/call Mcp-Name    and the other words of breakVerbs
//	server                            and lines of JSON after it
//	client FILE                       and lines that begin with - and + after it
//
// and lines "fails TEXT" at the end.
func parseVariant(s *section) (*variant, error) {
	v := &variant{section: s}
	const (
		free = iota
		server
		client
	)
	state := free
	number := s.line - 1
	for raw := range strings.Lines(s.text) {
		number++
		raw = strings.TrimRight(raw, "\r\n")
		line := textLine{number, strings.TrimSpace(raw)}
		verb, rest, _ := strings.Cut(line.text, " ")
		switch {
		case line.text == "" || strings.HasPrefix(raw, "#"):
		case state == client && (raw[0] == '-' || raw[0] == '+'):
			v.patches[len(v.patches)-1].add(raw)
		case verb == "fails":
			if rest == "" {
				return nil, line.fault(errors.New("fails wants a text"))
			}
			state, v.fails = free, append(v.fails, strings.TrimSpace(rest))
		case verb == "client" && rest != "":
			state, v.patches = client, append(v.patches, patch{file: strings.TrimSpace(rest), line: number})
		case verb == "server" && rest == "":
			state = server
		case state == server:
			v.server += raw + "\n"
		case breakVerbs[verb] != nil:
			b, err := parseWireBreak(line)
			if err != nil {
				return nil, line.fault(err)
			}
			v.wire = append(v.wire, b)
		default:
			return nil, line.fault(fmt.Errorf("%q breaks nothing", line.text))
		}
	}
	return v, v.check()
}

func (v *variant) check() error {
	at := textLine{line: v.section.line - 1}
	if len(v.wire) == 0 && v.server == "" && len(v.patches) == 0 {
		return at.fault(errors.New("it breaks nothing"))
	}
	if len(v.fails) == 0 {
		return at.fault(errors.New(`a line "fails TEXT" must say which fault it causes`))
	}
	if _, err := parseServer(fill(v.server, dummyValues)); err != nil {
		return at.fault(err)
	}
	for i := range v.patches {
		if err := v.patches[i].check(); err != nil {
			return at.fault(err)
		}
	}
	return nil
}

// misses returns what the variant says will fail and did not.
func (v *variant) misses(faults []string) []string {
	var missing []string
	for _, want := range v.fails {
		found := false
		for _, fault := range faults {
			found = found || strings.Contains(fault, want)
		}
		if !found {
			missing = append(missing, want)
		}
	}
	return missing
}
