package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/limit"
)

func TestAsError(t *testing.T) {
	own := &Error{Kind: KindRefused, Message: "no", Server: "docs", Untrusted: true}
	over := limit.Table{}.Exceeded(limit.ServerMessage, "the answer")
	for _, row := range []struct {
		name    string
		err     error
		kind    Kind
		message string
		limit   string
	}{
		{"its own kind stays", own, KindRefused, "no", ""},
		{"also when wrapped", fmt.Errorf("call: %w", own), KindRefused, "no", ""},
		{"a limit is named", fmt.Errorf("call: %w", over), KindTransport, over.Error(), "server_message"},
		{"cancelled", fmt.Errorf("call: %w", context.Canceled), KindCancelled, "cancelled", ""},
		{"past its deadline", context.DeadlineExceeded, KindTransport, "the deadline passed", ""},
		{"of unknown origin", fmt.Errorf("GET https://user:secret@host: %w", io.ErrUnexpectedEOF), KindInternal, "internal error", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := AsError(row.err)
			if e.Kind != row.kind || e.Message != row.message || e.Limit != row.limit {
				t.Errorf("got %s %q limit %q", e.Kind, e.Message, e.Limit)
			}
			if e.Error() != row.message {
				t.Errorf("Error() is %q, want %q", e.Error(), row.message)
			}
			if row.kind != KindRefused && !errors.Is(e, row.err) {
				t.Error("the cause is lost to errors.Is")
			}
		})
	}
	if AsError(fmt.Errorf("call: %w", own)) != own {
		t.Error("an *Error was copied")
	}
}

func TestErrorf(t *testing.T) {
	e := Errorf(KindMessage, "argument %q: %w", "x", io.EOF)
	if e.Kind != KindMessage || e.Message != `argument "x": EOF` || !errors.Is(e, io.EOF) {
		t.Errorf("got %+v", e)
	}
	if e := Errorf(KindMessage, "plain"); e.Err != nil || strings.Contains(e.Message, "%") {
		t.Errorf("got %+v", e)
	}
}
