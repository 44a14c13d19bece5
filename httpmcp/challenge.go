package httpmcp

import (
	"net/http"
	"strings"
)

// A challenge is one of a WWW-Authenticate header (RFC 9110 section 11.6.1).
type challenge struct {
	scheme string            // in lower case
	params map[string]string // by name in lower case; the first of those that stand twice
}

// The bounds on what is read of the headers of one reply. What is beyond them is left
// out: a server that writes so much has nothing to say.
const (
	maxChallengeText = 16 << 10
	maxChallenges    = 32
	maxParams        = 32
)

// bearerChallenge returns the parameters of the first Bearer challenge (RFC 6750
// section 3). They are nil, which reads as empty, when there is none.
func bearerChallenge(h http.Header) map[string]string {
	for _, c := range challenges(h["Www-Authenticate"]) {
		if c.scheme == "bearer" {
			return c.params
		}
	}
	return nil
}

// challenges reads the headers of a reply, each of which may hold several challenges.
// What is malformed ends its header, and leaves what came before.
func challenges(headers []string) []challenge {
	var list []challenge
	left := maxChallengeText
	for _, text := range headers {
		if left -= len(text); left < 0 {
			break
		}
		for p := (challengeParser{text}); len(list) < maxChallenges; {
			c, ok := p.challenge()
			if !ok {
				break
			}
			list = append(list, c)
		}
	}
	return list
}

// A challengeParser reads one header. The grammar does not say where one challenge
// ends: the comma before the next looks like that before a parameter. What follows a
// comma is a parameter when it is a name and an equals sign.
type challengeParser struct{ rest string }

func (p *challengeParser) space() { p.rest = strings.TrimLeft(p.rest, " \t") }

// separators skips space and commas; a list may have empty elements (RFC 9110 section
// 5.6.1). It reports whether there was a comma.
func (p *challengeParser) separators() bool {
	trimmed := strings.TrimLeft(p.rest, " \t,")
	comma := strings.Contains(p.rest[:len(p.rest)-len(trimmed)], ",")
	p.rest = trimmed
	return comma
}

func (p *challengeParser) token() string {
	end := 0
	for end < len(p.rest) && isTokenByte(p.rest[end]) {
		end++
	}
	token := p.rest[:end]
	p.rest = p.rest[end:]
	return token
}

func (p *challengeParser) challenge() (c challenge, ok bool) {
	p.separators()
	c.scheme = strings.ToLower(p.token())
	if c.scheme == "" {
		return c, false
	}
	if !strings.HasPrefix(p.rest, " ") && !strings.HasPrefix(p.rest, "\t") {
		return c, p.rest == "" || p.rest[0] == ','
	}
	p.space()
	for len(c.params) < maxParams {
		before := p.rest
		name, value, ok := p.param()
		if !ok {
			p.rest = before
			if c.params == nil {
				p.token68()
			}
			break
		}
		if c.params == nil {
			c.params = map[string]string{}
		}
		if _, twice := c.params[name]; !twice {
			c.params[name] = value
		}
		if !p.separators() {
			break
		}
	}
	return c, true
}

// param reads an auth-param: a name, an equals sign with optional space around it,
// and a token or a quoted string.
func (p *challengeParser) param() (name, value string, ok bool) {
	name = strings.ToLower(p.token())
	p.space()
	rest, equals := strings.CutPrefix(p.rest, "=")
	if name == "" || !equals {
		return "", "", false
	}
	p.rest = rest
	p.space()
	if strings.HasPrefix(p.rest, `"`) {
		value, ok = p.quoted()
		return name, value, ok
	}
	value = p.token()
	return name, value, value != ""
}

// quoted reads a quoted-string (RFC 9110 section 5.6.4).
func (p *challengeParser) quoted() (string, bool) {
	var value []byte
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; c {
		case '"':
			p.rest = p.rest[i+1:]
			return string(value), true
		case '\\':
			if i++; i == len(p.rest) {
				return "", false
			}
			value = append(value, p.rest[i])
		default:
			value = append(value, c)
		}
	}
	return "", false
}

// token68 skips the other form that a challenge may have, as Negotiate's.
func (p *challengeParser) token68() {
	p.rest = strings.TrimLeft(p.rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/")
	p.rest = strings.TrimLeft(p.rest, "=")
}

// isTokenByte reports whether c may stand in a token (RFC 9110 section 5.6.2).
func isTokenByte(c byte) bool {
	switch {
	case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
