package mcpclient

import (
	"strings"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/redact"
)

// An ownedHeader is a header that the client sets itself.
type ownedHeader byte

const (
	notOwned ownedHeader = iota
	owned                // dropped with a warning, or refused, as the rules say
	reserved             // refused by every pack: the seed of runvil/mcp names it
)

// ownedHeaders are the headers that an entry may not set, in lower case. Every
// name that begins with mcp- is owned as well.
var ownedHeaders = map[string]ownedHeader{
	"accept":         reserved,
	"mcp-session-id": reserved,
	"last-event-id":  reserved,

	"accept-encoding":     owned,
	"connection":          owned,
	"content-encoding":    owned,
	"content-length":      owned,
	"content-type":        owned,
	"expect":              owned,
	"host":                owned,
	"keep-alive":          owned,
	"proxy-authorization": owned,
	"proxy-connection":    owned,
	"te":                  owned,
	"trailer":             owned,
	"transfer-encoding":   owned,
	"upgrade":             owned,
}

func ownedBy(lower string) ownedHeader {
	if kind := ownedHeaders[lower]; kind != notOwned {
		return kind
	}
	if strings.HasPrefix(lower, "mcp-") {
		return owned
	}
	return notOwned
}

// headers reads the headers of a remote entry.
func (p *entryParser) headers() error {
	value := p.object.Opt("headers")
	if kind := rawjson.KindOf(value); value != nil && kind != rawjson.Dict {
		return refuse("headers must be an object, not %s", kind)
	}
	members := rawjson.Members(value)
	if len(members) > p.rules.Limits.Int(limit.HeaderCount) {
		return exceeded(p.rules.Limits, limit.HeaderCount, "the number of headers")
	}
	seen := map[string]bool{}
	for _, m := range members {
		name := m.Name()
		if !isToken(name) {
			return refuse("headers: %s is no header name", shownName(name))
		}
		lower := strings.ToLower(name)
		if seen[lower] {
			return refuse("headers: %s stands twice", shownName(name))
		}
		seen[lower] = true
		switch kind := ownedBy(lower); {
		case kind == reserved, kind == owned && p.rules.RefuseOwnedHeaders:
			return refuse("headers: %s is set by the client itself; remove it", shownName(name))
		case kind == owned:
			p.warn("headers: %s is set by the client itself; the entry's is not used", shownName(name))
			continue
		}
		text, err := p.headerValue(name, m.Value)
		if err != nil {
			return err
		}
		p.entry.Headers = append(p.entry.Headers, Header{Name: name, Value: redact.NewSecret(text)})
	}
	return nil
}

// headerValue returns the expanded value. Space around it is no part of a value
// (RFC 9110 section 5.5) and dropped; what cannot stand in one refuses the entry.
func (p *entryParser) headerValue(name string, value []byte) (string, error) {
	key := "headers: " + shownName(name)
	raw, err := p.text(key, value)
	if err != nil {
		return "", err
	}
	p.secret(raw)
	text := strings.Trim(raw, " \t")
	if len(text) > p.rules.Limits.Int(limit.HeaderValue) {
		return "", exceeded(p.rules.Limits, limit.HeaderValue, key)
	}
	for _, c := range []byte(text) {
		switch {
		case c == '\r' || c == '\n':
			return "", refuse("%s holds a line break; a value read from a file often ends with one", key)
		case c >= 0x80:
			return "", refuse("%s holds a character that is not ASCII", key)
		case c < 0x20 && c != '\t' || c == 0x7f:
			return "", refuse("%s holds a control character", key)
		}
	}
	switch {
	case text == "":
		p.warn("%s is empty", key)
	case text != raw:
		p.warn("%s has space around its value, which is not sent", key)
	}
	p.warnPlaceholders(key, rawjson.Text(value), placeholdersInHeaders)
	return text, nil
}

// isToken reports whether s is a token (RFC 9110 section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		if !tokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func tokenByte(c byte) bool {
	switch {
	case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// shownName quotes a header name for a message. Of one that is no token only the
// beginning that is one is shown: people paste "Authorization: Bearer ..." there.
func shownName(name string) string {
	end := 0
	for end < len(name) && tokenByte(name[end]) {
		end++
	}
	if end < len(name) {
		return shownKey(name[:end]) + "..."
	}
	return shownKey(name)
}
