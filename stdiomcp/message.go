package stdiomcp

import (
	"errors"
	"strconv"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient/envelope"
)

// requestID reads the id of one of our requests. It is exact when it is written as
// we write it; an id that only looks like ours ("1" or 1.0 for 1) is told apart,
// since JSON-RPC compares by type and value.
func requestID(id []byte) (n int64, exact, ok bool) {
	text := string(id)
	if rawjson.KindOf(id) == rawjson.String {
		text = rawjson.Text(id)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, text == string(id) && text == strconv.FormatInt(n, 10), true
	}
	f, err := strconv.ParseFloat(text, 64)
	if n = int64(f); err != nil || float64(n) != f {
		return 0, false, false
	}
	return n, false, true
}

// isNoise reports whether envelope.Parse says that a line is no message at all.
func isNoise(m *envelope.Message, err error) bool {
	if _, broken := errors.AsType[envelope.Malformed](err); broken {
		return err == envelope.NotJSONRPC && m.ID == nil
	}
	return true
}
