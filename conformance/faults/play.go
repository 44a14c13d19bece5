package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/conformance/internal/child"
	"github.com/toolhost/toolhost/spec/speccheck"
)

const (
	msec = time.Millisecond
	sec  = time.Second
)

// The eras, as faultserver's -era names them.
const (
	legacy = "legacy"
	modern = "modern"
)

// A fault is a server that misbehaves, and what must come of it.
type fault struct {
	id, mode, name string
	must           string
	in             ways
	server         func(p *play) fakeserver.Options              // of a sibling; nil for faultserver
	before         func(http.ResponseWriter, *http.Request) bool // of a sibling; see startSibling
	servers        func(p *play) (string, error)                 // the entries of local servers, for a sibling that is about these
	act            *act                                          // of a sibling over stdio
	answer         func(p *play, q question) string              // of a host that takes questions: a result, "" for none
	judge          func(p *play)
}

// ways are the ways in which a fault is played: each era, with each form of
// replies, in each variant.
type ways struct {
	eras     []string
	replies  []string // -reply; one "" where the mode shapes its replies itself
	variants int      // -n 1 to this; 0 for a mode with one
	limits   []string // of the child, NAME=VALUE
	flags    []string // further flags of faultserver
	entry    string   // further members of the server's entry
	second   bool     // the server has a second endpoint, configured too
	stdio    bool     // the server is a local one
}

var (
	bothEras   = ways{eras: []string{legacy, modern}, replies: []string{""}}
	legacyOnly = ways{eras: []string{legacy}, replies: []string{""}} // the mode needs a handshake, a session or a notification
	modernOnly = ways{eras: []string{modern}, replies: []string{""}} // faultserver plays it as modern whatever it is told
	overStdio  = ways{eras: []string{legacy}, replies: []string{""}, stdio: true}
)

// shaped says that the mode leaves the form of replies open.
func (w ways) shaped() ways              { w.replies = []string{"json", "sse"}; return w }
func (w ways) times(n int) ways          { w.variants = n; return w }
func (w ways) limit(list ...string) ways { w.limits = list; return w }
func (w ways) flag(list ...string) ways  { w.flags = list; return w }
func (w ways) member(text string) ways   { w.entry = text; return w }
func (w ways) twice() ways               { w.second = true; return w }

// rowsBehind returns a row for each way of each fault, for servers behind that pack.
func rowsBehind(behind *pack, faults []fault) []row {
	var rows []row
	for _, f := range faults {
		if f.mode == "" {
			f.mode = sibling
		}
		for _, era := range f.in.eras {
			for _, reply := range f.in.replies {
				for n := 1; n <= max(1, f.in.variants); n++ {
					name := strings.Join(strings.Fields(f.name+" "+era+" "+reply), " ")
					if f.in.variants > 0 {
						name += fmt.Sprint(" n=", n)
					}
					if behind != dynamic {
						name += " in " + behind.name
					}
					rows = append(rows, row{f.id, f.mode, name, f.must, func(t *trial) {
						(&play{trial: t, pack: behind, names: map[[2]string]string{}, fault: f, era: era, reply: reply, n: n}).run()
					}})
				}
			}
		}
	}
	return rows
}

// sorted puts the rows of siblings, which come of maps, in an order.
func sorted(rows []row) []row {
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.String(), b.String()) })
	return rows
}

// A play is one fault being played to one child, which has a healthy server too.
type play struct {
	*trial
	pack  *pack
	fault fault
	era   string
	reply string
	n     int

	peer  *peer
	child *child.Child
	log   lockedText
	began time.Time
	calls int                  // of tools of the faulty server
	over  bool                 // the pack is closed
	names map[[2]string]string // of tools as they were listed last, by server and its tool; see direct
	said  lockedText
	asked questions
}

// The secrets of the faulty server's entry. None may come out again, whatever
// happens.
const (
	urlUser   = "user:" + secret + "-user@"
	urlQuery  = "?token=" + secret + "-query"
	hdrSecret = secret + "-header"
)

func (p *play) run() {
	var err error
	switch {
	case p.fault.in.stdio:
		p.peer, err = p.localPeer()
	case p.fault.server != nil:
		p.peer, err = startSibling(p.fault.server(p), p.fault.before)
	default:
		args := append([]string{"-era", p.era, "-n", fmt.Sprint(p.n)}, p.fault.in.flags...)
		if p.reply != "" {
			args = append(args, "-reply", p.reply)
		}
		p.peer, err = p.startFault(args...)
	}
	if p.fail(err) {
		return
	}
	defer p.peer.stop()
	if !p.construct() {
		return
	}
	p.fault.judge(p)
	p.end()
}

// construct starts the child over the faulty server and the good one.
func (p *play) construct() bool {
	checker, err := speccheck.New()
	if p.fail(err) {
		return false
	}
	check := func(direction string, message []byte) error {
		if direction == child.ChildToHost {
			p.said.Write(append(message[:len(message):len(message)], '\n'))
			if !utf8.Valid(message) {
				return fmt.Errorf("it is not valid UTF-8")
			}
		}
		return checker.Trace(direction, message)
	}
	opts := child.Options{Args: p.pack.limits(p.fault.in.limits), Stderr: &p.log, Check: check}
	capabilities := `"progress":true,"log":true,"status":true`
	if p.fault.answer != nil {
		capabilities += `,"approve":true,"elicit":{"form":true,"url":true}`
		opts.Answer = p.answers
	}
	if p.fault.in.stdio {
		opts.Args = append(opts.Args, "--log-level", "info") // what is written to stderr is logged so
		opts.Env = []string{tokenName + "=" + envSecret}
	}
	p.child, err = child.Start(p.toolhost, opts)
	if p.fail(err) {
		return false
	}
	p.began = time.Now()
	reply, err := p.child.Call(p.ctx, "construct", `{"pack":"`+p.pack.name+`","host":{"name":"faults","capabilities":{`+capabilities+`}},"config":`+p.pack.config(`{"good":{"url":"`+p.good.URL()+`"},`+p.entries()+`}`)+`}`)
	if p.fail(err) || reply.Error != nil && p.fail(reply.Error) {
		p.fail(p.child.Stop(endTime))
		return false
	}
	return true
}

// entries are the entry of the faulty server and, where it has one more endpoint,
// of that.
func (p *play) entries() string {
	if p.peer.entries != "" {
		return p.peer.entries
	}
	at := func(path string) string {
		return strings.Replace(strings.Replace(p.peer.url, "/mcp", path, 1), "://", "://"+urlUser, 1) + urlQuery
	}
	entry := p.fault.in.entry
	if !strings.Contains(entry, `"headers"`) {
		entry = strings.TrimSuffix(`"headers":{"X-Api-Key":"`+hdrSecret+`"},`+entry, ",")
	}
	text := `"faulty":{"url":"` + at("/mcp") + `",` + entry + `}`
	if p.fault.in.second {
		text += `,"second":{"url":"` + at("/b/mcp") + `",` + entry + `}`
	}
	return text
}

// endTime is what the protocol gives the child to end.
const endTime = 5 * time.Second

// end closes the pack and the child, and checks what holds in every play: the
// other server was never harmed, a call ran at most once, nothing went to another
// origin, nothing stays open, and no secret came out.
func (p *play) end() {
	if !p.over && p.status("good").Status == "ready" {
		good := p.invoke("good", "echo", `{"text":"unharmed"}`)
		p.want(good.text == "unharmed" && good.took < atOnce, "the good server was harmed: %v", good)
	}
	p.closes()
	if p.fault.in.stdio {
		p.nothingRuns()
	}
	p.fail(p.child.Stop(endTime))
	p.none("messages that no host should see", p.child.Strays())

	p.until(atOnce, "connections stay open at the server", func(s *seen) bool { return s.Conns <= 0 })
	s := p.seen()
	p.want(s.Exec <= p.calls, "%d calls ran %d times", p.calls, s.Exec)
	p.want(s.Other == 0, "%d requests to another origin", s.Other)
	if fake := p.peer.fake; fake != nil {
		p.none("rules of MCP that the client broke", fake.Ledger().Complaints)
		p.none("the fault was never met", fake.Unused())
	}
	p.noSecrets(&s)
	for line := range strings.Lines(p.log.String()) {
		p.want(strings.HasPrefix(line, "time="), "a line on stderr that is no record: %q", line)
	}
}

// closes closes the pack.
func (p *play) closes() {
	if p.over {
		return
	}
	p.over = true
	at := time.Now()
	reply, err := p.child.Call(p.ctx, "close", `{"id":"mcp"}`)
	p.fail(err)
	p.want(reply.Error == nil, "close: %v", reply.Error)
	p.want(time.Since(at) < endTime, "close took %v", time.Since(at))
}

// noSecrets checks that neither the answers nor the log hold a secret of the
// entry or a session id.
func (p *play) noSecrets(s *seen) {
	hidden := []string{secret}
	for _, r := range s.Requests {
		if id := r.Headers.Get("Mcp-Session-Id"); len(id) > 8 {
			hidden = append(hidden, id)
		}
	}
	for where, text := range map[string]string{"the answers": p.said.String(), "the log": p.log.String()} {
		for _, h := range hidden {
			p.want(!strings.Contains(text, h), "%q came out in %s", h, where)
		}
	}
}

// seen returns what the server has seen so far.
func (p *play) seen() seen {
	s, err := p.peer.seen()
	p.fail(err)
	return s
}

// until waits until the server has seen something, and notes a fault if it has
// not in time.
func (p *play) until(limit time.Duration, otherwise string, cond func(*seen) bool) bool {
	for deadline := time.Now().Add(limit); ; p.pause(10 * time.Millisecond) {
		s := p.seen()
		if cond(&s) {
			return true
		}
		if time.Now().After(deadline) || p.ctx.Err() != nil {
			p.want(false, "%s: %d open, %v", otherwise, s.Conns, s.Methods)
			return false
		}
	}
}

// pause lets time pass where the fault is about time.
func (p *play) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.ctx.Done():
	}
}

// quote returns text as a JSON string.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can be encoded
	}
	return string(b)
}
