package redact

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const canary = "CANARY-4f9c2a77"

// holders returns a Secret in every place that a print can reach it.
func holders() map[string]any {
	s := NewSecret(canary)
	type exported struct{ Token Secret }
	type unexported struct{ token Secret }
	type deep struct {
		inner *unexported
		list  []exported
	}
	return map[string]any{
		"value":            s,
		"pointer":          &s,
		"exported field":   exported{s},
		"unexported field": unexported{s},
		"pointer to field": &unexported{s},
		"nested":           deep{&unexported{s}, []exported{{s}}},
		"map":              map[string]Secret{"token": s},
		"slice":            []Secret{s, s},
		"array":            [1]Secret{s},
		"nested error":     fmt.Errorf("call: %w", &secretError{s}),
		"joined error":     errors.Join(&secretError{s}, errors.New("other")),
		"interface":        []any{s, &s, unexported{s}},
		"channel of it":    make(chan Secret),
	}
}

type secretError struct{ token Secret }

func (e *secretError) Error() string { return fmt.Sprintf("refused %v", e.token) }

func leaks(text string) bool {
	for _, form := range forms(canary) {
		if strings.Contains(strings.ToLower(text), strings.ToLower(form)) {
			return true
		}
	}
	return false
}

func TestS1_25_NoVerbPrintsASecret(t *testing.T) {
	for place, v := range holders() {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%o", "%b", "%c", "%U", "%e", "%t", "%p", "%T", "%w", "%z", "%10v", "%-5s", "%.3s", "%[1]*[1]d"} {
			if text := fmt.Errorf(verb, v).Error(); leaks(text) {
				t.Errorf("%s in %s: %s", verb, place, text)
			}
		}
		for name, print := range map[string]func(any) string{
			"Sprint":   func(v any) string { return fmt.Sprint(v) },
			"Sprintln": func(v any) string { return fmt.Sprintln(v) },
			"panic":    func(v any) (s string) { defer func() { s = fmt.Sprint(recover()) }(); panic(v) },
			"JSON":     func(v any) string { b, err := json.Marshal(v); return fmt.Sprint(string(b), err) },
			"XML":      func(v any) string { b, err := xml.Marshal(v); return fmt.Sprint(string(b), err) },
			"slog text": func(v any) string {
				var b bytes.Buffer
				slog.New(slog.NewTextHandler(&b, nil)).Info("message", "key", v, slog.Group("g", "key", v))
				return b.String()
			},
			"slog JSON": func(v any) string {
				var b bytes.Buffer
				slog.New(slog.NewJSONHandler(&b, nil)).With("with", v).Info("message", "key", v)
				return b.String()
			},
		} {
			if text := print(v); leaks(text) {
				t.Errorf("%s of %s: %s", name, place, text)
			}
		}
	}
}

func TestSecretShowsThePlaceholder(t *testing.T) {
	s := NewSecret(canary)
	for verb, want := range map[string]string{
		"%v": Placeholder, "%+v": Placeholder, "%#v": Placeholder, "%s": Placeholder, "%q": Placeholder, "%x": Placeholder, "%d": Placeholder,
	} {
		if got := fmt.Sprintf(verb, s); got != want {
			t.Errorf("%s: got %s", verb, got)
		}
	}
	if b, err := json.Marshal(map[string]any{"a": s, "b": &s}); err != nil || string(b) != `{"a":"[redacted]","b":"[redacted]"}` {
		t.Errorf("JSON: %s, %v", b, err)
	}
	if s.String() != Placeholder || s.GoString() != Placeholder || s.LogValue().String() != Placeholder {
		t.Error("a method shows something else")
	}
}

func TestSecret(t *testing.T) {
	var zero Secret
	s := NewSecret(canary)
	if s.Reveal("test") != canary || zero.Reveal("test") != "" || NewSecret("").Reveal("test") != "" {
		t.Error("Reveal does not return the value")
	}
	if !zero.Empty() || !NewSecret("").Empty() || s.Empty() {
		t.Error("Empty is wrong")
	}
	if !s.Equal(NewSecret(canary)) || s.Equal(NewSecret(canary+"x")) || s.Equal(NewSecret("CANARY-4f9c2a78")) || s.Equal(zero) || !zero.Equal(NewSecret("")) {
		t.Error("Equal is wrong")
	}
	if fmt.Sprint(zero) != Placeholder {
		t.Error("an empty Secret must not show that it is empty")
	}
}
