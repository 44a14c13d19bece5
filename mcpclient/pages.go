package mcpclient

import (
	"context"
	"slices"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// A listKind is one of the lists that servers give by pages.
type listKind struct {
	method     string
	member     string // of a page: the array of items
	capability string // what a server declares that has such a list
	where      string // the list as a message names it
}

var (
	toolList     = &listKind{methodList, "tools", "tools", "the list of tools"}
	promptList   = &listKind{methodPrompts, "prompts", "prompts", "the list of prompts"}
	resourceList = &listKind{methodResources, "resources", "resources", "the list of resources"}
	templateList = &listKind{methodTemplates, "resourceTemplates", "resources", "the list of resource templates"}
)

// A pager is one pass over the pages of a list.
type pager struct {
	s    *Session
	link *Link
	kind *listKind

	take func(raw []byte) bool        // takes one item and reports whether it is kept
	page func(members rawjson.Object) // takes what else a page says; nil for nothing

	notes   notes
	kept    int
	cursors map[string]bool // as they were written, so far
	pages   int
	bytes   int
}

// pass passes over a list from its first page on. It begins again, once each, when
// the session is lost or a cursor becomes invalid; begin returns the pager of a new
// pass. At a limit (L13, L14) the pass ends and what was taken stands, with a note.
func (s *Session) pass(ctx context.Context, begin func(link *Link) *pager) error {
	link, err := s.usable(ctx)
	if err != nil {
		return err
	}
	for reopened, restarted := false, false; ; {
		p := begin(link)
		resp, err := p.run(ctx)
		switch {
		case err == nil && resp == nil:
			return nil
		case !reopened && s.lost(link, resp, err):
			// Cursors belong to the session: begin again.
			reopened = true
			if link, err = s.renew(ctx, link); err != nil {
				return err
			}
			continue
		case !restarted && err == nil && p.pages > 0 && resp.Err.Code == codeInvalidParams:
			// The cursor has become invalid: drop all pages and begin again
			// (2026-07-28 server/utilities/caching).
			restarted = true
			continue
		case err == nil && p.pages == 0 && resp.Err.Code == codeMethodNotFound && link.Revision.Handshake:
			p.notes.add("the server does not know " + p.kind.method)
			return nil
		}
		s.doubt(link, resp, err)
		if err == nil {
			err = s.explained(resp.Err)
		}
		return err
	}
}

// run reads pages until the last one or a limit. A nil Response and error mean
// that what was taken is what can be had; a Response carries the server's error.
func (p *pager) run(ctx context.Context) (*Response, error) {
	table := p.s.opts.Limits
	if !p.s.Offers(p.kind.capability) {
		// Only what was negotiated may be used (2025-11-25 basic/lifecycle, "Operation").
		p.notes.add("the server declares no " + p.kind.capability + " in its capabilities")
		return nil, nil
	}
	timed, cancel := context.WithTimeoutCause(ctx, table.Time(limit.ListTime), table.Exceeded(limit.ListTime, p.kind.where))
	defer cancel()
	for cursor := []byte(nil); ; {
		resp, err := p.ask(timed, cursor)
		if err != nil && timed.Err() != nil && ctx.Err() == nil && p.pages > 0 {
			p.stop(limit.ListTime)
			return nil, nil
		}
		if err != nil || resp.Err != nil {
			return resp, err
		}
		p.pages++
		p.bytes += len(resp.Result)
		if cursor, err = p.read(resp.Result); err != nil {
			return nil, err
		}
		switch {
		case cursor == nil:
			return nil, nil
		case p.cursors[string(cursor)]:
			p.notes.add("the server repeats a cursor; the list ends there")
			return nil, nil
		case p.pages >= table.Int(limit.ListPages):
			p.stop(limit.ListPages)
			return nil, nil
		case p.bytes >= table.Int(limit.ListBytes):
			p.stop(limit.ListBytes)
			return nil, nil
		}
		if p.cursors == nil {
			p.cursors = map[string]bool{}
		}
		p.cursors[string(cursor)] = true
	}
}

// stop notes which limit ended the list.
func (p *pager) stop(name limit.Name) {
	p.notes.add(p.s.opts.Limits.Exceeded(name, p.kind.where).Error() + "; it was cut")
}

// ask asks for one page.
func (p *pager) ask(ctx context.Context, cursor []byte) (*Response, error) {
	return p.s.send(ctx, p.link, p.kind.ask(cursor))
}

// read takes the items of one page and returns the cursor of the next; nil when
// there is none.
func (p *pager) read(result []byte) (cursor []byte, err error) {
	members, items, cursor, err := p.kind.read(p.link.Revision, result)
	if err != nil {
		return nil, err
	}
	if p.page != nil {
		p.page(members)
	}
	for _, raw := range rawjson.Elements(items) {
		if p.kept >= p.s.opts.Limits.Int(limit.Tools) {
			p.stop(limit.Tools)
			return nil, nil
		}
		if p.take(raw) {
			p.kept++
		}
	}
	return slices.Clone(cursor), nil
}

// ask returns the request for a page. The cursor is the server's own literal, which
// is opaque, and valid when it is the empty string; nil asks for the first page.
func (k *listKind) ask(cursor []byte) outgoing {
	out := outgoing{method: k.method}
	if cursor != nil {
		out.params.members = func(dst []byte) []byte {
			return append(append(dst, `"cursor":`...), cursor...)
		}
		out.params.size = len(cursor)
	}
	return out
}

// read returns the members of a page, its items, and the literal of the cursor of
// the next page, nil when there is none.
func (k *listKind) read(rev *Revision, result []byte) (members rawjson.Object, items, cursor []byte, err error) {
	members, err = readResult(k.method, result, k.member, "nextCursor", "ttlMs", "resultType")
	if err != nil {
		return nil, nil, nil, err
	}
	if err := complete(k.method, rev, members); err != nil {
		return nil, nil, nil, err
	}
	items, cursor = members.Get(k.member), members.Opt("nextCursor")
	if rawjson.KindOf(items) != rawjson.Array {
		return nil, nil, nil, malformed(k.method, notA(k.member, items, rawjson.Array))
	}
	if cursor != nil && rawjson.KindOf(cursor) != rawjson.String {
		return nil, nil, nil, malformed(k.method, notA("nextCursor", cursor, rawjson.String))
	}
	return members, items, cursor, nil
}
