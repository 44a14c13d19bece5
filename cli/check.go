package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/pack"
)

func (a *app) checkCommand() *cobra.Command {
	c := newConnection()
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check --config FILE",
		Short: "Connect to every server of an mcp.json file and say how it went",
		Long: `Connects to every server of an mcp.json file, once each, and shows which are
ready, with the number of their tools, and why the others are not. The exit code
is 0 only when all are ready.`,
		Example: `  toolhost check --config mcp.json
  toolhost check --config mcp.json --json | jq .servers`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.check(cmd.Context(), c, a.checkView(asJSON))
		},
	}
	c.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object at the end")
	return cmd
}

// check shows how each server starts and returns errShown unless all are ready.
func (a *app) check(ctx context.Context, c *connection, view checkView) error {
	l, servers, err := a.connect(ctx, c, "", view.show)
	if err != nil {
		return err
	}
	defer l.Close()
	for i := range servers {
		if servers[i].Status == statusLoading {
			servers[i].Error = fmt.Sprintf("no answer within %v; give it longer by --timeout", c.timeout)
		}
	}
	if err := view.end(servers); err != nil {
		return err
	}
	if slices.ContainsFunc(servers, notReady) {
		return errShown
	}
	return nil
}

func notReady(s pack.ServerStatus) bool { return s.Status != statusReady }

// A checkView shows the state of servers as it changes, and at the end.
type checkView interface {
	show(servers []pack.ServerStatus)
	end(servers []pack.ServerStatus) error
}

// checkView returns the view for where the output goes.
func (a *app) checkView(asJSON bool) checkView {
	if asJSON {
		return jsonView{a.out}
	}
	lines := &lineView{out: a.out, shown: map[string]string{}}
	if size, person := terminal(a.out); person {
		return &tableView{lineView: lines, size: size}
	}
	return lines
}

// jsonView prints one object at the end, with the members of the protocol's
// `ready` answer.
type jsonView struct{ out io.Writer }

func (jsonView) show([]pack.ServerStatus) {}

func (v jsonView) end(servers []pack.ServerStatus) error {
	type row struct {
		Name      string `json:"name"`
		Status    string `json:"status"`
		ToolCount int    `json:"toolCount"`
		Error     string `json:"error,omitempty"`
	}
	report := struct {
		Ready   bool  `json:"ready"`
		Servers []row `json:"servers"`
	}{!slices.ContainsFunc(servers, notReady), []row{}}
	for _, s := range servers {
		report.Servers = append(report.Servers, row{s.Name, s.Status, s.ToolCount, s.Error})
	}
	return json.NewEncoder(v.out).Encode(report)
}

// lineView prints a line for each server as soon as it has started or failed.
type lineView struct {
	out   io.Writer
	shown map[string]string // the status that was printed, by name
}

func (v *lineView) show(servers []pack.ServerStatus) {
	for _, s := range servers {
		if s.Status != statusLoading {
			v.print(s)
		}
	}
}

func (v *lineView) end(servers []pack.ServerStatus) error {
	for _, s := range servers {
		v.print(s)
	}
	_, err := fmt.Fprintln(v.out, summary(servers))
	return err
}

// print prints the server's line, once for each status.
func (v *lineView) print(s pack.ServerStatus) {
	if v.shown[s.Name] != s.Status {
		v.shown[s.Name] = s.Status
		fmt.Fprintln(v.out, serverLine(s, 0, 0))
	}
}

// tableView draws a table on a terminal and draws it again over itself. A table
// that does not fit the terminal's rows is printed as lines.
type tableView struct {
	*lineView
	size  terminalSize
	drawn int // lines that stand on the terminal
}

func (v *tableView) show(servers []pack.ServerStatus) {
	if len(servers) >= v.size.rows {
		v.lineView.show(servers)
		return
	}
	name := 0
	for _, s := range servers {
		name = max(name, len([]rune(shownName(s.Name))))
	}
	if v.drawn > 0 {
		fmt.Fprintf(v.out, "\x1b[%dA", v.drawn) // up to the table's first line
	}
	for _, s := range servers {
		v.shown[s.Name] = s.Status
		fmt.Fprintf(v.out, "\x1b[2K%s\n", serverLine(s, name, v.size.columns)) // the line is cleared first
	}
	v.drawn = len(servers)
}

func (v *tableView) end(servers []pack.ServerStatus) error {
	v.show(servers)
	return v.lineView.end(servers)
}

// serverLine is "ready    docs  12 tools": the name padded to that many columns,
// the line cut to width, unless they are 0.
func serverLine(s pack.ServerStatus, name, width int) string {
	detail := s.Error
	switch {
	case s.Status == statusReady && s.ToolCount == 1:
		detail = join("1 tool", s.Error)
	case s.Status == statusReady:
		detail = join(fmt.Sprintf("%d tools", s.ToolCount), s.Error)
	}
	line := fmt.Sprintf("%-8s %-*s  %s", s.Status, name, shownName(s.Name), shownText(detail))
	return cutColumns(line, width)
}

// join puts what is worth knowing about a good server behind its count.
func join(count, note string) string {
	if note == "" {
		return count
	}
	return count + "; " + note
}

func summary(servers []pack.ServerStatus) string {
	ready := 0
	for _, s := range servers {
		if !notReady(s) {
			ready++
		}
	}
	switch {
	case len(servers) == 0:
		return "no servers are configured"
	case ready == len(servers):
		return fmt.Sprintf("all servers are ready (%d)", ready)
	}
	return fmt.Sprintf("%d of %d servers are ready", ready, len(servers))
}
