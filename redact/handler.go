package redact

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
)

// handler is what Scrubber.Handler returns. It keeps the attributes it is given
// until a record comes, instead of handing them down at once: one of them may
// hold what becomes a secret later.
type handler struct {
	scrub *Scrubber
	next  slog.Handler
	outer *handler // nil for the one that Scrubber.Handler returned
	group string   // what WithGroup opened within outer, or ""
	attrs []slog.Attr
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{scrub: h.scrub, next: h.next, outer: h, attrs: slices.Clone(attrs)}
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &handler{scrub: h.scrub, next: h.next, outer: h, group: name}
}

func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	var attrs []slog.Attr
	record.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, a)
		return true
	})
	for ; h.outer != nil; h = h.outer {
		if h.group != "" {
			attrs = []slog.Attr{{Key: h.group, Value: slog.GroupValue(attrs...)}}
		} else {
			attrs = slices.Concat(h.attrs, attrs)
		}
	}
	clean := slog.NewRecord(record.Time, record.Level, h.text(record.Message), record.PC)
	clean.AddAttrs(h.all(attrs)...)
	return h.next.Handle(ctx, clean)
}

func (h *handler) text(text string) string { return Escape(h.scrub.Text(text)) }

func (h *handler) all(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = slog.Attr{Key: a.Key, Value: h.value(a.Value)}
	}
	return clean
}

// value returns what may be shown of a value. One that a handler would print by
// its own rules, and so past us, becomes the text that fmt makes of it.
func (h *handler) value(v slog.Value) slog.Value {
	v = v.Resolve()
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(h.text(v.String()))
	case slog.KindGroup:
		return slog.GroupValue(h.all(v.Group())...)
	case slog.KindAny:
		if v.Any() == nil {
			return v
		}
		return slog.StringValue(h.text(printed(v.Any())))
	default:
		// A number is kept as one, unless it is a secret.
		text := v.String()
		if v.Kind() == slog.KindFloat64 { // handlers differ in how they write it
			text += " " + strconv.FormatFloat(v.Float64(), 'f', -1, 64)
		}
		if h.scrub.Text(text) != text {
			return slog.StringValue(Placeholder)
		}
		return v
	}
}

// printed returns what fmt makes of a value: fields with their names, bytes as
// text, an error in its own words.
func printed(v any) string {
	if _, ok := v.(error); ok {
		return fmt.Sprintf("%v", v)
	}
	if b := reflect.ValueOf(v); b.Kind() == reflect.Slice && b.Type().Elem().Kind() == reflect.Uint8 {
		return string(b.Bytes())
	}
	return fmt.Sprintf("%+v", v)
}
