package rpc

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/pack"
	"github.com/toolhost/toolhost/spec"
)

// TestMethodTable holds the method table of the code against the protocol's.
func TestMethodTable(t *testing.T) {
	ours := slices.Concat(hostMethods, childMethods)
	theirs := spec.Methods()
	if len(ours) != len(theirs) {
		t.Errorf("%d methods here, %d in methods.json", len(ours), len(theirs))
	}
	for i := range min(len(ours), len(theirs)) {
		m, want := ours[i], theirs[i]
		if m.name != want.Name || m.direction != want.Direction || m.capability != want.Capability {
			t.Errorf("row %d is %s %s %q, want %s %s %q", i, m.name, m.direction, m.capability, want.Name, want.Direction, want.Capability)
		}
		if m.request != slices.Contains(want.Kinds, "request") || m.notification != slices.Contains(want.Kinds, "notification") {
			t.Errorf("%s may be sent as request %v and notification %v, want %v", m.name, m.request, m.notification, want.Kinds)
		}
		if (m.serve != nil) != (m.direction == spec.HostToChild) {
			t.Errorf("%s %s is served: %v", m.direction, m.name, m.serve != nil)
		}
		var kinds []string
		for _, kind := range m.kinds {
			kinds = append(kinds, string(kind))
		}
		slices.Sort(kinds)
		slices.Sort(want.Errors)
		if !slices.Equal(kinds, want.Errors) {
			t.Errorf("%s may fail with %v, want %v", m.name, kinds, want.Errors)
		}
	}
}

// TestErrorTable holds the error table of the code against the protocol's.
func TestErrorTable(t *testing.T) {
	known := map[string]kindRow{}
	for _, row := range kindRows {
		known[string(row.kind)] = row
	}
	plain := map[int]bool{codeParse: true, codeInvalidRequest: true, codeNoMethod: true, codeInvalidParams: true}
	for _, want := range spec.Errors() {
		if want.Kind == "" {
			if !plain[want.Code] {
				t.Errorf("code %d is not known here", want.Code)
			}
			delete(plain, want.Code)
			continue
		}
		row, ok := known[want.Kind]
		delete(known, want.Kind)
		if !ok || row.code != want.Code {
			t.Errorf("kind %s has code %d, want %d", want.Kind, row.code, want.Code)
		}
		may := map[string]bool{
			"kind": true, "server": true, "untrusted": true, "delivered": true,
			"retryable": row.retryable, "limit": row.limit,
		}
		for member, here := range may {
			wanted := slices.Contains(want.Data.Required, member) || slices.Contains(want.Data.Optional, member)
			if here != wanted {
				t.Errorf("kind %s may have data.%s: %v, want %v", want.Kind, member, here, wanted)
			}
		}
	}
	if len(known)+len(plain) > 0 {
		t.Errorf("not in errors.json: %v %v", known, plain)
	}
	if rowOf("unheard of").kind != pack.KindInternal {
		t.Error("a kind that is none is not internal")
	}
}

// TestTrace proves that Options.Trace sees every whole message without framing.
func TestTrace(t *testing.T) {
	for framing, in := range map[string]string{
		"newline": "\n{\"jsonrpc\":\"2.0\",\r\"id\":1,\"method\":\"x\"}\r\n{oops\n",
		"lsp":     framed("lsp", "{\"jsonrpc\":\"2.0\",\r\"id\":1,\"method\":\"x\"}") + framed("lsp", "{oops"),
	} {
		t.Run(framing, func(t *testing.T) {
			var mu sync.Mutex // the two directions are traced side by side
			var seen []string
			var out bytes.Buffer
			err := Serve(t.Context(), strings.NewReader(in), &out, pack.NewRegistry(), &Options{
				Trace: func(direction string, message []byte) {
					mu.Lock()
					defer mu.Unlock()
					seen = append(seen, direction+" "+string(message))
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(seen)
			want := []string{
				"in {\"jsonrpc\":\"2.0\",\r\"id\":1,\"method\":\"x\"}",
				"in {oops",
				`out {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method \"x\"; known: construct, ready, invoke, cancel, close"}}`,
				`out {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON: a member name must begin here at byte 1"}}`,
			}
			if !slices.Equal(seen, want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(seen, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
}
