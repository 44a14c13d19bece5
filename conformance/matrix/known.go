package main

import "strings"

// A knownFault is a cell that is red because of the server, not of toolhost. It must
// stay red, and in the same way: one that turns green fails the run, so that the list
// is not stale.
type knownFault struct {
	row, step string
	says      string // stands in the error
	reason    string // what the server does, and what it should do
	link      string // where its makers know of it; "" when no report was found
}

const (
	undeclared = "The Python SDK declares `listChanged: false` over Streamable HTTP whatever the server sends, so toolhost does not listen."
	deaf       = "The Python SDK does not watch the connection while it works on an answer in JSON, so it never sees that a call is cancelled. toolhost answers its host at once."
	forgetful  = "server-everything answers a session that it does not know with 400 instead of 404, which does not prove that the call has not run. toolhost opens a new session for the next call."
)

var knownFaults = []knownFault{
	{"python-legacy-sse", "list_changed", "has the tool grown: false", undeclared, "https://github.com/modelcontextprotocol/python-sdk/issues/1126"},
	{"python-legacy-json", "list_changed", "has the tool grown: false", undeclared, "https://github.com/modelcontextprotocol/python-sdk/issues/1126"},
	{"python-modern-json", "cancel", `the ledger holds ["slow `, deaf, ""},
	{"everything-legacy-sse", "restart", "No valid session ID provided (-32002, backend); the second: works", forgetful, "https://github.com/modelcontextprotocol/typescript-sdk/issues/389"},
}

// faultOf returns the known fault of a cell, or nil.
func faultOf(row, step string) *knownFault {
	for i := range knownFaults {
		if knownFaults[i].row == row && knownFaults[i].step == step {
			return &knownFaults[i]
		}
	}
	return nil
}

// explains reports whether an error is the known fault.
func (f *knownFault) explains(err error) bool {
	return err != nil && strings.Contains(err.Error(), f.says)
}
