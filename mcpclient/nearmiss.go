package mcpclient

import (
	"slices"
	"strings"
)

// entryMembers are the members that mean something in an entry of either shape.
var entryMembers = []string{"url", "headers", "command", "args", "env", "cwd", "type", "protocolVersion"}

// meant returns the member that a writer of name seems to have meant, or "" for
// a name that is known, or like none, or like one that the entry has as well.
// It only serves messages: which members count is decided to the letter.
func (p *entryParser) meant(name string) string {
	if slices.Contains(entryMembers, name) || slices.Contains(p.rules.Reads, name) {
		return ""
	}
	for _, member := range entryMembers {
		if oneSlip(strings.ToLower(name), strings.ToLower(member)) && p.object.Get(member) == nil {
			return member
		}
	}
	return ""
}

// oneSlip reports whether a and b are equal or one slip of the hand apart: a
// letter too many, one too few, two exchanged, or another one. The last does not
// count in short names, where most have a neighbour that means something else.
func oneSlip(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(b) && a[i] == b[i] {
		i++
	}
	switch {
	case len(a) == len(b)+1:
		return a[i+1:] == b[i:]
	case len(a) != len(b):
		return false
	case i == len(a):
		return true
	case i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]:
		return true
	}
	return len(a) > 4 && a[i+1:] == b[i+1:]
}
