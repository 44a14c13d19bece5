package mcpclient

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// A Listing is every tool that a server offers, in its order, names distinct.
type Listing struct {
	Tools []Tool

	// Notes say what is missing from Tools and why, safe to show. They have been
	// logged.
	Notes []string

	TTL time.Duration // how long the server says that the listing stays fresh; 0 for no time
}

// ListTools lists every page of the server's tools. A broken definition leaves
// out that tool only. At a limit (L13, L14) the listing stops and keeps what it
// has, with a note. Errors are those of CallTool. Freshness speaks of the listing
// from then on.
func (s *Session) ListTools(ctx context.Context) (*Listing, error) {
	l, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh.seen, s.fresh.until = l.asked, l.until
	return &l.listing, nil
}

// list makes a listing and keeps of it what calls need.
func (s *Session) list(ctx context.Context) (*lister, error) {
	link, err := s.usable(ctx)
	if err != nil {
		return nil, err
	}
	for reopened, restarted := false, false; ; {
		l := s.newLister(link)
		resp, err := l.list(ctx)
		switch {
		case err == nil && resp == nil:
			s.listed(l)
			return l, nil
		case !reopened && s.lost(link, resp, err):
			// Cursors belong to the session: begin again.
			reopened = true
			if link, err = s.renew(ctx, link); err != nil {
				return nil, err
			}
			continue
		case !restarted && err == nil && l.pages > 0 && resp.Err.Code == codeInvalidParams:
			// The cursor has become invalid: drop all pages and begin again
			// (2026-07-28 server/utilities/caching).
			restarted = true
			continue
		case err == nil && l.pages == 0 && resp.Err.Code == codeMethodNotFound && link.Revision.Handshake:
			l.notes.add("the server does not know " + methodList)
			s.listed(l)
			return l, nil
		}
		s.doubt(link, resp, err)
		if err == nil {
			err = s.explained(resp.Err)
		}
		return nil, err
	}
}

// listed makes the listing the newest one that the session knows. What is missing
// from it is news once.
func (s *Session) listed(l *lister) {
	for _, text := range l.notes.texts() {
		l.listing.Notes = append(l.listing.Notes, s.opts.Scrub.Text(text))
	}
	s.mu.Lock()
	s.mirrored = l.mirrored
	told := slices.Equal(s.missing, l.listing.Notes)
	s.missing = l.listing.Notes
	s.mu.Unlock()
	if len(l.listing.Notes) > 0 && !told {
		s.opts.Log.Warn("the list of tools is not whole", "notes", l.listing.Notes)
	}
}

// headerParams returns which arguments of a tool are mirrored into headers, by
// the newest schema that is known. It is empty for a tool that is not known.
func (s *Session) headerParams(tool string) []headerParam {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mirrored[tool]
}

// A lister is one pass over the pages.
type lister struct {
	s    *Session
	link *Link

	listing  Listing
	asked    events    // before the first page was asked for
	until    time.Time // the end of the listing's time to live; zero for none
	notes    notes
	names    map[string]bool          // of the tools so far
	mirrored map[string][]headerParam // of those that have any
	cursors  map[string]bool          // as they were written, so far
	pages    int
	bytes    int
}

func (s *Session) newLister(link *Link) *lister {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &lister{s: s, link: link, asked: s.fresh.now, names: map[string]bool{}, cursors: map[string]bool{}}
}

// list reads pages until the last one or a limit. A nil Response and error mean
// that the listing is what can be had; a Response carries the server's error.
func (l *lister) list(ctx context.Context) (*Response, error) {
	table := l.s.opts.Limits
	l.s.mu.Lock()
	noTools := l.s.declared.noTools
	l.s.mu.Unlock()
	if noTools {
		// Only what was negotiated may be used (2025-11-25 basic/lifecycle, "Operation").
		l.notes.add("the server declares no tools in its capabilities")
		return nil, nil
	}
	timed, cancel := context.WithTimeoutCause(ctx, table.Time(limit.ListTime), table.Exceeded(limit.ListTime, listWhere))
	defer cancel()
	for cursor := []byte(nil); ; {
		resp, err := l.page(timed, cursor)
		if err != nil && timed.Err() != nil && ctx.Err() == nil && l.pages > 0 {
			l.stop(limit.ListTime)
			return nil, nil
		}
		if err != nil || resp.Err != nil {
			return resp, err
		}
		l.pages++
		l.bytes += len(resp.Result)
		var more bool
		if cursor, more, err = l.read(resp.Result); err != nil {
			return nil, err
		}
		switch {
		case !more:
			return nil, nil
		case l.cursors[string(cursor)]:
			l.notes.add("the server repeats a cursor; the list ends there")
			return nil, nil
		case l.pages >= table.Int(limit.ListPages):
			l.stop(limit.ListPages)
			return nil, nil
		case l.bytes >= table.Int(limit.ListBytes):
			l.stop(limit.ListBytes)
			return nil, nil
		}
		l.cursors[string(cursor)] = true
	}
}

const listWhere = "the list of tools"

// stop notes which limit ended the listing.
func (l *lister) stop(name limit.Name) {
	l.notes.add(l.s.opts.Limits.Exceeded(name, listWhere).Error() + "; it was cut")
}

// page asks for one page. The cursor is the server's own literal, which is
// opaque, and valid when it is the empty string; nil asks for the first page.
func (l *lister) page(ctx context.Context, cursor []byte) (*Response, error) {
	out := outgoing{method: methodList}
	if cursor != nil {
		out.params.members = func(dst []byte) []byte {
			return append(append(dst, `"cursor":`...), cursor...)
		}
		out.params.size = len(cursor)
	}
	return l.s.send(ctx, l.link, out)
}

// read takes the tools of one page and returns the cursor of the next, if there
// is one.
func (l *lister) read(result []byte) (cursor []byte, more bool, err error) {
	object, err := readResult(methodList, result, "tools", "nextCursor", "ttlMs", "resultType")
	if err != nil {
		return nil, false, err
	}
	if err := complete(methodList, l.link.Revision, object); err != nil {
		return nil, false, err
	}
	tools, next := object.Get("tools"), object.Opt("nextCursor")
	if rawjson.KindOf(tools) != rawjson.Array {
		return nil, false, malformed(methodList, notA("tools", tools, rawjson.Array))
	}
	if next != nil && rawjson.KindOf(next) != rawjson.String {
		return nil, false, malformed(methodList, notA("nextCursor", next, rawjson.String))
	}
	l.freshFor(freshFor(object.Get("ttlMs")))
	for _, raw := range rawjson.Elements(tools) {
		if len(l.listing.Tools) >= l.s.opts.Limits.Int(limit.Tools) {
			l.stop(limit.Tools)
			return nil, false, nil
		}
		l.take(raw)
	}
	return slices.Clone(next), next != nil, nil
}

// freshFor takes the time to live of one page, which begins when the page came in.
// The listing expires with the first of its pages.
func (l *lister) freshFor(ttl time.Duration) {
	until := time.Now().Add(ttl)
	switch {
	case ttl == 0:
		until = time.Time{}
	case l.pages > 1 && (l.until.IsZero() || l.until.Before(until)):
		until = l.until
	}
	l.until = until
	if l.pages == 1 || ttl < l.listing.TTL {
		l.listing.TTL = ttl
	}
}

// take adds one tool, or notes why it is left out.
func (l *lister) take(raw []byte) {
	tool, err := parseTool(raw, l.s.opts.Limits)
	if err == nil && l.names[tool.Name] {
		err = errTwice
	}
	var params []headerParam
	if err == nil && l.link.Revision.StandardHeaders {
		params, err = findHeaderParams(tool.InputSchema)
	}
	if err != nil {
		l.notes.leaveOut(tool.Name, err.Error())
		return
	}
	l.names[tool.Name] = true
	l.listing.Tools = append(l.listing.Tools, tool)
	if len(params) > 0 {
		if l.mirrored == nil {
			l.mirrored = map[string][]headerParam{}
		}
		l.mirrored[tool.Name] = params
	}
}

var errTwice = errors.New("the name stands twice in the list; the first tool of that name is kept")

// freshFor reads ttlMs. What is no positive integer is no time (2026-07-28
// server/utilities/caching, "Time-to-Live (TTL) Field").
func freshFor(ttlMs []byte) time.Duration {
	const most = 1 << 40 // ms, more than thirty years
	n, err := strconv.ParseInt(string(ttlMs), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(min(n, most)) * time.Millisecond
}
