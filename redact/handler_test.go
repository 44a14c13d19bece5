package redact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"
	"time"
)

func TestHandlerIsAHandler(t *testing.T) {
	var out bytes.Buffer
	h := NewScrubber().Handler(slog.NewJSONHandler(&out, nil))
	results := func() []map[string]any {
		var list []map[string]any
		for line := range strings.Lines(out.String()) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			list = append(list, m)
		}
		return list
	}
	if err := slogtest.TestHandler(h, results); err != nil {
		t.Error(err)
	}
}

type valuer struct{ v any }

func (v valuer) LogValue() slog.Value { return slog.AnyValue(v.v) }

// A lazy value shows nothing unless it is asked.
type lazy func() string

func (l lazy) LogValue() slog.Value { return slog.StringValue(l()) }

type stringer struct{ text string }

func (s *stringer) String() string { return "stringer of " + s.text }

// In every place that a record has for a value, and of every kind.
func TestS1_25_HandlerScrubsEveryValue(t *testing.T) {
	const secret, number = "4f9c2a774f9c2a77", 4711081547
	s := scrubber("Bearer "+secret, fmt.Sprint(number))
	values := map[string]any{
		"string":       "a " + secret + " b",
		"error":        fmt.Errorf("call: %w", errors.New(secret)),
		"joined error": errors.Join(errors.New("a"), errors.New(secret)),
		"bytes":        []byte(secret),
		"raw JSON":     json.RawMessage(`{"a":"` + secret + `"}`),
		"map":          map[string]any{"k": []string{secret}},
		"struct":       struct{ token string }{secret},
		"pointer":      &struct{ Token string }{secret},
		"stringer":     &stringer{secret},
		"valuer":       valuer{valuer{secret}},
		"lazy":         lazy(func() string { return secret }),
		"group":        slog.GroupValue(slog.String("in", secret), slog.Group("deep", "er", valuer{secret})),
		"number":       number,
		"float":        float64(number),
		"header":       map[string][]string{"Authorization": {"Bearer " + secret}},
		"secret":       NewSecret(secret),
	}
	for name, value := range values {
		for format, handler := range map[string]func(*bytes.Buffer) slog.Handler{
			"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
			"JSON": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
		} {
			var out bytes.Buffer
			log := slog.New(s.Handler(handler(&out)))
			log.Info("message "+secret, "key", value)
			log.With("key", value).Info("with")
			log.WithGroup("g").With("key", value).WithGroup("h").Info("group", "a", 1)
			log.Info("group", slog.Group("g", "key", value))
			text := out.String()
			if strings.Contains(text, secret) || strings.Contains(text, "4711081547") || strings.Contains(text, "4.711081547") {
				t.Errorf("%s, %s: %s", name, format, text)
			}
			if strings.Count(text, "key") < 4 || strings.Count(text, Placeholder) < 4 {
				t.Errorf("%s, %s: something is missing: %s", name, format, text)
			}
		}
	}
}

func TestB177_HandlerWritesOneLinePerRecord(t *testing.T) {
	var out bytes.Buffer
	slog.New(NewScrubber().Handler(slog.NewTextHandler(&out, nil))).
		Warn("a\nlevel=ERROR msg=forged", "name", "x\u202ey\x1b[2J", "error", errors.New("b\r\nc"), "any", []string{"\u2028"})
	if text := out.String(); strings.Count(text, "\n") != 1 || strings.ContainsAny(text, "\u202e\x1b\r\u2028") {
		t.Errorf("got %q", text)
	}
}

func TestHandlerKeepsWhatIsNoText(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(scrubber("longsecret").Handler(slog.NewJSONHandler(&out, &slog.HandlerOptions{AddSource: true})))
	log.Info("m", "int", -5, "bool", true, "float", 1.5, "duration", time.Second, "nil", nil, "valuer", valuer{valuer{7}}, "longsecret-key", "v")
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	source, _ := got["source"].(map[string]any)
	if got["int"] != -5.0 || got["bool"] != true || got["float"] != 1.5 || got["duration"] != 1e9 || got["nil"] != nil || got["valuer"] != 7.0 || got["longsecret-key"] != "v" ||
		!strings.HasSuffix(fmt.Sprint(source["function"]), "TestHandlerKeepsWhatIsNoText") {
		t.Errorf("got %v", got)
	}
}

func TestP8_HandlerScrubsWhatBecomesSecretLater(t *testing.T) {
	var out bytes.Buffer
	s := NewScrubber()
	log := slog.New(s.Handler(slog.NewTextHandler(&out, nil))).With("token", "later-secret")
	s.Add("later-secret")
	log.Info("m")
	if text := out.String(); strings.Contains(text, "later-secret") || !strings.Contains(text, "token=[redacted]") {
		t.Errorf("got %s", text)
	}
}

func TestHandlerKeepsTheOrder(t *testing.T) {
	var out bytes.Buffer
	plain := slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	for _, h := range []slog.Handler{plain, NewScrubber().Handler(plain)} {
		slog.New(h).With("a", 1).With("b", 2, "c", 3).WithGroup("g").WithGroup("").With("d", 4).Info("m", "e", 5, "f", 6)
	}
	if want, got, _ := strings.Cut(out.String(), "\n"); got != want+"\n" {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHandlerLevel(t *testing.T) {
	h := NewScrubber().Handler(slog.NewTextHandler(nil, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if h.Enabled(context.Background(), slog.LevelInfo) || !h.WithGroup("g").Enabled(context.Background(), slog.LevelWarn) {
		t.Error("the level of the handler below does not decide")
	}
}
