package mcptools

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	maxName  = 64 // bytes that every model's API takes in a tool's name
	keptName = 55 // bytes of a longer or stranger name that are kept, before "_" and a hash
)

// modelName returns the name under which a model sees what is called full. One
// that every model's API takes stays as it is; in any other, what they refuse
// becomes "_", and a hash of the whole keeps it apart from its like. The result
// depends on nothing else, so that it is the same whatever other servers there
// are.
func modelName(full string) string {
	if plain(full) {
		return full
	}
	var b strings.Builder
	if full == "" || '0' <= full[0] && full[0] <= '9' || full[0] == '-' {
		b.WriteByte('_')
	}
	for _, r := range full {
		if b.Len() == keptName {
			break
		}
		if r > 0x7f || !nameByte(byte(r)) {
			r = '_'
		}
		b.WriteByte(byte(r))
	}
	sum := sha256.Sum256([]byte(full))
	return b.String() + "_" + hex.EncodeToString(sum[:4])
}

// plain reports whether a name begins with a letter or "_" and goes on with
// letters, digits, "_" and "-", at most maxName of them.
func plain(name string) bool {
	if name == "" || len(name) > maxName || name[0] == '-' || '0' <= name[0] && name[0] <= '9' {
		return false
	}
	for i := range len(name) {
		if !nameByte(name[i]) {
			return false
		}
	}
	return true
}

func nameByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		return true
	}
	return false
}

// A nameTemplate makes the name of a tool from its definition: text in which
// {server} and {tool} stand for the names.
type nameTemplate string

// defaultTemplate is the seed's <server>_<tool>.
const defaultTemplate nameTemplate = "{server}_{tool}"

// wrong says what is wrong with the template, "" for nothing.
func (t nameTemplate) wrong() string {
	rest := strings.NewReplacer("{server}", "", "{tool}", "").Replace(string(t))
	switch {
	case strings.ContainsAny(rest, "{}"):
		return "toolName holds a placeholder that is unknown; known: {server}, {tool}"
	case !strings.Contains(string(t), "{tool}"):
		return "toolName must hold {tool}, or every tool would have the same name"
	}
	return ""
}

// name returns the final name, the one that a model sees.
func (t nameTemplate) name(server, tool string) string {
	return modelName(strings.NewReplacer("{server}", server, "{tool}", tool).Replace(string(t)))
}
