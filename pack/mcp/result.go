package mcp

import (
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/pack"
)

// result returns the answer of a tool that the server ran: its text, in the
// escapes it came in, or the error that the server says it is.
func (s *server) result(answer *mcpclient.CallResult) (*pack.Result, error) {
	if answer.IsError {
		return nil, s.say.Backend(rawjson.Text(answer.ErrorText()))
	}
	return &pack.Result{Content: answer.Text(), Untrusted: true}, nil
}
