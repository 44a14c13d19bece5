package redact

import (
	"math/bits"
	"slices"
	"strings"
)

// A matcher finds patterns in text. It is built once and then only read.
//
// It looks at each position through a window of the text, a few bytes loaded as
// one number, and through a filter of one bit per hash: nearly every position
// ends there. The rest is looked up by its window, and what starts with that
// window is searched for the longest pattern that the text goes on with. So the
// time hardly depends on the number of patterns.
type matcher struct {
	tables []table
}

// A table holds the patterns of one class of lengths.
type table struct {
	window   int       // bytes; every pattern has as many or more
	patterns []pattern // by text, ascending
	filter   []uint64  // a bit for each hash of a window that opens a pattern
	shift    uint      // 64 minus the bits of a hash
	opened   map[uint64]group
}

// A group is the patterns[from:to] that open with one window.
type group struct{ from, to int32 }

type pattern struct {
	text   string
	parent int32 // the longest other pattern that text begins with, or -1
	token  bool  // matched only where it stands as a token of its own
}

// windows are the classes: a long window is seldom met by chance.
var windows = [...]int{8, shortest}

// newMatcher returns a matcher of patterns, each with whether it is matched as a
// token only. None is shorter than shortest.
func newMatcher(patterns map[string]bool) *matcher {
	m := &matcher{}
	lists := make([][]pattern, len(windows))
	for text, token := range patterns {
		class := slices.IndexFunc(windows[:], func(w int) bool { return len(text) >= w })
		lists[class] = append(lists[class], pattern{text: text, token: token})
	}
	for class, list := range lists {
		if len(list) > 0 {
			m.tables = append(m.tables, newTable(windows[class], list))
		}
	}
	return m
}

func newTable(window int, patterns []pattern) table {
	slices.SortFunc(patterns, func(a, b pattern) int { return strings.Compare(a.text, b.text) })
	size := max(10, bits.Len(uint(len(patterns)))+5) // at most a bit in 32 is set
	t := table{
		window:   window,
		patterns: patterns,
		filter:   make([]uint64, 1<<size/64),
		shift:    uint(64 - size),
		opened:   make(map[uint64]group),
	}
	for i := range patterns {
		// Of a sorted list, what the one before begins with and what that began
		// with are all that this one can begin with.
		parent := int32(i - 1)
		for parent >= 0 && !strings.HasPrefix(patterns[i].text, patterns[parent].text) {
			parent = patterns[parent].parent
		}
		patterns[i].parent = parent

		w := load(patterns[i].text, 0, window)
		t.filter[w*hash>>t.shift/64] |= 1 << (w * hash >> t.shift % 64)
		g, ok := t.opened[w]
		if !ok {
			g.from = int32(i)
		}
		g.to = int32(i + 1)
		t.opened[w] = g
	}
	return t
}

// hash spreads the bits of a window to the top: 2^64 divided by the golden ratio.
const hash = 0x9e3779b97f4a7c15

// load returns the window at text[i:]. The sums of bytes are one load each.
func load(text string, i, window int) uint64 {
	if window == 8 {
		s := text[i : i+8]
		return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	}
	s := text[i : i+4]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// A span is text[from:to].
type span struct{ from, to int }

// find returns the spans of text[start:] that patterns cover, in order, those
// that overlap as one. text[:start] is only looked at for where a token begins.
//
// Where the text is not at its end yet, open is the first position that cannot
// be judged without what follows, and the spans are those that start before it;
// otherwise it is len(text).
func (m *matcher) find(text string, start int, final bool) (spans []span, open int) {
	open = len(text)
	for i := range m.tables {
		spans, open = m.tables[i].find(spans, text, start, open, final)
	}
	if len(m.tables) > 1 {
		slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	}
	merged := spans[:0]
	for _, s := range spans {
		if s.from >= open {
			break
		}
		if last := len(merged) - 1; last >= 0 && s.from < merged[last].to {
			merged[last].to = max(merged[last].to, s.to)
		} else {
			merged = append(merged, s)
		}
	}
	return merged, open
}

// find appends the table's spans that start before open, and lowers open.
func (t *table) find(spans []span, text string, start, open int, final bool) ([]span, int) {
	for i := start; ; i++ {
		if i = t.candidate(text, i); i >= open || i+t.window > len(text) {
			break
		}
		g, ok := t.opened[load(text, i, t.window)]
		if !ok {
			continue
		}
		to, undecided := t.longestAt(text, i, g, final)
		if undecided {
			return spans, i
		}
		if to > 0 {
			spans = append(spans, span{i, to})
		}
	}
	if final {
		return spans, open
	}
	// The last bytes are less than a window: they may open any pattern.
	for i := max(start, len(text)-t.window+1); i < open; i++ {
		k, _ := slices.BinarySearchFunc(t.patterns, text[i:], compare)
		if k < len(t.patterns) && strings.HasPrefix(t.patterns[k].text, text[i:]) {
			return spans, i
		}
	}
	return spans, open
}

func compare(p pattern, text string) int { return strings.Compare(p.text, text) }

// candidate returns the first position from i on whose window passes the filter,
// or one with less than a window behind it.
func (t *table) candidate(text string, i int) int {
	filter, shift := t.filter, t.shift
	if t.window == 8 {
		for ; i+8 <= len(text); i++ {
			if h := load(text, i, 8) * hash >> shift; filter[h/64]>>(h%64)&1 != 0 {
				break
			}
		}
		return i
	}
	for ; i+4 <= len(text); i++ {
		if h := load(text, i, 4) * hash >> shift; filter[h/64]>>(h%64)&1 != 0 {
			break
		}
	}
	return i
}

// longestAt returns the end of the longest pattern of the group that text[i:]
// begins with, or 0. It is undecided when what follows the text could make it
// a longer one, or a token.
func (t *table) longestAt(text string, i int, g group, final bool) (end int, undecided bool) {
	rest := text[i:]
	above, exact := slices.BinarySearchFunc(t.patterns[g.from:g.to], rest, compare)
	above += int(g.from)
	if exact {
		above++
	}
	if !final && above < int(g.to) && strings.HasPrefix(t.patterns[above].text, rest) {
		return 0, true
	}
	// The largest pattern that is not above rest, and what it begins with, are
	// all that rest can begin with.
	for k := int32(above) - 1; k >= g.from; k = t.patterns[k].parent {
		p := t.patterns[k]
		if !strings.HasPrefix(rest, p.text) {
			continue
		}
		if end := i + len(p.text); !p.token {
			return end, false
		} else if beginsToken(text, i) {
			if end == len(text) && !final {
				return 0, true
			}
			if end == len(text) || !tokenByte(text[end]) {
				return end, false
			}
		}
	}
	return 0, false
}

// tokenContext is how many bytes before a position beginsToken looks at.
const tokenContext = 2

// beginsToken reports whether a token can begin at text[i:]: not behind another
// of its characters, unless that is the letter of an escape, as in "\nTOKEN".
func beginsToken(text string, i int) bool {
	return i == 0 || !tokenByte(text[i-1]) || i >= 2 && text[i-2] == '\\'
}

// tokenByte reports whether c is of a word: a letter, a digit, an underscore, or
// of a character that is not ASCII.
func tokenByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c >= 0x80
}
