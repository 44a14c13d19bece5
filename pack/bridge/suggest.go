package bridge

import (
	"cmp"
	"slices"
	"strings"
)

// far is the distance from which two names are not alike.
const far = 4

// Nearest returns the names with those that are like name first and the others
// in the order they had, and how many are like it. It only serves messages: what
// matches is decided to the letter.
func Nearest(name string, names []string) (sorted []string, alike int) {
	type row struct {
		name     string
		distance int
	}
	rows := make([]row, len(names))
	name = strings.ToLower(name)
	for i, n := range names {
		rows[i] = row{n, distance(name, strings.ToLower(n))}
		if rows[i].distance < far {
			alike++
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.distance, b.distance) })
	for _, r := range rows {
		sorted = append(sorted, r.name)
	}
	return sorted, alike
}

// distance is the number of bytes to change, insert or leave out to make a of b,
// one where one name holds the other, and at most far. A third of the longer
// name may differ, so that short names are not all alike.
func distance(a, b string) int {
	const longest = 64 // the work is bounded; longer names are compared whole
	switch {
	case a == b:
		return 0
	case min(len(a), len(b)) >= 3 && (strings.Contains(a, b) || strings.Contains(b, a)):
		return 1
	case max(len(a), len(b)) > longest, max(len(a), len(b))-min(len(a), len(b)) >= far:
		return far
	}
	var rows [2][longest + 1]int
	last, next := &rows[0], &rows[1]
	for k := range len(b) + 1 {
		last[k] = k
	}
	for i := range len(a) {
		next[0] = i + 1
		for k := range len(b) {
			change := last[k]
			if a[i] != b[k] {
				change++
			}
			next[k+1] = min(change, last[k+1]+1, next[k]+1)
		}
		last, next = next, last
	}
	if d := last[len(b)]; d <= max(len(a), len(b))/3 {
		return min(d, far)
	}
	return far
}
