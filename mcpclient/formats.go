package mcpclient

import (
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// A format is one of the formats that a text of a form may have.
type format struct {
	wants string
	fits  func(text string) bool
}

// formats are those that client/elicitation lists. JSON Schema leaves it open
// whether a validator checks them (2020-12 validation, section 7.2.1), so they are
// checked here. Another format says nothing.
var formats = map[string]*format{
	"email":     {"an e-mail address", isEmail},
	"uri":       {"a URI with its scheme, as https://host/path", isURI},
	"date":      {"a date, as 2006-01-31", isDate},
	"date-time": {"a date and time, as 2006-01-31T15:04:05Z", isDateTime},
}

func (f *field) format() string {
	if f.kind != textField {
		return ""
	}
	return rawjson.Text(str(f.object.Get("format")))
}

// formatted reports whether a value has the format of its field. What is no text is
// left to the schema.
func (f *field) formatted(value []byte) bool {
	format := formats[f.format()]
	return format == nil || rawjson.KindOf(value) != rawjson.String || format.fits(rawjson.Text(value))
}

// isEmail is lax on purpose: an address that exists must not be refused, and only
// its server knows which do.
func isEmail(text string) bool {
	at := strings.LastIndexByte(text, '@')
	return at > 0 && at < len(text)-1 && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	})
}

// isURI follows RFC 3986 as far as net/url does: with a scheme, and in ASCII.
func isURI(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"<>\\^`{|}", r)
	})
}

// isDate is full-date of RFC 3339.
func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// isDateTime is date-time of RFC 3339, where T and Z may be lower case.
func isDateTime(text string) bool {
	_, err := time.Parse(time.RFC3339, strings.ToUpper(text))
	return err == nil
}
