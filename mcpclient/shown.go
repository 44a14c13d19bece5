package mcpclient

import (
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

// shownKey quotes for a message a name that was written elsewhere.
func shownKey(key string) string { return `"` + redact.Escape(redact.Cut(key, 64)) + `"` }

// notA says what is wrong with a value that should be of another kind.
func notA(what string, got []byte, want rawjson.Kind) string {
	kind := rawjson.KindOf(got)
	if kind == rawjson.None {
		return what + " is missing"
	}
	return what + " is " + kind.String() + ", not " + want.String()
}
