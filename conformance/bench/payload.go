package main

import "strings"

// The sizes that are measured.
var sizes = []struct {
	name  string
	bytes int
}{{"100 B", 100}, {"10 KB", 10_000}, {"1 MB", 1_000_000}}

// payload returns size bytes of realistic text: lines of about 62 characters, with
// a quotation, a tab, an accent and some markup in every six. Escapes matter, since
// uniform text would flatter every scanner.
func payload(size int) string {
	const block = "The committee met on Tuesday and agreed on the larger of the two\n" +
		"plans, which the secretary called \"the lesser evil\" afterwards.\n" +
		"Costs:\t1,250 for the first stage, 3,400 for the second, and\n" +
		"a reserve that nobody wanted to name in the café next door.\n" +
		"See <b>annex 2</b> & the minutes of the last meeting for what\n" +
		"was said about the roof, the windows and the old heating.\n"
	text := strings.Repeat(block, size/len(block)+1)[:size]
	return strings.ToValidUTF8(text, "?") // the cut may fall into the accent
}
