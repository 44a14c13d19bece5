package stdiomcp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// roleEcho gives back each line, as a bare pipe does.
const roleEcho = "stdiomcp-test-echo"

func echoLines(in io.Reader, out io.Writer) {
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		out.Write(line)
	}
}

// BenchmarkCall measures RoundTrip beside writing the same line to the same child and
// reading it back without a look at it: the rate as a part of the bare rate, as the
// median of rounds. The child echoes a response, since it gives back what it reads.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{100, 10_000, 500_000} {
		for _, callers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%d/c%d", size, callers), func(b *testing.B) {
				bare, stop := bareEcho(b)
				defer stop()
				tr := open(b, shell(b, "exec "+self(b)+" "+roleEcho), nil)
				id := int64(0)
				var mu sync.Mutex
				text := strings.Repeat("x", size)
				do := func() error {
					mu.Lock()
					id++
					req := request(modern, id, "x", "{}")
					mu.Unlock()
					req.Body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":"%s"}`, req.ID, text)
					_, err := tr.RoundTrip(context.Background(), req, new(recorder))
					return err
				}
				line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":"%s"}`+"\n", 1, text)
				n := max(callers, 20_000_000/(size+10_000))
				var ratios, times []float64
				for round := 0; b.Loop(); round++ {
					seconds := map[bool]float64{}
					for _, ours := range []bool{round%2 == 0, round%2 != 0} {
						began := time.Now()
						if ours {
							var group sync.WaitGroup
							for c := range callers {
								group.Go(func() {
									for i := c; i < n; i += callers {
										if err := do(); err != nil {
											b.Error(err)
											return
										}
									}
								})
							}
							group.Wait()
						} else {
							bare(line, n, callers)
						}
						seconds[ours] = time.Since(began).Seconds() / float64(n)
					}
					ratios = append(ratios, seconds[false]/seconds[true])
					times = append(times, seconds[false])
				}
				slices.Sort(ratios)
				slices.Sort(times)
				b.ReportMetric(ratios[len(ratios)/2], "rate/bare")
				b.ReportMetric(times[len(times)/2]*1e6, "bare-µs/call")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// bareEcho returns what sends a line n times, with that many under way at once.
func bareEcho(b *testing.B) (send func(line []byte, n, window int), stop func()) {
	cmd := exec.Command(self(b), roleEcho)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	r := bufio.NewReaderSize(out, 1<<20)
	send = func(line []byte, n, window int) {
		tokens := make(chan struct{}, window)
		go func() {
			for range n {
				tokens <- struct{}{}
				in.Write(line)
			}
		}()
		for range n {
			if _, err := r.ReadSlice('\n'); err != nil {
				b.Error(err)
				return
			}
			<-tokens
		}
	}
	return send, func() {
		in.Close()
		cmd.Wait()
	}
}
