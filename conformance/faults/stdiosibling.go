package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// This file plays siblings of the faults in stdio.go, by this program as the server.

func stdioSiblings() []row { return rowsBehind(direct, stdioActs()) }

// first does something before the first line that a server says, and then says all.
func first(text string) func(*speaker, []byte) {
	return func(s *speaker, line []byte) {
		if s.said == 0 {
			s.put(text)
		}
		s.put(string(line))
	}
}

// before says a text before each line.
func before(text string) func(*speaker, []byte) {
	return func(s *speaker, line []byte) { s.put(text + string(line)) }
}

// onEcho does something in the place of answering the first call of echo. Later lives
// of the server do so again, where their first call is one.
func onEcho(do func(s *speaker, m heard)) func(*speaker, heard) bool {
	done := false
	return func(s *speaker, m heard) bool {
		if done || !m.calls("echo") {
			return false
		}
		done = true
		do(s, m)
		return true
	}
}

// asks says a text when the first request of the server's own era comes.
func asks(text string) func(*speaker, heard) bool {
	return func(s *speaker, m heard) bool {
		if m.method == map[string]string{legacy: "initialize", modern: "server/discover"}[s.era] {
			s.put(text)
		}
		return false
	}
}

// stayed is for ever, as a server sees it.
func stayed() { time.Sleep(rowLimit) }

func stdioActs() []fault {
	in := ways{eras: []string{legacy, modern}, replies: []string{""}, stdio: true}
	steady := func(p *play) {
		p.works()
		p.startedOnce()
	}
	// dies checks a server that ends while it works on a call, and is then as before.
	dies := func(parts ...string) func(*play) {
		return func(p *play) {
			p.ready()
			p.failed(p.call("echo", `{"text":"x"}`), "transport", "unknown", parts...)
			p.restarted()
			p.sent("tools/call", 1)
			p.gives("raw_args", `{"a":1}`, `{"a":1}`)
		}
	}
	faults := []fault{
		{id: "B205", name: "colours before each message", in: in, must: "what a terminal would take for commands is skipped", judge: steady,
			act: &act{say: before("\x1b[0;31m\x1b[K")}},
		{id: "B205", name: "a control string", in: in, must: "what a terminal would take for commands is skipped", judge: steady,
			act: &act{say: first("\x1bP1;2q some text \x1b\\\x07")}},
		{id: "B205", name: "a byte order mark", in: in, must: "one before a message is skipped", judge: steady,
			act: &act{say: first("\ufeff")}},
		{id: "B205", name: "CR LF and empty lines", in: in, must: "white space around a message is none of it", judge: steady,
			act: &act{say: func(s *speaker, line []byte) {
				s.put("\r\n\n  \n\t" + strings.TrimSuffix(string(line), "\n") + "\r\n")
			}}},

		{id: "B207", name: "8 MiB on stderr without a line end", in: in, must: "stderr is always read, and little of it is kept or logged",
			act: &act{say: func(s *speaker, line []byte) {
				fmt.Fprint(os.Stderr, strings.Repeat("e", 8<<20))
				s.put(string(line))
			}},
			judge: func(p *play) {
				steady(p)
				p.light()
				p.want(len(p.log.String()) < 1<<20, "the log has %d bytes", len(p.log.String()))
			}},
		{id: "B207", name: "bytes that are no text on stderr", in: in, must: "the log stays readable",
			act: &act{say: func(s *speaker, line []byte) {
				fmt.Fprint(os.Stderr, "\xff\xfe\x00\x1b[2J\u202e\r\nlevel=ERROR msg=forged\n")
				s.put(string(line))
			}},
			judge: func(p *play) {
				steady(p)
				p.plainLog()
			}},
		{id: "B207", name: "a secret on stderr and stdout", in: in, must: "it comes out nowhere", judge: steady,
			act: &act{say: func(s *speaker, line []byte) {
				fmt.Fprintln(os.Stderr, "token", os.Getenv(tokenName))
				s.put("token " + os.Getenv(tokenName) + "\n" + string(line))
			}}},
		{id: "B207", name: "stderr is closed", in: in, must: "nothing depends on it", judge: (*play).works,
			act: &act{begin: func(*speaker) { os.Stderr.Close() }}},

		{id: "B209", name: "a line as long as it may be", in: in.limit("stdio_line=64KiB"), must: "it is delivered", judge: steady,
			act: &act{say: func(s *speaker, line []byte) {
				text := strings.TrimSuffix(string(line), "\n")
				s.put(text + strings.Repeat(" ", 64<<10-len(text)) + "\n")
			}}},
		{id: "B209", name: "a line one byte longer", in: in.limit("stdio_line=64KiB"), must: "an error that names the limit; the server is started anew and works",
			act: &act{hear: onEcho(func(s *speaker, m heard) {
				text := m.answer("x")
				s.put(text + strings.Repeat(" ", 64<<10-len(text)+1) + "\n")
			})},
			judge: func(p *play) {
				p.ready()
				p.tooLong(p.call("echo", `{"text":"x"}`))
				p.restarted()
				p.sent("tools/call", 1)
				p.gives("raw_args", `{"a":1}`, `{"a":1}`)
			}},
		{id: "B209", name: "a line without an end", in: in.limit("stdio_line=64KiB"), must: "it ends at the limit, and is not waited for",
			act: &act{hear: onEcho(func(s *speaker, _ heard) { s.put(`{"jsonrpc":"2.0",` + strings.Repeat(" ", 65<<10)) })},
			judge: func(p *play) {
				p.ready()
				p.tooLong(p.call("echo", `{"text":"x"}`))
				p.restarted()
				p.gives("raw_args", `{"a":1}`, `{"a":1}`)
			}},

		{id: "B211", name: "halves with a pause", in: in, must: "a message may come in pieces", judge: steady,
			act: &act{say: func(s *speaker, line []byte) {
				s.put(string(line[:len(line)/2]))
				time.Sleep(30 * msec)
				s.put(string(line[len(line)/2:]))
			}}},
		{id: "B211", name: "several messages in one piece", in: in, must: "each is taken", judge: steady,
			act: &act{say: func(s *speaker, line []byte) {
				const log = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"one piece"}}` + "\n"
				s.put(log + string(line) + log)
			}}},
		{id: "B211", name: "an answer without a line end, and an exit", in: in, must: "the end of stdout ends the line",
			act: &act{hear: onEcho(func(s *speaker, m heard) {
				s.put(m.answer("the last"))
				os.Exit(0)
			})},
			judge: func(p *play) {
				p.ready()
				p.gives("echo", `{"text":"x"}`, "the last")
				p.restarted()
				p.sent("tools/call", 1)
			}},

		{id: "B213", name: "a banner on stdout", in: in, must: "lines that are no message are skipped; one record says so",
			act: &act{say: first("Server v1.0\n==========\n\nlistening on stdio\n")},
			judge: func(p *play) {
				steady(p)
				p.logged(1, "level=WARN", "no MCP message", "Server v1.0")
			}},
		{id: "B213", name: "99 lines of log before each message", in: in, must: "lines that are no message are skipped", judge: steady,
			act: &act{say: before(strings.Repeat("INFO working {\"a\":1}\n", 99))}},
		{id: "B213", name: "JSON that is no message", in: in, must: "lines that are no message are skipped", judge: steady,
			act: &act{say: before("{\"level\":\"info\",\"msg\":\"started\"}\n\"text\"\n7\nnull\n[]\n")}},
		{id: "B213", name: "nothing but lines of log", in: in, must: "the start fails at once and shows the first of them",
			act:   &act{say: func(s *speaker, _ []byte) { s.put(strings.Repeat("INFO working\n", 200)) }},
			judge: func(p *play) { p.fails("no MCP messages", "INFO working") }},

		{id: "B215", name: "which ignores the end of input", in: in, must: "SIGTERM ends it; close returns",
			act: &act{end: func(*speaker) { stayed() }},
			judge: func(p *play) {
				steady(p)
				at := time.Now()
				p.closes()
				p.want(time.Since(at) < 2500*msec, "close took %v", time.Since(at))
			}},
		{id: "B215", name: "which leaves a process that holds its pipes", in: in, must: "that is ended too; close returns",
			act: &act{begin: func(*speaker) {
				cmd := exec.Command("sleep", "600")
				cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
				if err := cmd.Start(); err != nil {
					os.Exit(6)
				}
			}},
			judge: func(p *play) {
				steady(p)
				p.closes()
			}},

		{id: "B217", name: "killed in a call", in: in, must: lostWithState, judge: dies("killed"),
			act: &act{hear: onEcho(func(*speaker, heard) { killMyself() })}},
		{id: "B217", name: "exit with 0 in a call", in: in, must: lostWithState, judge: dies("exit status 0"),
			act: &act{hear: onEcho(func(*speaker, heard) { os.Exit(0) })}},
		{id: "B217", name: "exit behind half an answer", in: in, must: lostWithState, judge: dies("exit status 9"),
			act: &act{hear: onEcho(func(s *speaker, m heard) {
				s.put(m.answer("half")[:40])
				os.Exit(9)
			})}},
		{id: "B217", name: "exit with a secret as last words", in: in, must: lostWithState, judge: dies("exit status 1", "no access with"),
			act: &act{hear: onEcho(func(*speaker, heard) {
				fmt.Fprintln(os.Stderr, "no access with", os.Getenv(tokenName))
				os.Exit(1)
			})}},
		{id: "B217", name: "exit under twenty calls", in: in, must: "all fail at once and none is sent again",
			act: &act{hear: func() func(*speaker, heard) bool {
				calls := 0
				return func(_ *speaker, m heard) bool {
					if m.calls("slow") {
						if calls++; calls == 20 {
							os.Exit(2)
						}
					}
					return m.calls("slow")
				}
			}()},
			judge: func(p *play) {
				p.ready()
				var calls []pending
				for range 20 {
					calls = append(calls, p.send("faulty", "slow", `{"ms":30000}`, ""))
				}
				for _, c := range calls {
					p.failed(p.await(c), "transport", "unknown", "exit status 2")
				}
				p.restarted()
				p.echo("after")
				p.sent("tools/call", 21)
			}},
		{id: "B217", name: "exit at the start", in: in, must: "the reason holds the exit state and the last words; it is tried again with waits",
			act: &act{begin: func(*speaker) {
				fmt.Fprintln(os.Stderr, "Error: Cannot find module 'left-pad'")
				os.Exit(1)
			}},
			judge: func(p *play) {
				p.fails("exit status 1", "Cannot find module 'left-pad'")
				p.pause(2 * sec)
				// At 0, 0.5 and 1.5 s, and each time once more for a handshake at most.
				p.want(p.starts() <= 6, "the server was started %d times in 2 s", p.starts())
			}},
		{id: "B217", name: "exit at the probe for the modern era", in: ways{eras: []string{legacy}, replies: []string{""}, stdio: true}, must: "it is started once more, for a handshake",
			act: &act{hear: func(_ *speaker, m heard) bool {
				if m.method == "server/discover" {
					os.Exit(0)
				}
				return false
			}},
			judge: func(p *play) {
				p.works()
				p.want(p.starts() == 2, "the server was started %d times", p.starts())
			}},

		{id: "B221", name: "closes stdout in a call", in: in, must: "the call fails at once, the process is ended", judge: dies("has closed its stdout"),
			act: &act{hear: onEcho(func(*speaker, heard) {
				os.Stdout.Close()
				stayed()
			})}},
		{id: "B221", name: "closes stdin and lives on", in: in, must: "the next call fails at once, the process is ended, the server is started anew",
			act: &act{hear: onEcho(func(s *speaker, m heard) {
				os.Stdin.Close()
				s.answers(m, "the last")
				stayed()
			})},
			judge: func(p *play) {
				p.ready()
				p.gives("echo", `{"text":"x"}`, "the last")
				o := p.call("raw_args", `{"a":1}`)
				p.want(o.err != nil && o.took < atOnce && o.err.Data.Delivered != "yes", "%v", o)
				p.restarted()
				p.gives("raw_args", `{"a":1}`, `{"a":1}`)
			}},

		{id: "B223", name: "reads nothing any more", in: in, must: "calls can be cancelled, and the pack closes in time",
			act: &act{hear: onEcho(func(*speaker, heard) { stayed() })},
			judge: func(p *play) {
				p.ready()
				first := p.send("faulty", "echo", `{"text":"x"}`, "")
				big := p.send("faulty", "raw_args", `{"text":"`+strings.Repeat("t", 1<<20)+`"}`, "")
				third := p.send("faulty", "raw_args", `{"a":1}`, "")
				p.until(atOnce, "the call never came", func(s *seen) bool { return s.Exec == 1 })
				for _, c := range []pending{third, big, first} {
					p.cancel(c)
				}
				p.closes()
			}},

		{id: "B225", name: "asks before its first answer", in: in, must: "what it may ask is answered, and nothing where it may ask nothing; the start goes on",
			act: &act{hear: asks(strings.Join([]string{
				`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`,
				`{"jsonrpc":"2.0","id":"s2","method":"roots/list"}`,
				`{"jsonrpc":"2.0","id":"s3","method":"no/such"}`,
				`{"jsonrpc":"2.0","id":4,"method":"ping"}`,
				`{"jsonrpc":"2.0","method":"no/such/notification"}`, "",
			}, "\n"))},
			judge: func(p *play) {
				steady(p)
				answers := 0
				for _, r := range p.seen().Requests {
					if r.RPC == "" {
						answers++
					}
				}
				want := map[string]int{legacy: 4, modern: 0}[p.era]
				p.want(answers == want, "%d of its 4 questions were answered", answers)
			}},

		{id: "B227", name: "each answer twice", in: in, must: "the first one counts", judge: steady,
			act: &act{say: func(s *speaker, line []byte) {
				s.put(string(line) + strings.ReplaceAll(strings.ReplaceAll(string(line), "first", "SECOND"), "second", "SECOND"))
			}}},
		{id: "B227", name: "answers to ids of nobody", in: in, must: "they are ignored", judge: steady,
			act: &act{say: before(`{"jsonrpc":"2.0","id":424242,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":"text","result":{}}` + "\n" +
				`{"jsonrpc":"2.0","id":-1,"error":{"code":1,"message":"x"}}` + "\n" + `{"jsonrpc":"2.0","id":1e400,"result":{}}` + "\n" +
				`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":424242,"progress":1}}` + "\n")}},
		{id: "B227", name: "an answer to a cancelled call", in: in, must: "it is ignored, the connection stays",
			act: &act{hear: func() func(*speaker, heard) bool {
				var slow heard
				return func(s *speaker, m heard) bool {
					if m.calls("slow") {
						slow = m
						return true
					}
					if m.method == "notifications/cancelled" {
						s.answers(slow, "LATE")
					}
					return m.method == "notifications/cancelled"
				}
			}()},
			judge: func(p *play) {
				p.ready()
				p.cancel(p.startSlow(""))
				p.until(atOnce, "the cancel never came", func(s *seen) bool { return s.Methods["notifications/cancelled"] == 1 })
				p.echo("after")
				p.never("LATE")
				p.startedOnce()
			}},

		{id: "B229", name: "twenty answers in reverse", in: in, must: "answers are matched by id",
			act: &act{hear: func() func(*speaker, heard) bool {
				var calls []heard
				return func(s *speaker, m heard) bool {
					if !m.calls("raw_args") {
						return false
					}
					if calls = append(calls, m); len(calls) == 20 {
						for i := len(calls) - 1; i >= 0; i-- {
							_, rest, _ := strings.Cut(calls[i].text, `"text":"`)
							text, _, _ := strings.Cut(rest, `"`)
							s.answers(calls[i], text)
						}
					}
					return true
				}
			}()},
			judge: func(p *play) {
				p.ready()
				var calls []pending
				for n := range 20 {
					calls = append(calls, p.send("faulty", "raw_args", fmt.Sprintf(`{"text":"number %d"}`, n), ""))
				}
				for n, c := range calls {
					o := p.await(c)
					p.want(o.text == fmt.Sprint("number ", n), "call %d: %v", n, o)
				}
				p.startedOnce()
			}},
	}
	for i := range faults {
		faults[i].act.name = faults[i].id + " " + faults[i].name
	}
	return faults
}

const lostWithState = "the call fails at once with the exit state and is not sent again; the server is started anew"

// killMyself ends this process as kill -9 does.
func killMyself() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		self.Kill()
	}
	stayed()
}
