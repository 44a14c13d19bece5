package redact

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// Placeholder is what stands where a secret would have been.
const Placeholder = "[redacted]"

// A Secret is a value that must never be printed. It is a struct around a
// closure because that is the one shape that reflection cannot print from an
// unexported field. The zero Secret is the empty string.
type Secret struct {
	reveal func() string
}

// NewSecret returns the Secret that holds value.
func NewSecret(value string) Secret { return Secret{func() string { return value }} }

// Reveal returns the value. The purpose is for readers of the code: every call
// site is listed in a test, so that a new way out is a decision.
func (s Secret) Reveal(purpose string) string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Empty reports whether the value is the empty string.
func (s Secret) Empty() bool { return s.reveal == nil || s.reveal() == "" }

// Equal compares two secrets in constant time for equal lengths.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal("compare")), []byte(other.Reveal("compare"))) == 1
}

func (s Secret) String() string   { return Placeholder }
func (s Secret) GoString() string { return Placeholder }

// Format prints the placeholder for every verb and flag.
func (s Secret) Format(f fmt.State, verb rune) { io.WriteString(f, Placeholder) }

// LogValue is what slog shows.
func (s Secret) LogValue() slog.Value { return slog.StringValue(Placeholder) }

// MarshalText is what encoding/json and its like write.
func (s Secret) MarshalText() ([]byte, error) { return []byte(Placeholder), nil }
