package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/toolhost/toolhost/internal/limit"
)

// A reading is all that a stream gives.
type reading struct {
	events     []event
	unfinished *event
	lastID     string
	retry      time.Duration
	hasRetry   bool
	err        error
}

type event struct{ kind, data, id string }

func read(r io.Reader, limits limit.Table, opts Options) reading {
	d := NewDecoder(r, limits, opts)
	var got reading
	for {
		e, err := d.Next()
		if err != nil {
			got.err = err
			break
		}
		got.events = append(got.events, event{e.Type, string(e.Data), d.LastID()})
	}
	if e, ok := d.Unfinished(); ok {
		got.unfinished = &event{e.Type, string(e.Data), d.LastID()}
	}
	got.lastID = d.LastID()
	got.retry, got.hasRetry = d.Retry()
	return got
}

// reference follows the text of WHATWG HTML 9.2.6 word by word, on the whole
// stream at once, with no thought of speed.
func reference(stream string) reading {
	stream = strings.TrimPrefix(stream, "\xef\xbb\xbf")
	stream = strings.ReplaceAll(stream, "\r\n", "\n")
	lines := strings.Split(strings.ReplaceAll(stream, "\r", "\n"), "\n")
	lines, rest := lines[:len(lines)-1], lines[len(lines)-1]
	got := reading{err: io.EOF}
	var data, kind, id string
	process := func(line string) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data += value + "\n"
		case "event":
			kind = value
		case "id":
			if !strings.Contains(value, "\x00") {
				id = value
			}
		case "retry":
			if value != "" && strings.Trim(value, "0123456789") == "" {
				got.hasRetry = true
				ms, err := strconv.ParseInt(value, 10, 64)
				if err != nil || ms > math.MaxInt64/int64(time.Millisecond)/100 {
					ms = math.MaxInt64 / int64(time.Millisecond) / 100
				}
				got.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
	for _, line := range lines {
		if line != "" {
			process(line)
			continue
		}
		got.lastID = id
		if data = strings.TrimSuffix(data, "\n"); data != "" { // our one departure: "" is no event
			got.events = append(got.events, event{kind, data, id})
		}
		data, kind = "", ""
	}
	if rest != "" {
		process(rest)
	}
	if data = strings.TrimSuffix(data, "\n"); data != "" {
		got.unfinished = &event{kind, data, got.lastID}
	}
	return got
}

var streams = []struct {
	name, stream string
	want         []event
}{
	{"B033 lines end in CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []event{{"", "a", ""}, {"", "b", ""}}},
	{"B035 lines end in CR", "data: a\r\rdata: b\r\r", []event{{"", "a", ""}, {"", "b", ""}}},
	{"line ends mixed", "data: a\r\n\ndata: b\n\rdata: c\r\r\ndata: d\n\n", []event{{"", "a", ""}, {"", "b", ""}, {"", "c", ""}, {"", "d", ""}}},
	{"B037 nine data lines", "data: {\ndata:  1\ndata:2\ndata: 3\ndata: 4\ndata: 5\ndata: 6\ndata: 7\ndata: }\n\n", []event{{"", "{\n 1\n2\n3\n4\n5\n6\n7\n}", ""}}},
	{"B039 priming event has an id and empty data", "id: 0\nretry: 500\ndata:\n\ndata: x\n\n", []event{{"", "x", "0"}}},
	{"B041 odd fields", "foo: x\ndata:{}\nevent: message\nnocolon\n: note\n\n", []event{{"message", "{}", ""}}},
	{"B043 byte order mark", "\xef\xbb\xbfdata: a\n\n", []event{{"", "a", ""}}},
	{"second byte order mark is a field's name", "\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", []event{{"", "b", ""}}},
	{"two empty data lines are one LF", "data\ndata\n\n", []event{{"", "\n", ""}}},
	{"only one space is taken", "data:  a\n\ndata:\tb\n\n", []event{{"", " a", ""}, {"", "\tb", ""}}},
	{"colons in the value", "data: a:b: c\n\n", []event{{"", "a:b: c", ""}}},
	{"name is case-sensitive and has no space", "DATA: a\ndata : b\n data: c\n\n", nil},
	{"id stays until another comes", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", []event{{"", "a", "1"}, {"", "b", "1"}, {"", "c", ""}}},
	{"id with NUL is ignored", "id: 1\n\nid: a\x00b\ndata: a\n\n", []event{{"", "a", "1"}}},
	{"type is forgotten", "event: x\n\ndata: a\n\nevent: y\ndata: b\n\ndata: c\n\n", []event{{"", "a", ""}, {"y", "b", ""}, {"", "c", ""}}},
	{"retry with other than digits is ignored", "retry: 7\nretry: 1.5\nretry: -1\nretry:\nretry:  8\ndata: a\n\n", []event{{"", "a", ""}}},
	{"retry without end", "retry: 99999999999999999999999\n\n", nil},
	{"comments between data lines", "data: a\n:\n: x\ndata: b\n\n", []event{{"", "a\nb", ""}}},
	{"B045 no blank line at the end", "data: a\n\nid: 9\ndata: b\n", []event{{"", "a", ""}}},
	{"ends within a line", "data: a\n\ndata: b", []event{{"", "a", ""}}},
	{"ends within a CRLF", "data: a\r\n\r", []event{{"", "a", ""}}},
	{"B047 ends after a comment", ": hi\n\n", nil},
	{"blank lines", "\n\r\n\r\r\n\n", nil},
	{"nothing", "", nil},
	{"a part of the byte order mark", "\xef\xbb", nil},
	{"split runes", "data: gr\xc3\xb6\xc3\x9fe \xe4\xb8\x96\n\n", []event{{"", "größe 世", ""}}},
	{"bytes that are not UTF-8 are left to the reader of the data", "data: \xff\n\n", []event{{"", "\xff", ""}}},
	{"a long line after others", "data: a\n\ndata: " + strings.Repeat("x", 3*firstSize) + "\ndata: y\n\n", []event{{"", "a", ""}, {"", strings.Repeat("x", 3*firstSize) + "\ny", ""}}},
}

func TestStreams(t *testing.T) {
	for _, test := range streams {
		t.Run(test.name, func(t *testing.T) {
			whole := read(strings.NewReader(test.stream), limit.Table{}, Options{})
			if !reflect.DeepEqual(whole.events, test.want) {
				t.Errorf("got %q, want %q", whole.events, test.want)
			}
			if want := reference(test.stream); !reflect.DeepEqual(whole, want) {
				t.Errorf("got %+v, the reference reads %+v", whole, want)
			}
			for at := range len(test.stream) + 1 {
				r := io.MultiReader(strings.NewReader(test.stream[:at]), strings.NewReader(test.stream[at:]))
				if got := read(r, limit.Table{}, Options{}); !reflect.DeepEqual(got, whole) {
					t.Fatalf("split at %d: got %+v, want %+v", at, got, whole)
				}
			}
			for name, wrap := range map[string]func(io.Reader) io.Reader{
				"byte by byte": iotest.OneByteReader, "end with the last bytes": iotest.DataErrReader, "halves": iotest.HalfReader,
			} {
				if got := read(wrap(strings.NewReader(test.stream)), limit.Table{}, Options{}); !reflect.DeepEqual(got, whole) {
					t.Errorf("%s: got %+v, want %+v", name, got, whole)
				}
			}
		})
	}
}

// A line end that is the last byte so far must not hold its line back.
func TestB035_CRDoesNotDelay(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	go w.Write([]byte("data: a\r\r")) // and then silence
	e, err := NewDecoder(r, limit.Table{}, Options{}).Next()
	if err != nil || string(e.Data) != "a" {
		t.Fatalf("got %q, %v", e.Data, err)
	}
}

func TestResumedStreamKeepsItsID(t *testing.T) {
	got := read(strings.NewReader("data: a\n\nid: 8\ndata: b\n\n"), limit.Table{}, Options{LastID: "7"})
	if want := []event{{"", "a", "7"}, {"", "b", "8"}}; !reflect.DeepEqual(got.events, want) {
		t.Errorf("got %q, want %q", got.events, want)
	}
}

func TestUnfinished(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name, stream string
		err          error
		want         string
	}{
		{"after the data line", "data: {}\n", io.EOF, "{}"},
		{"within the data line", "data: {}", io.EOF, "{}"},
		{"the connection broke", "data: a\ndata: b", broken, "a\nb"},
		{"within the field's name", "data: a\ndat", io.EOF, "a"},
		{"nothing begun", "data: a\n\n", io.EOF, ""},
		{"no data", "id: 1\n", io.EOF, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := NewDecoder(io.MultiReader(strings.NewReader(test.stream), iotest.ErrReader(test.err)), limit.Table{}, Options{})
			for {
				if _, err := d.Next(); err != nil {
					if err != test.err {
						t.Errorf("got error %v, want %v", err, test.err)
					}
					break
				}
			}
			e, ok := d.Unfinished()
			if string(e.Data) != test.want || ok != (test.want != "") {
				t.Errorf("got %q, %v, want %q", e.Data, ok, test.want)
			}
			if _, again := d.Unfinished(); again && test.want == "" {
				t.Error("an event came the second time")
			}
		})
	}
}

// An endless reader gives pattern without end and counts what was taken.
type endless struct {
	pattern string
	at      int
	read    int
}

func (e *endless) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		k := copy(p[n:], e.pattern[e.at:])
		n, e.at = n+k, (e.at+k)%len(e.pattern)
	}
	e.read += len(p)
	return len(p), nil
}

func table(t testing.TB, settings ...string) limit.Table {
	var table limit.Table
	for _, s := range settings {
		var err error
		if table, err = table.With(s); err != nil {
			t.Fatal(err)
		}
	}
	return table
}

func TestL03_L04_Limits(t *testing.T) {
	small := table(t, "sse_event=64KiB", "sse_response=1MiB")
	for _, test := range []struct {
		name, pattern string
		limits        limit.Table
		want          limit.Name
		most          int // bytes taken from the server
	}{
		{"L03 at its default: a line without end", "x", limit.Table{}, limit.SSEEvent, 33 << 20},
		{"L03 a line without end", "x", small, limit.SSEEvent, 256 << 10},
		{"L03 a comment without end", ":", small, limit.SSEEvent, 256 << 10},
		{"L03 data lines without end", "data: abc\n", small, limit.SSEEvent, 256 << 10},
		{"L03 id lines without end", "id: abc\n", small, limit.SSEEvent, 256 << 10},
		{"L04 at its default: events without end", "data: abc\n\n", limit.Table{}, limit.SSEResponse, 65 << 20},
		{"L04 events without end", "data: abc\n\n", small, limit.SSEResponse, 2 << 20},
		{"L04 comments without end", ": keep\n", small, limit.SSEResponse, 2 << 20},
		{"L04 blank lines ended by CR without end", "\r", small, limit.SSEResponse, 2 << 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &endless{pattern: strings.Repeat(test.pattern, 4096)}
			d := NewDecoder(r, test.limits, Options{})
			var err error
			for err == nil {
				_, err = d.Next()
			}
			var over *limit.Error
			if !errors.As(err, &over) || over.Name != test.want {
				t.Errorf("got %v, want the limit %s", err, test.want)
			}
			if r.read > test.most {
				t.Errorf("took %d bytes, want at most %d", r.read, test.most)
			}
			if _, again := d.Next(); again == nil {
				t.Error("the stream goes on after its limit")
			}
			if _, ok := d.Unfinished(); ok {
				t.Error("what exceeded the limit is handed out")
			}
		})
	}
}

func TestL03_ExactSize(t *testing.T) {
	limits := table(t, "sse_event=64KiB")
	for _, test := range []struct {
		size int
		ok   bool
	}{{64<<10 - len("data: "), true}, {64<<10 - len("data: ") + 1, false}} {
		got := read(strings.NewReader("data: "+strings.Repeat("x", test.size)+"\n\n"), limits, Options{})
		if (len(got.events) == 1) != test.ok {
			t.Errorf("%d bytes: got %d events, %v", test.size, len(got.events), got.err)
		}
	}
}

// A stream for a session is not bounded as a whole, nor by its keep-alives, and
// its memory does not grow with them.
func TestEndlessStreamIsNotBounded(t *testing.T) {
	limits := table(t, "sse_event=64KiB", "sse_response=1MiB")
	r := io.MultiReader(
		io.LimitReader(&endless{pattern: "data: abc\n\n"}, 11<<20),
		strings.NewReader("data: a\n"), io.LimitReader(&endless{pattern: ": keep\n"}, 7<<20), strings.NewReader("data: b\n\n"))
	d := NewDecoder(r, limits, Options{Endless: true})
	var last string
	for {
		e, err := d.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = string(e.Data)
	}
	if last != "a\nb" {
		t.Errorf("the last event is %q", last)
	}
	if len(d.buf.b) > 8<<10 {
		t.Errorf("the buffer grew to %d bytes", len(d.buf.b))
	}
}

func TestSingleLineIsNotCopied(t *testing.T) {
	d := NewDecoder(strings.NewReader("data: "+strings.Repeat("x", 100)+"\n\n"), limit.Table{}, Options{})
	e, err := d.Next()
	if err != nil {
		t.Fatal(err)
	}
	if &e.Data[0] != &d.buf.b[len("data: ")] {
		t.Error("the data is not the buffer's")
	}
}

func TestLinesCostNoAllocation(t *testing.T) {
	lines := strings.Repeat(": keep\nevent: message\nid: 7\nretry: 5\ndata: {\ndata: }\n\n", 100)
	r := strings.NewReader(lines)
	d := NewDecoder(r, limit.Table{}, Options{Endless: true})
	if _, err := d.Next(); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := d.Next(); err == io.EOF {
			d.buf.err = nil
			r.Reset(lines)
		}
	}); n > 0 {
		t.Errorf("%v allocations an event", n)
	}
}

func FuzzDecoder(f *testing.F) {
	for _, test := range streams {
		f.Add([]byte(test.stream), uint16(3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, at uint16) {
		want := reference(string(stream))
		split := min(int(at), len(stream))
		got := read(io.MultiReader(bytes.NewReader(stream[:split]), bytes.NewReader(stream[split:])), limit.Table{}, Options{})
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q split at %d:\n got %+v\nwant %+v", stream, split, got, want)
		}
	})
}

func BenchmarkDecoder(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			stream := "event: message\ndata: " + strings.Repeat("x", size) + "\n\n"
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := NewDecoder(strings.NewReader(stream), limit.Table{}, Options{}).Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
