package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// shortest is the length in bytes below which a value is not matched in
	// text: it would shred what has nothing to do with it.
	shortest = 4
	// unbounded is the length from which on a value is matched anywhere. Below
	// it, only between characters that are no letters, digits or underscores.
	unbounded = 8
	// edge is how much of the head and the tail of a value a print that
	// shortens it may show, for values of at least edgesFrom bytes.
	edge      = 12
	edgesFrom = 32
)

// plainWords are values that are matched in no text: they are in too many.
// Letter case does not count.
var plainWords = words(`
	true false null none nil undefined yes off enabled disabled enable disable
	auto default debug info warn warning error fatal trace verbose silent
	production prod development staging stage test testing local localhost
	127.0.0.1 0.0.0.0 utf-8 utf8 en_us en_us.utf-8 c.utf-8 posix xterm
	xterm-256color http https stdio json text html user root node python
	application/json application/octet-stream text/plain text/html
	text/event-stream keep-alive no-cache gzip deflate identity close
	3000 5000 8000 8080 8443 9000 redacted [redacted]`)

// schemes are the first words of header values of which the rest is the secret:
// the registered HTTP authentication schemes, and others in common use.
var schemes = words(`
	basic bearer concealed digest dpop gnap hoba mutual negotiate ntlm oauth
	privatetoken scram-sha-1 scram-sha-256 vapid
	api-key apikey aws4-hmac-sha256 bot genie-key geniekey jwt key secret ssws
	sso-key splunk token`)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// matchable reports whether a value can be looked for in text.
func matchable(value string) bool {
	return len(value) >= shortest && !plainWords[strings.ToLower(value)]
}

// derived returns the values that are secret because value is: itself, without
// the white space around it, what stands behind a scheme word, and what a Basic
// authorization encodes.
func derived(value string) []string {
	values := []string{value}
	trimmed := strings.TrimSpace(value)
	if trimmed != value {
		values = append(values, trimmed)
	}
	scheme, rest, ok := strings.Cut(trimmed, " ")
	rest = strings.TrimSpace(rest)
	if known := schemes[strings.ToLower(scheme)]; ok && (known || looksLikeToken(rest) && !strings.ContainsAny(rest, " \t\r\n")) {
		values = append(values, rest)
		if pair, err := base64.StdEncoding.DecodeString(rest); err == nil && strings.EqualFold(scheme, "basic") {
			_, password, _ := strings.Cut(string(pair), ":")
			values = append(values, string(pair), password)
		}
	}
	return values
}

// fragments returns the pieces of a value that are looked for on their own, as
// they are: each line of one with several, and the head and the tail of a long
// one where they are no plain text.
func fragments(value string) []string {
	var pieces []string
	if lines := strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '\r' }); len(lines) > 1 {
		for _, line := range lines {
			// The first and last line of a PEM block are in every key.
			if line = strings.TrimSpace(line); len(line) >= unbounded && !strings.HasPrefix(line, "-----") {
				pieces = append(pieces, line)
			}
		}
	}
	if len(value) >= edgesFrom {
		for _, piece := range []string{value[:edge], value[len(value)-edge:]} {
			if looksRandom(piece) {
				pieces = append(pieces, piece)
			}
		}
	}
	return pieces
}

// looksRandom reports whether a short piece of a value identifies it, other than
// "https://api." or "/home/user/p".
func looksRandom(s string) bool {
	var classes [4]bool
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z':
			classes[0] = true
		case 'A' <= c && c <= 'Z':
			classes[1] = true
		case '0' <= c && c <= '9':
			classes[2] = true
		case c == '/' || c == ':':
			classes[3] = true // of a path or an address, unless all else is there
		case strings.IndexByte("-._~+=", c) < 0:
			return false
		}
	}
	kinds := 0
	for _, met := range classes[:3] {
		if met {
			kinds++
		}
	}
	return kinds == 3 || kinds == 2 && !classes[3]
}

// forms returns every way in which value may have been written, itself first.
// Some are equal. What is not among them is not looked for.
func forms(value string) []string {
	return slices.Concat(textForms(value), base64Forms(value), hexForms(value))
}

// textForms returns value and all that escapes of single characters make of it,
// which is the same for most keys and tokens.
func textForms(value string) []string {
	all := []string{value}
	if strings.ContainsFunc(value, func(r rune) bool { return r >= utf8.RuneSelf || !unreserved(byte(r)) }) {
		for _, escape := range escapes {
			all = append(all, escape(value)...)
		}
	}
	return all
}

var escapes = []func(string) []string{percentForms, jsonForms, goForms, shellForms, entityForms}

// unreserved reports whether c is of the characters that no encoding of text
// escapes: those of RFC 3986, section 2.3.
func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// base64Forms returns the value in both alphabets: encoded alone, padded and
// not, and as it comes out within something longer, where it starts at any of
// three places of a group. There the characters at the edges, which depend on
// the neighbours too, are left off. A value below unbounded has only the forms
// that stand alone, as it is only matched between other characters.
func base64Forms(value string) []string {
	var out []string
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		padded := encoding.EncodeToString([]byte(value))
		out = append(out, padded, strings.TrimRight(padded, "="))
		if len(value) < unbounded {
			continue
		}
		for shift := range 3 {
			encoded := encoding.EncodeToString([]byte("\x00\x00"[:shift] + value))
			first := (8*shift + 5) / 6 // the first character of the value's bits alone
			last := 8 * (shift + len(value)) / 6
			out = append(out, encoded[first:last])
		}
	}
	return out
}

func hexForms(value string) []string {
	lower := hex.EncodeToString([]byte(value))
	return []string{lower, strings.ToUpper(lower)}
}

// percentForms returns the value as a part of a URL, by the rules of Go, Python
// and JavaScript, for a query and for a path, and that once more: a URL in a URL.
func percentForms(value string) []string {
	var out []string
	once := func(s string) []string {
		var all []string
		query := url.QueryEscape(s)
		all = append(all, query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(s))
		for _, keep := range []string{
			"/",                  // Python's quote
			"!'()*",              // encodeURIComponent
			"!'()*;,/?:@&=+$#",   // encodeURI
			"!'()*;,/?:@&=+$[]|", // what a browser keeps in a query
			"/:@&=+$,;",          // Go's path of a URL
		} {
			all = append(all, percentEncode(s, keep))
		}
		for _, form := range all {
			all = append(all, lowerEscapes(form, '%', 2))
		}
		return all
	}
	for _, form := range unique(once(value)) {
		out = append(out, form)
		out = append(out, once(form)...)
	}
	return out
}

// percentEncode encodes all but the unreserved characters of RFC 3986 and keep.
func percentEncode(s, keep string) string {
	var out strings.Builder
	for i := range len(s) {
		c := s[i]
		if unreserved(c) || strings.IndexByte(keep, c) >= 0 {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// lowerEscapes writes the hexadecimal digits behind each mark in lower case.
func lowerEscapes(s string, mark byte, digits int) string {
	out := []byte(s)
	for i, c := range out {
		if c == mark {
			copy(out[i:], strings.ToLower(s[i:min(len(s), i+1+digits)]))
		}
	}
	return string(out)
}

// jsonForms returns the value as the inside of a JSON string, and of one within
// another.
func jsonForms(value string) []string {
	var out []string
	for _, form := range unique(jsonOnce(value)) {
		out = append(out, form)
		out = append(out, jsonOnce(form)...)
	}
	return out
}

// A jsonStyle is one habit of those who write JSON.
type jsonStyle struct {
	long  string // characters written as \u00xx
	slash bool   // "/" is written as "\/"
	ascii bool   // all but ASCII is written as \uxxxx
	upper bool   // hexadecimal digits are in upper case
}

var jsonStyles = []jsonStyle{
	{},                                  // JavaScript
	{ascii: true},                       // Python
	{slash: true},                       // many, by choice
	{slash: true, ascii: true},          // PHP
	{long: "<>&\u2028\u2029"},           // Go
	{long: "<>&\u2028\u2029\u007f\b\f"}, // Go before 1.22
	{long: "<>&'", ascii: true},
	{long: "<>&'\"+`", ascii: true, upper: true}, // .NET
	{long: "<>&'\"\\/\n\r\t\b\f", ascii: true},
	{long: "<>&'\"\\/\n\r\t\b\f", ascii: true, upper: true},
	{ascii: true, upper: true},
}

func jsonOnce(value string) []string {
	var out []string
	for _, style := range jsonStyles {
		out = append(out, style.escape(value))
	}
	return out
}

// short maps what JSON has a short escape for to the letter of that escape.
var short = map[rune]byte{'"': '"', '\\': '\\', '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f'}

func (style jsonStyle) escape(value string) string {
	var out strings.Builder
	digits := "%04x"
	if style.upper {
		digits = "%04X"
	}
	for _, r := range value {
		letter, isShort := short[r]
		switch {
		case strings.ContainsRune(style.long, r), r < ' ' && !isShort, style.ascii && r >= utf8.RuneSelf && r < 0x10000:
			fmt.Fprintf(&out, `\u`+digits, r)
		case style.ascii && r >= 0x10000:
			fmt.Fprintf(&out, `\u`+digits+`\u`+digits, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		case isShort:
			out.WriteByte('\\')
			out.WriteByte(letter)
		case style.slash && r == '/':
			out.WriteString(`\/`)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// goForms returns the value as %q and %+q print it, without the quotes.
func goForms(value string) []string {
	inner := func(quoted string) string { return quoted[1 : len(quoted)-1] }
	return []string{inner(strconv.Quote(value)), inner(strconv.QuoteToASCII(value))}
}

// shellForms returns the value within single and within double quotes.
func shellForms(value string) []string {
	double := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`", "!", `\!`)
	return []string{strings.ReplaceAll(value, "'", `'\''`), double.Replace(value)}
}

// entityForms returns the value as text of XML or HTML.
func entityForms(value string) []string {
	var out []string
	for _, quotes := range [][]string{
		nil,
		{`"`, "&quot;"},
		{`"`, "&quot;", "'", "&apos;"},
		{`"`, "&quot;", "'", "&#39;"},
		{`"`, "&quot;", "'", "&#x27;"},
		{`"`, "&#34;", "'", "&#39;"},
	} {
		pairs := append([]string{"&", "&amp;", "<", "&lt;", ">", "&gt;"}, quotes...)
		out = append(out, strings.NewReplacer(pairs...).Replace(value))
	}
	return out
}

func unique(list []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
