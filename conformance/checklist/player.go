package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/conformance/fakeserver"
	"github.com/toolhost/toolhost/conformance/internal/child"
)

const (
	// stepTime is how long a step may take when all is well. Where the rule is broken
	// and a step may wait for what never comes, it is three times what the slowest
	// step has taken when all was well, and shortStepTime at least: so busy is the
	// machine.
	stepTime      = 10 * time.Second
	shortStepTime = 2 * time.Second

	// endTime is how long the child may take to end.
	endTime = 10 * time.Second
)

// A player plays one case once, in one era.
type player struct {
	c      *Case
	era    string
	broken *variant // nil when nothing is broken
	binary string
	env    []string
	limit  time.Duration // of a step

	slowest time.Duration // of the steps so far

	values    map[string]string // of $NAME
	traffic   *traffic
	endpoints map[string]*endpoint
	servers   map[string]*fakeserver.Server
	lenient   map[string]bool // by server: its complaints are part of the case
	stage     *stage          // of local servers; nil when the case has none

	framing   child.Framing
	asks      string // which questions the host takes, as an object; "" for none
	questions *questions
	child     *child.Child
	notes     *notes
	log       buffer
	said      buffer // what the child wrote to stdout
	pending   map[string]*pending
	ended     bool
}

// Play plays a case with a binary and returns what is wrong. The error is of what
// plays it and says nothing about the client.
func Play(c *Case, era, binary string) (*Played, error) {
	return (&player{c: c, era: era, binary: binary, limit: stepTime}).play()
}

// PlayBroken plays a case with a rule broken, when the slowest step of Play has taken
// that long.
func PlayBroken(c *Case, era string, v *variant, binary string, env []string, slowest time.Duration) (*Played, error) {
	limit := max(shortStepTime, min(3*slowest, stepTime))
	return (&player{c: c, era: era, broken: v, binary: binary, env: env, limit: limit}).play()
}

// Played is what came of a run.
type Played struct {
	Faults  []string
	Traffic []*request
	Log     []byte
	Slowest time.Duration // of the steps
}

// shownRequests is how many requests String shows at most.
const shownRequests = 60

// String shows what happened.
func (p *Played) String() string {
	var b strings.Builder
	for i, fault := range p.Faults {
		if i == 0 || fault != p.Faults[i-1] {
			fmt.Fprintf(&b, "  %.1500s\n", fault)
		}
	}
	b.WriteString("the server saw:\n")
	for i, r := range p.Traffic {
		if i == shownRequests {
			fmt.Fprintf(&b, "  and %d more\n", len(p.Traffic)-i)
			break
		}
		fmt.Fprintf(&b, "  %d. %s %.700s\n", i+1, r, r.short())
	}
	fmt.Fprintf(&b, "the child logged:\n%.3000s", p.Log)
	return b.String()
}

func (r *player) play() (*Played, error) {
	var breaks []wireBreak
	if r.broken != nil {
		breaks = r.broken.wire
	}
	r.notes, r.pending, r.questions = newNotes(), map[string]*pending{}, newQuestions()
	defer r.questions.stop()
	r.asks = r.pack().asks
	r.traffic = newTraffic(newBreaker(breaks))
	defer r.traffic.stop()
	defer r.close()
	if err := r.serve(); err != nil {
		return nil, err
	}

	steps, err := r.c.script(r.era)
	if err != nil {
		return nil, err
	}
	faults := r.host(steps)
	if r.child == nil {
		return nil, errors.New(strings.Join(faults, "; "))
	}
	if err := r.stop(); err != nil {
		faults = append(faults, "end: "+err.Error())
	}
	played := &Played{Traffic: r.traffic.all(), Log: r.log.bytes(), Slowest: r.slowest}
	judged, err := r.judge(played)
	if err != nil {
		return nil, err
	}
	played.Faults = append(faults, judged...)
	if errs := r.traffic.breaker.faults(); len(errs) > 0 {
		return played, errors.Join(errs...)
	}
	return played, nil
}

// serve starts the servers of the case. The first gets the address $URL, the
// others $URL_name. A local one is the program $COMMAND with the argument $ARG or
// $ARG_name.
func (r *player) serve() error {
	r.values = map[string]string{"VERSION": revisions[r.era], "LONG": longText}
	r.endpoints, r.servers, r.lenient = map[string]*endpoint{}, map[string]*fakeserver.Server{}, map[string]bool{}
	sections := r.c.of("server", r.era)
	names := []string{""}
	for _, s := range sections {
		if s.name != "" {
			names = append(names, s.name)
		}
	}
	for _, name := range names {
		e, err := r.traffic.listen(name)
		if err != nil {
			return err
		}
		r.endpoints[name] = e
		r.values[strings.TrimSuffix("URL_"+name, "_")] = e.url
	}
	texts := map[string]string{"": ""}
	for _, s := range sections {
		texts[s.name] = s.text
	}
	for name, text := range texts {
		opts, err := r.setup(name, text)
		if err != nil {
			return err
		}
		server := fakeserver.New(opts.Options)
		r.servers[name], r.lenient[name] = server, opts.lenient
		if !opts.local() {
			r.endpoints[name].serve(server)
		} else if err := r.act(&actor{name, opts.habits, server}); err != nil {
			return err
		}
	}
	if r.stage != nil {
		r.stage.open()
	}
	return nil
}

// act makes a server a local one.
func (r *player) act(a *actor) (err error) {
	if r.stage == nil {
		if r.stage, err = newStage(r.traffic); err != nil {
			return err
		}
	}
	path, arg, err := r.stage.command(a.name)
	if err != nil {
		return err
	}
	r.stage.servers[a.name] = a
	r.values["COMMAND"], r.values[strings.TrimSuffix("ARG_"+a.name, "_")] = path, arg
	return nil
}

// entry is that of the first server.
func (r *player) entry() string {
	if r.stage != nil && r.stage.servers[""] != nil {
		return `{"command":"$COMMAND","args":["$ARG"]}`
	}
	return `{"url":"$URL"}`
}

func (r *player) pack() *packKind { return packs[r.c.Pack] }

// longText is a text of a million bytes, as a JSON string has it.
var longText = strings.Repeat(` a\u0041\"\\é/\/`, 1<<20/20)

// setup is what the server of one section is, with the variant's lines in it.
func (r *player) setup(name, text string) (*setup, error) {
	lines, err := parseServer(r.fill(text))
	if err != nil {
		return nil, err
	}
	var instead []serverLine
	if r.broken != nil && name == "" {
		if instead, err = parseServer(r.fill(r.broken.server)); err != nil {
			return nil, err
		}
	}
	return serverOptions(r.values["VERSION"], lines, instead)
}

func (r *player) fill(text string) string { return fill(text, r.values) }

// close ends what is left of a run.
func (r *player) close() {
	r.traffic.stop()
	for _, e := range r.endpoints {
		e.close()
	}
	if r.stage != nil {
		r.stage.close()
	}
	for _, s := range r.servers {
		s.Close()
	}
	r.traffic.aside.Wait()
}

// judge holds what happened against the case.
func (r *player) judge(played *Played) ([]string, error) {
	faults, err := judgeSchemas(r.values["VERSION"], played.Traffic)
	if err != nil {
		return nil, err
	}
	for _, s := range r.c.of("wire", r.era) {
		checks, err := parseWire(&section{line: s.line, text: r.fill(s.text)})
		if err != nil {
			return nil, err
		}
		faults = append(faults, judgeWire(checks, played.Traffic)...)
	}
	for _, s := range r.c.of("log", r.era) {
		checks, err := parseLog(s)
		if err != nil {
			return nil, err
		}
		faults = append(faults, judgeLog(checks, played.Log, r.fill)...)
	}
	said := string(r.said.bytes()) + string(played.Log)
	for _, s := range r.c.of("never", r.era) {
		faults = append(faults, judgeNever(s.lines(), said, r.fill)...)
	}
	for name, server := range r.servers {
		for _, row := range server.Unused() {
			faults = append(faults, "unused: "+row)
		}
		if r.lenient[name] {
			continue
		}
		for _, complaint := range server.Ledger().Complaints {
			faults = append(faults, "rules: "+complaint)
		}
	}
	for _, question := range r.questions.unexpected() {
		faults = append(faults, "asked: "+question)
	}
	for _, stray := range r.child.Strays() {
		faults = append(faults, "protocol: "+stray)
	}
	return faults, nil
}
