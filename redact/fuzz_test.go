package redact

import (
	"slices"
	"strings"
	"testing"
)

// FuzzScrubber holds Text against a search for every pattern at every position,
// and the Writer against Text, whatever the secrets and the pieces. The secrets
// are the words of one string, the text the other with "$1" to "$9" replaced by
// forms of them.
func FuzzScrubber(f *testing.F) {
	f.Add("longsecret x7Kp", "a $1 b $2 c $3", uint8(3))
	f.Add("abcabcabc abcabcabcd bcab", "abcabcabcabcabcd-bcab $1$1", uint8(1))
	f.Add(`p"w\d<>&'/é😀 4f9c2a774f9c2a774f9c2a774f9c2a774f9c2a77`, `x$1y$2z$3$4$5\n$6`, uint8(7))
	f.Add("éé \xff\xfe\xfd\xfc aaaa aaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaa \xff\xfe\xfd\xfc", uint8(2))
	f.Fuzz(func(t *testing.T, secrets, text string, step uint8) {
		s := NewScrubber()
		values := strings.Fields(secrets)
		s.Add(values[:min(len(values), 8)]...)
		all := []string{}
		for _, v := range values {
			all = append(all, forms(v)...)
		}
		for i := range 9 {
			form := ""
			if len(all) > 0 {
				form = all[(i*31+int(step))%len(all)]
			}
			text = strings.ReplaceAll(text, string([]byte{'$', byte('1' + i)}), form)
		}
		if len(text) > 1<<12 {
			return
		}

		var patterns map[string]bool
		if s.known != nil {
			patterns = s.known().patterns
		}
		got := s.Text(text)
		if want := scrubSlowly(patterns, text); got != want {
			t.Fatalf("%q in %q: got %q, want %q", values, text, got, want)
		}
		for pattern, token := range patterns {
			if at := survivor(got, pattern); at >= 0 && !token {
				t.Fatalf("%q survives at %d of %q", pattern, at, got)
			}
		}
		var pieces []string
		for rest := text; rest != ""; {
			n := min(len(rest), 1+(len(pieces)*7+int(step))%(1+int(step)))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		if out := streamed(s, pieces...); out != got {
			t.Fatalf("%q in %q: the text gives %q, the stream %q", values, pieces, got, out)
		}
		if reason := s.Reason(text, int(step)); step > 0 && len(reason) > int(step) {
			t.Fatalf("Reason of %q exceeds %d: %q", text, step, reason)
		}
	})
}

// survivor returns where the pattern stands in the text outside of placeholders,
// or -1. With a part of one it can stand there by chance.
func survivor(text, pattern string) int {
	at := 0
	for kept := range strings.SplitSeq(text, Placeholder) {
		if i := strings.Index(kept, pattern); i >= 0 {
			return at + i
		}
		at += len(kept) + len(Placeholder)
	}
	return -1
}

// scrubSlowly is Text by definition.
func scrubSlowly(patterns map[string]bool, text string) string {
	var hits []span
	for pattern, token := range patterns {
		for i := range len(text) {
			end := i + len(pattern)
			if !strings.HasPrefix(text[i:], pattern) {
				continue
			}
			if token && (!beginsToken(text, i) || end < len(text) && tokenByte(text[end])) {
				continue
			}
			hits = append(hits, span{i, end})
		}
	}
	slices.SortFunc(hits, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	for _, hit := range hits {
		if hit.from >= at {
			out.WriteString(text[at:hit.from] + Placeholder)
		}
		at = max(at, hit.to)
	}
	return out.String() + text[at:]
}
