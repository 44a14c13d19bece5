package cli

import (
	"strings"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/redact"
)

// shownName makes a server's or a tool's name fit for people (L16).
func shownName(name string) string {
	if name == "" {
		return `""`
	}
	return redact.Cut(redact.Escape(name), limit.Table{}.Int(limit.TitleShown))
}

// shownText makes a description or a reason fit for people, on one line (L16).
func shownText(text string) string {
	return redact.Cut(redact.Escape(text), limit.Table{}.Int(limit.DescriptionShown))
}

// escapeLines makes a text of several lines safe for a terminal and keeps its
// lines.
func escapeLines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = redact.Escape(strings.TrimSuffix(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// cutColumns cuts a line to the width of a terminal, with a mark. Width 0 is
// unknown and cuts nothing.
func cutColumns(line string, width int) string {
	runes := []rune(strings.TrimRight(line, " "))
	if width <= 0 || len(runes) <= width {
		return string(runes)
	}
	return string(runes[:width-1]) + "…"
}
