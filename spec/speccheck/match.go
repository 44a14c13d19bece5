package speccheck

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Match holds a JSON text against a matcher of a vector. The error gives the
// path at which they differ.
//
// An object asks for its members and allows others; an array asks for its
// elements, one by one; anything else asks for its equal, numbers as they are
// spelt. "$any" is any value, "$string" any string, "$absent" no such member.
// An object with one member whose name begins with $ asks for more: see
// vectors/README.md.
func Match(matcher, text []byte) error { return match("message", matcher, text) }

func match(path string, matcher, text json.RawMessage) error {
	want, err := unmarshal(matcher)
	if err != nil {
		return fmt.Errorf("%s: matcher: %w", path, err)
	}
	have, err := unmarshal(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	switch want := want.(type) {
	case map[string]any:
		if name, argument, ok := operator(matcher); ok {
			return apply(path, name, argument, have, text)
		}
		return matchObject(path, matcher, text, have)
	case []any:
		return matchArray(path, matcher, text, have)
	case string:
		if done, err := matchWord(path, want, have); done {
			return err
		}
	}
	if want != have {
		return fmt.Errorf("%s: want %.200s, have %.200s", path, matcher, text)
	}
	return nil
}

// matchWord matches the strings that stand for more than themselves.
func matchWord(path, word string, have any) (done bool, err error) {
	switch word {
	case "$any":
		return true, nil
	case "$absent":
		return true, fmt.Errorf("%s: must be absent", path)
	case "$string":
		if _, ok := have.(string); !ok {
			return true, fmt.Errorf("%s: want a string", path)
		}
		return true, nil
	}
	return false, nil
}

func matchObject(path string, matcher, text json.RawMessage, have any) error {
	if _, ok := have.(map[string]any); !ok {
		return fmt.Errorf("%s: want an object, have %.200s", path, text)
	}
	var wants, haves map[string]json.RawMessage
	if err := json.Unmarshal(matcher, &wants); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &haves); err != nil {
		return err
	}
	for name, want := range wants {
		value, there := haves[name]
		if !there {
			if mayBeAbsent(want) {
				continue
			}
			return fmt.Errorf("%s.%s: missing", path, name)
		}
		if err := match(path+"."+name, want, value); err != nil {
			return err
		}
	}
	return nil
}

// mayBeAbsent reports whether a member's matcher is "$absent", or has it among
// its alternatives.
func mayBeAbsent(matcher json.RawMessage) bool {
	if string(matcher) == `"$absent"` {
		return true
	}
	name, argument, ok := operator(matcher)
	var alternatives []json.RawMessage
	return ok && name == "$oneOf" && json.Unmarshal(argument, &alternatives) == nil &&
		slices.ContainsFunc(alternatives, mayBeAbsent)
}

func matchArray(path string, matcher, text json.RawMessage, have any) error {
	if _, ok := have.([]any); !ok {
		return fmt.Errorf("%s: want an array, have %.200s", path, text)
	}
	var wants, haves []json.RawMessage
	if err := json.Unmarshal(matcher, &wants); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &haves); err != nil {
		return err
	}
	if len(wants) != len(haves) {
		return fmt.Errorf("%s: want %d elements, have %d", path, len(wants), len(haves))
	}
	for i, want := range wants {
		if err := match(fmt.Sprintf("%s[%d]", path, i), want, haves[i]); err != nil {
			return err
		}
	}
	return nil
}

// operator returns the one member of a matcher whose name begins with $.
func operator(matcher json.RawMessage) (name string, argument json.RawMessage, ok bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(matcher, &members) != nil || len(members) != 1 {
		return "", nil, false
	}
	for name, argument = range members {
	}
	return name, argument, strings.HasPrefix(name, "$")
}

func apply(path, name string, argument json.RawMessage, have any, text json.RawMessage) error {
	switch name {
	case "$oneOf":
		var alternatives []json.RawMessage
		if err := json.Unmarshal(argument, &alternatives); err != nil {
			return err
		}
		for _, one := range alternatives {
			if match(path, one, text) == nil {
				return nil
			}
		}
		return fmt.Errorf("%s: want one of %.400s, have %.200s", path, argument, text)
	}
	var want string
	if err := json.Unmarshal(argument, &want); err != nil && name != "$json" {
		return fmt.Errorf("%s: %s: want a string", path, name)
	}
	if name == "$raw" {
		if string(text) != want {
			return fmt.Errorf("%s: want the bytes %s, have %.200s", path, want, text)
		}
		return nil
	}
	value, ok := have.(string)
	switch {
	case !ok:
		return fmt.Errorf("%s: want a string, have %.200s", path, text)
	case name == "$contains":
		if !strings.Contains(value, want) {
			return fmt.Errorf("%s: want a string with %q in it, have %.400s", path, want, text)
		}
		return nil
	case name == "$json":
		return match(path+" as JSON", argument, json.RawMessage(value))
	}
	return fmt.Errorf("%s: unknown operator %s", path, name)
}
