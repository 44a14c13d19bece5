package bridge

import (
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack"
)

// StringArgument returns a member that is a string, nil when it is absent. The
// error is a message that names it.
func StringArgument(members rawjson.Object, name string) (*string, error) {
	value, err := argument(members, name)
	if value == nil || err != nil {
		return nil, err
	}
	if kind := rawjson.KindOf(value); kind != rawjson.String {
		return nil, Message("the argument %q must be a string, not %s", name, kind)
	}
	text := rawjson.Text(value)
	return &text, nil
}

// ObjectArgument returns the member as an object as it was written, {} when it is absent.
func ObjectArgument(members rawjson.Object, name string) (pack.Raw, error) {
	value, err := argument(members, name)
	if err != nil {
		return nil, err
	}
	switch kind := rawjson.KindOf(value); kind {
	case rawjson.None:
		return pack.Raw("{}"), nil
	case rawjson.Dict:
		return value, nil
	case rawjson.String: // a mistake that models make
		return nil, Message("the argument %q must be an object, not a string: give the object itself, not its JSON text", name)
	default:
		return nil, Message("the argument %q must be an object, not %s", name, kind)
	}
}

// argument returns the member of that name, or nil when it is absent or null,
// which models write for what they leave out. One that is given twice is
// refused: whoever judged the call before us may have read the other value.
func argument(members rawjson.Object, name string) (pack.Raw, error) {
	var value pack.Raw
	seen := false
	for _, m := range members {
		if m.Name() != name {
			continue
		}
		if seen {
			return nil, Message("the argument %q is given twice", name)
		}
		seen = true
		if rawjson.KindOf(m.Value) != rawjson.Null {
			value = m.Value
		}
	}
	return value, nil
}
