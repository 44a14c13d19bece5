package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func scrubber(values ...string) *Scrubber {
	s := NewScrubber()
	s.Add(values...)
	return s
}

// writers are ways in which programs write a value, by the standard library's
// own encoders where it has them: this table knows nothing of forms.go.
var writers = map[string]func(string) string{
	"raw":            func(v string) string { return "<<" + v + ">>" },
	"base64":         func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) },
	"base64 raw":     func(v string) string { return base64.RawStdEncoding.EncodeToString([]byte(v)) },
	"base64url":      func(v string) string { return base64.URLEncoding.EncodeToString([]byte(v)) },
	"base64 +0":      func(v string) string { return base64.StdEncoding.EncodeToString([]byte("abc" + v + "xyz")) },
	"base64 +1":      func(v string) string { return base64.StdEncoding.EncodeToString([]byte("abcd" + v + "xy")) },
	"base64 +2":      func(v string) string { return base64.RawURLEncoding.EncodeToString([]byte("user:" + v)) },
	"hex":            func(v string) string { return hex.EncodeToString([]byte(v)) },
	"HEX":            func(v string) string { return fmt.Sprintf("%X", v) },
	"query":          url.QueryEscape,
	"path":           url.PathEscape,
	"path segments":  func(v string) string { return (&url.URL{Path: v}).String() },
	"query lower":    func(v string) string { return lowerEscapes(url.QueryEscape(v), '%', 2) },
	"query, twice":   func(v string) string { return url.QueryEscape(url.QueryEscape(v)) },
	"values":         func(v string) string { return url.Values{"k": {v}}.Encode() },
	"JSON":           func(v string) string { b, _ := json.Marshal(v); return string(b) },
	"JSON in JSON":   func(v string) string { b, _ := json.Marshal(v); b, _ = json.Marshal(string(b)); return string(b) },
	"JSON, not HTML": plainJSON,
	"JSON in JSON, not HTML": func(v string) string {
		return plainJSON(plainJSON(v))
	},
	"JSON, slash":       func(v string) string { return strings.ReplaceAll(plainJSON(v), "/", `\/`) },
	"%q":                strconv.Quote,
	"%+q":               strconv.QuoteToASCII,
	"shell, single":     func(v string) string { return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'" },
	"HTML":              html.EscapeString,
	"XML, text by hand": func(v string) string { return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(v) },
	"XML, by hand": func(v string) string {
		return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(v)
	},
	"in a longer word":   func(v string) string { return "a" + v + "b" },
	"in a URL in a text": func(v string) string { return "GET https://h/?a=1&k=" + url.QueryEscape(v) + "&b=2: refused" },
}

func plainJSON(v string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n")
}

var formValues = []string{
	"4f9c2a774f9c2a77",
	"sk-proj-AbC+dEf/123==",
	`p"w\d<>&'/ é😀$` + "`" + `!x`,
	"two words, tab\tand more",
	"ünïcödé-pässwörd-漢字",
	"12345678",
}

func TestScrubberFindsEveryForm(t *testing.T) {
	for _, value := range formValues {
		s := scrubber(value)
		for name, write := range writers {
			if name == "XML, text by hand" && strings.Contains(value, "\t") {
				continue
			}
			text := "before " + write(value) + " after"
			got := s.Text(text)
			if !strings.Contains(got, Placeholder) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
				t.Errorf("%s of %q: %q becomes %q", name, value, text, got)
			}
			for _, form := range forms(value) {
				if len(form) >= unbounded && strings.Contains(got, form) {
					t.Errorf("%s of %q: %q still holds %q", name, value, got, form)
				}
			}
		}
		// xml.EscapeText writes tabs and line feeds as references too.
		var b bytes.Buffer
		xml.EscapeText(&b, []byte(strings.ReplaceAll(value, "\t", " ")))
		if got := scrubber(strings.ReplaceAll(value, "\t", " ")).Text(b.String()); got != Placeholder {
			t.Errorf("XML of %q: %q becomes %q", value, b.String(), got)
		}
	}
}

// Within something longer, exactly the base64 characters that are the secret's
// alone are hidden, wherever it starts and ends.
func TestBase64WithinSomethingLonger(t *testing.T) {
	const value = "4f9c2a774f9c2a77"
	s := scrubber(value)
	for before := range 6 {
		for after := range 6 {
			encoded := base64.StdEncoding.EncodeToString([]byte("wxyzuv"[:before] + value + "xxxxxx"[:after]))
			from, to := (8*before+5)/6, 8*(before+len(value))/6
			want := encoded[:from] + Placeholder + encoded[to:]
			if before%3 == 0 && after == 0 { // as if it stood alone
				want = encoded[:from] + Placeholder
			}
			if got := s.Text(encoded); got != want {
				t.Errorf("%d before, %d after: got %s, want %s", before, after, got, want)
			}
		}
	}
}

// What JSON writers of other languages make of one value.
func TestScrubberFindsJSONOfOtherLanguages(t *testing.T) {
	s := scrubber("a/é😀<\"\n\x01key")
	for _, text := range []string{
		`a/é😀<\"\n\u0001key`,                                   // JavaScript
		`a/\u00e9\ud83d\ude00<\"\n\u0001key`,                   // Python
		`a\/\u00e9\ud83d\ude00<\"\n\u0001key`,                  // PHP
		`a/é😀\u003c\"\n\u0001key`,                              // Go
		`a/\u00E9\uD83D\uDE00\u003C\u0022\n\u0001key`,          // .NET
		`a\u002f\u00e9\ud83d\ude00\u003c\u0022\u000a\u0001key`, // all that can be
		`a\u002F\u00E9\uD83D\uDE00\u003C\u0022\u000A\u0001key`,
		`a\\/\\u00e9\\ud83d\\ude00<\\\"\\n\\u0001key`, // twice
		`a/é😀\\u003c\\\"\\n\\u0001key`,
	} {
		if got := s.Text(text); got != Placeholder {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}

func TestScrubberText(t *testing.T) {
	pem := "-----BEGIN KEY-----\nMHcCAQEEIDf5z0sJm7S5\r\n  oAoGCCqGSM49AwEHoUQD\nshort\n-----END KEY-----\n"
	for _, test := range []struct {
		name   string
		values []string
		text   string
		want   string
	}{
		{"no secret", nil, "some text", "some text"},
		{"at both ends", []string{"longsecret"}, "longsecret longsecret", "[redacted] [redacted]"},
		{"two in a row", []string{"longsecret"}, "longsecretlongsecret", "[redacted][redacted]"},
		{"S1-25 behind a scheme", []string{"Bearer abcdef123456"}, "Bearer abcdef123456, abcdef123456, Bearer x", "[redacted], [redacted], Bearer x"},
		{"a scheme in any case", []string{"ApiKey abc123"}, "key=abc123", "key=[redacted]"},
		{"another first word before a token", []string{"Custom 4f9c2a774f9c2a774f9c2a77"}, "4f9c2a774f9c2a774f9c2a77", "[redacted]"},
		{"two words are no scheme", []string{"production ready"}, "ready for production", "ready for production"},
		{"Basic, decoded", []string{"Basic dXNlcjpodW50ZXIyMg=="}, "login user:hunter22, password hunter22", "login [redacted], password [redacted]"},
		{"white space around", []string{" longsecret\n"}, "longsecret", "[redacted]"},
		{"too short", []string{"abc", "", "x"}, "abc x abcabc", "abc x abcabc"},
		{"too plain", []string{"true", "PRODUCTION", "localhost", "8080", "null"}, "true production localhost:8080 null", "true production localhost:8080 null"},
		{"short, as a token", []string{"x7Kp"}, `x7Kp "x7Kp" k=x7Kp&x7Kp: a-x7Kp. (x7Kp)`, `[redacted] "[redacted]" k=[redacted]&[redacted]: a-[redacted]. ([redacted])`},
		{"short, within a word", []string{"x7Kp"}, "ax7Kp x7Kpa _x7Kp x7Kp9 éx7Kp x7Kpé", "ax7Kp x7Kpa _x7Kp x7Kp9 éx7Kp x7Kpé"},
		{"short, behind an escape", []string{"x7Kp"}, `{"a":"b\nx7Kp\tx7Kp\"x7Kp"}`, `{"a":"b\n[redacted]\t[redacted]\"[redacted]"}`},
		{"short, in base64", []string{"x7Kp"}, "token eDdLcA== and aeDdLcA==", "token [redacted] and aeDdLcA=="},
		{"a form of a short one is a long one", []string{"x7Kp", "eDdLcA=="}, "aeDdLcA==", "a[redacted]"},
		{"a long one is a form of a short one", []string{"eDdLcA==", "x7Kp"}, "aeDdLcA==", "a[redacted]"},
		{"seven and eight bytes", []string{"abcdefg", "hijklmno"}, "xabcdefg xhijklmno", "xabcdefg x[redacted]"},
		{"one a prefix of another", []string{"longsecret", "longsecret-longer"}, "longsecret-longer longsecret-long", "[redacted] [redacted]-long"},
		{"one within another", []string{"longsecret", "abc-longsecret-xyz"}, "abc-longsecret-xyz", "[redacted]"},
		{"a short one opens a long one", []string{"x7Kp", "x7Kp-and-more"}, "x7Kp-and-more x7Kp-and x7Kpand", "[redacted] [redacted]-and x7Kpand"},
		{"overlapping", []string{"abcd-efgh-ijkl", "ijkl-mnop-qrst"}, "<abcd-efgh-ijkl-mnop-qrst>", "<[redacted]>"},
		{"overlapping itself", []string{"abcabcabc"}, "<abcabcabcabcabc>", "<[redacted]>"},
		{"the placeholder", []string{"[redacted]", "redacted"}, "[redacted]", "[redacted]"},
		{"holding the placeholder", []string{"x[redacted]y"}, "x[redacted]y", "[redacted]"},
		{"a line of several", []string{pem}, "key MHcCAQEEIDf5z0sJm7S5 or oAoGCCqGSM49AwEHoUQD, not short", "key [redacted] or [redacted], not short"},
		{"lines of several, in JSON", []string{pem}, plainJSON(pem), `"[redacted]"`},
		{"all keys have these lines", []string{pem}, "-----BEGIN KEY-----", "-----BEGIN KEY-----"},
		{"head of a long one", []string{"ghp_16C7e42F292c6912E7710c838347Ae178B4a"}, "ghp_16C7e42F29...", "[redacted]29..."},
		{"tail of a long one", []string{"ghp_16C7e42F292c6912E7710c838347Ae178B4a"}, "...8347Ae178B4a", "...[redacted]"},
		{"31 bytes have no head", []string{"4f9c2a774f9c2a774f9c2a774f9c2a7"}, "4f9c2a774f9c", "4f9c2a774f9c"},
		{"an address has no head", []string{"https://api.example.com/v1/accounts"}, "https://api.example.org", "https://api.example.org"},
		{"broken UTF-8", []string{"\xff\xfesecret\xfd"}, "a\xff\xfesecret\xfdb", "a[redacted]b"},
		{"4 bytes that are not ASCII", []string{"éé"}, "(éé) aéé", "([redacted]) aéé"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := scrubber(test.values...).Text(test.text); got != test.want {
				t.Errorf("%q becomes %q, want %q", test.text, got, test.want)
			}
		})
	}
}

func TestReason(t *testing.T) {
	s := scrubber("long\tsecret\x1b", "Bearer 0123456789abcdef")
	for _, test := range []struct {
		text string
		max  int
		want string
	}{
		{"401: Bearer 0123456789abcdef\nforged line", 0, `401: [redacted]\u{a}forged line`},
		{"a long\tsecret\x1b b", 0, "a [redacted] b"}, // found before it is escaped
		{"0123456789abcdef rest of the text", 20, "[redacted] …[cut]"[:11] + "r…[cut]"},
		{"abcdefghijkl0123456789abcdef0123", 24, "abcdefghijkl…[cut]"},
	} {
		if got := s.Reason(test.text, test.max); got != test.want {
			t.Errorf("%q, %d: got %q, want %q", test.text, test.max, got, test.want)
		}
	}
	// Wherever the cut falls, no part of the secret is shown.
	text := "abcdefghijkl 0123456789abcdef " + strings.Repeat("x", 50)
	for max := 1; max < 60; max++ {
		if got := s.Reason(text, max); strings.ContainsAny(got, "0123456789") || len(got) > max {
			t.Errorf("%d: got %q", max, got)
		}
	}
}

func TestB175_AddressesInErrorText(t *testing.T) {
	raw := "https://user:hunter22@127.0.0.1:1/mcp?token=SECRETtoken#SECRETfragment"
	s := scrubber(URLSecrets(raw)...)
	_, err := url.Parse(strings.Replace(raw, ":1/", ":x/", 1))
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:hunter22"))
	for _, text := range []string{err.Error(), raw, `Post "` + raw + `": connection reset`, basic} {
		if got := s.Text(text); strings.Contains(got, "hunter22") || strings.Contains(got, "SECRET") || got == text {
			t.Errorf("%s becomes %s", text, got)
		}
	}
}

func TestP9_OrdinaryTextIsNotChanged(t *testing.T) {
	text := ordinaryText(1 << 20)
	if got := scrubber(typicalSecrets()...).Text(text); got != text {
		t.Errorf("changed: %d bytes become %d, first %q", len(text), len(got), got[max(0, strings.Index(got, Placeholder)-40):][:80])
	}
}

// 4,096 secrets that are prefixes, suffixes and parts of one another are all
// found, and all at once.
func TestP5_ManySecrets(t *testing.T) {
	var values []string
	for i := range maxValues {
		values = append(values, fmt.Sprintf("Kq%07d-%s", i/4, "vwxyz-secret"[:4+i%4*2]))
	}
	s := scrubber(values...)
	for i, v := range values {
		if got := s.Text("a " + v + " b"); got != "a [redacted] b" && !strings.HasPrefix(got, "a [redacted]") {
			t.Fatalf("secret %d: %q", i, got)
		}
	}
	all := strings.Join(values, "|")
	if got := s.Text(all); strings.Trim(got, "|") == "" || strings.Contains(got, "Kq") || strings.Contains(got, "vwx") {
		t.Errorf("some survive: %.200q", got)
	}
}

// A server that deals out a new session id with every reply must not fill the
// Scrubber.
func TestForget(t *testing.T) {
	s := NewScrubber()
	s.Add("the-lasting-secret", "twice-added-secret")
	s.Add("twice-added-secret")
	for i := range 2 * maxValues {
		id := fmt.Sprintf("session-%06d-secret", i)
		s.Add(id)
		if i%512 == 0 && s.Text("it is "+id) != "it is "+Placeholder {
			t.Fatalf("%s is not known", id)
		}
		s.Forget(id)
	}
	s.Forget("twice-added-secret", "never-added-secret")
	for text, want := range map[string]string{
		"session-000007-secret": "session-000007-secret",
		"the-lasting-secret":    Placeholder,
		"twice-added-secret":    Placeholder,
	} {
		if got := s.Text(text); got != want {
			t.Errorf("%s: got %s", text, got)
		}
	}
	s.Forget("twice-added-secret")
	if got := s.Text("twice-added-secret"); got != "twice-added-secret" {
		t.Errorf("forgotten twice: %s", got)
	}
}

func TestL42_Bounds(t *testing.T) {
	values := make([]string, maxValues+1)
	for i := range values {
		values[i] = fmt.Sprintf("secret-number-%d", i)
	}
	largest := strings.Repeat("0123456789abcdef", maxValue/16)
	for _, test := range []struct {
		name   string
		values []string
		ok     bool
	}{
		{"4,096 values", values[:maxValues], true},
		{"the same again", append(slices.Clone(values[:maxValues]), values[:10]...), true},
		{"values that are not looked for do not count", append(slices.Clone(values[:maxValues]), "true", "abc", ""), true},
		{"one value more", values, false},
		{"a value of 16 KiB", []string{largest}, true},
		{"one byte more", []string{largest + "x"}, false},
		{"a hundred times", []string{strings.Repeat(largest, 100)}, false},
		{"more bytes in all", func() (list []string) {
			for i := range 512 {
				list = append(list, fmt.Sprintf("~Kz%d~", i)+largest[:maxValue-10])
			}
			return list
		}(), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := scrubber(test.values...)
			if got := s.Text("ordinary text"); (got == "ordinary text") != test.ok {
				t.Errorf("got %q", got)
			}
			text := "the value " + test.values[0]
			want := "the value [redacted]"
			if !test.ok {
				want = fmt.Sprintf("[redacted: %d bytes]", len(text))
			}
			if got := s.Text(text); got != want {
				t.Errorf("got %.100q, want %q", got, want)
			}
			s.Add("another-secret") // must not panic, nor open it again
			if got := s.Text("ordinary text"); !test.ok && got != "[redacted: 13 bytes]" {
				t.Errorf("then %q", got)
			}
			var out strings.Builder
			w := s.Writer(&out)
			fmt.Fprint(w, text)
			w.Flush()
			if !test.ok && out.String() != want+"\n" {
				t.Errorf("Writer: %q", out.String())
			}
		})
	}
}

func TestP8_LateSecret(t *testing.T) {
	s := scrubber("old-secret-1")
	if got := s.Text("old-secret-1 new-secret-2"); got != "[redacted] new-secret-2" {
		t.Error(got)
	}
	s.Add("new-secret-2")
	if got := s.Text("old-secret-1 new-secret-2"); got != "[redacted] [redacted]" {
		t.Error(got)
	}
}

// What Add returned for is found by every Text that begins later, on whatever
// goroutine.
func TestScrubberConcurrently(t *testing.T) {
	s := NewScrubber()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				value := fmt.Sprintf("secret-%d-%d", g, i)
				s.Add(value)
				if got := s.Text("<" + value + ">"); got != "<[redacted]>" {
					t.Errorf("got %s", got)
				}
			}
		})
	}
	wg.Wait()
}

func TestS1_25_AScrubberDoesNotPrintWhatItKnows(t *testing.T) {
	type holder struct {
		s *Scrubber
		S *Scrubber
		w *Writer
	}
	s := scrubber(canary)
	w := s.Writer(&bytes.Buffer{})
	fmt.Fprint(w, canary[:10])
	s.Text("")
	var inside struct{ scrub Scrubber }
	inside.scrub.Add(canary)
	for _, v := range []any{s, w, holder{s, s, w}, &holder{s, s, w}, &inside, []any{s, w}, map[string]any{"s": s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%p"} {
			text := fmt.Sprintf(verb, v)
			if leaks(text) || strings.Contains(text, canary[:10]) || strings.Contains(text, "67 65 78 65") {
				t.Errorf("%s of %T: %s", verb, v, text)
			}
		}
	}
}

func TestZeroScrubber(t *testing.T) {
	var s Scrubber
	if got := s.Text("text"); got != "text" {
		t.Error(got)
	}
	s.Add("longsecret")
	if got := s.Reason("longsecret\n", 0); got != `[redacted]\u{a}` {
		t.Error(got)
	}
}
