package mcpclient

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/internal/rawjson"
)

const (
	notificationToolsChanged   = "notifications/tools/list_changed"
	notificationPromptsChanged = "notifications/prompts/list_changed"
	notificationAcknowledged   = "notifications/subscriptions/acknowledged"
	metaSubscription           = "io.modelcontextprotocol/subscriptionId"
)

// wellAfter is how long a stream must have been open for the waits between
// openings to begin anew, so that a server that accepts and closes, or answers a
// subscription with its end, is not stormed (T16, SUB-04).
const wellAfter = 30 * time.Second

// Listen hears what the server says of its own accord, on the GET stream or by
// subscriptions/listen as the revision has it, until ctx ends or the session is
// closed. It is called once, on a goroutine of the caller, who may end the session
// before it has returned. Only a server that declares listChanged of its tools, or of
// its prompts where these are of interest, is listened to, and one that may ask the
// user on its stream; to others nothing is sent.
//
// A stream that ends is opened again after a wait (L35), and so is one that the
// server could not open. Where the server offers none, or does not tell of its
// tools there, that is respected until the session is opened anew. A server that
// has lost the session is shaken hands with again.
//
// settled is called once: when the server has accepted the stream for the first
// time, or it is known that it does not now. What it says from then on is heard.
func (s *Session) Listen(ctx context.Context, settled func()) {
	settled = sync.OnceFunc(settled)
	defer settled()
	table := s.opts.Limits
	first, most := table.Time(limit.BackoffFirst), table.Time(limit.BackoffMax)
	for wait := first; ctx.Err() == nil; {
		round, end := context.WithCancel(ctx)
		link := s.follow(end)
		if link == nil {
			end()
			return
		}
		began := time.Now()
		err := s.hear(round, link, settled)
		settled()
		wire, _ := errors.AsType[*WireError](err)
		switch {
		case round.Err() != nil: // a new link, or the end
		case err != nil && (wire == nil || wire.Final):
			s.opts.Log.Debug("the server does not tell of changes", "reason", err)
			<-round.Done()
		default:
			if time.Since(began) >= wellAfter {
				wait = first
			}
			pause := wait
			if wire != nil {
				pause = max(pause, wire.RetryAfter)
			}
			wait = min(2*wait, most)
			if sleep(round, pause) && wire != nil && wire.SessionLost {
				s.renewFor(ctx, link)
			}
		}
		end()
	}
}

// sleep waits and reports whether ctx has let it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// follow returns the link in use, nil when the session is closed. end is called
// when the link is replaced, or the session closed.
func (s *Session) follow(end context.CancelFunc) *Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.unfollow = end
	return s.link
}

// renewFor opens a new link in place of the lost one. Calls that need it wait for
// it too, so that it is not given for ever.
func (s *Session) renewFor(ctx context.Context, lost *Link) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Limits.Time(limit.StartTime))
	defer cancel()
	if _, err := s.renew(ctx, lost); err != nil {
		s.opts.Log.Debug("the session was lost and could not be opened anew", "reason", s.opts.Scrub.Reason(err.Error(), shownReason))
	}
}

// A changeKind is a list whose changes a server may tell of.
type changeKind struct {
	capability   string // what the server declares, with listChanged
	filter       string // of a subscription
	notification string
}

var (
	toolChanges   = &changeKind{"tools", "toolsListChanged", notificationToolsChanged}
	promptChanges = &changeKind{"prompts", "promptsListChanged", notificationPromptsChanged}
)

// hear listens on one stream, to its end. A nil error is an end in order. An error
// that is no WireError, or a Final one, says that there is nothing to hear on this
// link.
func (s *Session) hear(ctx context.Context, link *Link, opened func()) error {
	tells, err := s.tells(ctx, link)
	if err != nil {
		return err
	}
	// On a GET stream the server also asks its questions, whatever it declares.
	asks := link.Revision.ListenByGet && link.Revision.ServerRequests && s.opts.Elicit != nil && s.elicits()
	if len(tells) == 0 && !asks {
		return ErrNoListen
	}
	l := &listening{inbound: inbound{s: s, link: link}, opened: opened, changes: tells}
	var req *Request
	if !link.Revision.ListenByGet {
		ctx, l.refuse = context.WithCancelCause(ctx)
		defer l.refuse(nil)
		req = s.subscription(link, tells)
		l.id = strconv.FormatInt(req.ID, 10)
	}
	defer s.deaf()
	return s.t.Listen(ctx, link, req, l)
}

// subscription returns the request for a stream of those changes.
func (s *Session) subscription(link *Link, changes []*changeKind) *Request {
	id := s.opts.Era.nextID()
	return &Request{
		Link:   link,
		ID:     id,
		Method: methodListen,
		Body: s.parts.request(link.Revision, id, methodListen, params{members: func(dst []byte) []byte {
			dst = append(dst, `"notifications":{`...)
			for _, change := range changes {
				dst = append(rawjson.AppendString(separate(dst), change.filter), ":true"...)
			}
			return append(dst, '}')
		}}),
	}
}

// deaf notes that no stream is open any more.
func (s *Session) deaf() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh.hearing = false
}

// tells returns the changes that are of interest and that the server declares to
// tell of. One whose link was opened without a word is asked; when it does not say,
// it tells of none.
func (s *Session) tells(ctx context.Context, link *Link) ([]*changeKind, error) {
	s.mu.Lock()
	d := s.declared
	s.mu.Unlock()
	if !d.known && !link.Revision.Handshake {
		var err error
		if d, err = s.discovered(ctx, link); err != nil {
			return nil, err
		}
		s.mu.Lock()
		if s.link == link {
			s.declared = d
		}
		s.mu.Unlock()
	}
	var changes []*changeKind
	for _, change := range []*changeKind{toolChanges, promptChanges} {
		wanted := change == toolChanges || s.opts.OnPromptsChanged != nil
		if wanted && d.tells[change.capability] {
			changes = append(changes, change)
		}
	}
	return changes, nil
}

// discovered asks the server of a modern link what it declares. The error says
// that it could not be asked.
func (s *Session) discovered(ctx context.Context, link *Link) (declared, error) {
	h := &handshake{s: s}
	resp, err := h.discover(ctx, link.Revision)
	if err == nil && resp.Err != nil && resp.Err.Code == codeUnsupportedVersion {
		// Once, as at the start: see detect.
		resp, err = h.discover(ctx, link.Revision)
	}
	switch {
	case err != nil && doubtsEra(err), err == nil && resp.Err != nil:
		return declared{known: true}, nil
	case err != nil:
		return declared{}, err
	}
	d := declaredIn(rawjson.Members(resp.Result))
	d.known = true
	return d, nil
}

// A listening takes what the server says on its own stream.
type listening struct {
	inbound
	opened  func()
	changes []*changeKind // those that the server tells of here

	// Of a subscription: its id, and what ends it.
	id     string
	refuse context.CancelCauseFunc
}

// Opened implements Listener. A subscription is open only when the server has
// acknowledged it.
func (l *listening) Opened() {
	if l.id == "" {
		l.hears()
	}
}

// hears notes that the server is heard from now on, and that it was not before.
func (l *listening) hears() {
	tools, prompts := slices.Contains(l.changes, toolChanges), slices.Contains(l.changes, promptChanges)
	l.s.mu.Lock()
	again := l.s.heard
	l.s.heard = true
	if tools {
		l.s.fresh.hearing = true
		l.s.fresh.now.doubts++
	}
	l.s.mu.Unlock()
	if again && prompts {
		// What the server said between the streams was not heard.
		l.s.opts.OnPromptsChanged()
	}
	l.opened()
}

// Notification takes what the subscription is for. Whatever belongs to a request
// is not expected on its stream, nor is what belongs to another subscription
// (2026-07-28 basic/patterns/subscriptions).
func (l *listening) Notification(method string, params []byte) {
	if l.id == "" {
		l.inbound.Notification(method, params)
		return
	}
	object := rawjson.Members(params)
	id := rawjson.Members(object.Get("_meta")).Get(metaSubscription)
	if id != nil && string(id) != l.id && rawjson.Text(id) != l.id {
		return
	}
	switch method {
	case notificationAcknowledged:
		granted := rawjson.Members(object.Get("notifications"))
		l.changes = slices.DeleteFunc(l.changes, func(change *changeKind) bool {
			return string(granted.Get(change.filter)) != "true"
		})
		if len(l.changes) == 0 {
			l.refuse(ErrNoListen)
			return
		}
		l.hears()
	case notificationToolsChanged:
		l.s.toolsChanged()
	case notificationPromptsChanged:
		if l.s.opts.OnPromptsChanged != nil {
			l.s.opts.OnPromptsChanged()
		}
	}
}
