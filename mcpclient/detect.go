package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// The error codes that are acted on: three that only a server of the modern era
// sends (2026-07-28 basic/index, "Error Codes"), and two of JSON-RPC.
const (
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
)

// detect finds out which era the server is of, by a modern request first
// (2026-07-28 basic/transports/streamable-http, "Backward Compatibility"), and
// opens a link of that era. What is no modern answer means a handshake.
func (h *handshake) detect(ctx context.Context) (*Link, error) {
	probe := latest(false)
	resp, err := h.discover(ctx, probe)
	if err == nil && resp.Err != nil && resp.Err.Code == codeUnsupportedVersion {
		next, err := h.agree(resp.Err)
		if err != nil {
			return nil, err
		}
		if next.Handshake {
			return h.initialize(ctx, next)
		}
		// Once, even when the list names the revision that was refused: a
		// gateway may have answered for another of its servers.
		probe = next
		if resp, err = h.discover(ctx, probe); err != nil {
			return nil, err
		}
		if resp.Err != nil && resp.Err.Code == codeUnsupportedVersion {
			return nil, resp.Err
		}
	}
	switch {
	case err != nil && otherEra(err):
		return h.initialize(ctx, latest(true))
	case err != nil:
		return nil, err
	case resp.Err == nil:
		return h.discovered(ctx, probe, resp.Result)
	case endsAttempt(resp.Status):
		return nil, resp.Err
	case resp.Err.Code == codeHeaderMismatch, resp.Err.Code == codeMissingCapability:
		// Modern, and discover is optional: the listing will say what is wrong,
		// if it is wrong there too.
		return h.modern(probe), nil
	case resp.Err.Code == codeMethodNotFound && resp.Status == 404:
		return h.withoutDiscover(ctx, probe)
	default:
		return h.initialize(ctx, latest(true))
	}
}

// discover sends the probe. A server that does not answer it at all may still
// answer a handshake, so that only a part of the time for the start, which may be
// less than the limit, is spent on waiting.
func (h *handshake) discover(ctx context.Context, rev *Revision) (*Response, error) {
	patience := h.s.opts.Limits.Time(limit.StartTime) / 4
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/4)
	}
	timed, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	resp, err := h.s.send(timed, &Link{Revision: rev}, outgoing{method: methodDiscover})
	if err != nil && timed.Err() != nil && ctx.Err() == nil {
		return nil, &WireError{
			Op:        methodDiscover,
			Reason:    fmt.Sprintf("no answer to %s within %s", methodDiscover, patience),
			Delivered: "unknown",
			NotMCP:    true,
		}
	}
	return resp, err
}

func (h *handshake) modern(rev *Revision) *Link {
	h.s.opts.Era.set(rev)
	return &Link{Revision: rev}
}

// discovered reads the result of server/discover. A result without versions is
// what servers of the other era give that answer anything with {}.
func (h *handshake) discovered(ctx context.Context, probe *Revision, result []byte) (*Link, error) {
	object := rawjson.Members(result)
	listed := stringsOf(object.Get("supportedVersions"))
	if len(listed) == 0 {
		return h.initialize(ctx, latest(true))
	}
	object, err := readResult(methodDiscover, result, "supportedVersions", "capabilities", "resultType")
	if err != nil {
		return nil, err
	}
	if err := complete(methodDiscover, probe, object); err != nil {
		return nil, err
	}
	rev := h.common(listed)
	switch {
	case rev == nil:
		return nil, h.noCommonVersion(methodDiscover, listed)
	case rev.Handshake:
		return h.initialize(ctx, rev)
	}
	h.declared = declaredIn(object)
	return h.modern(rev), nil
}

// withoutDiscover opens a server that answers 404 and -32601, which is how a
// modern server says "unknown method", but also what a server of the other era
// may say before its handshake. A second method decides.
func (h *handshake) withoutDiscover(ctx context.Context, probe *Revision) (*Link, error) {
	resp, err := h.s.send(ctx, &Link{Revision: probe}, outgoing{method: methodList})
	switch {
	case err != nil && otherEra(err):
		return h.initialize(ctx, latest(true))
	case err != nil:
		return nil, err
	case resp.Err == nil && rawjson.KindOf(rawjson.Members(resp.Result).Get("tools")) == rawjson.Array:
		return h.modern(probe), nil
	case resp.Err != nil && endsAttempt(resp.Status):
		return nil, resp.Err
	case resp.Err != nil && (resp.Err.Code == codeHeaderMismatch || resp.Err.Code == codeMissingCapability):
		return h.modern(probe), nil
	default:
		return h.initialize(ctx, latest(true))
	}
}

// agree returns the revision to speak with a server that refused one and listed
// others.
func (h *handshake) agree(refusal *ServerError) (*Revision, error) {
	listed := listedVersions(refusal)
	if rev := h.common(listed); rev != nil {
		return rev, nil
	}
	if len(listed) == 0 {
		return nil, refusal
	}
	return nil, h.noCommonVersion(methodDiscover, listed)
}

// common returns the newest revision that both sides speak, or nil.
func (h *handshake) common(listed []string) *Revision {
	for _, rev := range h.s.opts.speaks() {
		if contains(listed, rev.Name) {
			return rev
		}
	}
	return nil
}

// endsAttempt reports whether a status ends the attempt whatever the body says:
// the credential was refused, or the server could not be reached behind what
// answered. Another handshake would change nothing.
func endsAttempt(status int) bool {
	switch status {
	case 401, 403, 407, 408, 429:
		return true
	case 500, 501:
		// Some servers answer so to methods that they do not know.
		return false
	}
	return status >= 500
}

// otherEra reports whether the failure of a probe leaves it open that the server is
// of the other era: so may one that answers it with a success and then with nothing
// that could be an answer.
func otherEra(err error) bool {
	wire, ok := errors.AsType[*WireError](err)
	return doubtsEra(err) || ok && wire.Status/100 == 2
}

// doubtsEra reports whether a failure may mean that the server is of another
// era: it answered, but not as this one does.
func doubtsEra(err error) bool {
	if refusal, ok := errors.AsType[*ServerError](err); ok {
		return refusal.Code == codeMethodNotFound || refusal.Code == codeUnsupportedVersion
	}
	wire, ok := errors.AsType[*WireError](err)
	switch {
	case !ok || endsAttempt(wire.Status):
		return false
	case wire.Status >= 400:
		return true
	default:
		return wire.NotMCP && (wire.Status == 0 || wire.Status/100 == 2)
	}
}
