package mcpclient

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

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
	var l *lister
	err := s.pass(ctx, func(link *Link) *pager {
		l = s.newLister(link)
		return &l.pager
	})
	if err != nil {
		return nil, err
	}
	s.listed(l)
	return l, nil
}

// listed makes the listing the newest one that the session knows. What is missing
// from it is news once.
func (s *Session) listed(l *lister) {
	for _, text := range l.notes.texts() {
		l.listing.Notes = append(l.listing.Notes, s.opts.Scrub.Text(text))
	}
	s.mu.Lock()
	s.mirrored = l.mirrored
	s.keepOutputs(l.outputs)
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

// A lister is one pass over the pages of the tools.
type lister struct {
	pager
	listing  Listing
	asked    events                   // before the first page was asked for
	until    time.Time                // the end of the listing's time to live; zero for none
	names    map[string]bool          // of the tools so far
	mirrored map[string][]headerParam // of those that have any
	outputs  map[string]*output       // of those that have any
}

func (s *Session) newLister(link *Link) *lister {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &lister{asked: s.fresh.now, names: map[string]bool{}}
	l.pager = pager{s: s, link: link, kind: toolList, take: l.take, page: func(page rawjson.Object) {
		l.freshFor(freshFor(page.Get("ttlMs")))
	}}
	return l
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
func (l *lister) take(raw []byte) bool {
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
		return false
	}
	l.names[tool.Name] = true
	l.listing.Tools = append(l.listing.Tools, tool)
	if len(params) > 0 {
		if l.mirrored == nil {
			l.mirrored = map[string][]headerParam{}
		}
		l.mirrored[tool.Name] = params
	}
	if o := newOutput(l.link.Revision, &tool); o != nil {
		if l.outputs == nil {
			l.outputs = map[string]*output{}
		}
		l.outputs[tool.Name] = o
	}
	return true
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
