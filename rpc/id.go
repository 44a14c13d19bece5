package rpc

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// An idKey is what two ids are compared by: type and value. It is a map key
// that costs nothing for a number.
type idKey struct {
	number int64
	text   string
	isText bool
}

// parseID returns the key of an id, and false for anything that is no string
// and no integer of the int64 range written without fraction and exponent.
func parseID(raw []byte) (idKey, bool) {
	switch rawjson.KindOf(raw) {
	case rawjson.Number:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		return idKey{number: n}, err == nil
	case rawjson.String:
		text := rawjson.Text(raw)
		if strings.ContainsRune(text, utf8.RuneError) {
			// A lone surrogate has no text of its own. Ids that hold one are
			// told apart by how they are written.
			text = string(raw)
		}
		return idKey{text: text, isText: true}, true
	default:
		return idKey{}, false
	}
}
