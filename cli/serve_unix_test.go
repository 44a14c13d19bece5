//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// TestF13_APausedChildCanBeEnded serves a host that never reads stdout. When so
// much waits that reading pauses, the end of stdin goes unseen; a signal and the
// end of stdout do not.
func TestF13_APausedChildCanBeEnded(t *testing.T) {
	for _, test := range []struct {
		situation string
		end       func(signal context.CancelFunc, stdout *os.File)
	}{
		{"a signal", func(signal context.CancelFunc, _ *os.File) { signal() }},
		{"the host closes stdout", func(_ context.CancelFunc, stdout *os.File) { stdout.Close() }},
	} {
		t.Run(test.situation, func(t *testing.T) {
			t.Parallel() // an end that cannot be written takes its whole time
			in, hostIn, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			hostOut, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer hostOut.Close()
			ctx, signal := context.WithCancel(t.Context())
			code := make(chan int, 1)
			go func() {
				code <- Run(ctx, []string{"serve", "--limit", "output_bytes=1MiB"}, in, out, io.Discard)
				out.Close()
			}()

			// Each answer repeats its id, so a few are more than all pipes hold.
			id := strings.Repeat("x", 1<<20)
			written := 0
			for ; ; written++ {
				hostIn.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
				_, err := fmt.Fprintf(hostIn, `{"jsonrpc":"2.0","id":"%s%d","method":"x"}`+"\n", id, written)
				if errors.Is(err, os.ErrDeadlineExceeded) {
					break
				}
				if err != nil || written > 20 {
					t.Fatalf("%d messages were written, and reading does not pause: %v", written, err)
				}
			}
			hostIn.Close()
			select {
			case got := <-code:
				t.Fatalf("the end of stdin was seen while reading is paused: exit code %d", got)
			default:
			}

			began := time.Now()
			test.end(signal, hostOut)
			select {
			case got := <-code:
				if took := time.Since(began); got != 0 || took > 5*time.Second {
					t.Errorf("exit code %d after %v, want 0 within 5s (L-15)", got, took)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the child does not end")
			}
		})
	}
}
