package httpmcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
	"github.com/toolhost/toolhost/mcpclient"
	"github.com/toolhost/toolhost/redact"
)

// text is n bytes of JSON string content like that of a tool's answer: lines, and
// now and then an escape or a rune that is not ASCII.
func text(n int) string {
	const line = `The quick brown fox jumps over the lazy dog, and says so.\n`
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		if b.WriteString(line); i%6 == 5 {
			b.WriteString(`He said \"<b>no</b>\" & left a t\ttab, é.\n`)
		}
	}
	return strings.TrimRight(b.String()[:n], `\`)
}

// BenchmarkCall measures RoundTrip beside a bare keep-alive POST of the same body
// to the same server, whose answer is read whole: the rate of each way of calling
// as a part of the bare rate, as the median of rounds.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + text(size) + `"}]}}`)
		event := append(append([]byte("event: message\ndata: "), answer...), "\n\n"...)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if r.URL.Path == "/sse" {
				w.Header().Set("Content-Type", typeStream)
				w.WriteHeader(200)
				w.(http.Flusher).Flush()
				w.Write(event)
				return
			}
			w.Header().Set("Content-Type", typeJSON)
			w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
			w.Write(answer)
		}))
		bare := newRoundTripper(&ClientConfig{}, true)
		post := func() error {
			req, err := http.NewRequest(http.MethodPost, server.URL, bytes.NewReader(call(link(legacy)).Body))
			if err != nil {
				return err
			}
			req.Header.Set("Content-Type", typeJSON)
			req.Header.Set("Accept", acceptBoth)
			resp, err := bare.RoundTrip(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			_, err = readBody(resp.Body, resp.ContentLength, limit.Table{})
			return err
		}
		carrier := func(path string, rev *mcpclient.Revision) (func() error, *Transport) {
			t := New(redact.NewSecret(server.URL+path), nil)
			l := link(rev)
			if rev.Session {
				l.Session = redact.NewSecret("0b7c9d0e-5f4a-4c3b-9d8e-7f6a5b4c3d2e")
			}
			return func() error {
				_, err := t.RoundTrip(context.Background(), call(l), &listener{})
				return err
			}, t
		}
		asJSON, t1 := carrier("/", legacy)
		asModern, t2 := carrier("/", modern)
		asStream, t3 := carrier("/sse", legacy)
		for _, callers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%d/c%d", size, callers), func(b *testing.B) {
				ways := []struct {
					name string
					do   func() error
				}{{"bare", post}, {"json", asJSON}, {"modern", asModern}, {"sse", asStream}}
				times := make([][]float64, len(ways))
				for round := 0; b.Loop(); round++ { // the ways take turns at being first
					for i := range ways {
						i = (i + round) % len(ways)
						times[i] = append(times[i], slice(b, ways[i].do, callers, max(callers, 4_000_000/(size+20_000))))
					}
				}
				for i, way := range ways[1:] {
					ratios := make([]float64, len(times[0]))
					for round, bare := range times[0] {
						ratios[round] = bare / times[i+1][round]
					}
					slices.Sort(ratios)
					b.ReportMetric(ratios[len(ratios)/2], way.name+"/bare")
				}
				slices.Sort(times[0])
				b.ReportMetric(times[0][len(times[0])/2]*1e6, "bare-µs/call")
				b.ReportMetric(0, "ns/op")
			})
		}
		bare.CloseIdleConnections()
		for _, t := range []*Transport{t1, t2, t3} {
			t.Close(context.Background(), nil)
		}
		server.Close()
	}
}

// slice returns the seconds that a call took, of n calls by that many callers.
func slice(b *testing.B, do func() error, callers, n int) float64 {
	began := time.Now()
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
	return time.Since(began).Seconds() / float64(n)
}
