package rpc

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pack"
)

// BenchmarkInvoke measures invokes over a pair of pipes with a pack that answers
// its argument, against the least that any child does: read a line, write a line
// of the same length. "ratio" is the rate of the one over that of the other.
func BenchmarkInvoke(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		for _, callers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%d/%d", size, callers), func(b *testing.B) {
				requests := make([][]byte, callers)
				for i := range requests {
					requests[i] = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%04d,"method":"invoke","params":{"tool":"p/echo","arguments":{"text":%s}}}`+"\n",
						1000+i, realistic(size))
				}
				b.SetBytes(int64(size))
				b.ReportAllocs()

				bare := drive(b, requests, max(b.N, 4*callers), func(in io.Reader, out io.Writer) {
					r := bufio.NewReaderSize(in, 2*size)
					for {
						line, err := r.ReadSlice('\n')
						if err != nil {
							return
						}
						out.Write(line)
					}
				})
				perBare := bare / time.Duration(max(b.N, 4*callers))

				b.ResetTimer()
				full := drive(b, requests, b.N, func(in io.Reader, out io.Writer) {
					registry := pack.NewRegistry()
					if err := registry.Insert(echoInfo, nil); err != nil {
						b.Error(err)
					}
					if _, err := registry.Construct("test/echo", "p", nil, &pack.Host{}); err != nil {
						b.Error(err)
					}
					if err := Serve(context.Background(), in, out, registry, nil); err != nil {
						b.Error(err)
					}
				})
				b.StopTimer()
				b.ReportMetric(float64(perBare)/float64(full/time.Duration(b.N)), "ratio")
			})
		}
	}
}

// realistic returns a JSON string of that size: lines of text with a quote, a
// tab, a two-byte rune and markup now and then.
func realistic(size int) []byte {
	unit := strings.Repeat("The quick brown fox jumps over the lazy dog, again and again.\n", 5) + "It said \"é\"\tand <b>left</b> & so on."
	text := strings.Repeat(unit, size/len(unit)+1)[:size]
	return rawjson.Quote(strings.ToValidUTF8(text, "?"))
}

// drive sends n requests with len(requests) in flight to a child and returns how
// long that took from the first to the last answer.
func drive(b *testing.B, requests [][]byte, n int, child func(io.Reader, io.Writer)) time.Duration {
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		child(inRead, outWrite)
		inRead.Close()
		outWrite.Close()
	}()
	free := make(chan int, len(requests))
	for i := range requests {
		free <- i
	}
	start := time.Now()
	go func() {
		for range n {
			i := <-free
			if _, err := inWrite.Write(requests[i]); err != nil {
				b.Error(err)
				return
			}
		}
	}()
	out := bufio.NewReaderSize(outRead, 4<<20)
	for range n {
		line, err := out.ReadSlice('\n')
		if err != nil {
			b.Fatal(err)
		}
		at := bytes.Index(line, []byte(`"id":`)) + len(`"id":`)
		id, err := strconv.Atoi(string(line[at : at+4]))
		if err != nil || len(line) < len(requests[id-1000])/2 || bytes.Contains(line[:min(len(line), 100)], []byte(`"error"`)) {
			b.Fatalf("the answer %.200q (%v)", line, err)
		}
		free <- id - 1000
	}
	took := time.Since(start)
	inWrite.Close()
	if _, err := out.ReadByte(); err != io.EOF {
		b.Fatal(err)
	}
	outRead.Close()
	return took
}

var echoInfo = pack.Info{Name: "test/echo", ID: "p", New: func(string, pack.Raw, *pack.Host) (pack.Pack, error) { return echoPack{}, nil }}

// An echoPack answers the argument "text" in the escapes it came in.
type echoPack struct{}

func (echoPack) Tools() []pack.Tool          { return nil }
func (echoPack) Close(context.Context) error { return nil }
func (echoPack) Invoke(_ context.Context, call *pack.Call) (*pack.Result, error) {
	return &pack.Result{Content: rawjson.Members(call.Arguments).Get("text"), Untrusted: true}, nil
}
