package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/conformance/fakeserver"
)

// This file plays the area "Host protocol on our own stdin and stdout": faultserver
// is the host that drives our child, and reports what it saw.

// A hostRun is one run of a host.
type hostRun struct {
	framing string   // newline (when empty) or lsp
	pre     []string // sent first, each after the answer to the one before; nil for start
	call    string   // the params of one invoke; "" for echo
	script  []string // what the run sends, for modes that take it
	flags   []string // further flags of faultserver
	serve   []string // further flags of toolhost serve
}

// A report is what the host saw; the fields are described in faultserver.
type report struct {
	Sent, Replies, Duplicates, Errors, Notifs int
	Missing, Unknown, Orphans, Sample         []string
	BadLines                                  int    `json:"bad_lines"`
	FirstBad                                  string `json:"first_bad"`
	Exited                                    bool
	ExitCode                                  int `json:"exit_code"`
	Signal                                    string
	ExitMs                                    int64  `json:"exit_ms"`
	CPUMs                                     int64  `json:"cpu_ms"`
	MaxRSSKB                                  int64  `json:"max_rss_kb"`
	StderrTail                                string `json:"stderr_tail"`
	Note                                      string
}

// The params of an invoke of a tool of the server "good".
func invoke(tool, arguments string) string {
	return `{"tool":"mcp/call_dynamic_tool","arguments":{"namespace":"good","toolName":"` + tool + `","arguments":` + arguments + `}}`
}

// start are the messages that construct the pack over a healthy server. The host
// waits at least 10 ms for each answer, so that the server is ready at the end.
func start(url string) []string {
	lines := []string{`{"jsonrpc":"2.0","id":9000,"method":"construct","params":{"pack":"runvil/mcp","config":{"good":{"url":"` + url + `"}}}}`}
	for i := range 50 {
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ready","params":{"id":"mcp"}}`, 9001+i))
	}
	return lines
}

// host plays one run against a healthy server and returns what both saw.
func (t *trial) host(run hostRun) (r report, server *fakeserver.Ledger) {
	s, err := fakeserver.Start(fakeserver.Options{Era: fakeserver.Modern})
	if t.fail(err) {
		return r, &fakeserver.Ledger{}
	}
	defer s.Close()
	pre := run.pre
	if pre == nil {
		pre = start(s.URL())
	}
	call := run.call
	if call == "" {
		call = invoke("echo", `{"text":"hello"}`)
	}
	args := []string{
		"-mode", t.row.mode, "-wait", "6s",
		"-pre", t.lines("pre", pre, s.URL()),
		"-invoke", `{"jsonrpc":"2.0","id":%ID%,"method":"invoke","params":` + call + `}`,
		"-cancel", `{"jsonrpc":"2.0","method":"cancel","params":{"id":%ID%}}`,
	}
	if run.framing != "" {
		args = append(args, "-framing", run.framing)
	}
	if run.script != nil {
		args = append(args, "-script", t.lines("script", run.script, s.URL()))
	}
	args = append(append(args, run.flags...), "--", t.toolhost, "serve")
	cmd := exec.CommandContext(t.ctx, t.faultserver, append(args, run.serve...)...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if t.fail(err) || t.fail(json.Unmarshal(text, &r)) {
		return r, &fakeserver.Ledger{}
	}
	t.fail(s.Wait(t.ctx, func(l *fakeserver.Ledger) bool { return l.Open == 0 }))
	server = s.Ledger()
	t.none("rules of MCP that the client broke", server.Complaints)
	return r, server
}

// lines writes messages to a file, one a line; %URL% is the server's address.
func (t *trial) lines(name string, messages []string, url string) string {
	file := filepath.Join(t.work, name)
	text := strings.ReplaceAll(strings.Join(messages, "\n")+"\n", "%URL%", url)
	t.fail(os.WriteFile(file, []byte(text), 0o600))
	return file
}

// sound checks what holds in every run: each request was answered once, stdout
// held nothing but messages, and the child ended by itself, in time, with code 0,
// leaving nothing behind.
func (t *trial) sound(r report) {
	t.none("requests without an answer", r.Missing)
	t.none("answers to what was never asked", r.Unknown)
	t.want(r.Duplicates == 0, "%d second answers", r.Duplicates)
	t.ended(r)
}

func (t *trial) ended(r report) {
	t.want(r.BadLines == 0, "%d lines on stdout are no message: %s", r.BadLines, r.FirstBad)
	t.want(r.Exited && r.ExitCode == 0 && r.Signal == "", "exited %v with code %d, signal %q; stderr: %s", r.Exited, r.ExitCode, r.Signal, r.StderrTail)
	t.want(r.ExitMs <= 5000, "the end took %d ms", r.ExitMs)
	t.none("processes left behind", r.Orphans)
	t.want(r.MaxRSSKB < 200<<10, "it grew to %d KB", r.MaxRSSKB)
}

// sampled reports whether one of the first answers holds all of the parts.
func (r report) sampled(parts ...string) bool {
	return slices.ContainsFunc(r.Sample, func(answer string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(answer, part) })
	})
}

// hostRows are the rows of the area. Where both framings can play a row, both do.
func hostRows() []row {
	var rows []row
	add := func(id, mode, name, must string, run hostRun, judge func(*trial, report, *fakeserver.Ledger)) {
		framings := []string{"newline", "lsp"}
		if mode == "host-noise" { // its noise is lines
			framings = framings[:1]
		}
		for _, framing := range framings {
			rows = append(rows, row{id, mode, strings.TrimSpace(framing + " " + name), must, func(t *trial) {
				run := run
				run.framing = framing
				r, server := t.host(run)
				judge(t, r, server)
				if len(t.faults) > 0 {
					t.faults = append(t.faults, fmt.Sprintf("the report: %+v", r))
				}
			}})
		}
	}

	add("B231", "host-eof", "", "exit within 3 s with code 0, CPU near zero, no process left",
		hostRun{}, func(t *trial, r report, _ *fakeserver.Ledger) {
			t.sound(r)
			t.want(r.Errors == 0, "%d calls failed", r.Errors)
			t.want(r.ExitMs <= 3000, "the end took %d ms", r.ExitMs)
			t.want(r.CPUMs <= 200, "%d ms of CPU after the end of input", r.CPUMs)
		})

	endless := `{"jsonrpc":"2.0","id":8000,"method":"invoke","params":` + invoke("slow", `{"ms":600000,"nonce":"endless"}`) + `}`
	add("B233", "host-killed", "", "exit within 5 s, no process left, and the server heard that the call is off",
		hostRun{script: []string{endless}}, func(t *trial, r report, server *fakeserver.Ledger) {
			t.ended(r)
			for _, run := range server.RunsOf("endless") {
				t.want(run.Outcome == fakeserver.Cancelled, "the call ended as %q at the server", run.Outcome)
			}
		})

	// This mode sends no -pre messages, so that each call is answered with an error.
	for _, burst := range []struct{ name, size, note string }{
		{"500 calls", "500", "all input taken while nothing was read"},
		{"3000 calls", "3000", "all input taken while nothing was read"}, // below 4,096 answers
		{"30000 calls", "30000", "input blocked while nothing was read"}, // above: reading pauses
	} {
		add("B235", "host-no-read", burst.name, "memory bounded, stdin read on until 4,096 answers wait, every answer there once the host reads",
			hostRun{flags: []string{"-size", burst.size, "-wait", "20s"}}, func(t *trial, r report, _ *fakeserver.Ledger) {
				t.sound(r)
				t.want(r.Note == burst.note, "%s", r.Note)
				t.want(r.Errors == r.Sent, "%d of %d are errors", r.Errors, r.Sent)
			})
	}

	for _, where := range []struct {
		name           string
		pre            []string
		errors, broken int
	}{
		// A byte order mark is noise ahead of the first message and a broken line later.
		{"at the start", []string{}, 3, 1}, // both calls come without a pack
		{"later", nil, 2, 2},
	} {
		add("B237", "host-noise", where.name, "the good requests are answered, each broken line gets -32700 with id null",
			hostRun{pre: where.pre}, func(t *trial, r report, _ *fakeserver.Ledger) {
				t.none("requests without an answer", r.Missing)
				t.want(len(r.Unknown) == where.broken && !slices.ContainsFunc(r.Unknown, func(id string) bool { return id != "null" }),
					"answers to what was never asked: %q", r.Unknown)
				t.want(r.Errors == where.errors, "%d errors", r.Errors)
				t.ended(r)
			})
	}

	add("B239", "host-dup-ids", "", "the second is refused with -32600, id null and data.id; the first goes on and is cancelled",
		hostRun{call: invoke("slow", `{"ms":500}`), flags: []string{"-wait", "3s"}}, func(t *trial, r report, _ *fakeserver.Ledger) {
			t.none("requests without an answer", r.Missing)
			t.want(slices.Equal(r.Unknown, []string{"null"}), "answers to what was never asked: %q", r.Unknown)
			t.want(r.Errors == 2 && r.Duplicates == 0, "%d errors, %d second answers", r.Errors, r.Duplicates)
			t.ended(r)
		})

	for _, call := range []struct{ name, params string }{
		{"quick call", invoke("echo", `{"text":"hello"}`)},
		{"slow call", invoke("slow", `{"ms":30000}`)},
	} {
		add("B241", "host-cancel-race", call.name, "exactly one answer for each invoke",
			hostRun{call: call.params}, func(t *trial, r report, server *fakeserver.Ledger) {
				t.sound(r)
				t.want(server.Outcomes("", fakeserver.Running) == 0, "the server still runs a call")
			})
	}

	add("B243", "host-batch-mixed", "", "the array is refused once with -32600 and id null, the call after it is answered",
		hostRun{flags: []string{"-wait", "2s"}}, func(t *trial, r report, server *fakeserver.Ledger) {
			t.want(len(r.Missing) == 1, "requests without an answer: %q; only the one in the array may be", r.Missing)
			t.want(slices.Equal(r.Unknown, []string{"null"}), "answers to what was never asked: %q", r.Unknown)
			t.want(r.Errors == 1 && r.Duplicates == 0, "%d errors, %d second answers", r.Errors, r.Duplicates)
			t.want(len(server.Runs) == 1, "%d calls came to the server", len(server.Runs))
			t.ended(r)
		})

	add("B245", "host-burst-eof", "", "all answers, then a clean end",
		hostRun{}, func(t *trial, r report, _ *fakeserver.Ledger) { t.sound(r) })
	add("B245", "host-burst-eof", "of calls that last", "all answers within the limit of the end, then a clean end; the servers heard that the calls are off",
		hostRun{call: invoke("slow", `{"ms":600000}`)}, func(t *trial, r report, server *fakeserver.Ledger) {
			t.sound(r)
			t.want(server.Outcomes("", fakeserver.Running) == 0, "the server still runs a call")
		})

	add("B247", "host-order", "", "a clear error for the early call; the right order works",
		hostRun{}, func(t *trial, r report, _ *fakeserver.Ledger) {
			t.sound(r)
			t.want(r.Errors == 1, "%d errors", r.Errors)
			t.want(r.sampled(`"kind":"unavailable"`, "-32004", "construct"), "the first answers: %q", r.Sample)
		})
	twice := `{"jsonrpc":"2.0","id":8000,"method":"construct","params":{"pack":"runvil/mcp","config":{}}}`
	add("B247", "host-order", "construct twice", "a clear error for the second; the first goes on",
		hostRun{pre: append(start("%URL%"), twice)}, func(t *trial, r report, _ *fakeserver.Ledger) {
			t.sound(r)
			t.want(r.Errors == 2, "%d errors", r.Errors)
		})

	long := strings.TrimSuffix(invoke("echo", `{"text":"hello"}`), "}") + `,"pad":"` + strings.Repeat("s", 2000) + `"}`
	add("B249", "host-stderr-unread", "", "all answers come: writing the log never blocks the protocol",
		hostRun{call: long, serve: []string{"--log-level", "debug"}}, func(t *trial, r report, _ *fakeserver.Ledger) {
			t.sound(r)
			t.want(r.Errors == 0, "%d errors", r.Errors)
		})
	return rows
}
