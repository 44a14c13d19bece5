package main

import (
	"fmt"
	"regexp"
	"strings"
)

// A section is one part of a case file: the lines after a marker such as
// "-- server D --".
type section struct {
	kind string // server, host, wire, log, never, broken
	name string // "" for the one without a name
	eras string // the letters for which it holds; "" for all
	line int    // of the first line of text, in the file
	text string
}

// marker matches the line that begins a section.
var marker = regexp.MustCompile(`^-- ([a-z]+)(?: ([a-z][a-z0-9-]*))?(?: ([ABCD]+))? --$`)

// split cuts a file into what stands before the first marker and the sections.
func split(file string) (head string, sections []section, err error) {
	text := &head
	number := 0
	for line := range strings.Lines(file) {
		number++
		trimmed := strings.TrimRight(line, "\r\n")
		if m := marker.FindStringSubmatch(trimmed); m != nil {
			sections = append(sections, section{kind: m[1], name: m[2], eras: m[3], line: number + 1})
			text = &sections[len(sections)-1].text
			continue
		}
		if strings.HasPrefix(trimmed, "-- ") && strings.HasSuffix(trimmed, " --") {
			return "", nil, fmt.Errorf("line %d: %q is no marker of a section", number, trimmed)
		}
		*text += line
	}
	return head, sections, nil
}

// in reports whether the section holds for an era.
func (s *section) in(era string) bool { return s.eras == "" || strings.Contains(s.eras, era) }

// A textLine is one statement of a section: a line, with the indented lines that
// go on with it.
type textLine struct {
	line int // in the file
	text string
}

// lines returns the statements of a section, without comments and blank lines.
func (s *section) lines() []textLine {
	var all []textLine
	number := s.line - 1
	for line := range strings.Lines(s.text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "#"):
		case (line[0] == ' ' || line[0] == '\t') && len(all) > 0:
			all[len(all)-1].text += " " + strings.TrimSpace(line)
		default:
			all = append(all, textLine{number, strings.TrimSpace(line)})
		}
	}
	return all
}
