package mcpclient

import (
	"cmp"
	"fmt"
	"strings"
)

// notes collects why a listing is not whole: one text for each reason, with the
// first of the tools that it befell, so that a list of broken tools makes a
// short text.
type notes struct {
	item string // what is listed: "tool" when empty
	rows []note
}

type note struct {
	reason string
	tools  int      // how many were left out; 0 for a reason that is not about one tool
	names  []string // of the first few, safe to show
}

// noteNames is how many names are kept for each reason. Reasons need no bound:
// they are our own words.
const noteNames = 5

// add notes a reason that concerns the whole listing.
func (n *notes) add(reason string) { n.row(reason) }

// leaveOut notes why a tool is left out. name is what the server calls it, "" if
// that could not be read.
func (n *notes) leaveOut(name, reason string) {
	row := n.row(reason)
	row.tools++
	if name != "" && len(row.names) < noteNames {
		row.names = append(row.names, shownKey(name))
	}
}

// row returns the row of that reason.
func (n *notes) row(reason string) *note {
	for i := range n.rows {
		if n.rows[i].reason == reason {
			return &n.rows[i]
		}
	}
	n.rows = append(n.rows, note{reason: reason})
	return &n.rows[len(n.rows)-1]
}

func (n *notes) texts() []string {
	var texts []string
	for _, row := range n.rows {
		texts = append(texts, row.text(cmp.Or(n.item, "tool")))
	}
	return texts
}

func (n *note) text(item string) string {
	more := n.tools - len(n.names)
	switch {
	case n.tools == 0:
		return n.reason
	case len(n.names) == 0 && n.tools == 1:
		return "left out a " + item + ": " + n.reason
	case len(n.names) == 0:
		return fmt.Sprintf("left out %d %ss: %s", n.tools, item, n.reason)
	case more > 0:
		return fmt.Sprintf("left out %s and %d more: %s", strings.Join(n.names, ", "), more, n.reason)
	default:
		return fmt.Sprintf("left out %s: %s", strings.Join(n.names, ", "), n.reason)
	}
}
