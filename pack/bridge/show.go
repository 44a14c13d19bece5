package bridge

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
)

// How much is shown of what servers write, in bytes.
const (
	ShownReason = 512       // of a reason, as of an error body (L06)
	ShownName   = 128       // of a name of a server or tool
	ShownText   = 64 * 1024 // of the text of a call that failed
)

// shownNames is how many names one message lists.
const shownNames = 20

// Message returns an error that a model can read and act on.
func Message(format string, args ...any) *pack.Error {
	return &pack.Error{Kind: pack.KindMessage, Message: fmt.Sprintf(format, args...)}
}

// Quote shows a name in a message: quoted, on one line, scrubbed, cut. Cutting
// comes last, for half a secret is not found.
func Quote(scrub *redact.Scrubber, name string) string {
	return strconv.Quote(redact.Cut(scrub.Text(name), ShownName))
}

// QuoteAll shows the first of many names.
func QuoteAll(scrub *redact.Scrubber, names []string) string {
	var b strings.Builder
	for i, name := range names[:min(len(names), shownNames)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(Quote(scrub, name))
	}
	if more := len(names) - shownNames; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}
