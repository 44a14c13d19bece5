package httpmcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

func TestS1_25_NoVerbPrintsATransport(t *testing.T) {
	const canary = "canary-5f1c9a7e"
	tr := New(redact.NewSecret("https://user:"+canary+"@mcp.test/?key="+canary), &Options{
		Headers: []mcpclient.Header{{Name: "X-Key", Value: redact.NewSecret(canary)}},
	})
	if got := tr.plainHeaders()["X-Key"]; len(got) != 1 || got[0] != canary {
		t.Fatalf("the header goes out as %q", got)
	}
	type holder struct{ t mcpclient.Transport } // reflection does not call Format in here
	for _, value := range []any{tr, &holder{tr}, holder{tr}, []any{tr}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			if out := fmt.Sprintf(verb, value); strings.Contains(out, canary) {
				t.Errorf("%s of %T prints the secret: %s", verb, value, out)
			}
		}
	}
	// What is hidden is there: the check above can fail.
	if out := fmt.Sprintf("%v", *tr.url); !strings.Contains(out, canary) {
		t.Error("the url would not show the secret if it were printed")
	}
}
