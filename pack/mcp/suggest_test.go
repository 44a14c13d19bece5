package mcp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNearest(t *testing.T) {
	names := []string{"get_issue", "list_issues", "search", "a", "b", strings.Repeat("long", 40)}
	for _, row := range []struct {
		name string
		want []string
	}{
		{"GET_ISSUE", []string{"get_issue"}},
		{"get-issue", []string{"get_issue"}},
		{"get_isue", []string{"get_issue"}},
		{"issue", []string{"get_issue", "list_issues"}},
		{"serch", []string{"search"}},
		{"c", nil},
		{"", nil},
		{"frobnicate", nil},
		{strings.Repeat("long", 40) + "x", []string{strings.Repeat("long", 40)}},
	} {
		sorted, alike := nearest(row.name, names)
		if got := sorted[:alike]; !slices.Equal(got, row.want) {
			t.Errorf("%q is like %q, want %q", row.name, got, row.want)
		}
		if len(sorted) != len(names) {
			t.Errorf("%q: %d of %d names are left", row.name, len(sorted), len(names))
		}
	}
	start := time.Now()
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprintf("%s%05d", strings.Repeat("x", 50), i)
	}
	nearest(strings.Repeat("y", 55), many)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("ten thousand names took %v", took)
	}
}
