package bridge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
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
		sorted, alike := Nearest(row.name, names)
		if got := sorted[:alike]; !slices.Equal(got, row.want) {
			t.Errorf("%q is like %q, want %q", row.name, got, row.want)
		}
		if len(sorted) != len(names) {
			t.Errorf("%q: %d of %d names are left", row.name, len(sorted), len(names))
		}
	}
}

// BenchmarkNearest is what a wrong name costs with as many tools as a server may have.
func BenchmarkNearest(b *testing.B) {
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprintf("%s%05d", strings.Repeat("x", 50), i)
	}
	wrong := strings.Repeat("y", 55)
	for b.Loop() {
		Nearest(wrong, many)
	}
}
