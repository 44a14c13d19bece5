package mcpclient

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// A question is an elicitation/create as it is judged before the user sees it.
type question struct {
	Elicitation
	form       *form  // of a form that is fit to be put; nil for mode url
	undeclared bool   // its mode was not declared, so nothing else of it was read
	unfit      string // why it is declined and nobody is asked; "" for a question to put
}

// readQuestion reads the params of an elicitation/create. problem says what makes
// them invalid; it is "" for a question.
func (s *Session) readQuestion(params []byte) (q *question, problem string) {
	if rawjson.KindOf(params) != rawjson.Dict {
		return nil, notA("params", params, rawjson.Dict)
	}
	object := rawjson.Members(params)
	if key, twice := duplicateOf(object, "mode", "message", "requestedSchema", "url", "elicitationId"); twice {
		return nil, key + " stands twice in params"
	}
	q = &question{Elicitation: Elicitation{Mode: ElicitForm}}
	if mode := object.Opt("mode"); mode != nil {
		// Text is "" for what is no string, which is no mode.
		q.Mode = ElicitMode(rawjson.Text(str(mode)))
	}
	if !s.opts.Elicits[q.Mode] {
		q.undeclared = true
		return q, ""
	}
	message := object.Opt("message")
	if rawjson.KindOf(message) != rawjson.String {
		return nil, notA("message", message, rawjson.String)
	}
	q.Message = rawjson.Text(message)
	switch q.Mode {
	case ElicitForm:
		schema := object.Opt("requestedSchema")
		if rawjson.KindOf(schema) != rawjson.Dict {
			return nil, notA("requestedSchema", schema, rawjson.Dict)
		}
		q.Schema = slices.Clone(schema) // the message it came in is not ours to keep
		var err error
		if q.form, err = readForm(q.Schema, s.opts.Limits); err != nil {
			q.unfit = err.Error()
		}
	case ElicitURL:
		address := object.Opt("url")
		if rawjson.KindOf(address) != rawjson.String {
			return nil, notA("url", address, rawjson.String)
		}
		q.URL, q.ID = rawjson.Text(address), rawjson.Text(str(object.Opt("elicitationId")))
		q.unfit = unfitURL(q.URL)
		q.Warnings = suspicious(q.URL)
	}
	for _, text := range []string{q.Message, q.URL, q.ID} {
		if most := s.opts.Limits.Int(limit.ElicitText); len(text) > most {
			q.unfit = s.opts.Limits.Exceeded(limit.ElicitText, "a text of the question").Error()
		}
	}
	return q, ""
}

// unfitURL says why the user is not sent to a URL; "" for one that is fit. It may
// lead to no program of this machine and no script (https only, http on this
// machine), and must not look like it led elsewhere than it does.
func unfitURL(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "its url cannot be read" // the error quotes it
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Sprintf("its url has the scheme %s, not https", shownKey(u.Scheme))
	case u.Hostname() == "":
		return "its url has no host"
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return "its url is http and not on this machine; https is wanted"
	case u.User != nil:
		return "its url has a user name before the host, which can pass for the host"
	}
	for _, r := range address {
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '\\' || r == unicode.ReplacementChar {
			return "its url holds characters that cannot be seen or change how it is read"
		}
	}
	return ""
}

// suspicious says why a URL that is fit may be mistaken for another. Such a host can
// be what it seems, so that the user decides.
func suspicious(address string) (warnings []string) {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	host := strings.ToLower(u.Hostname())
	if strings.HasPrefix(host, "xn--") || strings.Contains(host, ".xn--") {
		warnings = append(warnings, "the host is written in Punycode (xn--): it stands for characters that can look like others")
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		warnings = append(warnings, "the host holds characters that are not ASCII, which can look like others")
	}
	return warnings
}
