package mcpclient

import (
	"context"
	"testing"
)

// A silent server answers discover and every call, and says nothing else.
type silent struct{}

func (silent) RoundTrip(_ context.Context, req *Request, _ Handler) (*Response, error) {
	if req.Method == methodDiscover {
		return result(discovered)
	}
	return result(hello)
}

func (silent) Notify(context.Context, *Notification) error             { return nil }
func (silent) Listen(context.Context, *Link, *Request, Listener) error { return ErrNoListen }
func (silent) Close(context.Context, *Link) error                      { return nil }

// BenchmarkCallTool measures what a call costs on this side of the carrier.
func BenchmarkCallTool(b *testing.B) {
	session, err := Connect(b.Context(), silent{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	arguments := []byte(`{"text":"some text for a tool"}`)
	opts := &CallOptions{
		Progress: func(_, _ []byte, _ string) {},
		Log:      func(string, []byte, string) {},
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := session.CallTool(b.Context(), "t", arguments, opts); err != nil {
			b.Fatal(err)
		}
	}
}
