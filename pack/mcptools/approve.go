package mcptools

import (
	"context"

	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/redact"
)

// maxAskings bounds how often one call is asked about, because the tool's definition
// changes all the time.
const maxAskings = 3

// approve asks the host whether the call may be made. The error, of kind refused,
// says why not; without a yes nothing runs (H-09).
func (s *server) approve(ctx context.Context, clock *clock, call *pack.Call, t target, hash string, changed []string) error {
	host := s.pack.host
	refused := func(why string) *pack.Error {
		name := s.pack.id + "/" + call.Tool
		return &pack.Error{Kind: pack.KindRefused, Server: s.name, Delivered: pack.DeliveredNo, Message: name + " " + why}
	}
	if !host.Asks[pack.AskApproval] {
		return refused("needs approval, and this host takes no questions for it (capability approve)")
	}
	clock.pause()
	defer clock.resume()
	tool := s.packTool(call.Tool, t.tool)
	answer, err := host.Ask(ctx, &pack.Question{
		Kind:           pack.AskApproval,
		Invoke:         call.ID,
		Run:            call.Run,
		Server:         s.name,
		Tool:           &tool,
		DefinitionHash: hash,
		Changed:        changed,
		Arguments:      arguments(call),
	})
	if err != nil {
		if ended := s.say.Ended(ctx); ended != nil {
			ended.Delivered = pack.DeliveredNo
			return ended
		}
		return err
	}
	switch {
	case answer.Action == pack.Accept:
		return nil
	case answer.Reason != "":
		return refused("was not approved: " + redact.Cut(host.Scrub.Text(answer.Reason), 512))
	default:
		return refused("was not approved")
	}
}

// arguments returns the call's, which may be absent.
func arguments(call *pack.Call) pack.Raw {
	if len(call.Arguments) == 0 {
		return pack.Raw("{}")
	}
	return call.Arguments
}
