package redact

import (
	"math"
	"net/url"
	"strings"
)

// invalidURL is what URL shows of a text that it cannot take apart.
const invalidURL = "an invalid URL"

// URL returns what may be shown of a URL: scheme, host and path, without
// userinfo, query, fragment and path segments that look like tokens. A text
// that is no URL with a host gives a word that says so, never the text: the
// parser's own error would quote it, password and all.
func URL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" || u.Host == "" || misread(raw) {
		return invalidURL
	}
	segments := strings.Split(u.EscapedPath(), "/")
	for i, segment := range segments {
		if looksLikeToken(decodePath(segment)) {
			segments[i] = Placeholder
		}
	}
	return Escape(u.Scheme + "://" + u.Host + strings.Join(segments, "/"))
}

// misread reports whether what a parser takes for host and port may be the head
// of a password that holds a "/", "?" or "#" it should have escaped: there is an
// "@" further on, as in https://user:12/34@host.
func misread(raw string) bool {
	p := split(raw)
	return p.password != "" && p.late
}

// URLSecrets returns the parts of a URL that must not be shown, each as it is
// written and decoded: user name, password and the two joined (what Basic
// authorization is made of), query values of at least 4 bytes, the fragment,
// and path segments that look like tokens. It does what it can for a text that
// no parser takes.
func URLSecrets(raw string) []string {
	var found []string
	seen := map[string]bool{"": true}
	add := func(values ...string) {
		for _, v := range values {
			if !seen[v] {
				seen[v] = true
				found = append(found, v)
			}
		}
	}
	p := split(raw)
	if !p.late {
		add(p.user, decodePath(p.user))
	}
	if p.password != "" {
		add(p.password, decodePath(p.password))
		add(p.user+":"+p.password, decodePath(p.user)+":"+decodePath(p.password))
	}
	for _, segment := range strings.Split(p.path, "/") {
		if decoded := decodePath(segment); looksLikeToken(decoded) {
			add(segment, decoded)
		}
	}
	pairs := func(query string) {
		for _, pair := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' }) {
			name, value, ok := strings.Cut(pair, "=")
			if !ok && looksLikeToken(decodeQuery(name)) {
				value = name // a token alone, as in ?TOKEN
			}
			if len(value) >= shortest {
				add(value, decodeQuery(value))
			}
		}
	}
	pairs(p.query)
	add(p.fragment, decodePath(p.fragment))
	if strings.Contains(p.fragment, "=") {
		pairs(p.fragment)
	}
	return found
}

// parts are those of a URL, as written.
type parts struct {
	user, password, path, query, fragment string
	late                                  bool // the userinfo goes beyond where a parser sees the host end
}

// split takes any text apart. It reads an "@" behind the host and port as the
// end of a password, since a password too much is better than one too few, but
// only where the "@" does not open a segment, as in /@scope/name.
func split(raw string) parts {
	var p parts
	rest := raw
	if i := strings.Index(raw, "://"); i >= 0 {
		rest = raw[i+len("://"):]
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 && strings.Contains(rest[:end], ":") && !strings.HasPrefix(rest, "[") { // [ opens an IPv6 address
		if late := strings.LastIndexByte(rest, '@'); late > end && rest[late-1] != '/' {
			at, p.late = late, true
		}
	}
	if at >= 0 {
		p.user, p.password, _ = strings.Cut(rest[:at], ":")
	}
	// What a late "@" stands in is a path, query or fragment too: it may be.
	rest, p.fragment, _ = strings.Cut(rest[min(end, len(rest)):], "#")
	p.path, p.query, _ = strings.Cut(rest, "?")
	return p
}

// decodePath and decodeQuery return what s stands for, or s itself when it is
// not encoded as it should be.
func decodePath(s string) string {
	if decoded, err := url.PathUnescape(s); err == nil {
		return decoded
	}
	return s
}

func decodeQuery(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return s
}

// tokenLength is the length from which on a path segment can be a token.
const tokenLength = 20

// looksLikeToken reports whether s is long and made of no words: a key in a
// path, as some servers hand out in place of a header.
func looksLikeToken(s string) bool {
	if len(s) < tokenLength {
		return false
	}
	odd := 0
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("-_.~+:,=@!$ ", r) }) {
		if !looksLikeWord(part) {
			odd += len(part)
		}
	}
	return odd >= tokenLength/2
}

// looksLikeWord reports whether a part of a name is as people choose them:
// letters as in a word, or a number.
func looksLikeWord(s string) bool {
	var lower, upper, digits int
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z':
			lower++
		case 'A' <= r && r <= 'Z':
			upper++
		case '0' <= r && r <= '9':
			digits++
		}
	}
	switch letters := lower + upper; {
	case letters+digits < len(s)/2: // another script
		return true
	case letters == 0:
		return digits <= 10 // a date or a timestamp
	case digits > 0:
		// A version or an ordinal has its digits in one place: v2, part12, 3d.
		return letters <= 12 && digits <= 4 && strings.Trim(strings.Trim(s, "0123456789"), letterSet) == ""
	case upper > 0 && lower > 0:
		return upper <= 1+len(s)/4 // camelCase has no more
	default:
		return len(s) < tokenLength || entropy(s) < 3.7 // random letters have 3.8 and more
	}
}

const letterSet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// entropy is Shannon's, in bits a byte, of the bytes of s.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
