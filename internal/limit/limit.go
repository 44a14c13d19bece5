package limit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Name identifies one limit. Its String is what users write in
// `--limit NAME=VALUE` and what errors and `data.limit` say.
type Name uint8

// The limits, in the order of the table. The comment of each row in rows says
// what happens when it is reached.
const (
	HostLine Name = iota
	ServerMessage
	SSEEvent
	SSEResponse
	StdioLine
	ErrorBody
	Drain
	DrainTime
	Gzip
	ResponseHeaders
	ResponseHeaderFields
	JSONDepth
	JSONKeys
	JSONItems
	Tools
	ListPages
	ListBytes
	ListTime
	ToolDefinition
	DescriptionShown
	TitleShown
	SchemaDepth
	SchemaSubschemas
	SchemaPattern
	SchemaTime
	CallsPerServer
	CallsTotal
	CallsWaiting
	OutputBytes
	OutputMessages
	ProgressRate
	RelistInterval
	StderrLine
	StderrTail
	StderrRate
	Servers
	ConnectionsPerServer
	ConnectionsTotal
	StartTime
	CallTime
	ServerTime
	BackoffFirst
	BackoffMax
	ReconnectFirst
	ReconnectMax
	ReconnectCalm
	RetryAfter
	SignInDocument
	SignInAnswer
	SignInRequestTime
	SignInRequests
	SignInWait
	ElicitRounds
	ElicitFields
	ElicitText
	ConfigFile
	ConfigEntry
	HeaderCount
	HeaderValue
	StopWait
	TermWait
	count
)

// A Unit says how a limit's value is written and shown.
type Unit uint8

// The units of limits.
const (
	Bytes    Unit = iota // written as 65536, 64KiB or 1MiB
	Count                // written as a plain integer
	Duration             // kept in milliseconds; written as 1s, 500ms or 2m
	Rate                 // events a second
	Switch               // 0 is off, 1 is on
)

// A Row is one limit: its identifier in the security map, its bounds, and what
// happens to the smallest thing that hits it.
type Row struct {
	ID      string // "L01"
	Name    Name
	Text    string // the name as users write it
	Unit    Unit
	Default int64
	Min     int64 // the override range; Min == Max means it cannot be changed
	Max     int64
	Effect  string // what happens at the limit
}

const (
	kib = 1 << 10
	mib = 1 << 20

	second = int64(time.Second / time.Millisecond)
	minute = 60 * second
)

// rows is indexed by Name; a test checks that.
var rows = [count]Row{
	{"L01", HostLine, "host_line", Bytes, 16 * mib, 64 * kib, 256 * mib, "the line is skipped and answered -32600"},
	{"L02", ServerMessage, "server_message", Bytes, 16 * mib, 64 * kib, 256 * mib, "the call fails and the connection is closed unread"},
	{"L03", SSEEvent, "sse_event", Bytes, 16 * mib, 64 * kib, 256 * mib, "the call fails and the connection is closed unread"},
	{"L04", SSEResponse, "sse_response", Bytes, 64 * mib, 1 * mib, 1024 * mib, "the call fails and the connection is closed unread"},
	{"L05", StdioLine, "stdio_line", Bytes, 16 * mib, 64 * kib, 256 * mib, "the connection to that server fails and its process is ended"},
	{"L06", ErrorBody, "error_body", Bytes, 64 * kib, 0, 1 * mib, "the rest of an error body is not read"},
	{"L07", Drain, "drain", Bytes, 64 * kib, 64 * kib, 64 * kib, "the connection is closed instead of being drained"},
	{"L07", DrainTime, "drain_time", Duration, 100, 100, 100, "the connection is closed instead of being drained"},
	{"L08", Gzip, "gzip", Switch, 0, 0, 1, "off: compressed answers are refused; on: gzip is asked for and the size after expansion is bounded"},
	{"L09", ResponseHeaders, "response_headers", Bytes, 256 * kib, 16 * kib, 1 * mib, "the call fails"},
	{"L09", ResponseHeaderFields, "response_header_fields", Count, 200, 200, 200, "the call fails"},
	{"L11", JSONDepth, "json_depth", Count, 512, 64, 2000, "the message is refused before it is decoded"},
	{"L12", JSONKeys, "json_keys", Count, 100_000, 100_000, 100_000, "the message is refused"},
	{"L12", JSONItems, "json_items", Count, 1_000_000, 1_000_000, 1_000_000, "the message is refused"},
	{"L13", Tools, "tools", Count, 10_000, 1, 100_000, "the first tools are kept and the status says that the list was cut"},
	{"L14", ListPages, "list_pages", Count, 1000, 1, 16_000, "listing stops, what was read is kept and the status says so"},
	{"L14", ListBytes, "list_bytes", Bytes, 32 * mib, 64 * kib, 512 * mib, "listing stops, what was read is kept and the status says so"},
	{"L14", ListTime, "list_time", Duration, 2 * minute, second, 32 * minute, "listing stops, what was read is kept and the status says so"},
	{"L15", ToolDefinition, "tool_definition", Bytes, 256 * kib, 16 * kib, 2 * mib, "that tool is left out"},
	{"L16", DescriptionShown, "description_shown", Bytes, 2 * kib, 2 * kib, 2 * kib, "a text shown to people is cut with a mark"},
	{"L16", TitleShown, "title_shown", Bytes, 128, 128, 128, "a title shown to people is cut with a mark"},
	{"L17", SchemaDepth, "schema_depth", Count, 64, 1, 256, "results of that tool are not checked against its output schema"},
	{"L17", SchemaSubschemas, "schema_subschemas", Count, 5000, 1, 20_000, "results of that tool are not checked against its output schema"},
	{"L17", SchemaPattern, "schema_pattern", Bytes, 1 * kib, 1, 4 * kib, "results of that tool are not checked against its output schema"},
	{"L18", SchemaTime, "schema_time", Duration, 50, 5, 1000, "that result is not checked against the tool's output schema"},
	{"L21", CallsPerServer, "calls_per_server", Count, 256, 1, 4096, "further calls wait"},
	{"L21", CallsTotal, "calls_total", Count, 1024, 1, 4096, "further calls wait"},
	{"L22", CallsWaiting, "calls_waiting", Count, 1024, 0, 65_536, "the call is refused at once as overloaded"},
	{"L23", OutputBytes, "output_bytes", Bytes, 8 * mib, 1 * mib, 256 * mib, "stdin is not read until the host reads stdout"},
	{"L23", OutputMessages, "output_messages", Count, 4096, 1, 65_536, "stdin is not read until the host reads stdout"},
	{"L24", ProgressRate, "progress_rate", Rate, 20, 0, 1000, "progress of a call is merged, the newest is kept"},
	{"L25", RelistInterval, "relist_interval", Duration, 2 * second, 2 * second, 2 * second, "list changes are merged"},
	{"L26", StderrLine, "stderr_line", Bytes, 8 * kib, 256, 128 * kib, "the rest of a line of a server's stderr is dropped"},
	{"L26", StderrTail, "stderr_tail", Bytes, 64 * kib, 1 * kib, 1 * mib, "the oldest of a server's stderr is forgotten"},
	{"L26", StderrRate, "stderr_rate", Rate, 200, 0, 3200, "further lines of a server's stderr are not logged in that second, but counted"},
	{"L28", Servers, "servers", Count, 128, 1, 1024, "further entries, in name order, are refused"},
	{"L29", ConnectionsPerServer, "connections_per_server", Count, 256, 1, 4096, "further calls wait"},
	{"L29", ConnectionsTotal, "connections_total", Count, 1024, 1, 4096, "further calls wait"},
	{"L32", StartTime, "start_time", Duration, 2 * minute, second, 10 * minute, "the start fails and is tried again"},
	{"L33", CallTime, "call_time", Duration, 5 * minute, second, 60 * minute, "the call ends as a transport error and the server is told"},
	{"L33", ServerTime, "server_time", Duration, minute, second, 60 * minute, "connecting or listing fails and is tried again; the call ends as a transport error"},
	{"L35", BackoffFirst, "backoff_first", Duration, second, second, second, "the wait before the first retry of a start"},
	{"L35", BackoffMax, "backoff_max", Duration, minute, minute, minute, "the longest wait between two starts"},
	{"L35", ReconnectFirst, "reconnect_first", Duration, 500, 500, 500, "the wait before the first new connection to a server"},
	{"L35", ReconnectMax, "reconnect_max", Duration, 30 * second, 30 * second, 30 * second, "the longest wait between two connections"},
	{"L35", ReconnectCalm, "reconnect_calm", Duration, 30 * second, 30 * second, 30 * second, "how long a connection must stay open for the waits to begin anew"},
	{"L36", RetryAfter, "retry_after", Duration, minute, 0, minute, "a longer Retry-After is an error"},
	{"L37", SignInDocument, "signin_document", Bytes, 1 * mib, 1 * mib, 1 * mib, "the sign-in fails"},
	{"L37", SignInAnswer, "signin_answer", Bytes, 64 * kib, 64 * kib, 64 * kib, "the sign-in, or the renewal of a token, fails"},
	{"L37", SignInRequestTime, "signin_request_time", Duration, 10 * second, second, minute, "the sign-in, or the renewal of a token, fails"},
	{"L37", SignInRequests, "signin_requests", Count, 8, 8, 8, "the sign-in fails"},
	{"L38", SignInWait, "signin_wait", Duration, 5 * minute, 30 * second, 30 * minute, "the sign-in ends without a token and its port is closed"},
	{"L39", ElicitRounds, "elicit_rounds", Count, 5, 5, 5, "the call ends with an error"},
	{"L39", ElicitFields, "elicit_fields", Count, 50, 50, 50, "the question is declined"},
	{"L39", ElicitText, "elicit_text", Bytes, 8 * kib, 8 * kib, 8 * kib, "the question is declined"},
	{"L40", ConfigFile, "config_file", Bytes, 1 * mib, 1 * mib, 1 * mib, "the file is refused"},
	{"L40", ConfigEntry, "config_entry", Bytes, 64 * kib, 64 * kib, 64 * kib, "that entry is refused"},
	{"L40", HeaderCount, "header_count", Count, 64, 64, 64, "that entry is refused"},
	{"L40", HeaderValue, "header_value", Bytes, 16 * kib, 16 * kib, 16 * kib, "that entry is refused"},
	{"L44", StopWait, "stop_wait", Duration, 1500, 0, 10 * second, "a server's process that has not ended after its stdin gets SIGTERM"},
	{"L44", TermWait, "term_wait", Duration, second, 0, 10 * second, "a server's process that has not ended after SIGTERM is killed"},
}

// Rows returns the whole table, in order, for help texts and tests.
func Rows() []Row { return append([]Row(nil), rows[:]...) }

// Row returns the limit's row.
func (n Name) Row() Row { return rows[n] }

func (n Name) String() string { return rows[n].Text }

// A Table holds the value of every limit. The zero Table is the defaults, so a
// struct with a Table in it works without being told.
type Table struct {
	overrides map[Name]int64 // nil for the defaults; never written after With
}

// Int returns the value as a number: bytes, a count, a rate, or 0 and 1.
func (t Table) Int(n Name) int {
	if v, ok := t.overrides[n]; ok {
		return int(v)
	}
	return int(rows[n].Default)
}

// On reports whether a Switch is on.
func (t Table) On(n Name) bool { return t.Int(n) != 0 }

// Time returns the value of a Duration.
func (t Table) Time(n Name) time.Duration {
	return time.Duration(t.Int(n)) * time.Millisecond
}

// With returns a Table in which the limit named by "NAME=VALUE" has that value.
// The error names the limits that exist or the range that is allowed.
func (t Table) With(setting string) (Table, error) {
	text, value, ok := strings.Cut(setting, "=")
	if !ok {
		return t, fmt.Errorf("limit %q: want NAME=VALUE, as in %s=%s", setting, HostLine, HostLine.Row().Format(32*mib))
	}
	for _, row := range rows {
		if row.Text != text {
			continue
		}
		v, err := row.parse(value)
		if err != nil {
			return t, fmt.Errorf("limit %s: %q is no %s", text, value, row.Unit.wanted())
		}
		if v < row.Min || v > row.Max {
			return t, fmt.Errorf("limit %s: %s is outside %s to %s", text, row.Format(v), row.Format(row.Min), row.Format(row.Max))
		}
		next := make(map[Name]int64, len(t.overrides)+1)
		for n, v := range t.overrides {
			next[n] = v
		}
		next[row.Name] = v
		return Table{overrides: next}, nil
	}
	names := make([]string, 0, len(rows))
	for _, row := range rows {
		if row.Min != row.Max {
			names = append(names, row.Text)
		}
	}
	return t, fmt.Errorf("limit %q is unknown; known: %s", text, strings.Join(names, ", "))
}

// Format shows the limit's value in this Table as a user may write it.
func (t Table) Format(n Name) string { return rows[n].Format(int64(t.Int(n))) }

// Exceeded returns the error for a limit that was hit. where says what hit it,
// in the words of the one who has to act ("the answer", "server entry").
func (t Table) Exceeded(n Name, where string) *Error {
	return &Error{Name: n, Value: t.Format(n), Where: where}
}

// An Error says that a limit was hit. It fails only the thing it names.
type Error struct {
	Name  Name
	Value string // the limit's value, formatted
	Where string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s exceeds the limit %s (%s)", e.Where, e.Name, e.Value)
}

func (u Unit) wanted() string {
	switch u {
	case Bytes:
		return "size (write 65536, 64KiB or 16MiB)"
	case Duration:
		return "time (write 500ms, 30s or 2m)"
	case Switch:
		return "switch (write 0 or 1)"
	default:
		return "whole number"
	}
}

var sizes = []struct {
	suffix string
	factor int64
}{{"MiB", mib}, {"KiB", kib}, {"", 1}}

func (r Row) parse(s string) (int64, error) {
	if r.Unit == Duration {
		d, err := time.ParseDuration(s)
		return int64(d / time.Millisecond), err
	}
	factor := int64(1)
	if r.Unit == Bytes {
		for _, size := range sizes {
			if rest, ok := strings.CutSuffix(s, size.suffix); ok {
				s, factor = rest, size.factor
				break
			}
		}
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err == nil && v > (1<<62)/factor {
		err = strconv.ErrRange
	}
	return v * factor, err
}

// Format shows a value of this limit as a user may write it.
func (r Row) Format(v int64) string {
	switch r.Unit {
	case Duration:
		return (time.Duration(v) * time.Millisecond).String()
	case Bytes:
		for _, size := range sizes {
			if v >= size.factor && v%size.factor == 0 && size.suffix != "" {
				return fmt.Sprintf("%d%s", v/size.factor, size.suffix)
			}
		}
		return fmt.Sprintf("%d", v)
	default:
		return strconv.FormatInt(v, 10)
	}
}
