package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/toolhost/toolhost/pack"
)

// A checkedServer is what check shows of one server.
type checkedServer struct {
	pack.ServerStatus
	warnings []string // scrubbed; more may follow, none goes away
}

// withWarnings puts the warnings, by name, to their servers.
func withWarnings(servers []pack.ServerStatus, warnings map[string][]string) []checkedServer {
	checked := make([]checkedServer, len(servers))
	for i, s := range servers {
		checked[i] = checkedServer{s, warnings[s.Name]}
	}
	return checked
}

func notReady(s pack.ServerStatus) bool { return s.Status != statusConnected }

func (s checkedServer) notReady() bool { return notReady(s.ServerStatus) }

// A checkView shows the state of servers as it changes, and at the end.
type checkView interface {
	show(servers []checkedServer)
	end(servers []checkedServer) error
}

// checkView returns the view for where the output goes.
func (a *app) checkView(asJSON bool) checkView {
	if asJSON {
		return jsonView{a.out}
	}
	lines := &lineView{out: a.out, status: map[string]string{}, warned: map[string]int{}}
	if size, person := terminal(a.out); person {
		return &tableView{lineView: lines, size: size}
	}
	return lines
}

// jsonView prints one object at the end, with the members of the protocol's
// `ready` answer and the warnings.
type jsonView struct{ out io.Writer }

func (jsonView) show([]checkedServer) {}

func (v jsonView) end(servers []checkedServer) error {
	type row struct {
		Name        string   `json:"name"`
		Status      string   `json:"status"`
		ToolCount   int      `json:"toolCount"`
		Error       string   `json:"error,omitempty"`
		NeedsSignIn bool     `json:"needsSignIn,omitempty"`
		Warnings    []string `json:"warnings,omitempty"`
	}
	report := struct {
		Ready   bool  `json:"ready"`
		Servers []row `json:"servers"`
	}{!slices.ContainsFunc(servers, checkedServer.notReady), []row{}}
	for _, s := range servers {
		report.Servers = append(report.Servers, row{s.Name, s.Status, s.ToolCount, s.Error, s.NeedsSignIn, s.warnings})
	}
	return json.NewEncoder(v.out).Encode(report)
}

// lineView prints a line for each server as soon as it has started or failed, and
// one for each of its warnings.
type lineView struct {
	out    io.Writer
	status map[string]string // that was printed, by name
	warned map[string]int    // how many warnings were printed, by name
}

func (v *lineView) show(servers []checkedServer) {
	for _, s := range servers {
		if s.Status != statusConnecting {
			v.print(s)
		}
	}
}

func (v *lineView) end(servers []checkedServer) error {
	for _, s := range servers {
		v.print(s)
	}
	_, err := fmt.Fprintln(v.out, summary(servers))
	return err
}

// print prints what is new of the server.
func (v *lineView) print(s checkedServer) {
	lines := s.lines(0)
	if v.status[s.Name] != s.Status {
		v.status[s.Name] = s.Status
		fmt.Fprintln(v.out, lines[0])
	}
	for _, line := range lines[1+v.warned[s.Name]:] {
		fmt.Fprintln(v.out, line)
	}
	v.warned[s.Name] = len(s.warnings)
}

// tableView draws a table on a terminal and draws it again over itself. While it
// may still be drawn over, each line is cut to the terminal's width; what stands
// there in the end is whole. A table that does not fit the terminal's rows is
// printed as lines.
type tableView struct {
	*lineView
	size  terminalSize
	drawn int // lines that stand on the terminal
}

func (v *tableView) show(servers []checkedServer) {
	if v.fits(servers) {
		v.draw(servers, v.size.columns)
		return
	}
	v.lineView.show(servers)
}

func (v *tableView) end(servers []checkedServer) error {
	if v.drawn == 0 {
		return v.lineView.end(servers)
	}
	v.draw(servers, 0)
	_, err := fmt.Fprintln(v.out, summary(servers))
	return err
}

// fits reports whether the table can be drawn over itself: the cursor does not
// reach what has left the screen.
func (v *tableView) fits(servers []checkedServer) bool {
	rows := 0
	for _, s := range servers {
		rows += 1 + len(s.warnings)
	}
	return rows < v.size.rows
}

// draw draws the table over the one that stands there, with lines of at most that
// many columns; 0 cuts none.
func (v *tableView) draw(servers []checkedServer, columns int) {
	name := 0
	for _, s := range servers {
		name = max(name, len([]rune(shownName(s.Name))))
	}
	if v.drawn > 0 {
		fmt.Fprintf(v.out, "\x1b[%dA\x1b[J", v.drawn) // up to the table's first line, and clear what follows
	}
	v.drawn = 0
	for _, s := range servers {
		for _, line := range s.lines(name) {
			fmt.Fprintln(v.out, cutColumns(line, columns))
			v.drawn++
		}
	}
}

// lines are "connected   docs  12 tools" and one "warning     docs  ..." for each
// warning, the name padded to that many columns.
func (s checkedServer) lines(name int) []string {
	detail := s.Error
	switch {
	case s.Status == statusConnected && s.ToolCount == 1:
		detail = join("1 tool", s.Error)
	case s.Status == statusConnected:
		detail = join(fmt.Sprintf("%d tools", s.ToolCount), s.Error)
	}
	line := func(what, text string) string {
		return cutColumns(fmt.Sprintf("%-10s  %-*s  %s", what, name, shownName(s.Name), shownText(text)), 0)
	}
	lines := []string{line(s.Status, detail)}
	for _, warning := range s.warnings {
		lines = append(lines, line("warning", warning))
	}
	return lines
}

// join puts what is worth knowing about a good server behind its count.
func join(count, note string) string {
	if note == "" {
		return count
	}
	return count + "; " + note
}

func summary(servers []checkedServer) string {
	connected := 0
	for _, s := range servers {
		if !s.notReady() {
			connected++
		}
	}
	switch {
	case len(servers) == 0:
		return "no servers are configured"
	case connected == len(servers):
		return fmt.Sprintf("all servers are connected (%d)", connected)
	}
	return fmt.Sprintf("%d of %d servers are connected", connected, len(servers))
}
