package cli

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// roleLocal, as the first argument, makes the test binary a local server of the kind
// that the second one names: a local server has neither our environment nor our flags.
const roleLocal = "local-server"

// localKinds are the kinds of local servers.
var localKinds = map[string]func(){
	"healthy": func() { serveLocal(fakeserver.Options{Era: fakeserver.Modern}) },
	"banner": func() {
		fmt.Println("Demo server v1.2 is listening")
		serveLocal(fakeserver.Options{Era: fakeserver.Legacy})
	},
	"crash": func() {
		fmt.Fprintln(os.Stderr, "no database at", os.Getenv("TEST_TOKEN"))
		os.Exit(1)
	},
	"mute": func() { bufio.NewReader(os.Stdin).ReadBytes(0) },
	"asks": func() {
		serveLocal(fakeserver.Options{Era: fakeserver.Modern, Tools: []fakeserver.Tool{
			{Name: "order", Definition: fakeserver.Define("order", "Asks what to order.", `{"type":"object"}`), Asks: []fakeserver.Round{
				{"what": `{"message":"What do you want?","requestedSchema":{"type":"object","properties":{"dish":{"type":"string","title":"Dish"},"amount":{"type":"integer","default":1,"maximum":9}},"required":["dish"]}}`},
				{"where": `{"mode":"url","message":"Pay here.","url":"https://pay.example/x?order=1","elicitationId":"1"}`},
			}},
		}})
	},
}

// serveLocal serves on stdin and stdout until stdin ends.
func serveLocal(opts fakeserver.Options) {
	s := fakeserver.New(opts)
	defer s.Close()
	s.ServeStdio()
}

// localEntry is the entry of a local server of that kind, with more members.
func localEntry(t *testing.T, name, kind, more string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// With the race detector a program sleeps for a second before it exits.
	return fmt.Sprintf(`%q: {"command": %q, "args": [%q, %q], "env": {"GORACE": "atexit_sleep_ms=0", "TEST_TOKEN": "canary-81d4fae0c2"}%s}`, name, self, roleLocal, kind, more)
}
