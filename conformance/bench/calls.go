package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/toolhost/toolhost/conformance/internal/child"
)

// A participant makes calls, many side by side.
type participant interface {
	// prepare sets the size that call asks for.
	prepare(size int)
	// call makes one call and checks its answer. worker is below the number of
	// calls in flight.
	call(ctx context.Context, worker int) error
	// pid is the process whose CPU counts.
	pid() int
}

// A sample is what one slice gave.
type sample struct {
	rate float64       // calls a second
	cpu  time.Duration // of the participant's process, for one call
}

// calls measures every cell and prints the table.
func (b *bench) calls(ctx context.Context) error {
	bare := newBare(b.url, b.op)
	hosted, err := newHosted(ctx, b.toolhost, b.url, b.op)
	if err != nil {
		return err
	}
	defer hosted.child.Stop(5 * time.Second)
	fmt.Fprintf(b.out, "\none invoke beside a bare POST (%s, %d rounds of %v; ratios are medians of rounds)\n", b.op, b.rounds, b.slice)
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "size\tin flight\tPOST/s\tinvoke/s\trate ÷ POST\tPOST CPU µs\tinvoke CPU µs\tCPU ÷ POST\t")
	for _, size := range sizes {
		for _, flight := range []int{1, 16} {
			bare.prepare(size.bytes)
			hosted.prepare(size.bytes)
			pairs, err := b.cell(ctx, flight, bare, hosted)
			if err != nil {
				return fmt.Errorf("%s, %d in flight: %w", size.name, flight, err)
			}
			column := func(value func(p [2]sample) float64) float64 { return median(pairs, value) }
			micro := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
			fmt.Fprintf(w, "%s\t%d\t%.0f\t%.0f\t%.2f\t%.0f\t%.0f\t%.2f\t\n", size.name, flight,
				column(func(p [2]sample) float64 { return p[0].rate }),
				column(func(p [2]sample) float64 { return p[1].rate }),
				column(func(p [2]sample) float64 { return p[1].rate / p[0].rate }),
				column(func(p [2]sample) float64 { return micro(p[0].cpu) }),
				column(func(p [2]sample) float64 { return micro(p[1].cpu) }),
				column(func(p [2]sample) float64 { return float64(p[1].cpu) / float64(p[0].cpu) }))
		}
	}
	return w.Flush()
}

// cell measures both participants in turn, after a warm-up, and returns a pair for
// each round. Which one begins alternates.
func (b *bench) cell(ctx context.Context, flight int, both ...participant) ([][2]sample, error) {
	for _, p := range both {
		if _, err := measure(ctx, p, flight, b.slice/2); err != nil {
			return nil, err
		}
	}
	pairs := make([][2]sample, b.rounds)
	for round := range pairs {
		for turn := range both {
			who := (turn + round) % len(both)
			s, err := measure(ctx, both[who], flight, b.slice)
			if err != nil {
				return nil, err
			}
			pairs[round][who] = s
		}
	}
	return pairs, nil
}

// measure lets a participant call in a closed loop for a while.
func measure(ctx context.Context, p participant, flight int, length time.Duration) (sample, error) {
	before, err := child.UsageOf(p.pid())
	if err != nil {
		return sample{}, err
	}
	var calls atomic.Int64
	var workers sync.WaitGroup
	problems := make([]error, flight)
	begin := time.Now()
	for worker := range flight {
		workers.Go(func() {
			for time.Since(begin) < length && problems[worker] == nil {
				problems[worker] = p.call(ctx, worker)
				calls.Add(1)
			}
		})
	}
	workers.Wait()
	took := time.Since(begin)
	after, err := child.UsageOf(p.pid())
	if err := errors.Join(append(problems, err)...); err != nil {
		return sample{}, err
	}
	n := calls.Load()
	return sample{float64(n) / took.Seconds(), (after.CPU - before.CPU) / time.Duration(n)}, nil
}

// bare posts the message of a call over kept connections. It runs in this process.
type bare struct {
	url, op string
	client  *http.Client
	message []byte
	length  int64 // of the answer
	buffers sync.Pool
}

func newBare(url, op string) *bare {
	return &bare{url: url, op: op, client: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 256, DisableCompression: true, ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10,
	}}, buffers: sync.Pool{New: func() any { return new([]byte) }}}
}

func (p *bare) pid() int { return os.Getpid() }

func (p *bare) prepare(size int) {
	p.message = []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + p.op + `","arguments":` + arguments(p.op, size) + `}}`)
	p.length = int64(len(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":}]}}`) + len(literal(payload(size))))
}

func (p *bare) call(ctx context.Context, _ int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(p.message))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Session-Id", session)
	req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.ContentLength != p.length {
		return fmt.Errorf("the answer has %d bytes, not %d", resp.ContentLength, p.length)
	}
	buffer := p.buffers.Get().(*[]byte)
	defer p.buffers.Put(buffer)
	if int64(cap(*buffer)) < p.length {
		*buffer = make([]byte, p.length)
	}
	if _, err := io.ReadFull(resp.Body, (*buffer)[:p.length]); err != nil {
		return err
	}
	_, err = resp.Body.Read((*buffer)[:1]) // the end, so that the connection is kept
	if err != io.EOF {
		return fmt.Errorf("more than the answer came: %w", err)
	}
	return nil
}

// hosted invokes the tool through a toolhost child.
type hosted struct {
	op      string
	child   *child.Child
	size    int
	head    []byte // of an answer, up to the id
	params  string
	want    int // length of the answer without its id; 0 until the first one is checked
	mu      sync.Mutex
	nextID  int64
	waiting map[int64]chan error // guarded by mu
}

func newHosted(ctx context.Context, toolhost, url, op string) (*hosted, error) {
	p := &hosted{op: op, head: []byte(`{"jsonrpc":"2.0","id":`), waiting: map[int64]chan error{}, nextID: 1_000_000}
	ready := make(chan struct{})
	var err error
	p.child, err = child.Start(toolhost, child.Options{Take: p.take, Notify: whenReady(1, func() { close(ready) })})
	if err != nil {
		return nil, err
	}
	if _, err := p.child.Call(ctx, "construct", constructOver(url)); err != nil {
		return nil, err
	}
	select {
	case <-ready:
		return p, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p *hosted) pid() int { return p.child.PID() }

func (p *hosted) prepare(size int) {
	p.size, p.want = size, 0
	p.params = `,"method":"invoke","params":{"tool":"mcp/call_dynamic_tool","arguments":{"namespace":"server0","toolName":"` + p.op + `","arguments":` + arguments(p.op, size) + `}}}`
}

func (p *hosted) call(ctx context.Context, _ int) error {
	answer := make(chan error, 1)
	p.mu.Lock()
	p.nextID++
	id := p.nextID
	p.waiting[id] = answer
	p.mu.Unlock()
	if err := p.child.Write(string(p.head) + strconv.FormatInt(id, 10) + p.params); err != nil {
		return err
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take takes the answers to calls without decoding them: the first of a size is
// decoded and compared, the others must be as long.
func (p *hosted) take(message []byte) bool {
	rest, ok := bytes.CutPrefix(message, p.head)
	end := bytes.IndexByte(rest, ',')
	if !ok || end < 0 {
		return false
	}
	id, err := strconv.ParseInt(string(rest[:end]), 10, 64)
	if err != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := p.waiting[id]
	if answer == nil {
		return false
	}
	delete(p.waiting, id)
	switch length := len(rest) - end; {
	case p.want == 0:
		err = p.compare(message)
		p.want = length
	case length != p.want:
		err = fmt.Errorf("an answer of %d bytes, not %d: %.200s", length, p.want, message)
	}
	answer <- err
	return true
}

// compare checks a whole answer.
func (p *hosted) compare(message []byte) error {
	var m struct {
		Result struct{ Content string }
		Error  json.RawMessage
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return err
	}
	if m.Result.Content != payload(p.size) {
		return fmt.Errorf("not the text that was asked for: %.300s", message)
	}
	return nil
}

// arguments are what the tool gets.
func arguments(op string, size int) string {
	if op == "blob" {
		return `{"size":` + strconv.Itoa(size) + `}`
	}
	return `{"text":` + string(literal(payload(size))) + `}`
}
