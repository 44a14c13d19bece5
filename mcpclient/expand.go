package mcpclient

import (
	"fmt"
	"strings"
)

// Vars is what the placeholders of an entry are replaced with.
type Vars struct {
	Env  func(name string) (string, bool) // nil: nothing is set
	Home string                           // the user's home directory; "" when it is not known
}

// Expand replaces ${env:NAME} and ${userHome}, in one pass: what a value brings
// in is not expanded again. Every other form, broken ones included, stays as it
// is written. learn is given each variable's value at once, since it is secret
// wherever it ends up. The error names the variable that is not set.
func (v Vars) Expand(text string, learn func(...string)) (string, error) {
	var out strings.Builder
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			break
		}
		body, rest, closed := strings.Cut(text[start+2:], "}")
		name, isEnv := strings.CutPrefix(body, "env:")
		switch {
		case closed && isEnv && variableName(name):
			value, err := v.lookup(name)
			if err != nil {
				return "", err
			}
			learn(value)
			out.WriteString(text[:start])
			out.WriteString(value)
			text = rest
		case closed && body == "userHome":
			if v.Home == "" {
				return "", fmt.Errorf("${userHome} is not known here")
			}
			out.WriteString(text[:start])
			out.WriteString(v.Home)
			text = rest
		default:
			// Only the dollar sign is passed: a form may begin at the next byte.
			out.WriteString(text[:start+1])
			text = text[start+1:]
		}
	}
	out.WriteString(text)
	return out.String(), nil
}

func (v Vars) lookup(name string) (string, error) {
	if v.Env != nil {
		if value, ok := v.Env(name); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("the environment variable %s is not set", name)
}

// variableName reports whether name can be a variable's. The set is that of
// POSIX and what Windows adds to it; a colon is not in it, so that a default, as
// in ${env:NAME:-x}, stays as it is written instead of naming a strange variable.
func variableName(name string) bool {
	if name == "" || len(name) > 256 {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '_', c == '.', c == '-', c == '(', c == ')':
		default:
			return false
		}
	}
	return true
}
