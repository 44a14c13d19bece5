package cli

import (
	"io"
	"os"
)

// fastInput returns a reader of the same bytes as in that waits for them in the
// fastest way that the system has, and can be given a deadline. release gives
// back what it took and must be called when nothing reads any more.
func fastInput(in io.Reader) (fast io.Reader, release func()) {
	if f, ok := in.(*os.File); ok {
		if fast, release, ok := pollable(f); ok {
			return fast, release
		}
	}
	return in, func() {}
}

// fastOutput is fastInput for a writer.
func fastOutput(out io.Writer) (fast io.Writer, release func()) {
	if f, ok := out.(*os.File); ok {
		if fast, release, ok := pollable(f); ok {
			return fast, release
		}
	}
	return out, func() {}
}
