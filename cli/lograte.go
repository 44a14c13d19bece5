package cli

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// The most lines that the log takes in a second (L27), and how many of them one
// server may cause. The latter is what its stderr would get (L26): a server that
// makes us log neither fills the log nor silences what is said of the others.
// Further lines are dropped and counted.
const (
	maxLogLines    = 1000
	maxServerLines = 200
)

// A logRate counts the lines of the second that runs.
type logRate struct {
	mu      sync.Mutex
	began   time.Time             // of the second
	lines   int                   // taken in it
	servers map[string]*lineCount // by server, "" for what concerns none; emptied each second
}

type lineCount struct{ taken, dropped int }

// take reports whether a line about that server is taken. With the first line of
// a new second it returns how many were dropped before.
func (r *logRate) take(server string, now time.Time) (ok bool, dropped map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if since := now.Sub(r.began); since >= time.Second || since < 0 {
		dropped = r.reset()
		r.began = now
	}
	count := r.servers[server]
	if count == nil {
		count = &lineCount{}
		r.servers[server] = count
	}
	if r.lines >= maxLogLines || server != "" && count.taken >= maxServerLines {
		count.dropped++
		return false, dropped
	}
	count.taken++
	r.lines++
	return true, dropped
}

// flush returns how many lines were dropped, by server, and begins anew.
func (r *logRate) flush() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reset()
}

// reset is flush for who holds mu.
func (r *logRate) reset() map[string]int {
	dropped := map[string]int{}
	for name, count := range r.servers {
		if count.dropped > 0 {
			dropped[name] = count.dropped
		}
	}
	r.lines, r.servers = 0, map[string]*lineCount{}
	return dropped
}

// A rateHandler hands on the records that a logRate takes. A record concerns the
// server that the attribute "server" of its logger names.
type rateHandler struct {
	next   slog.Handler
	root   slog.Handler // next without attributes, for what is said of dropped lines
	rate   *logRate
	server string
	group  bool // a group is open, whose attributes are not looked at
}

func (h *rateHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *rateHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.next = h.next.WithAttrs(attrs)
	for _, a := range attrs {
		if a.Key == "server" && !h.group {
			with.server = a.Value.String()
		}
	}
	return &with
}

func (h *rateHandler) WithGroup(name string) slog.Handler {
	with := *h
	with.next = h.next.WithGroup(name)
	with.group = h.group || name != ""
	return &with
}

func (h *rateHandler) Handle(ctx context.Context, record slog.Record) error {
	ok, dropped := h.rate.take(h.server, time.Now())
	tellDropped(h.root, dropped)
	if !ok {
		return nil
	}
	return h.next.Handle(ctx, record)
}

// tellDropped writes a record for each server of which lines were dropped,
// whatever the level of the log: it stands for lines that had that level.
func tellDropped(handler slog.Handler, dropped map[string]int) {
	for _, server := range slices.Sorted(maps.Keys(dropped)) {
		record := slog.NewRecord(time.Now(), slog.LevelWarn, "log lines were dropped, there were too many in a second", 0)
		if server != "" {
			record.Add("server", server)
		}
		record.Add("count", dropped[server])
		handler.Handle(context.Background(), record)
	}
}
